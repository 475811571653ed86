# SPDX-License-Identifier: GPL-2.0
"""The image that a guest boots, and the initramfs that is made of the kernel's modules, the guest's
init and the job."""

import hashlib
import os
import shlex
import shutil
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

from vm import VmError, modified
from vm.arch import AMD64
from vm.kernel import (BOOT_MODULES, DISK_MODULES, OTHER_DISK_MODULES, RDMA_MODULES, decompressed,
                       module_files)

# The kernel looks up the name of each function of a module when it loads it, one symbol after the
# other. Neither these symbols, nor debugging and type information, nor signatures are read in a
# guest, and the loading of mlx5_core took two seconds longer with them.
UNREAD_SYMBOLS = ["__pfx_*", "__func__.*", "__UNIQUE_ID_*", "__msg.*", ".LC*"]


def module_data(path, arch):
    """The contents of a module, uncompressed, without the symbols that the guest does not need."""
    with tempfile.NamedTemporaryFile(suffix=".ko") as stripped:
        stripped.write(decompressed(path.read_bytes()))
        stripped.flush()
        subprocess.run([f"{arch.tools}objcopy", "--strip-debug", "--remove-section=.BTF",
                        "--remove-section=.BTF.base", "--wildcard",
                        *(f"--strip-unneeded-symbol={pattern}" for pattern in UNREAD_SYMBOLS),
                        stripped.name], check=True)
        return Path(stripped.name).read_bytes()


def key_of(paths):
    """A name for what is made from these files. It changes when one of the files changes."""
    return hashlib.sha256(repr(sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size)
                                      for path in paths)).encode()).hexdigest()[:16]


def boot_image(kernel, cache):
    """The kernel as an ELF file, which QEMU starts where the kernel begins (PVH), or else the image
    that has it inside and would decompress it first, which takes seconds under emulation. The file
    is kept in the cache. Debian's kernels for arm64 are not compressed.
    """
    if kernel.arch is not AMD64:
        return kernel.image
    cached = cache / "initramfs" / f"{kernel.release}-{key_of([kernel.image])}.elf"
    if cached.exists():
        return cached
    image = kernel.image.read_bytes()
    # The header is described in the kernel's Documentation/arch/x86/boot.rst.
    setup = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (setup + 1) * 512 + offset
    # The last four bytes are the length of what was compressed.
    elf = decompressed(image[begin:begin + length - 4])
    # XEN_ELFNOTE_PHYS32_ENTRY, the note that tells where the kernel begins
    if not elf.startswith(b"\x7fELF") or struct.pack("<I", 18) + b"Xen\0" not in elf:
        return kernel.image
    keep(cached, elf)
    return cached


