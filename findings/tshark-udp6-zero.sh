#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# RoCE v2 over IPv6 with UDP checksum 0 in tshark
#
# Guess: tshark knows that RoCE v2 senders leave the UDP checksum at 0, and accepts it on port
#       4791.
# Seen:  over IPv4 it does; over IPv6 each such packet has an expert error, "Illegal checksum value
#       (0)", though the payload is decoded. The error comes from the UDP dissector.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 python3-scapy=2.6.1+dfsg-1
frames zero.pcap <<'EOT'
bth = BTH(opcode=4, dqpn=0x12) / Raw(b'x' * 32)
frames.append(roce(bth.copy()))
frames.append(roce(bth.copy(), IPv6(src='2001:db8::1', dst='2001:db8::2')))
EOT
expect "decoded" "2" "$(tshark -r zero.pcap -Y infiniband.bth.opcode==4 | wc -l)"
expect "expert messages, IPv4 first" "1: 2:Illegal checksum value (0) " \
	"$(tshark -r zero.pcap -T fields -E separator=: -e frame.number -e _ws.expert.message |
		tr '\n' ' ')"
