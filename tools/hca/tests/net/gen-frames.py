#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print, as a C header, frames that scapy has built, and what their headers say.

The unit tests of net/ compare our parser, checksums and segments with these. The fields come from
the layers that scapy was given, and the offsets from the bytes that scapy made of each layer.
"""

import logging
import struct

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert  # noqa: E402
from scapy.layers.inet6 import (  # noqa: E402
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH, ESP  # noqa: E402
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether  # noqa: E402
from scapy.packet import NoPayload, Padding, Raw  # noqa: E402
from scapy.utils import checksum  # noqa: E402

MAC = {"src": "02:11:22:33:44:55", "dst": "06:aa:bb:cc:dd:ee"}
V4 = {"src": "192.0.2.1", "dst": "198.51.100.77"}
V6 = {"src": "2001:db8::1:2", "dst": "2001:db8:ffff::77"}
TAGS = (Dot1Q, Dot1AD)
EXTENSIONS = (IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment)


def data(n):
    """N bytes that differ from their neighbours."""
    return Raw(bytes((7 * i + 3) & 0xFF for i in range(n)))


def tcp(n=0, **kw):
    return TCP(**{"sport": 40000, "dport": 5201, "seq": 0xFFFFFF00, "ack": 77, "flags": "A"}
               | kw) / data(n)


def udp(n, **kw):
    return UDP(sport=50001, dport=53, **kw) / data(n)


def ip4(**kw):
    return IP(**V4 | {"id": 0x1234, "ttl": 61, "tos": 0xB9} | kw)


def ip6(**kw):
    return IPv6(**V6 | {"hlim": 59, "tc": 0x2E, "fl": 0xABCDE} | kw)


def plain_frames():
    """Yield frames with their names."""
    eth = Ether(**MAC)
    tagged = eth / Dot1Q(vlan=5, prio=3)
    yield "tcp4", eth / ip4() / tcp(10)
    yield "tcp4_odd", eth / ip4() / tcp(11, flags="SEC")
    yield "tcp4_empty", eth / ip4() / tcp(0, flags="FPU")
    yield "tcp4_options", eth / ip4() / tcp(100, options=[("MSS", 1460), ("NOP", None),
                                                         ("WScale", 7)])
    yield "ip4_options", eth / ip4(options=[IPOption_Router_Alert()]) / udp(20)
    yield "udp4", eth / ip4() / udp(33)
    yield "udp4_long", eth / ip4() / udp(1471)
    yield "udp4_no_checksum", eth / ip4() / udp(9, chksum=0)
    yield "udp4_padded", eth / ip4() / udp(1) / Padding(b"\xa5" * 17)
    # Ten bytes between the end of the datagram and the end of the packet.
    yield "udp4_trailer", (eth / ip4(proto=17)
                           / Raw(bytes(ip4() / udp(12))[20:] + bytes(range(10))))
    yield "icmp4", eth / ip4() / ICMP() / data(56)
    yield "esp4", eth / ip4() / ESP(spi=0x11223344, seq=1, data=bytes(40))
    yield "ah4", eth / ip4() / AH(spi=0x55667788, nh=6, payloadlen=4, icv=bytes(12)) / data(30)
    yield "first_fragment4", eth / ip4(flags="MF", proto=17) / data(48)
    yield "last_fragment4", eth / ip4(frag=6, proto=17) / data(40)
    yield "dont_fragment4", eth / ip4(flags="DF") / udp(40)
    yield "tcp6", eth / ip6() / tcp(64)
    yield "udp6", eth / ip6() / udp(65)
    yield "icmp6", eth / ip6() / ICMPv6EchoRequest(data=b"x" * 21)
    yield "esp6", eth / ip6() / ESP(spi=0x01020304, seq=1, data=bytes(40))
    yield "ah6", eth / ip6() / AH(spi=0x0A0B0C0D, nh=17, payloadlen=4, icv=bytes(12)) / data(31)
    yield "hops6", eth / ip6() / IPv6ExtHdrHopByHop() / udp(12)
    yield "chain6", (eth / ip6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(options=[])
                     / IPv6ExtHdrRouting(addresses=["2001:db8::9"], segleft=0) / tcp(13))
    yield "first_fragment6", eth / ip6() / IPv6ExtHdrFragment(m=1, nh=17, id=9) / data(48)
    yield "last_fragment6", eth / ip6() / IPv6ExtHdrFragment(offset=6, nh=17, id=9) / data(40)
    yield "ctag", tagged / ip4() / tcp(10)
    yield "ctag_udp6", eth / Dot1Q(vlan=4095, prio=7, id=1) / ip6() / udp(3)
    yield "stag", eth / Dot1AD(vlan=100) / ip4() / udp(7)
    yield "stag_ctag", eth / Dot1AD(vlan=100, prio=1) / Dot1Q(vlan=200) / ip4() / udp(8)
    yield "ctag_stag", tagged / Dot1AD(vlan=7) / ip6() / tcp(9)
    yield "three_tags", tagged / Dot1Q(vlan=6) / Dot1Q(vlan=7) / ip4() / udp(9)
    yield "arp", eth / ARP() / Padding(bytes(18))
    yield "broadcast", Ether(src=MAC["src"], dst="ff:ff:ff:ff:ff:ff") / ip4() / udp(50)
    yield "multicast", Ether(src=MAC["src"], dst="33:33:00:00:00:01") / ip6() / udp(50)
    yield "unknown", Ether(**MAC, type=0x88B5) / data(46)
    # The UDP checksum of this datagram is 0, so 0xffff is written.
    yield "udp4_zero", eth / IP(src="0.0.0.0", dst="0.0.0.0") / UDP(
        sport=0, dport=0) / Raw(struct.pack(">H", 0xFFFF - 17 - 20))


def broken_frames():
    """Yield frames whose IP or fourth header contradicts the frame, with what is left of them."""
    good = bytes(Ether(**MAC) / ip4() / tcp(10))
    yield "ip4_wrong_version", good[:14] + b"\x55" + good[15:], "l2"
    yield "ip4_short_header", good[:14] + b"\x44" + good[15:], "l2"
    yield "ip4_header_cut", good[:33], "l2"
    yield "ip4_packet_cut", good[:-1], "l2"
    yield "ip4_total_below_header", good[:16] + b"\x00\x13" + good[18:], "l2"
    yield "ip4_options_cut", good[:14] + b"\x4f\x00\x00\x28" + good[18:], "l2"
    yield "tcp_short_header", good[:46] + b"\x40" + good[47:], "l3"
    yield "tcp_header_cut", good[:46] + b"\xf0" + good[47:], "l3"
    yield "tcp_missing", bytes(Ether(**MAC) / ip4(proto=6) / data(19)), "l3"
    yield "udp_missing", bytes(Ether(**MAC) / ip4(proto=17) / data(7)), "l3"
    for name, length in ("udp_length_7", 7), ("udp_too_long", 29):
        yield name, bytes(Ether(**MAC) / ip4() / udp(20, len=length)), "l3"
    good = bytes(Ether(**MAC) / ip6() / udp(10))
    yield "ip6_wrong_version", good[:14] + b"\x45" + good[15:], "l2"
    yield "ip6_header_cut", good[:53], "l2"
    yield "ip6_packet_cut", good[:-1], "l2"
    hops = bytes(Ether(**MAC) / ip6() / IPv6ExtHdrHopByHop() / udp(12))
    yield "ip6_extension_cut", hops[:55] + b"\xff" + hops[56:], "l2"
    yield "ip6_extension_missing", bytes(Ether(**MAC) / ip6(nh=60) / data(7)), "l2"
    yield "tag_cut", bytes(Ether(**MAC, type=0x8100)) + b"\x00\x05\x08", "eth"


def c_bytes(b):
    return "{ " + ", ".join(f"{x:#x}" for x in b) + " }"


def address(ip):
    """An address as its layer has it in bytes, in 16 bytes."""
    raw = bytes(ip)
    return (raw[8:24], raw[24:40]) if ip.version == 6 else (
        bytes(12) + raw[12:16], bytes(12) + raw[16:20])


def header_bytes(layer):
    return len(layer) - len(layer.payload)


def l2_fields(pkt):
    """What the layers up to the VLAN tags say; and the layer behind them."""
    layer, tags = pkt.payload, []
    f = {"ethertype": pkt.type, "l3": header_bytes(pkt)}
    while isinstance(layer, TAGS) and len(tags) < 2:
        tags.append(f"{{ {f['ethertype']:#x}, {layer.prio << 13 | layer.id << 12 | layer.vlan} }}")
        f = {"ethertype": layer.type, "l3": f["l3"] + header_bytes(layer)}
        layer = layer.payload
    if tags:
        f |= {"tags": len(tags), "tag": f"{{ {', '.join(tags)} }}"}
    return f, layer


def ip_fields(ip, at):
    """What an IP layer at an offset says; and the layer behind it and its extensions."""
    sip, dip = address(ip)
    f = {"ip_version": ip.version, "sip": c_bytes(sip), "dip": c_bytes(dip)}
    f["ip_end"] = at + (ip.len if ip.version == 4 else 40 + ip.plen)
    at += header_bytes(ip)
    layer = ip.payload
    if ip.version == 4:
        f |= {"protocol": ip.proto, "ttl": ip.ttl, "tclass": ip.tos, "ihl": ip.ihl}
        f["frag"] = int(bool(ip.flags.MF or ip.frag))
    else:
        f |= {"protocol": ip.nh, "ttl": ip.hlim, "tclass": ip.tc, "flow_label": ip.fl}
        while isinstance(layer, EXTENSIONS):
            f["protocol"] = layer.nh
            f["frag"] = int(isinstance(layer, IPv6ExtHdrFragment))
            at += header_bytes(layer)
            layer = layer.payload
    return f | {"l4": at}, layer


def l4_fields(layer, at, ip_end):
    """What a layer behind IP says."""
    if isinstance(layer, TCP):
        return {"l4_type": "L4_TCP", "sport": layer.sport, "dport": layer.dport,
                "tcp_flags": int(layer.flags), "tcp_seq": layer.seq,
                "payload": at + layer.dataofs * 4, "l4_end": ip_end}
    if isinstance(layer, UDP):
        return {"l4_type": "L4_UDP", "sport": layer.sport, "dport": layer.dport,
                "payload": at + 8, "l4_end": at + layer.len}
    return {"spi": layer.spi} if isinstance(layer, (AH, ESP)) else {}


def fields_of(raw, depth):
    """The members of struct frame that scapy reads in a frame, down to a layer."""
    pkt = Ether(raw)
    f = {"dmac": c_bytes(raw[:6]), "smac": c_bytes(raw[6:12])}
    if depth == "eth":
        return f | {"ethertype": struct.unpack(">H", raw[12:14])[0], "l3": 14}
    l2, layer = l2_fields(pkt)
    f |= l2
    if depth == "l2" or not isinstance(layer, (IP, IPv6)):
        return f
    ip, behind = ip_fields(layer, l2["l3"])
    f |= ip
    if depth == "l3" or f.get("frag"):
        return f
    return f | l4_fields(behind, f["l4"], f["ip_end"])


def print_frame(name, raw, depth):
    f = fields_of(raw, depth)
    fields = ", ".join(f".{k} = {v}" for k, v in f.items() if v)
    packet = raw[f["l3"]:f.get("ip_end", f["l3"])]
    # scapy's checksum() is the complement of the sum that we look for.
    total = 0xFFFF & ~checksum(packet) if packet else 0
    print(f'\t{{ "{name}", {len(raw)}, (const uint8_t[]){c_bytes(raw)},')
    print(f"\t  .sum = {total:#x}, .f = {{ {fields} }} }},")


def print_frames():
    print("static const struct frame_row frame_rows[] = {")
    for name, pkt in plain_frames():
        print_frame(name, bytes(pkt), "all")
    for name, raw, depth in broken_frames():
        print_frame(name, raw, depth)
    print("};")


def main():
    print("/* Made by tests/net/gen-frames.py. */")
    print_frames()


if __name__ == "__main__":
    main()
