# SPDX-License-Identifier: GPL-2.0
"""The device: its files in sysfs, and what its firmware answers, asked by DEVX of libmlx5.

libmlx5 is called by ctypes: every host with verbs has the library, but few have pyverbs.
"""

import contextlib
import ctypes
import os
import re
import struct
from pathlib import Path

CLASS = Path("/sys/class/infiniband")

QUERY_HCA_CAP = 0x100
CAP_TYPES = 0x40        # the types of capabilities are less than this
CAP_BYTES = 4096        # of a page of capabilities
HEAD_BYTES = 16         # of an answer, before the page
CAP_MAX, CAP_CURRENT = 0, 1
MSI_X = 0x11            # the capability of a PCI function


class DeviceError(Exception):
    """Why the device cannot be asked. Its text says what can be done about it."""


def read(path):
    """The text of a file of sysfs, without white space around it; None if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def mlx5_devices():
    """The names of the devices that a driver for mlx5 has made."""
    names = []
    for path in sorted(CLASS.glob("*")):
        if (path / "device/driver").resolve().name == "mlx5_core":
            names.append(path.name)
    return names


def choose(wanted):
    """The device that --device names, else the only one."""
    names = mlx5_devices()
    if not names:
        raise DeviceError("there is no mlx5 device: is a verbs driver loaded (mlx5_ib, bluebell)?")
    if wanted and wanted not in names:
        raise DeviceError(f"there is no mlx5 device {wanted}; there are: {', '.join(names)}")
    if not wanted and len(names) > 1:
        raise DeviceError(f"which device? Add --device NAME. There are: {', '.join(names)}")
    return wanted or names[0]


class Device:
    """A device in sysfs."""

    def __init__(self, name):
        self.name = name
        self.path = CLASS / name
        self.pci = (self.path / "device").resolve()
        self.address = self.pci.name        # 0000:03:00.0

    def attribute(self, name):
        """The text of one of the device's own files."""
        return read(self.path / name)

    def netdevs(self):
        """The network interfaces of the function, of Ethernet and of IPoIB."""
        return sorted(path.name for path in (self.pci / "net").glob("*"))

    def driver(self):
        """The verbs driver that is bound."""
        for path in sorted(self.pci.glob("mlx5_core.rdma.*/driver/module")):
            return path.resolve().name
        return None

    def bars(self):
        """The sizes of the base address registers, 0 for a register that the function does not
        have."""
        sizes = []
        for line in (read(self.pci / "resource") or "").splitlines()[:6]:
            start, end, _ = (int(word, 16) for word in line.split())
            sizes.append(end - start + 1 if end else 0)
        return sizes

    def vectors(self):
        """The number of MSI-X vectors, from the capabilities in config space; None without them."""
        return msix_vectors((self.pci / "config").read_bytes())

    def port_table(self, port, table):
        """The entries of the GID or P_Key table of a port, in the order of their numbers."""
        files = sorted((self.path / "ports" / str(port) / table).glob("*"),
                       key=lambda path: int(path.name))
        return [read(path) for path in files]

    def ports(self):
        """The numbers of the ports."""
        return sorted(int(path.name) for path in (self.path / "ports").glob("*"))


def msix_vectors(config):
    """The size of the table of MSI-X in a config space. Only root can read the capabilities."""
    position = config[0x34] if len(config) > 0x40 else 0
    for _ in range(48):
        if position < 0x40 or position + 4 > len(config):
            return None
        kind, following, control = struct.unpack_from("<BBH", config, position)
        if kind == MSI_X:
            return (control & 0x7ff) + 1
        position = following & 0xfc
    return None


class ContextAttributes(ctypes.Structure):
    """struct mlx5dv_context_attr of infiniband/mlx5dv.h."""

    _fields_ = [("flags", ctypes.c_uint32), ("comp_mask", ctypes.c_uint64)]


DEVX = 1    # MLX5DV_CONTEXT_FLAGS_DEVX


class Firmware:
    """A context of DEVX, by which commands that only ask reach the firmware."""

    def __init__(self, name):
        try:
            self.verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
            self.mlx5 = ctypes.CDLL("libmlx5.so.1", use_errno=True)
        except OSError as err:
            raise DeviceError(f"{err}: install rdma-core's libraries") from None
        self.verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
        self.verbs.ibv_free_device_list.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.verbs.ibv_get_device_name.restype = ctypes.c_char_p
        self.verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
        self.verbs.ibv_close_device.argtypes = [ctypes.c_void_p]
        self.mlx5.mlx5dv_open_device.restype = ctypes.c_void_p
        self.mlx5.mlx5dv_open_device.argtypes = [ctypes.c_void_p,
                                                 ctypes.POINTER(ContextAttributes)]
        self.mlx5.mlx5dv_devx_general_cmd.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        # The context keeps its device when the list is freed.
        with self.devices() as devices:
            if name not in devices:
                raise DeviceError(f"libibverbs does not list {name}: is ib_uverbs loaded?")
            self.context = self.mlx5.mlx5dv_open_device(devices[name], ContextAttributes(DEVX, 0))
        if not self.context:
            raise DeviceError(f"{name} cannot be opened with DEVX: "
                              + os.strerror(ctypes.get_errno()))

    @contextlib.contextmanager
    def devices(self):
        """{name: struct ibv_device *} in the order of libibverbs, until the list is freed."""
        count = ctypes.c_int()
        array = self.verbs.ibv_get_device_list(ctypes.byref(count))
        try:
            yield {self.verbs.ibv_get_device_name(array[i]).decode(): array[i]
                   for i in range(count.value)}
        finally:
            if array:
                self.verbs.ibv_free_device_list(array)

    def first(self):
        """The name of the device that libibverbs lists first, which programs take."""
        with self.devices() as devices:
            return next(iter(devices))

    def capabilities(self, kind, which):
        """The page of capabilities of a type, None if firmware refuses to tell it."""
        request = struct.pack(">HHHH8x", QUERY_HCA_CAP, 0, 0, kind << 1 | which)
        answer = ctypes.create_string_buffer(HEAD_BYTES + CAP_BYTES)
        if self.mlx5.mlx5dv_devx_general_cmd(self.context, request, len(request), answer,
                                             len(answer)):
            return None
        return answer.raw[HEAD_BYTES:] if not answer.raw[0] else None

    def close(self):
        """Close the context."""
        self.verbs.ibv_close_device(self.context)


def page_text(page):
    """A page of capabilities as text: lines of 32 bytes in hexadecimal, without zeros at the
    end."""
    page = page.rstrip(b"\0") or b"\0"
    page += bytes(-len(page) % 32)
    return re.sub(r"(.{64})", r"\1\n", page.hex())
