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
INSTALLED = Path("/lib/modules")
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

    def need(self, names):
        """Fetch what the folder does not have yet, all at once."""
        missing = [name for name in names if not (self.folder / name).is_dir()]
        if missing and self.offline:
            raise VmError(f"{self.folder} has no {' and no '.join(missing)} yet, and --offline "
                          "forbids to fetch: name a QEMU with vfio-user-pci by --qemu, and a "
                          "kernel's image by --kernel")
        if missing:
            self.fetch(*missing)


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
    return ["env", "-u", "LD_PRELOAD", f"QEMU_MODULE_DIR={libraries}/qemu",
            f"{libraries}/ld-linux-x86-64.so.2", "--inhibit-cache",
            "--library-path", str(libraries), str(tree / "usr/bin" / QEMU),
            "-L", str(tree / "usr/share/qemu"), "-L", str(tree / "usr/share/seabios")]


def own_qemu(given):
    """The command of a QEMU that has vfio-user-pci: the one given, or this machine's. None if one
    has to be fetched."""
    if given:
        if not speaks_vfio_user([given]):
            raise VmError(f"{given} ({version_of([given])}) has no device vfio-user-pci, by which "
                          "QEMU reaches the HCA: QEMU 11.1 of Debian's backports has it, QEMU 10.0 "
                          "has not; without --qemu, bluebell-vm fetches one that has it")
        return [given]
    own = shutil.which(QEMU)
    return [own] if own and speaks_vfio_user([own]) else None


def kernel_name(version):
    """What the kernel of a version, or stock, is called among what is fetched."""
    if version == "stock":
        return "kernel"
    if not re.fullmatch(r"\d+\.\d+", version):
        raise VmError(f"{INSTALLED} has no kernel {version}. --kernel takes an image (with a / in "
                      "its name), a release in that folder, or a series, such as 6.12, which is "
                      "fetched if that folder has none")
    return f"kernel-{version}"


def installed_kernel(version, scripts):
    """The kernel of this machine with a version. None if one has to be fetched."""
    found = version != "stock" and installed_release(scripts, version, INSTALLED)
    if not found:
        return None
    return Kernel(version, found, image_of(INSTALLED / found), INSTALLED / found, None)


def fetched_kernel(version, tree):
    """The kernel in a tree of packages that are not installed."""
    modules = max((tree / "usr/lib/modules").iterdir())
    return Kernel(version, modules.name, image_of(modules, tree), modules, None)


def find_qemu_and_kernel(args, store, kernel):
    """The command of QEMU, and the kernel, if kernel, that of --kernel IMAGE, is None. What this
    machine does not have is fetched."""
    qemu = own_qemu(args.qemu)
    kernel = kernel or installed_kernel(args.kernel, store.scripts)
    names = [] if kernel else [kernel_name(args.kernel)]
    store.need(names if qemu else ["qemu", *names])
    return (qemu or fetched_qemu(store.folder / "qemu"),
            kernel or fetched_kernel(args.kernel, store.folder / names[0]))
