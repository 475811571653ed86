# SPDX-License-Identifier: GPL-2.0
"""Functions of mlx5_core: which verbs driver has each of them, its RDMA device and its ports.

For each PCI function that can do RDMA, mlx5_core makes an auxiliary device mlx5_core.rdma.N, to
which one of the verbs drivers binds.
"""

import re
from dataclasses import dataclass, field

BLUEBELL, STOCK = "bluebell", "mlx5_ib"
OTHER = {BLUEBELL: STOCK, STOCK: BLUEBELL}

AUXILIARY = "bus/auxiliary"
PCI_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)


@dataclass
class Port:
    """A port of an RDMA device, as sysfs shows it. The state is None if the port does not answer.
    """

    number: int
    state: str = None       # ACTIVE
    rank: int = 0           # the number of the state, which is higher the more the port can do
    physical: str = None    # LinkUp
    link_layer: str = None  # InfiniBand or Ethernet


@dataclass
class Function:
    """A PCI function that mlx5_core drives."""

    address: str                # 0000:03:00.0
    folder: object              # its folder in sysfs
    auxiliary: str = None       # mlx5_core.rdma.0; None if it can do no RDMA
    driver: str = None          # bluebell, mlx5_ib, another driver's name, or None
    rdma: list = field(default_factory=list)        # names of RDMA devices: one, or none
    uverbs: list = field(default_factory=list)      # uverbs0
    netdevs: list = field(default_factory=list)     # ib0
    siblings: list = field(default_factory=list)    # its other auxiliary devices
    ports: list = field(default_factory=list)

    @property
    def link_layer(self):
        """InfiniBand or Ethernet; None if nothing in sysfs tells."""
        for port in self.ports:
            if port.link_layer:
                return port.link_layer
        if any(name.startswith("mlx5_core.eth.") for name in self.siblings):
            return "Ethernet"
        return None

    def obstacle(self):
        """Why Bluebell cannot drive the function; None if nothing in sysfs speaks against it. What
        only firmware knows, Bluebell itself finds out when it is bound."""
        if not self.auxiliary:
            return ("mlx5_core offers no RDMA on it (it is part of a bond, or devlink's "
                    "enable_rdma is off)")
        if len(self.ports) > 1:
            return "it has more than one port, which Bluebell cannot drive yet"
        if any(name.startswith("mlx5_core.rdma-rep.") for name in self.siblings):
            return "it has representors, which Bluebell cannot drive yet"
        return None


def resolved(path):
    """The path without symbolic links; None if it does not exist."""
    try:
        return path.resolve(strict=True)
    except OSError:
        return None


def read_port(host, folder, number):
    """A port of an RDMA device."""
    number_of_state, _, state = (host.read(folder / "state") or "").partition(":")
    physical = (host.read(folder / "phys_state") or "").partition(":")[2].strip()
    port = Port(number, physical=physical or None, link_layer=host.read(folder / "link_layer"))
    if number_of_state.isdigit():
        port.rank, port.state = int(number_of_state), state.strip()
    return port


def driver_of(folder):
    """The verbs driver that an auxiliary device is bound to: the driver bluebell.rdma is bluebell.
    """
    driver = resolved(folder / "driver")
    return driver.name.rsplit(".", 1)[0] if driver else None


def read_rdma(host, function):
    """Fill in the RDMA device of a function."""
    folder = host.sys / "class/infiniband"
    function.rdma = [name for name in host.names(folder)
                     if resolved(folder / name / "device") == function.folder]
    function.ports = [read_port(host, folder / name / "ports" / number, int(number))
                      for name in function.rdma
                      for number in sorted(host.names(folder / name / "ports"), key=int)]
    verbs = host.sys / "class/infiniband_verbs"
    function.uverbs = [name for name in host.names(verbs)
                       if host.read(verbs / name / "ibdev") in function.rdma]


def read_netdevs(host, function):
    """Fill in the network interfaces of a function, also those of IPoIB with a P_Key of their
    own, of which some are known only by the interface below."""
    folder = host.sys / "class/net"
    own = {name for name in host.names(folder)
           if resolved(folder / name / "device") == function.folder}
    indices = {host.read(folder / name / "ifindex") for name in own}
    function.netdevs = sorted(own | {name for name in host.names(folder)
                                     if host.read(folder / name / "type") == "32"
                                     and host.read(folder / name / "iflink") in indices})


def refresh(host, function):
    """Read again what changes when a driver is bound or unbound."""
    function.driver = driver_of(host.sys / AUXILIARY / "devices" / function.auxiliary) \
        if function.auxiliary else None
    read_rdma(host, function)
    read_netdevs(host, function)


def find(host):
    """All functions of mlx5_core, by address. A subfunction is found by its auxiliary device, and
    has the name of its own one, mlx5_core.sf.N, as its address."""
    devices = host.sys / AUXILIARY / "devices"
    folders = {name: resolved(devices / name) for name in host.names(devices)
               if name.startswith("mlx5_core.")}
    functions = {}
    for name, folder in folders.items():
        if folder and name.startswith("mlx5_core.rdma."):
            functions[folder.parent] = Function(folder.parent.name, folder.parent, name)
    pci = host.sys / "bus/pci/drivers/mlx5_core"
    for address in host.names(pci):
        folder = resolved(pci / address)
        if PCI_ADDRESS.fullmatch(address) and folder and folder not in functions:
            functions[folder] = Function(address, folder)
    for function in functions.values():
        function.siblings = [name for name, folder in folders.items()
                             if folder and folder.parent == function.folder
                             and name != function.auxiliary]
        refresh(host, function)
    return sorted(functions.values(), key=lambda function: function.address)


def by_name(functions, name):
    """The function that a user names by its PCI address, its RDMA device or its network interface;
    None if there is none."""
    match = PCI_ADDRESS.fullmatch(name)
    address = f"{match[1] or '0000'}:{match[2]}".lower() if match else name
    for function in functions:
        if address == function.address or name in function.rdma or name in function.netdevs:
            return function
    return None
