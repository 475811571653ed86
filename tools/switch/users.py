# SPDX-License-Identifier: GPL-2.0
"""Who uses an RDMA device: processes, network interfaces, storage and others in the kernel.

Processes are found by their open files, and by the objects that the rdma tool lists. Consumers in
the kernel are found by their queue pairs and by the IDs of their connections, which the rdma tool
lists with the module's name, and by what sysfs and /proc show of them.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass

import storage
from functions import BLUEBELL, STOCK, resolved

IPOIB = "32"        # ARPHRD_INFINIBAND, the type of a network interface
UP = 1              # IFF_UP
LINE = 100          # characters of a command line

# Modules whose queue pairs are there on every device, or are counted in another way: IPoIB has
# queue pairs also while its interface is down.
IPOIB_MODULE, NVME, NFS = "ib_ipoib", "nvme_rdma", "rpcrdma"
OWN = {"ib_core", IPOIB_MODULE, "mlx5_core", BLUEBELL, STOCK}


@dataclass
class User:
    """A user of a device."""

    kind: str           # process, interface, nvme, scsi, mount, swap, kernel or hidden
    text: str           # for people
    pid: int = None
    comm: str = None

    def __str__(self):
        return self.text if self.kind == "hidden" else f"{self.kind} {self.text}"


class Resources:
    """The objects that the rdma tool lists. The attribute known is false if it cannot list them."""

    def __init__(self, host):
        lists = {kind: host.json_command("rdma", "-j", "resource", "show", kind)
                 for kind in ("ctx", "qp", "cm_id")}
        # Kernels before 5.16 and old tools do not know contexts, whose processes have open files.
        self.known = lists["qp"] is not None and lists["cm_id"] is not None
        self.rows = {kind: [row for row in rows or [] if isinstance(row, dict)]
                     for kind, rows in lists.items()}

    def of(self, kind, function):
        """The objects of a kind on a function."""
        return [row for row in self.rows[kind] if row.get("ifname") in function.rdma]

    def peers(self, module, function):
        """The addresses to which a module of the kernel is connected, as (address, port)."""
        return {peer(row) for row in self.of("cm_id", function)
                if not row.get("pid") and owner(row) == module}


def owner(row):
    """The name of the process or of the module that owns an object."""
    return str(row.get("comm", "?")).strip("[]")


def peer(row):
    """(address, port) of the other end of a connection."""
    text, port = str(row.get("dst-addr", "")), row.get("dst-port")
    if port is None:
        text, _, port = text.rpartition(":")
    return text.strip("[]"), str(port)


# ---- processes -----------------------------------------------------------------------------------

def character_devices(host, function):
    """{(major, minor): name} of the files in /dev/infiniband that belong to a function."""
    found = {}
    for kind in ("infiniband_verbs", "infiniband_mad"):
        folder = host.sys / "class" / kind
        for name in host.names(folder):
            numbers = (host.read(folder / name / "dev") or "").split(":")
            if host.read(folder / name / "ibdev") in function.rdma and len(numbers) == 2:
                found[int(numbers[0]), int(numbers[1])] = name
    return found


def open_files(host, devices):
    """{pid: names of the devices that the process has open}."""
    found = {}
    for pid in host.names(host.proc):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        folder = host.proc / pid / "fd"
        names = {devices.get(host.character_device(folder / number))
                 for number in host.names(folder)} - {None}
        if names:
            found[int(pid)] = names
    return found


def processes(host, function, resources):
    """The processes that use a function."""
    held = open_files(host, character_devices(host, function))
    for kind in ("ctx", "qp", "cm_id"):
        for row in resources.of(kind, function):
            if row.get("pid"):
                held.setdefault(row["pid"], set()).add({"ctx": "context"}.get(kind, kind))
    for pid, names in sorted(held.items()):
        comm = printable(host.read(host.proc / str(pid) / "comm") or "?")
        line = printable((host.read(host.proc / str(pid) / "cmdline") or "").replace("\0", " "))
        yield User("process", f"{pid} ({comm}; {', '.join(sorted(names))}): {line or comm}", pid,
                   comm)


def printable(text):
    """The begin of a text that a process has chosen, without what changes a terminal."""
    text = "".join(char if char.isprintable() else "?" for char in text.strip())
    return text if len(text) <= LINE else text[:LINE] + "..."


# ---- the kernel's users --------------------------------------------------------------------------

def interfaces(host, function):
    """The IPoIB interfaces of a function that are up: their addresses are lost with the device."""
    for name in function.netdevs:
        folder = host.sys / "class/net" / name
        if host.read(folder / "type") == IPOIB and int(host.read(folder / "flags") or "0", 0) & UP:
            yield User("interface", f"{name} (up)")


def nvme(host, function, resources):
    """The NVMe controllers that a function reaches, and what is mounted from them."""
    peers = resources.peers(NVME, function)
    folder = host.sys / "class/nvme"
    for name in host.names(folder):
        if host.read(folder / name / "transport") != "rdma":
            continue
        address = dict(part.strip().partition("=")[::2]
                       for part in (host.read(folder / name / "address") or "").split(","))
        # Without the tool it is not known which function reaches which controller.
        if resources.known and (address.get("traddr"), address.get("trsvcid")) not in peers:
            continue
        subsystem = host.read(folder / name / "subsysnqn")
        yield User("nvme", f"controller {name} ({address.get('traddr')}, {subsystem})")
        yield from lost(host, storage.nvme_disks(host, name))


def scsi(host, function):
    """The SCSI hosts of a function (SRP, iSER), and what is mounted from them."""
    folder = host.sys / "class/scsi_host"
    for name in host.names(folder):
        place = resolved(folder / name)
        if not place or function.folder not in place.parents:
            continue
        yield User("scsi", f"{name} ({host.read(folder / name / 'proc_name')})")
        # The class device is HOST/scsi_host/HOST; the disks are below HOST.
        yield from lost(host, storage.disks_below(host, place.parents[1]))


def lost(host, disks):
    """The mounts and swap devices that are lost with disks."""
    for kind, text in storage.uses_of(host, disks):
        yield User(kind, text)


def nfs(host, function, resources):
    """The mounts of NFS over RDMA that go through a function."""
    peers = {address for address, _ in resources.peers(NFS, function)}
    for mount in storage.mounts(host):
        # The option is rdma for IPv4 and rdma6 for IPv6.
        if mount.kind in ("nfs", "nfs4") and re.match("rdma", mount.options.get("proto", "")) \
                and (not resources.known or mount.options.get("addr") in peers):
            yield User("mount", f"{mount.point} on {mount.source} (NFS)")


def kernel(function, resources):
    """The modules of the kernel that have queue pairs on a function. A queue pair of a connection
    belongs, for the tool, to rdma_cm, and the ID of the connection to the module."""
    owners = {row["lqpn"]: owner(row) for row in resources.of("cm_id", function)
              if not row.get("pid") and row.get("lqpn")}
    count = Counter(owners.get(row.get("lqpn"), owner(row))
                    for row in resources.of("qp", function) if not row.get("pid"))
    for name, number in sorted(count.items()):
        if name not in OWN:
            yield User("kernel", f"{name} ({number} queue pairs)", comm=name)


def hidden(function, resources):
    """What may use a function without being seen."""
    if function.driver in (BLUEBELL, STOCK) and not function.rdma:
        yield User("hidden", "what has its RDMA device, which is not visible here (another network "
                   "namespace?)")
    # Each interface has one queue pair for datagrams, also while it is down.
    datagrams = [row for row in resources.of("qp", function)
                 if owner(row) == IPOIB_MODULE and row.get("type") == "UD"]
    if len(datagrams) > len(function.netdevs):
        yield User("hidden", "an IPoIB interface that is not visible here (another network "
                   "namespace?)")
    if function.driver and not resources.known:
        yield User("hidden", "the kernel, perhaps: 'rdma resource show' fails (install iproute2)")


def find(host, function, resources=None):
    """All users of a function."""
    resources = resources or Resources(host)
    return [*processes(host, function, resources), *interfaces(host, function),
            *nvme(host, function, resources), *scsi(host, function),
            *nfs(host, function, resources), *kernel(function, resources),
            *hidden(function, resources)]


def to_json(user):
    """A user as JSON has it."""
    return {key: value for key, value in vars(user).items() if value is not None}
