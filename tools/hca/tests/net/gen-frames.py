#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print, as a C header, a table of frames that scapy has built.

Usage: gen-frames.py frames|segments|tags|roce

The unit tests of net/ compare our parser, checksums, segments and CRCs with these. The fields of a
frame are those of the layers that scapy reads in it, the offsets are the lengths of these layers.
"""

import logging
import struct
import sys
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.contrib.roce import BTH, GRH, cnp  # noqa: E402
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
    yield "tcp4_empty", eth / ip4() / tcp(0, flags="FPUN")
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
    # The bytes behind the headers of a fragment would pass for a UDP header.
    part = Raw(bytes(UDP(sport=1, dport=2, len=48, chksum=3) / data(40)))
    yield "first_fragment4", eth / ip4(flags="MF", proto=17) / part
    yield "last_fragment4", eth / ip4(frag=6, proto=17) / part
    yield "dont_fragment4", eth / ip4(flags="DF") / udp(40)
    yield "tcp6", eth / ip6() / tcp(64)
    yield "udp6", eth / ip6() / udp(65)
    yield "icmp6", eth / ip6() / ICMPv6EchoRequest(data=b"x" * 21)
    yield "esp6", eth / ip6() / ESP(spi=0x01020304, seq=1, data=bytes(40))
    yield "ah6", eth / ip6() / AH(spi=0x0A0B0C0D, nh=17, payloadlen=4, icv=bytes(12)) / data(31)
    yield "hops6", eth / ip6() / IPv6ExtHdrHopByHop() / udp(12)
    yield "chain6", (eth / ip6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(options=[])
                     / IPv6ExtHdrRouting(addresses=["2001:db8::9"], segleft=0) / tcp(13))
    yield "first_fragment6", eth / ip6() / IPv6ExtHdrFragment(m=1, nh=17, id=9) / part
    yield "last_fragment6", eth / ip6() / IPv6ExtHdrFragment(offset=6, nh=17, id=9) / part
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


# ---- segments ------------------------------------------------------------------------------------


def segments(name, ip, l4, payload, mss):
    """A template, and the frames that a payload becomes: as many packets, built by scapy."""
    eth = Ether(**MAC) / Dot1Q(vlan=9) if "ctag" in name else Ether(**MAC)
    # What is in the lengths and checksums of a template does not matter.
    wrong = {"len": 7, "chksum": 0xDEAD} if ip.version == 4 else {"plen": 0}
    template_ip, template_l4 = ip.copy(), l4.copy()
    for key, value in wrong.items():
        setattr(template_ip.getlayer(type(ip)), key, value)
    template_l4.chksum = 0xBEEF
    template = bytes(eth / template_ip / template_l4)
    frames = []
    for i, at in enumerate(range(0, payload, mss)):
        part_ip, part_l4 = ip.copy(), l4.copy()
        if ip.version == 4:
            part_ip.id = (ip.id + i) & 0xFFFF
        if isinstance(l4, TCP):
            part_l4.seq = (l4.seq + at) & 0xFFFFFFFF
            flags = set(str(l4.flags))
            flags -= set("C") if at else set()
            flags -= set("FP") if at + mss < payload else set()
            part_l4.flags = "".join(flags)
        part = bytes(data(payload))[at:at + mss]
        frames.append(bytes(eth / part_ip / part_l4 / Raw(part)))
    return name, template, payload, mss, frames


def segment_rows():
    """Yield large sends and what becomes of them."""
    header = TCP(sport=40000, dport=5201, seq=0xFFFFFE00, ack=77, flags="FPACE",
                 options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
    plain = TCP(sport=40000, dport=5201, seq=5, ack=77, flags="A")
    datagram = UDP(sport=50001, dport=443)
    yield segments("tcp4", ip4(id=0xFFFE), header, 1000, 300)
    yield segments("tcp4_exact", ip4(), header, 600, 200)
    yield segments("tcp4_one", ip4(), header, 100, 200)
    yield segments("tcp4_bytes", ip4(), plain, 3, 1)
    yield segments("tcp4_odd", ip4(options=[IPOption_Router_Alert()]), plain, 700, 333)
    yield segments("tcp6", ip6(), header, 1001, 500)
    yield segments("tcp6_extension_ctag", ip6() / IPv6ExtHdrDestOpt(), plain, 401, 200)
    yield segments("udp4", ip4(), datagram, 1001, 400)
    yield segments("udp6_ctag", ip6(), datagram, 500, 200)


def print_segments():
    print("static const struct segment_row segment_rows[] = {")
    for name, template, payload, mss, frames in segment_rows():
        print(f'\t{{ "{name}", {len(template)}, (const uint8_t[]){c_bytes(template)},')
        print(f"\t  {payload}, {mss}, {len(frames)}, {{")
        for f in frames:
            print(f"\t\t{{ {len(f)}, (const uint8_t[]){c_bytes(f)} }},")
        print("\t} },")
    print("};")


# ---- tags and RoCE -------------------------------------------------------------------------------


def print_tags():
    """Frames with a tag, and the same frames without it."""
    rows = (
        ("ctag", Dot1Q(vlan=5, prio=3), ip4() / tcp(10)),
        ("stag", Dot1AD(vlan=4095, prio=7, id=1), ip6() / udp(3)),
        ("outer", Dot1AD(vlan=100), Dot1Q(vlan=200) / ip4() / udp(8)),
        ("nothing_behind", Dot1Q(vlan=5, type=0x88B5), NoPayload()),
    )
    print("static const struct tag_row tag_rows[] = {")
    for name, tag, behind in rows:
        etype = 0x88A8 if isinstance(tag, Dot1AD) else 0x8100
        tci = tag.prio << 13 | tag.id << 12 | tag.vlan
        kw = {"type": 0x88B5} if isinstance(behind, NoPayload) else {}
        without, tagged = Ether(**MAC, **kw) / behind, Ether(**MAC) / tag / behind
        print(f'\t{{ "{name}", {{ {etype:#x}, {tci} }},')
        for raw in bytes(without), bytes(tagged):
            print(f"\t  {len(raw)}, (const uint8_t[]){c_bytes(raw)},")
        print("\t},")
    print("};")


def v1_frame(n):
    """A RoCE v1 frame. scapy has no ICRC for it, so it is computed here from its definition."""
    bth = BTH(opcode=0x04, dqpn=0x123456, psn=0xABCDEF, ackreq=1, becn=1)
    body = bytes(bth)[:12] + bytes(data(n))
    grh = GRH(tclass=0x5A, flowlabel=0x12345, paylen=len(body) + 4, nexthdr=0x1B, hoplmt=9,
              sgid=int.from_bytes(bytes(range(16))), dgid=int.from_bytes(bytes(range(16, 32))))
    masked = GRH(tclass=0xFF, flowlabel=0xFFFFF, paylen=grh.paylen, nexthdr=0x1B, hoplmt=0xFF,
                 sgid=grh.sgid, dgid=grh.dgid)
    covered = b"\xff" * 8 + bytes(masked) + body[:4] + b"\xff" + body[5:]
    icrc = struct.pack("<I", zlib.crc32(covered))
    return bytes(Ether(**MAC, type=0x8915)) + bytes(grh) + body + icrc


def print_roce():
    bth = BTH(opcode=0x04, dqpn=0x123456, psn=0xABCDEF, ackreq=1, fecn=1)
    port = UDP(sport=0xC001, dport=4791, chksum=0)
    port6 = UDP(sport=0xFFFF, dport=4791)
    rows = (
        ("v2_ip4", bytes(Ether(**MAC) / ip4(flags="DF") / port / bth / data(64))),
        ("v2_ip4_empty", bytes(Ether(**MAC) / ip4() / port / bth)),
        ("v2_ip6", bytes(Ether(**MAC) / ip6() / port6 / bth / data(1024))),
        ("v2_ctag", bytes(Ether(**MAC) / Dot1Q(vlan=3) / ip6() / port6 / bth / data(4))),
        ("v2_padded", bytes(Ether(**MAC) / ip4() / port / bth) + bytes(8)),
        ("cnp", bytes(Ether(**MAC) / ip4() / port / cnp(0x456))),
        ("v1", v1_frame(64)),
        ("v1_padded", v1_frame(0) + bytes(4)),
    )
    print("static const struct roce_row roce_rows[] = {")
    for name, raw in rows:
        print(f'\t{{ "{name}", {len(raw)}, (const uint8_t[]){c_bytes(raw)} }},')
    print("};")


TABLES = {"frames": print_frames, "segments": print_segments, "tags": print_tags,
          "roce": print_roce}


def main():
    print("/* Made by tests/net/gen-frames.py. */")
    TABLES[sys.argv[1]]()


if __name__ == "__main__":
    main()
