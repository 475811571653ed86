# SPDX-License-Identifier: GPL-2.0
"""Where uarmap gets its reports: the kernel's file in debugfs, which root reads, or the driver's
ioctl, which any user may send for the contexts of processes of their own."""

import ctypes
import fcntl
import os
import re
from pathlib import Path

from model import Bfreg, Context, Device, Queue, Uar, parse

DEBUGFS = Path("/sys/kernel/debug/mlx5")
DRIVER = Path("/sys/bus/auxiliary/drivers/bluebell.rdma")


class NoSource(Exception):
    """No report can be had. The text says why."""


def read_debugfs(root=DEBUGFS):
    """All devices of the host; None if this process may not see the directory."""
    if not os.access(root, os.R_OK | os.X_OK):
        return None
    return [parse(path.read_text(encoding="utf-8", errors="replace").splitlines())
            for path in sorted(root.glob("*/uars"))]


def drives_a_device(driver=DRIVER):
    """Whether Bluebell is bound to a device, which any user may see in sysfs."""
    return any(driver.glob("mlx5_core.rdma.*"))


# --- The ioctl: rdma_user_ioctl_cmds.h and bluebell-abi.h -----------------------------------------

RDMA_VERBS_IOCTL = 0xc0181b01
DRIVER_MLX5 = 1
OBJECT_UAR = 0x1008
METHOD_UAR_REPORT = 0x1007
ATTR_REQ = 0x1000
ATTR_RESP = 0x1001
MANDATORY = 1
NO_BFREG = 0xffffffff
PIDFD_GETFD = 438

U8, U16, U32, U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


class Attr(ctypes.Structure):
    """struct ib_uverbs_attr"""

    _fields_ = [("attr_id", U16), ("len", U16), ("flags", U16), ("reserved", U16), ("data", U64)]


class Command(ctypes.Structure):
    """struct ib_uverbs_ioctl_hdr with two attributes"""

    _fields_ = [("length", U16), ("object_id", U16), ("method_id", U16), ("num_attrs", U16),
                ("reserved1", U64), ("driver_id", U32), ("reserved2", U32), ("attrs", Attr * 2)]


class Request(ctypes.Structure):
    """struct bluebell_uar_report_req"""

    _fields_ = [("uars", U64), ("bfregs", U64), ("queues", U64), ("max_uars", U32),
                ("max_bfregs", U32), ("max_queues", U32), ("reserved", U32)]


class Response(ctypes.Structure):
    """struct bluebell_uar_report_resp"""

    _fields_ = [("num_uars", U32), ("num_bfregs", U32), ("num_queues", U32), ("reserved", U32)]


class UarEntry(ctypes.Structure):
    """struct bluebell_uar"""

    _fields_ = [("index", U32), ("origin", U8), ("kind", U8), ("flags", U16), ("mappings", U32),
                ("num_qps", U32), ("num_cqs", U32), ("reserved", U32 * 3)]


class BfregEntry(ctypes.Structure):
    """struct bluebell_bfreg"""

    _fields_ = [("number", U32), ("uar", U32), ("bfreg_class", U8), ("slot", U8), ("reserved", U16),
                ("num_qps", U32)]


class QueueEntry(ctypes.Structure):
    """struct bluebell_queue"""

    _fields_ = [("type", U8), ("qp_type", U8), ("reserved", U16), ("number", U32), ("uar", U32),
                ("bfreg", U32)]


ORIGINS = ("static", "dynamic", "object")
KINDS = ("bf", "nc")
CLASSES = ("high", "medium", "low", "dynamic")
QP_TYPES = {2: "rc", 3: "uc", 4: "ud", 9: "xrc_ini"}


def word(words, number):
    """What a number of the ioctl stands for. A later kernel may know more numbers."""
    return words[number] if number < len(words) else f"kind {number}"


def ask(fd, request, response):
    """Send the ioctl. Raises OSError with the driver's errno."""
    command = Command(ctypes.sizeof(Command), OBJECT_UAR, METHOD_UAR_REPORT, 2, 0, DRIVER_MLX5, 0, (
        Attr(ATTR_REQ, ctypes.sizeof(request), MANDATORY, 0, ctypes.addressof(request)),
        Attr(ATTR_RESP, ctypes.sizeof(response), MANDATORY, 0, ctypes.addressof(response))))
    fcntl.ioctl(fd, RDMA_VERBS_IOCTL, command)


