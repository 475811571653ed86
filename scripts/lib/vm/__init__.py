# SPDX-License-Identifier: GPL-2.0
"""What scripts/vm is made of: the image that a guest boots, QEMU, the run of all guests.

  image   the kernel, its modules, and the initramfs that is made of them
  qemu    one guest: QEMU, virtiofsd, and the Ethernet between guests
  run     the HCA, the steps that the guests report, and the judgement at the end

A module imports those before it in this list, never those after it.
"""

import os
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bluebell"
LOGS = REPO / "build/logs"


class VmError(Exception):
    """An error that ends the run. Its text says what can be done about it."""


def say(text):
    """Print a line on stderr."""
    print(f"vm: {text}", file=sys.stderr, flush=True)


def modified(path):
    """When a file was written; 0 if another run, which removes old files, too, has removed it since
    it was listed."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0
