#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# RoCE v1 frames by scapy
#
# Guess: Ether()/GRH()/BTH()/data is a valid RoCE v1 frame: lengths and ICRC are filled in, as for
#       RoCE v2.
# Seen:  the ICRC is 0 with a warning only, the GRH says payload length 0 and next header 0 (27 is
#       that of IBA), and its flow label is 6 by default. The same BTH over UDP has an ICRC.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack python3-scapy=2.6.1+dfsg-1
cat >"$top/work/v1.py" <<'EOT'
from scapy.all import *
from scapy.contrib.roce import *
def bth():
    return BTH(opcode=4) / Raw(bytes(32))
v1 = bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / GRH() / bth())
v2 = bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP() /
           UDP(sport=49152, dport=4791) / bth())
grh = Ether(v1)[GRH]
print(v1[-4:].hex(), v2[-4:] != bytes(4), grh.paylen, grh.nexthdr, grh.flowlabel)
EOT
inside python3 v1.py >"$top/seen" 2>"$top/errors"
expect "ICRC of v1, v2 has one, payload length, next header, flow label" \
	"00000000 True 0 0 6" "$(cat "$top/seen")"
expect "what it says" "1" "$(grep -c 'Expecting UDP underlayer' "$top/errors")"