def keep(path, data):
    """Write a file to the cache, and remove all but the latest few of its kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in sorted(path.parent.glob("*" + path.suffix), key=modified)[:-6]:
        old.unlink(missing_ok=True)
    # Other runs may do the same now. Each is in a PID namespace of its own, so their PIDs may be
    # the same.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, delete=False) as temporary:
        temporary.write(data)
    Path(temporary.name).rename(path)


class Cpio:
    """A newc archive, the format of an initramfs. Directories are added as files need them."""

    def __init__(self):
        self.parts = []
        self.dirs = set()
        self.inode = 1

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(name) + 1, 0]
        self.inode += 1
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name):
        """Add a directory and its parents."""
        for parent in [*reversed(Path(name).parents), Path(name)]:
            if str(parent) != "." and str(parent) not in self.dirs:
                self.dirs.add(str(parent))
                self._entry(str(parent), stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        """Add a regular file."""
        self.directory(str(Path(name).parent))
        self._entry(name, stat.S_IFREG | mode, data)

    def symlink(self, name, target):
        """Add a symbolic link."""
        self.directory(str(Path(name).parent))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name, major, minor):
        """Add a character device."""
        self.directory(str(Path(name).parent))
        self._entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def bytes(self):
        """The archive. An initramfs may consist of several archives."""
        self._entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def base_initramfs(kernel, place, driver, disk=False):
    """The part of the initramfs that is the same for all runs: busybox, init, modules; with those
    of disks if the root is a disk image. It is kept in the cache."""
    boot = module_files(kernel, BOOT_MODULES + (DISK_MODULES if disk else []))
    rdma = [path for path in module_files(kernel, RDMA_MODULES) if path not in boot]
    needed = module_files(kernel, ["mlx5_ib"], set() if driver == "mlx5_ib" else {"mlx5_ib"})
    stock = [path for path in needed if path.name.startswith("mlx5_ib.")]
    # The dependencies of the stock driver are loaded with the RDMA stack, before either driver.
    rdma += [path for path in needed if path not in rdma + boot + stock]
    other = [path for path in module_files(kernel, OTHER_DISK_MODULES if disk else [])
             if path not in boot + rdma]
    files = {Path(__file__).resolve(), place.scripts / "vm-init", *boot, *rdma, *stock, *other}
    cached = place.cache / "initramfs" / f"{kernel.release}-{key_of(files)}.cpio"
    if cached.exists():
        return cached.read_bytes()

    # A guest of another architecture has a root with programs for it.
    busybox = next((path for path in (kernel.arch.root / "usr/bin/busybox",
                                      kernel.arch.root / "bin/busybox") if path.exists()), None)
    if busybox is None:
        raise VmError("cannot find busybox: do 'apt-get install busybox-static'")
    cpio = Cpio()
    for name in ["proc", "sys", "lower", "disk", "base", "upper", "new"]:
        cpio.directory(name)
    cpio.node("dev/console", 5, 1)
    cpio.node("dev/kmsg", 1, 11)
    cpio.file("bin/busybox", busybox.read_bytes(), 0o755)
    for applet in ("sh mount umount mkdir insmod cp ln grep switch_root poweroff sync sleep "
                   "cat").split():
        cpio.symlink(f"bin/{applet}", "busybox")
    cpio.file("init", (place.scripts / "vm-init").read_bytes(), 0o755)
    for phase, paths in (("boot", boot), ("rdma", rdma), ("disk", other)):
        cpio.directory(f"modules/{phase}")
        for number, path in enumerate(paths):
            cpio.file(f"modules/{phase}/{number:02}-{path.name.split('.ko')[0]}.ko",
                      module_data(path, kernel.arch))
    cpio.directory("modules/verbs")
    for path in stock:
        cpio.file("modules/verbs/mlx5_ib.ko", module_data(path, kernel.arch))
    data = cpio.bytes()
    keep(cached, data)
    return data


def job_settings(args, place, kernel, root, host):
    """What the guest's init and its programs have to know of this run: variables of a shell."""
    columns, rows = shutil.get_terminal_size()
    return {
        "BLUEBELL_DRIVER": args.driver, "BLUEBELL_LINK": args.link, "BLUEBELL_KERNEL": args.kernel,
        "BLUEBELL_REPO": place.base, "BLUEBELL_HOSTS": args.hosts,
        "BLUEBELL_CAPTURE": Path(args.capture).absolute() if args.capture else "",
        "job_modules": kernel.modules or "", "job_disk": 1 if root.image else "",
        "job_root": "" if root.folder == Path("/") else root.folder, "job_cwd": root.cwd,
        "job_host": host, "job_hosts": args.hosts, "job_shell": "" if args.command else 1,
        "job_rows": rows, "job_columns": columns, "job_term": os.environ.get("TERM", "linux"),
    }


def job_initramfs(args, place, kernel, root, host):
    """The part of the initramfs for this run: the settings, the command, our driver."""
    settings = job_settings(args, place, kernel, root, host)
    cpio = Cpio()
    cpio.file("job/config", "".join(f"{key}={shlex.quote(str(value))}\n"
                                    for key, value in settings.items()).encode())
    cpio.file("job/mounts", root.mounts().encode())
    cpio.file("job/command", ("exec " + shlex.join(args.command) + "\n").encode())
    cpio.file("job/bin/driver", (place.scripts / "vm-driver").read_bytes(), 0o755)
    cpio.file("job/bin/on", (place.scripts / "vm-on").read_bytes(), 0o755)
    cpio.file("job/agent", (place.scripts / "vm-agent").read_bytes(), 0o755)
    if kernel.driver:
        for path in (kernel.driver.parent / "tools/testing/modules").glob("*/*.ko"):
            cpio.file(f"modules/test/{path.name}", module_data(path, kernel.arch))
    if kernel.driver and kernel.driver.exists():
        cpio.file("modules/verbs/bluebell.ko", module_data(kernel.driver, kernel.arch))
    elif args.driver == "bluebell":
        raise VmError(kernel.no_driver)
    return cpio.bytes()
