# SPDX-License-Identifier: GPL-2.0
"""What uarmap knows of a host: devices, contexts, their UARs, registers and queues, and who shares
what."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import get_type_hints

# What the class of a register means for the queue pairs on it: whether they share it, and whether
# libmlx5 takes a lock to ring it.
SHARING = {
    "high": ("shared", "no lock"),
    "medium": ("shared", "lock"),
    "low": ("one queue pair", "no lock"),
    "dynamic": ("up to the library", "up to the library"),
}


def sharing(bfreg_class):
    """(sharing, lock) of a register's class, which may be one of a later kernel."""
    return SHARING.get(bfreg_class, ("not known", "not known"))


def printable(text):
    """Text without what controls a terminal or breaks XML: a process may give itself any name."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
                   for char in str(text))


def count(number, thing):
    """A number and what is counted: "1 UAR", "2 UARs"."""
    return f"{number} {thing}" + ("" if number == 1 else "es" if thing.endswith("s") else "s")


class FormatError(Exception):
    """A report that cannot be read. The text says why."""


@dataclass
class Uar:
    """A UAR, with the index of its page in the device."""

    index: int
    origin: str             # static, dynamic, object
    kind: str               # bf, nc
    mappings: int = 0
    freed: bool = False     # the object is gone; mappings or queues keep the UAR


@dataclass
class Bfreg:
    """A doorbell register of a static or dynamic UAR."""

    number: int
    uar: int
    slot: int
    bfreg_class: str        # high, medium, low, dynamic


@dataclass
class Queue:
    """A queue pair or a completion queue."""

    kind: str               # qp, cq
    number: int
    uar: int
    bfreg: int | None = None
    qp_type: str = ""

    def label(self):
        """The queue as the report names it: "QP 0x43 RC", "CQ 0x4"."""
        return f"QP {self.number:#x}" + (f" {self.qp_type.upper()}" if self.qp_type else "") \
            if self.kind == "qp" else f"CQ {self.number:#x}"


@dataclass
class Context:
    """A process's use of a device: one open of it."""

    pid: int
    comm: str
    uid: int = 0
    uars: list = field(default_factory=list)
    bfregs: list = field(default_factory=list)
    queues: list = field(default_factory=list)

    def process(self):
        """The process as the report names it: "ibv_rc_pingpong (100)"."""
        return f"{printable(self.comm) or '?'} ({self.pid or 'other namespace'})"

    @cached_property
    def _groups(self):
        """{UAR index: {register number, or None: [queue, ...]}}."""
        found = defaultdict(lambda: defaultdict(list))
        for queue in self.queues:
            found[queue.uar][queue.bfreg].append(queue)
        return found

    def queues_of(self, uar):
        """The queues on a UAR: {register number, or None: [queue, ...]}. The context must be
        complete."""
        return dict(self._groups.get(uar.index, {}))

    def doorbells(self):
        """Return a Doorbell for each place at which queue pairs are rung."""
        classes = {bfreg.number: bfreg.bfreg_class for bfreg in self.bfregs}
        groups = defaultdict(list)
        for queue in self.queues:
            if queue.kind == "qp":
                groups[queue.uar, queue.bfreg].append(queue)
        return [Doorbell(self, uar, bfreg, classes.get(bfreg, ""), queues)
                for (uar, bfreg), queues in groups.items()]


@dataclass
class Doorbell:
    """Queue pairs that are rung at one place: a register, or the UAR of an object."""

    context: Context
    uar: int
    bfreg: int | None
    bfreg_class: str
    queues: list

    def shared(self):
        """Whether several queue pairs are rung at this place."""
        return len(self.queues) > 1

    def lock(self):
        """Whether libmlx5 takes a lock before it rings here, as far as the class tells."""
        if self.bfreg_class in SHARING:
            return SHARING[self.bfreg_class][1]
        return "up to the library"

    def place(self):
        """Where the queue pairs are rung."""
        return f"UAR {self.uar:#x}" if self.bfreg is None else \
            f"register {self.bfreg} ({self.bfreg_class}) of UAR {self.uar:#x}"


@dataclass
class Device:
    """An RDMA device and the contexts of the processes that have it open."""

    name: str
    bus: str = ""
    max_uars: int | None = None     # as many as BAR 0 has room for; firmware may give away fewer
    contexts: list = field(default_factory=list)
    max_uids: int | None = None     # user ids that firmware has, for contexts with DEVX

    def holders(self):
        """[(process, UARs, contexts)], the one with the most UARs first."""
        uars, contexts = defaultdict(int), defaultdict(int)
        for context in self.contexts:
            uars[context.pid, context.process()] += len(context.uars)
            contexts[context.pid, context.process()] += 1
        return [(key[1], uars[key], contexts[key])
                for key in sorted(uars, key=lambda key: (-uars[key], key))]

    def num_uars(self):
        """UARs that processes hold."""
        return sum(len(context.uars) for context in self.contexts)

    def uid_holders(self):
        """[process, ...] of each context that has a user id."""
        return [context.process() for context in self.contexts if context.uid]

    def only(self, pid):
        """The device with the contexts of one process alone."""
        return Device(self.name, self.bus, self.max_uars,
                      [context for context in self.contexts if context.pid == pid], self.max_uids)


