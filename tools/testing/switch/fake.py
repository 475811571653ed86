# SPDX-License-Identifier: GPL-2.0
"""A tree that looks like a host with mlx5 devices, and a kernel that binds and unbinds drivers."""

import errno
import os
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "switch"))

# pylint: disable=wrong-import-position
from host import Host  # noqa: E402

RELEASE = "6.12.118+deb13-amd64"
ACTIVE, DOWN, INIT = "4: ACTIVE", "1: DOWN", "2: INIT"
NOT_FOUND = f"modprobe: FATAL: Module %s not found in directory /lib/modules/{RELEASE}\n"


class FakeHost(Host):
    """A host in a folder. Tests set the attributes below, and then call the program."""

    def __init__(self, root):
        super().__init__(root)
        for folder in (self.modprobe_d, self.lock_file.parent, self.sys / "class", self.proc,
                       self.sys / "bus/auxiliary/devices", self.sys / "bus/auxiliary/drivers",
                       self.sys / "bus/pci/drivers/mlx5_core"):
            folder.mkdir(parents=True)
        self.root_user = True
        self.clock = 0.0
        self.built = {"mlx5_ib", "bluebell"}    # modules for this kernel
        self.load_error = {}                    # {module: what modprobe says}
        self.errors = {}                        # {(driver, "bind" or "unbind"): errno, or None}
        self.dead = set()       # drivers that bind, and bring no RDMA device up
        self.port_after = {}    # {driver: the state of ports that it brings up}
        self.names_after = {}   # {driver: name of the RDMA device}
        self.udev_name = None   # what udev renames a device to, a second after it has come up
        self.rdma = {"ctx": [], "qp": [], "cm_id": []}      # what `rdma resource` lists
        self.initramfs_error = None     # what update-initramfs says
        self.dkms = None        # what dkms status prints; None: not installed
        self.advice = ""        # what the program advice of bluebell-dkms prints
        self.kernel_says = []   # the kernel's log
        self.steps = []         # what has been done
        self.logged = []
        self.renames = []

    # ---- the tree ------------------------------------------------------------------------------

    def put(self, path, text):
        """Make a file."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, path, target):
        """Make a symbolic link to another place in the tree."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.root / target)

    def function(self, address="0000:03:00.0", number=0, link_layer="InfiniBand", state=ACTIVE,
                 ports=1):
        """Add a function without a driver. Returns its folder."""
        folder = self.sys / "devices/pci0000:00" / address
        (folder / f"mlx5_core.rdma.{number}").mkdir(parents=True)
        self.link(f"sys/bus/pci/drivers/mlx5_core/{address}", folder)
        self.link(f"sys/bus/auxiliary/devices/mlx5_core.rdma.{number}",
                  folder / f"mlx5_core.rdma.{number}")
        self.put(folder / "test/name", f"mlx5_{number}")
        self.put(folder / "test/link_layer", link_layer)
        self.put(folder / "test/state", state)
        self.put(folder / "test/ports", str(ports))
        if link_layer == "Ethernet":
            (folder / f"mlx5_core.eth.{number}").mkdir()
            self.link(f"sys/bus/auxiliary/devices/mlx5_core.eth.{number}",
                      folder / f"mlx5_core.eth.{number}")
        return folder

    def load(self, *drivers):
        """Load modules."""
        for driver in drivers:
            for name in ("bind", "unbind"):
                self.put(f"sys/bus/auxiliary/drivers/{driver}.rdma/{name}", "")

    def driven(self, driver, *addresses):
        """Give functions to a driver, without looking at the errors that a test has set."""
        self.load(driver)
        for number, address in enumerate(addresses or ["0000:03:00.0"]):
            self.take(self.function(address, number), driver, ACTIVE)

    def folder_of(self, auxiliary):
        """The folder of the function of an auxiliary device."""
        return (self.sys / "bus/auxiliary/devices" / auxiliary).resolve().parent

    def interface(self, name, folder, up, index="7"):
        """Add an IPoIB interface to a function."""
        self.put(folder / "net" / name / "type", "32")
        self.put(folder / "net" / name / "flags", "0x1003" if up else "0x1002")
        self.put(folder / "net" / name / "ifindex", index)
        self.put(folder / "net" / name / "iflink", index)
        self.link(folder / "net" / name / "device", folder)
        self.link(f"sys/class/net/{name}", folder / "net" / name)

    def process(self, pid, comm, *opened):
        """Add a process with open files."""
        self.put(f"proc/{pid}/comm", comm + "\n")
        self.put(f"proc/{pid}/cmdline", f"{comm}\0-d\0mlx5_0\0")
        (self.proc / str(pid) / "fd").mkdir()
        for number, path in enumerate(opened):
            (self.proc / str(pid) / "fd" / str(number)).symlink_to(path)

    def block(self, name, number, below, partitions=(), holders=()):
        """Add a disk below a folder, or one that is virtual."""
        folder = self.root / below / name
        self.put(folder / "dev", number)
        (folder / "holders").mkdir()
        for holder in holders:
            (folder / "holders" / holder).mkdir()
        self.link(f"sys/class/block/{name}", folder)
        for part, part_number in partitions:
            self.put(folder / part / "partition", "1")
            self.put(folder / part / "dev", part_number)
            (folder / part / "holders").mkdir()
            self.link(f"sys/class/block/{part}", folder / part)

    # ---- the kernel ----------------------------------------------------------------------------

    def take(self, folder, driver, state=None):
        """A driver brings the device of a function up."""
        auxiliary = next(folder.glob("mlx5_core.rdma.*"))
        self.link(auxiliary / "driver", f"sys/bus/auxiliary/drivers/{driver}.rdma")
        if driver in self.dead:
            return
        name = self.names_after.get(driver, self.read(folder / "test/name"))
        place = folder / "infiniband" / name
        for port in range(1, int(self.read(folder / "test/ports")) + 1):
            value = self.port_after.get(driver, state or self.read(folder / "test/state"))
            if value:
                self.put(place / f"ports/{port}/state", value + "\n")
            self.put(place / f"ports/{port}/phys_state", "5: LinkUp\n")
            self.put(place / f"ports/{port}/link_layer", self.read(folder / "test/link_layer"))
        self.link(place / "device", folder)
        self.link(f"sys/class/infiniband/{name}", place)
        number = name.rsplit("_", 1)[-1]
        self.put(f"sys/class/infiniband_verbs/uverbs{number}/ibdev", name)
        self.put(f"sys/class/infiniband_verbs/uverbs{number}/dev", f"231:{192 + int(number)}")
        if self.udev_name:
            self.renames.append((self.clock + 1, name, self.udev_name))

    def release_driver(self, folder):
        """A driver takes the device of a function down."""
        (next(folder.glob("mlx5_core.rdma.*")) / "driver").unlink()
        for place in (folder / "infiniband").glob("*"):
            for link in (self.sys / "class/infiniband").glob("*"):
                if link.resolve() != place:
                    continue
                link.unlink()
                for verbs in (self.sys / "class/infiniband_verbs").glob("*"):
                    if self.read(verbs / "ibdev") == link.name:
                        shutil.rmtree(verbs)
            shutil.rmtree(place)

    def write(self, path, text):
        """What the kernel does when a driver is bound or unbound."""
        driver, name = path.parent.name.rsplit(".", 1)[0], path.name
        if not path.exists():
            return errno.ENOENT
        folder = self.folder_of(text)
        self.steps.append(f"{name} {folder.name} {driver}")
        error = self.errors.get((driver, name), 0)
        if error == 0 and name == "bind":
            self.take(folder, driver)
        elif error == 0:
            self.release_driver(folder)
        return error

    def modprobe(self, module):
        """What modprobe does. A module that is loaded takes the functions without a driver."""
        if module not in self.built:
            return 1, "", NOT_FOUND % module
        if module in self.load_error:
            return 1, "", f"modprobe: ERROR: could not insert '{module}': " \
                f"{self.load_error[module]}\n"
        self.steps.append(f"modprobe {module}")
        self.load(module)
        for auxiliary in sorted((self.sys / "bus/auxiliary/devices").glob("mlx5_core.rdma.*")):
            folder = self.folder_of(auxiliary.name)
            if not (auxiliary / "driver").exists() and not self.errors.get((module, "bind")):
                self.take(folder, module)
        return 0, "", ""

    def command(self, *words, seconds=None):
        """The commands that the program calls."""
        if words[0] in ("update-initramfs", "dracut"):
            self.steps.append(" ".join(words))
            return (1, "", f"out of space\n{self.initramfs_error}\n") if self.initramfs_error \
                else (0, "", "")
        if words[0] == "modprobe":
            return self.modprobe(words[1])
        if words[:2] == ("modinfo", "-n"):
            if words[2] in self.built:
                return 0, f"/lib/modules/{RELEASE}/updates/dkms/{words[2]}.ko.xz\n", ""
            return 1, "", f"modinfo: ERROR: Module {words[2]} not found.\n"
        if words[0] == "dkms":
            return (127, "", "not installed") if self.dkms is None else (0, self.dkms, "")
        if words == ("/usr/share/bluebell-dkms/advice",):
            return 0, self.advice, ""
        raise AssertionError(f"unexpected command {words}")

    def json_command(self, *words):
        """`rdma resource`, which is not there if a test has set rdma to None."""
        assert words[:4] == ("rdma", "-j", "resource", "show"), words
        return self.rdma[words[4]] if self.rdma else None

    def character_device(self, path):
        """A link to /dev/infiniband/NAME stands for the device that sysfs has."""
        name = os.path.basename(os.readlink(path))
        for folder in (self.sys / "class").glob("infiniband_*"):
            text = self.read(folder / name / "dev")
            if text:
                return tuple(int(number) for number in text.split(":"))
        return None

    def now(self):
        """The clock that sleep() moves."""
        return self.clock

    def sleep(self, seconds):
        """Let time go by, and udev rename devices."""
        self.clock += seconds
        for when, old, new in list(self.renames):
            if self.clock >= when:
                self.renames.remove((when, old, new))
                (self.sys / "class/infiniband" / old).rename(self.sys / "class/infiniband" / new)
                for path in (self.sys / "class/infiniband_verbs").glob("*/ibdev"):
                    path.write_text(path.read_text().replace(old, new))

    def is_root(self):
        """As the test has set it."""
        return self.root_user

    @staticmethod
    def release():
        """The release of the fake kernel."""
        return RELEASE

    def log(self, text):
        """Keep what would be in the system's log."""
        self.logged.append(text)

    def kernel_log(self):
        """What the test has set."""
        return lambda: list(self.kernel_says)

    # ---- what tests look at --------------------------------------------------------------------

    def drivers(self):
        """{address: driver}."""
        return {self.folder_of(path.name).name:
                (path / "driver").resolve().name.rsplit(".", 1)[0]
                if (path / "driver").exists() else None
                for path in (self.sys / "bus/auxiliary/devices").glob("mlx5_core.rdma.*")}

    def snapshot(self):
        """All files of the tree but the lock, to see whether anything has changed."""
        return {str(path): os.readlink(path) if path.is_symlink()
                else path.read_bytes() if path.is_file() else None
                for path in sorted(self.root.rglob("*")) if path != self.lock_file}