def read_context(fd, pid, comm):
    """The context of an open file. The lists may grow between two calls, so the room is doubled
    until they fit."""
    response = Response()
    room = (64, 64, 64)
    while True:
        uars, bfregs, queues = ((entry * number)() for entry, number in
                                zip((UarEntry, BfregEntry, QueueEntry), room))
        request = Request(ctypes.addressof(uars), ctypes.addressof(bfregs),
                          ctypes.addressof(queues), *room, 0)
        try:
            ask(fd, request, response)
            break
        except OSError as error:
            if error.errno != 28:   # ENOSPC
                raise
            room = tuple(2 * number + 1 for number in
                         (response.num_uars, response.num_bfregs, response.num_queues))
    return Context(pid, comm, 0, [
        Uar(uar.index, word(ORIGINS, uar.origin), word(KINDS, uar.kind), uar.mappings,
            bool(uar.flags & 1))
        for uar in uars[:response.num_uars]
    ], [
        Bfreg(bfreg.number, bfreg.uar, bfreg.slot, word(CLASSES, bfreg.bfreg_class))
        for bfreg in bfregs[:response.num_bfregs]
    ], [
        Queue("cq" if queue.type else "qp", queue.number, queue.uar,
              None if queue.bfreg == NO_BFREG else queue.bfreg,
              "" if queue.type else QP_TYPES.get(queue.qp_type, "other"))
        for queue in queues[:response.num_queues]
    ])


def verbs_files(pid):
    """(descriptor of the process, name of the character device) of each verbs file that a process
    has open."""
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        match = re.fullmatch(r"/dev/infiniband/(uverbs\d+)", target)
        if match:
            yield int(entry.name), match[1]


def get_fd(pid, number):
    """Open file @number of process @pid in this process, which must be allowed to trace @pid."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    try:
        fd = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return fd
    finally:
        os.close(pidfd)


def device_name(uverbs):
    """The RDMA device behind a character device."""
    try:
        path = Path(f"/sys/class/infiniband_verbs/{uverbs}/ibdev")
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return uverbs


def read_process(pid, devices):
    """Add the contexts of a process to {name: Device}. Returns why nothing was found, or None."""
    why = "it has no verbs device open, or it is not yours"
    found = False
    for number, uverbs in verbs_files(pid):
        try:
            fd = get_fd(pid, number)
        except OSError as error:
            why = f"its files cannot be seen: {error.strerror}"
            continue
        try:
            path = Path(f"/proc/{pid}/comm")
            comm = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
            context = read_context(fd, pid, comm)
        except OSError as error:
            why = f"the driver of {uverbs} makes no report: {error.strerror}"
            continue
        finally:
            os.close(fd)
        found = True
        device = devices.setdefault(device_name(uverbs), Device(device_name(uverbs)))
        # A context that several processes have, after a fork, counts for the first process.
        if not any(is_same(context, other) for other in device.contexts):
            device.contexts.append(context)
    return None if found else why


def is_same(context, other):
    """Whether two reports are of the same context: then they have a UAR in common, because a UAR
    belongs to one context only."""
    return bool({uar.index for uar in context.uars} & {uar.index for uar in other.uars})


def read_own(pid=None):
    """The contexts of one process, or of all that this user may trace, as a list of Device."""
    devices = {}
    pids = [pid] if pid else sorted(int(path.name) for path in Path("/proc").iterdir()
                                    if path.name.isdigit())
    for number in pids:
        why = read_process(number, devices)
        if pid and why:
            raise NoSource(f"process {pid}: {why}")
    return [devices[name] for name in sorted(devices)]


def read(pid=None):
    """(devices, note): by debugfs if this process may read it. Else by ioctl, and the note says
    whose processes are missing, if any."""
    devices = read_debugfs()
    if devices is None:
        devices = read_own(pid)
        if not devices and not drives_a_device():
            raise NoSource("no device is driven by Bluebell")
        return devices, None if os.geteuid() == 0 else \
            "processes of other users are not shown: only root sees them"
    if not devices:
        raise NoSource(f"there is no {DEBUGFS}/*/uars: no device is driven by Bluebell")
    if pid:
        devices = [device.only(pid) for device in devices]
        if not any(device.contexts for device in devices):
            raise NoSource(f"process {pid} has opened no device")
    return devices, None
