#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# XRC packets and CNPs over RoCE v2 in tshark
#
# Guess: tshark decodes the XRC opcodes and the congestion notification (opcode 129) as it does
#       RC.
# Seen:  Info says "Unknown OpCode" for both. The tree names the XRC opcode but knows no XRCETH:
#       header, payload and ICRC are one field of unknown data, and a filter on the ICRC field
#       misses these packets.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 python3-scapy=2.6.1+dfsg-1
frames unknown.pcap <<'EOT'
frames.append(roce(BTH(opcode=0xa4, dqpn=0x12) / Raw(b'\0\0\0\x07' + b'x' * 32)))
frames.append(roce(cnp(0x12)))
EOT
expect "Info" "Unknown OpCode QP=0x000012|Unknown OpCode QP=0x000012|" \
	"$(tshark -r unknown.pcap -T fields -e _ws.col.Info | sed 's/ *$//' | tr '\n' '|')"
expect "the tree names XRC" "1" \
	"$(tshark -r unknown.pcap -V -Y infiniband.bth.opcode==164 | grep -c '(XRC) - SEND Only')"
expect "the tree does not name the CNP" "1" \
	"$(tshark -r unknown.pcap -V -Y infiniband.bth.opcode==129 |
		grep -c 'Opcode: Unknown (129)')"
expect "unknown data, with the ICRC in it" "2" "$(tshark -r unknown.pcap -V |
	grep -c 'Unknown/Vendor Specific Data')"
expect "packets with an ICRC field" "" "$(tshark -r unknown.pcap -Y infiniband.invariant.crc)"
