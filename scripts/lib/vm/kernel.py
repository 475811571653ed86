# SPDX-License-Identifier: GPL-2.0
"""The kernel that a guest boots, and its modules."""

import lzma
import re
import struct
import subprocess
import zlib
from pathlib import Path

from vm import VmError
from vm.arch import AMD64

# The modules of each phase, without their dependencies. A module that is built into the kernel is
# skipped, and so is one in OPTIONAL that the kernel does not have.
BOOT_MODULES = ["virtio_pci", "virtio_console", "virtiofs", "overlay", "virtio_net"]
RDMA_MODULES = ["ib_uverbs", "ib_umad", "rdma_ucm", "mlx5_core"]
# For a root that is a disk image, and for one whose file system is another
DISK_MODULES = ["virtio_blk", "ext4"]
OTHER_DISK_MODULES = ["xfs", "btrfs", "f2fs", "erofs", "squashfs"]
OPTIONAL = {"ib_umad", "rdma_ucm", "virtio_net", *DISK_MODULES, *OTHER_DISK_MODULES}

# What a guest cannot do without, and why; for kernels whose configuration is at hand. Where it is
# not, vm-init finds out what is missing, or nothing at all appears on the serial port.
CONFIG = {
    "64BIT": "the programs of the root", "PCI": "the HCA", "PCI_MSI": "the HCA",
    "ACPI": "PCI, and the end of the guest", "BLK_DEV_INITRD": "init", "BINFMT_ELF": "programs",
    "BINFMT_SCRIPT": "scripts", "DEVTMPFS": "/dev", "TMPFS": "/tmp and /run", "PROC_FS": "/proc",
    "SYSFS": "/sys", "SHMEM": "/dev/shm", "UNIX": "sockets", "INET": "sockets",
    "SERIAL_8250_CONSOLE": "the kernel's log", "VIRTIO_PCI": "ports and file systems",
    "VIRTIO_CONSOLE": "the command's output", "OVERLAY_FS": "a root that can be written to",
    "INFINIBAND": "RDMA", "INFINIBAND_USER_ACCESS": "verbs of programs", "MLX5_CORE": "the HCA",
}
CONFIG_TREE = {"FUSE_FS": "the root", "VIRTIO_FS": "the root"}
CONFIG_DISK = {"VIRTIO_BLK": "the root"}
CONFIG_HOSTS = {"VIRTIO_NET": "the network between guests (--hosts)"}
CONFIG_ETH = {"MLX5_CORE_EN": "a link layer of Ethernet (--link eth)"}
CONFIG_STOCK = {"MLX5_INFINIBAND": "the driver mlx5_ib"}


class Kernel:
    """A kernel image and its modules."""

    def __init__(self, name, release, image, modules, driver, no_driver="", arch=AMD64):
        self.name = name            # as given to --kernel
        self.release = release
        self.image = image
        self.modules = modules      # .../lib/modules/RELEASE; None if all is built in
        self.driver = driver        # our module for it, or None
        self.no_driver = no_driver  # what to say if our module is not there
        self.arch = arch

    @property
    def debug(self):
        """Whether this is the debug kernel, which needs more memory and more time."""
        return self.name == "debug"


def kernel_to_add(name):
    """The option of scripts/lab that adds the kernel that --kernel names to the lab."""
    series = re.match(r"\d+\.\d+", name)
    return ["--kernel", series[0]] if series else []


def our_module(repo, directory, option):
    """Where the build has our module for a kernel, and what to do if it is not there."""
    driver = repo / "build/module" / directory / "bluebell.ko"
    return {"driver": driver, "no_driver": f"cannot find {driver}: do 'make module{option}'"}


