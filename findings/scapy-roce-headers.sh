#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Which headers of RoCE the scapy layer knows
#
# Guess: scapy.contrib.roce dissects RETH, DETH, the AETH of responses, and the XRC opcodes.
# Seen:  it dissects only the AETH after an Acknowledge. Everything behind the BTH of RDMA writes
#       and reads, read responses, atomics and UD sends is Raw; the XRC opcodes and SEND with
#       Invalidate (0x17) have no name.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack python3-scapy=2.6.1+dfsg-1
cat >"$top/work/h.py" <<'EOT'
from scapy.all import *
from scapy.contrib.roce import *
for op in (0x11, 0x0a, 0x0c, 0x10, 0x12, 0x13, 0x64, 0x17, 0xa4):
    frame = Ether() / IP() / UDP(sport=49152, dport=4791) / BTH(opcode=op) / Raw(bytes(32))
    bth = Ether(bytes(frame))[BTH]
    print(hex(op), bth.sprintf('%BTH.opcode%'), bth.payload.name)
EOT
inside python3 h.py 2>/dev/null >"$top/seen"
expect "next layer" "AETH Raw Raw Raw Raw Raw Raw Raw Raw " \
	"$(awk '{ print $3 }' "$top/seen" | tr '\n' ' ')"
expect "opcodes without a name" "0x17 23 0xa4 164 " \
	"$(awk '$2 !~ /_/ { print $1, $2 }' "$top/seen" | tr '\n' ' ')"
