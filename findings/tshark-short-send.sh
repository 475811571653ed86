#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Short SENDs over RoCE v2 in tshark
#
# Guess: a SEND Only with 12 bytes of payload, or with none, is shown as any other SEND Only.
# Seen:  both are "Malformed Packet", and their ICRC field is missing. The heuristic of RPC over
#       RDMA, on by default, takes every short payload for its own; with 16 bytes, or without the
#       heuristic, all is well.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack tshark=4.4.19-0+deb13u1 python3-scapy=2.6.1+dfsg-1
frames short.pcap <<'EOT'
for data in (b'', b'hello world!', b'hello world, hi!'):
    bth = BTH(opcode=4, dqpn=0x12, psn=len(data))
    frames.append(roce(bth / Raw(data) if data else bth))
EOT
malformed() {
	tshark -r short.pcap "$@" -Y _ws.malformed -T fields -e infiniband.bth.psn | tr '\n' ' '
}
expect "malformed, by payload length" "0 12 " "$(malformed)"
expect "with an ICRC field" "16" \
	"$(tshark -r short.pcap -Y infiniband.invariant.crc -T fields -e infiniband.bth.psn)"
expect "malformed without the heuristic" "" \
	"$(malformed --disable-heuristic rpcrdma_infiniband)"
