#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The ICRC in tshark
#
# Guess: tshark checks the ICRC of RoCE v2, or has a preference for it, as for the checksums of IP
#       and UDP.
# Seen:  a frame with a wrong ICRC looks like one with the right ICRC: no expert information, no
#       status field, no preference. The field holds what was on the wire.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 python3-scapy=2.6.1+dfsg-1
frames icrc.pcap <<'EOT'
good = bytes(roce(BTH(opcode=4, dqpn=0x12) / Raw(b'x' * 32)))
frames += [Ether(good), Ether(good[:-4] + bytes(b ^ 0xff for b in good[-4:]))]
EOT
expect "packets with expert information" "" "$(tshark -r icrc.pcap -Y _ws.expert)"
expect "different values of the field" "2" \
	"$(tshark -r icrc.pcap -T fields -e infiniband.invariant.crc | sort -u | wc -l)"
expect "ICRC fields" "infiniband.invariant.crc" \
	"$(tshark -G fields | cut -f3 | grep -E '^infiniband\..*crc' | grep -v variant.crc.. |
		grep -v '\.variant' | sort -u | tr '\n' ' ' | sed 's/ $//')"
expect "preferences of the dissector" "infiniband.rroce.port infiniband.try_heuristic_first " \
	"$(tshark -G currentprefs | sed -n 's/^#\(infiniband\.[a-z_.]*\): .*/\1/p' | tr '\n' ' ')"
