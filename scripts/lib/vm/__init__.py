# SPDX-License-Identifier: GPL-2.0
"""What scripts/vm and bluebell-vm are made of: architecture, kernel, root, image, QEMU, and the run
of all guests.

  arch     the architectures of guests
  kernel   the kernel and its modules
  root     what the guests see of this machine's files
  fetch    QEMU and kernels that bluebell-vm fetches
  image    the initramfs that is made of the kernel's modules, the guest's init and the job
  qemu     one guest: QEMU, virtiofsd, and the Ethernet between guests
  run      the HCA, the steps that the guests report, and the judgement at the end
  options  the options of both command lines

A module imports those before it in this list, never those after it.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path


class VmError(Exception):
    """An error that ends the run. Its text says what can be done about it."""


@dataclass
class Place:
    """Where a run finds its parts on this machine, and where it keeps what it makes. In this
    scripts/vm and bluebell-vm differ."""

    scripts: Path       # has vm-init, vm-agent, vm-driver, vm-on, and lib/
    profiles: Path      # profiles of the HCA, which are known by their names
    cache: Path         # what is kept from run to run
    logs: Path          # a folder for each run
    base: Path          # paths in this folder are printed relative to it
    # QEMU's program for guests of this machine's architecture
    qemu: list = field(default_factory=lambda: ["qemu-system-x86_64"])
    # What the command lines of QEMU, virtiofsd and the HCA begin with
    wrapper: list = field(default_factory=list)
    # What to do if one of these is missing
    no_hca: str = "do 'make hca'"

    def shown(self, path):
        """A path as it is printed."""
        return path.relative_to(self.base) if path.is_relative_to(self.base) else path


def say(text):
    """Print a line on stderr."""
    print(f"{say.program}: {text}", file=sys.stderr, flush=True)


say.program = "vm"


def modified(path):
    """When a file was written; 0 if another run, which removes old files, too, has removed it since
    it was listed."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0
