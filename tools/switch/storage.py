# SPDX-License-Identifier: GPL-2.0
"""Block devices over RDMA, what is stacked on them, and what is mounted or swapped to."""

import re
from dataclasses import dataclass


@dataclass
class Mount:
    """A line of /proc/PID/mountinfo, see proc(5)."""

    number: str     # major:minor
    point: str
    kind: str       # ext4
    source: str     # /dev/sda1
    options: dict   # of the file system


def unescaped(text):
    """A name in mountinfo, where a space is written as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def mounts(host):
    """What is mounted, in the mount namespace of this process."""
    found = []
    for line in (host.read(host.proc / "self/mountinfo") or "").splitlines():
        left, separator, right = line.partition(" - ")
        left, right = left.split(" "), right.split(" ")
        if not separator or len(left) < 6 or len(right) < 3:
            continue
        options = dict(option.partition("=")[::2] for option in right[2].split(","))
        found.append(Mount(left[2], unescaped(left[4]), right[0], unescaped(right[1]), options))
    return found


def disks_below(host, folder):
    """The names of the disks whose devices are below a folder of sysfs."""
    block = host.sys / "class/block"
    return {name for name in host.names(block)
            if folder in (block / name).resolve().parents
            and not (block / name / "partition").exists()}


def nvme_disks(host, controller):
    """The names of the disks of an NVMe controller. With multipath they belong to the
    subsystem."""
    folder = (host.sys / "class/nvme" / controller).resolve()
    found = disks_below(host, folder)
    subsystems = host.sys / "class/nvme-subsystem"
    for name in host.names(subsystems):
        entries = host.names(subsystems / name)
        if controller in entries:
            found |= {entry for entry in entries if re.fullmatch(r"nvme\d+n\d+", entry)}
    return found


def stacked_on(host, disks):
    """Disks, their partitions, and what is stacked on them (device mapper, md)."""
    block = host.sys / "class/block"
    found, left = set(), set(disks)
    while left:
        name = left.pop()
        found.add(name)
        parts = {entry for entry in host.names(block / name)
                 if (block / name / entry / "partition").exists()}
        left |= (parts | set(host.names(block / name / "holders"))) - found
    return found


def uses_of(host, disks):
    """What would be lost with these disks: [("mount", text), ("swap", text)]."""
    block = host.sys / "class/block"
    names = stacked_on(host, disks)
    numbers = {host.read(block / name / "dev") for name in names}
    nodes = {f"/dev/{name}" for name in names} | {
        f"/dev/mapper/{host.read(block / name / 'dm/name')}" for name in names}
    found = [("mount", f"{mount.point} on {mount.source}") for mount in mounts(host)
             if mount.number in numbers or mount.source in nodes]
    for line in (host.read(host.proc / "swaps") or "").splitlines()[1:]:
        node = unescaped(line.split()[0])
        if node in nodes:
            found.append(("swap", node))
    return sorted(set(found))
