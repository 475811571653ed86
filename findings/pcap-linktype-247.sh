#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Captures of InfiniBand packets: link type 247
#
# Guess: link type 247 (INFINIBAND) is what tshark reads, since libpcap knows it by name.
# Seen:  libpcap names it, but tshark and capinfos refuse the file with status 3 or 1 ("network type
#       247 unknown or unsupported"). The same packet in an ERF record of type 21, also in a pcap
#       file of link type 197, is decoded.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 tcpdump=4.99.5-2 python3=3.13.5-1
cat >"$top/work/ib.py" <<'EOT'
import struct
data = bytes(64)
bth = struct.pack('>BBHII', 4, 0, 0xffff, 0x12, 1)
lrh = struct.pack('>BBHHH', 0, 2, 2, (8 + len(bth) + len(data) + 4) // 4, 1)
packet = lrh + bth + data + bytes(6)
erf = struct.pack('<Q', 1 << 32) + struct.pack('>BBHHH', 21, 4, 16 + len(packet), 0, len(packet))
def pcap(name, link, data):
    with open(name, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, link))
        f.write(struct.pack('<IIII', 1, 0, len(data), len(data)) + data)
pcap('247.pcap', 247, packet)
pcap('197.pcap', 197, erf + packet)
with open('21.erf', 'wb') as f:
    f.write(erf + packet)
EOT
inside python3 ib.py
info() {
	tshark -r "$1" -T fields -e _ws.col.Info | sed 's/ *$//'
}
expect "libpcap's name" "link-type INFINIBAND (InfiniBand)," \
	"$(inside tcpdump -Z root -nr 247.pcap 2>&1 | grep -o 'link-type INFINIBAND[^,]*,')"
expect "status of tshark" "3" "$(status inside tshark -r 247.pcap)"
expect "what it says" "1" "$(grep -c 'network type 247 unknown or unsupported' "$top/output")"
expect "an ERF file" "RC Send Only QP=0x000012" "$(info 21.erf)"
expect "ERF in a pcap file" "RC Send Only QP=0x000012" "$(info 197.pcap)"
