#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Congestion marks of the BTH in tshark
#
# Guess: infiniband.bth.fecn and .becn are fields, and a filter on them works.
# Seen:  there is no field for either bit: the byte of both is shown as one reserved byte (0x80
#       and 0x40), and a filter on the names is an error.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 python3-scapy=2.6.1+dfsg-1
frames marks.pcap <<'EOT'
frames.append(roce(BTH(opcode=4, dqpn=0x12, fecn=1) / Raw(b'x' * 32)))
frames.append(roce(BTH(opcode=4, dqpn=0x12, becn=1) / Raw(b'x' * 32)))
EOT
expect "fields with such a name" "0" \
	"$(tshark -G fields | cut -f3 | grep '^infiniband\.' | grep -ciE 'fecn|becn' || true)"
expect "shown as reserved" "Reserved: 80 Reserved: 40 " \
	"$(tshark -r marks.pcap -V | grep -oE 'Reserved: [0-9a-f]+$' | tr '\n' ' ')"
expect "status of a filter on BECN" "4" \
	"$(status inside tshark -r marks.pcap -Y infiniband.bth.becn)"