# --- The kernel's text ----------------------------------------------------------------------------

def unescape(text):
    """Undo the octal escapes of the kernel's seq_escape()."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def parse(lines):
    """A Device from the lines of the kernel's file. Unknown lines and words are those of a later
    kernel."""
    device = None
    for number, line in enumerate(lines, 1):
        kind, _, rest = line.strip().partition(" ")
        words = dict(word.partition("=")[::2] for word in rest.split())
        try:
            if kind == "device":
                limit, uids = (int(words[name]) if name in words else None
                               for name in ("max_uars", "max_uids"))
                device = Device(words["name"], words.get("bus", ""), limit, max_uids=uids)
            elif kind == "context":
                device.contexts.append(Context(int(words["pid"]), unescape(words["comm"]),
                                               int(words.get("uid", 0))))
            elif kind in ("uar", "bfreg", "qp", "cq"):
                add_line(device.contexts[-1], kind, words)
        except (KeyError, ValueError, IndexError, AttributeError) as error:
            raise FormatError(f"line {number} cannot be read: {line.strip()!r}") from error
    if device is None:
        raise FormatError("there is no line of a device")
    return device


def add_line(context, kind, words):
    """Add the UAR, register or queue of a line to its context."""
    if kind == "uar":
        context.uars.append(Uar(int(words["index"]), words["origin"], words["kind"],
                                int(words["mappings"]), words.get("freed") == "1"))
    elif kind == "bfreg":
        context.bfregs.append(Bfreg(int(words["number"]), int(words["uar"]), int(words["slot"]),
                                    words["class"]))
    else:
        bfreg = words.get("bfreg")
        context.queues.append(Queue(kind, int(words["number"]), int(words["uar"]),
                                    None if bfreg is None else int(bfreg), words.get("type", "")))


# --- JSON -----------------------------------------------------------------------------------------

def to_json(devices):
    """Everything as plain data: the devices, and under each device also who holds UARs and which
    queue pairs share a doorbell."""
    return {"devices": [{
        **asdict(device),
        "holders": [{"process": name, "uars": uars, "contexts": contexts}
                    for name, uars, contexts in device.holders()],
        "shared": [{"pid": bell.context.pid, "uar": bell.uar, "bfreg": bell.bfreg,
                    "lock": bell.lock(), "qps": [queue.number for queue in bell.queues]}
                   for context in device.contexts for bell in context.doorbells() if bell.shared()],
    } for device in devices]}


def checked(item):
    """An item of JSON, whose values have the types that its class declares."""
    for name, wanted in get_type_hints(type(item)).items():
        if not isinstance(getattr(item, name), wanted):
            raise TypeError(f"{name} is {getattr(item, name)!r}")
    return item


def from_json(data):
    """The devices from the data of to_json()."""
    try:
        return [checked(Device(device["name"], device["bus"], device["max_uars"], [
            checked(Context(context["pid"], context["comm"], context["uid"],
                            [checked(Uar(**uar)) for uar in context["uars"]],
                            [checked(Bfreg(**bfreg)) for bfreg in context["bfregs"]],
                            [checked(Queue(**queue)) for queue in context["queues"]]))
            for context in device["contexts"]], device.get("max_uids")))
                for device in data["devices"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"this is no JSON of uarmap: {error}") from error


# --- Changes --------------------------------------------------------------------------------------

def facts(devices):
    """{key: sentence} of everything that can come, go or change."""
    found = {}
    for device in devices:
        for context in device.contexts:
            who = f"{device.name} {context.process()}"
            for uar in context.uars:
                state = f"{uar.origin} {uar.kind.upper()}, {mapped(uar)}" \
                    + (", freed" if uar.freed else "")
                found[device.name, "uar", uar.index] = f"{who}: UAR {uar.index:#x}: {state}"
            for queue in context.queues:
                place = f"UAR {queue.uar:#x}" \
                    + ("" if queue.bfreg is None else f", register {queue.bfreg}")
                found[device.name, queue.kind, queue.number] = f"{who}: {queue.label()}: {place}"
    return found


def changes(before, after):
    """What differs between two reports, one line each: + is new, - is gone, ~ has changed."""
    old, new = facts(before), facts(after)
    return [f"- {old[key]}" for key in old if key not in new] + \
        [f"~ {new[key]}" for key in new if key in old and old[key] != new[key]] + \
        [f"+ {new[key]}" for key in new if key not in old]


def mapped(uar):
    """How often a UAR is mapped, in words."""
    return {0: "not mapped", 1: "mapped"}.get(uar.mappings, f"mapped {uar.mappings} times")
