# SPDX-License-Identifier: GPL-2.0
"""QEMU and the kernel of bluebell-vm's guests: this machine's, or those that scripts/lib/vm-fetch
fetches and keeps in the cache."""

import re
import shutil
import subprocess
from pathlib import Path

from vm import VmError
from vm.kernel import Kernel, image_of, installed_release

QEMU = "qemu-system-x86_64"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class Store:
    """What is fetched, in a folder of the cache."""

    def __init__(self, place, offline):
        self.scripts = place.scripts
        self.folder = place.cache / "fetched"
        self.offline = offline

    def fetch(self, *names, refresh=False):
        """Fetch what is not in the folder yet; with refresh, the newest of all."""
        option = ["--refresh"] if refresh else []
        if subprocess.run([self.scripts / "lib/vm-fetch", *option, self.folder, *names],
                          check=False).returncode:
            raise VmError(f"cannot fetch {' and '.join(names)}: see the messages above, and "
                          f"{self.folder / 'fetch.log'}")

    def get(self, name, instead):
        """The folder of what has this name. It is fetched if need be."""
        if not (self.folder / name).is_dir():
            if self.offline:
                raise VmError(f"{self.folder} has no {name} yet, and --offline forbids to fetch "
                              f"it: {instead}")
            self.fetch(name)
        return self.folder / name


def speaks_vfio_user(qemu):
    """Whether a QEMU has the device vfio-user-pci, which is the client of vfio-user."""
    try:
        text = subprocess.run([*qemu, "-device", "help"], check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    except OSError as err:
        raise VmError(f"cannot run {qemu[0]}: {err.strerror}") from None
    return '"vfio-user-pci"' in text


def version_of(qemu):
    """The version of a QEMU, for messages."""
    text = subprocess.run([*qemu, "--version"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    found = re.search(r"version (\S+)", text)
    return found[1] if found else "of unknown version"


def fetched_qemu(tree):
    """The command of a QEMU in a tree of packages that are not installed: with the libraries of the
    tree, whatever those of this machine are."""
    libraries = tree / LIBRARIES
    # QEMU loads its modules from where it is told to, if it has the variable.
    return ["env", f"QEMU_MODULE_DIR={libraries}/qemu", f"{libraries}/ld-linux-x86-64.so.2",
            "--library-path", str(libraries), str(tree / "usr/bin" / QEMU),
            "-L", str(tree / "usr/share/qemu"), "-L", str(tree / "usr/share/seabios")]


def find_qemu(given, store):
    """The command of a QEMU that has vfio-user-pci: the one given, this machine's, or the one that
    is fetched."""
    if given:
        if not speaks_vfio_user([given]):
            raise VmError(f"{given} ({version_of([given])}) has no device vfio-user-pci, by which "
                          "QEMU reaches the HCA: QEMU 11.1 of Debian's backports has it, QEMU 10.0 "
                          "has not; without --qemu, bluebell-vm fetches one that has it")
        return [given]
    own = shutil.which(QEMU)
    if own and speaks_vfio_user([own]):
        return [own]
    return fetched_qemu(store.get("qemu", "name a QEMU that has vfio-user-pci by --qemu"))


def fetched_kernel(name, tree):
    """The kernel in a tree of packages that are not installed."""
    found = sorted((tree / "usr/lib/modules").iterdir())
    modules = found[-1]
    image = modules / "vmlinuz"
    if not image.exists():
        image = tree / "boot" / f"vmlinuz-{modules.name}"
    return Kernel(name, modules.name, image, modules, None)


def packaged_kernel(name, store, installed=Path("/lib/modules")):
    """The kernel that --kernel names by its version: one of this machine, or the newest of a series
    that is fetched. stock is the one that is fetched without a version."""
    if name == "stock":
        return fetched_kernel(name, store.get("kernel", "name a kernel's image by --kernel"))
    found = installed_release(store.scripts, name, installed)
    if found:
        return Kernel(name, found, image_of(installed / found), installed / found, None)
    if not re.fullmatch(r"\d+\.\d+", name):
        raise VmError(f"{installed} has no kernel {name}. --kernel takes an image (with a / in its "
                      "name), a release in that folder, or a series, such as 6.12, which is "
                      "fetched if that folder has none")
    return fetched_kernel(name, store.get(f"kernel-{name}", "name a kernel's image by --kernel"))