def find_debug_kernel(repo):
    """The kernel that scripts/debug-kernel has built."""
    try:
        path = subprocess.run([repo / "scripts/debug-kernel", "--path"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        raise VmError("there is no debug kernel yet: do 'make debug-kernel'") from None
    root = Path(path)
    release = (root / "release").read_text().strip()
    return Kernel("debug", release, root / "bzImage", root / "lib/modules" / release,
                  **our_module(repo, "debug", " KERNEL=debug"))


def installed_release(scripts, name, installed):
    """The release of the newest kernel in a folder such as /lib/modules that --kernel NAME means;
    nothing if there is none."""
    return subprocess.run([scripts / "lib/kernel-release", name, "image", installed], check=False,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def image_of(modules, root=AMD64.root):
    """The image of a kernel that is installed in a file system, from the folder of its modules."""
    image = modules / "vmlinuz"
    return image if image.exists() else root / f"boot/vmlinuz-{modules.name}"


def find_kernel(name, repo, installed=None, arch=AMD64):
    """The kernel that --kernel of scripts/vm names: stock, debug, or one of those in the folder
    installed, which scripts/lib/kernel-release finds by its version. The folder is by default that
    of the guest's root file system."""
    if name == "debug":
        return find_debug_kernel(repo)
    installed = installed or arch.root / "lib/modules"
    found = installed_release(repo / "scripts", name, installed)
    if not found:
        names = ", ".join(sorted(path.name for path in installed.glob("*"))) or "none"
        raise VmError(f"cannot find a kernel {name} among {names}")
    modules = installed / found
    directory, option = modules.name, "" if name == "stock" else f" KERNEL={name}"
    if name.startswith("stock"):
        directory = name
    if arch is not AMD64:
        directory = directory.replace("stock", f"stock-{arch.name}")
        option = f" ARCH={arch.name}{option}"
    return Kernel(name, modules.name, image_of(modules, arch.root), modules, arch=arch,
                  **our_module(repo, directory, option))


# --- Kernels of the user's own --------------------------------------------------------------------


def release_of(image):
    """The release of a kernel, as uname -r prints it, from its image. The header is described in
    the kernel's Documentation/arch/x86/boot.rst."""
    try:
        data = image.read_bytes()
    except OSError as err:
        raise VmError(f"cannot read the kernel {image}: {err.strerror}") from None
    if data[0x202:0x206] != b"HdrS":
        raise VmError(f"{image} is no kernel image for x86: --kernel takes a bzImage, such as "
                      "arch/x86/boot/bzImage of a build tree or /boot/vmlinuz-RELEASE")
    begin = struct.unpack_from("<H", data, 0x20e)[0] + 0x200
    return data[begin:data.index(b"\0", begin)].decode(errors="replace").split()[0]


def build_tree(image):
    """The build tree in which an image is, or None."""
    tree = image.resolve().parent
    if tree.parts[-3:] == ("arch", "x86", "boot") or tree.parts[-3:] == ("arch", "x86_64", "boot"):
        return tree.parents[2]
    return None


def own_modules(image, release, given):
    """The folder with the modules of an image: in the folder given, or, if none is given, where a
    build tree or a distribution has them. None if there is none."""
    if given:
        places = [given / "lib/modules" / release, given / "usr/lib/modules" / release,
                  given / release]
    else:
        places = [image.parent if image.parent.name == release else Path("/none"),
                  Path("/lib/modules") / release if image.parent == Path("/boot")
                  else Path("/none")]
    lists = ("modules.dep", "modules.order", "kernel")
    for place in places:
        if any((place / name).exists() for name in lists):
            return place
    tree = given or build_tree(image)
    if tree and any((tree / name).exists() for name in lists[:2]):
        return tree
    if given:
        found = {path.parent.name for path in given.glob("**/modules.dep")}
        raise VmError(f"{given} has no modules of kernel {release}, which {image} is"
                      + (f", but those of {', '.join(sorted(found))}" if found else "")
                      + ": --modules takes the folder that 'make modules_install "
                      "INSTALL_MOD_PATH=FOLDER' has filled, or a build tree")
    return None


def own_kernel(image, modules):
    """The kernel of an image, or of a build tree, with its modules if it has any."""
    image, modules = Path(image).absolute(), modules and Path(modules).resolve()
    if image.is_dir():
        image = image / "arch/x86/boot/bzImage"
        if not image.exists():
            raise VmError(f"cannot find {image}: build it by 'make bzImage modules'")
    release = release_of(image)
    return Kernel(str(image), release, image, own_modules(image, release, modules), None)


def configuration(kernel):
    """The options that a kernel is configured with, {name: y or m}, or None if no file has them."""
    tree = build_tree(kernel.image)
    places = [tree / ".config" if tree else None,
              kernel.modules and kernel.modules / "config",
              kernel.modules and kernel.modules / "build/.config",
              kernel.image.with_name(f"config-{kernel.release}"),
              kernel.image.with_name("config")]
    for path in filter(None, places):
        try:
            return dict(re.findall(r"^CONFIG_(\w+)=([ym])$", path.read_text(), re.M))
        except OSError:
            continue
    return None


def check_configuration(kernel, needed):
    """Raise VmError if the kernel's configuration, where it is at hand, lacks what is needed."""
    options = configuration(kernel)
    if options is None:
        return
    missing = [f"CONFIG_{name} ({why})" for name, why in needed.items() if name not in options]
    if missing:
        raise VmError(f"kernel {kernel.release} cannot be a guest's: its configuration lacks "
                      + ", ".join(missing))
    modules = [name for name in needed if options[name] == "m"]
    if modules and not kernel.modules:
        raise VmError(f"kernel {kernel.release} has CONFIG_{'=m, CONFIG_'.join(modules)}=m, and "
                      "there are no modules: add --modules FOLDER, which 'make modules_install "
                      "INSTALL_MOD_PATH=FOLDER' fills")


# --- Modules --------------------------------------------------------------------------------------


def module_name(path):
    """The name of a module, from that of its file."""
    return Path(path).name.split(".ko")[0].replace("-", "_")


def decompressed(data):
    """The data, decompressed if it is compressed."""
    if data.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dc"], input=data, check=True,
                              stdout=subprocess.PIPE).stdout
    return data


def module_info(path):
    """What a module says of itself: {key: value}."""
    info = re.findall(rb"\0(depends|vermagic)=([^\0]*)", decompressed(path.read_bytes()))
    return {key.decode(): value.decode() for key, value in info}


class Modules:
    """The files of a kernel's modules, in a folder that depmod knows, or in one that it does not
    know, such as a build tree."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.folder = kernel.modules
        self.depends = {}       # name: (file, files of the modules that it needs)
        self.listed = (self.folder / "modules.dep").exists()
        if self.listed:
            for line in (self.folder / "modules.dep").read_text().splitlines():
                path, _, rest = line.partition(":")
                self.depends[module_name(path)] = (path, rest.split())
        else:
            self.depends = {module_name(path): (path, None) for path in self.found()}
        self.builtin = None     # None if that is not known
        if (self.folder / "modules.builtin").exists():
            text = (self.folder / "modules.builtin").read_text()
            self.builtin = {module_name(path) for path in text.split()}

    def found(self):
        """The files of modules, in a build tree or elsewhere."""
        order = self.folder / "modules.order"
        if order.exists() and not (self.folder / "kernel/drivers").exists():
            return [re.sub(r"\.o$", ".ko", line) for line in order.read_text().split()]
        return [path.relative_to(self.folder) for path in self.folder.rglob("*.ko*")]

    def needed(self, name):
        """A module's file and those of the modules that it needs, in the order of loading."""
        if name not in self.depends:
            raise VmError(f"{self.folder} has no module {name}, which another module needs")
        path, needed = self.depends[name]
        if needed is not None:
            return [*reversed(needed), path]
        info = module_info(self.folder / path)
        release = info.get("vermagic", "").split(" ")[0]
        if release != self.kernel.release:
            raise VmError(f"the modules in {self.folder} are of kernel {release or 'unknown'}, "
                          f"the image is {self.kernel.release}: build both")
        files = []
        for other in filter(None, info.get("depends", "").split(",")):
            files += self.needed(other.replace("-", "_"))
        return [*files, path]

    def files(self, names, optional):
        """The files of these modules and of their dependencies, in the order in which they have to
        be loaded."""
        files = []
        for name in names:
            if self.builtin and name in self.builtin:
                continue
            if name not in self.depends:
                if name in OPTIONAL | optional or self.builtin is None:
                    continue
                raise VmError(f"kernel {self.kernel.release} has no module {name}")
            for item in self.needed(name):
                if item not in files:
                    files.append(item)
        return [self.folder / item for item in files]


def module_files(kernel, names, optional=frozenset()):
    """The files of these modules of a kernel and of their dependencies, in the order in which they
    have to be loaded. Without a folder of modules, all is built in, or the guest says what is
    missing."""
    return Modules(kernel).files(names, optional) if kernel.modules else []
