# SPDX-License-Identifier: GPL-2.0
"""What the tests of the wire share: reading captures, and the sums of the Internet protocols."""

import struct
from pathlib import Path

MAGICS = (0xa1b2c3d4, 0xa1b23c4d)   # of times in microseconds, and in nanoseconds
HEADER = 24                         # of the file; that of a frame has 16 bytes


def captured(name):
    """The frames of a pcap file that this machine wrote, in their order."""
    data, at = Path(name).read_bytes(), HEADER
    assert struct.unpack_from("=I", data)[0] in MAGICS, f"{name} is no capture"
    while at < len(data):
        size, whole = struct.unpack_from("=II", data, at + 8)
        assert size == whole, f"{name} has a part of a frame only"
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def total(data):
    """The one's complement sum of some bytes."""
    data += bytes(len(data) % 2)
    result = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while result >> 16:
        result = (result & 0xffff) + (result >> 16)
    return result
