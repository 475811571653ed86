#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What scapy fills in for a RoCE v2 frame
#
# Guess: scapy sets the pad count from the payload, leaves the UDP checksum at 0 as RoCE hardware
#       does, and computes the ICRC again when a field of a dissected frame is changed.
# Seen:  none of the three: a payload of 30 bytes gets pad count 0 and no padding, UDP has a
#       checksum, and a changed PSN keeps the old ICRC until icrc is set to None.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack python3-scapy=2.6.1+dfsg-1
cat >"$top/work/g.py" <<'EOT'
from scapy.all import *
from scapy.contrib.roce import *
def frame():
    return Ether(bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP() /
                       UDP(sport=49152, dport=4791) / BTH(opcode=4) / Raw(bytes(30))))
f = frame()
print(f[BTH].padcount, len(f[Raw].load), f[UDP].chksum != 0)
old = f[BTH].icrc
f[BTH].psn = 9
print(Ether(bytes(f))[BTH].icrc == old)
f[BTH].icrc = None
print(Ether(bytes(f))[BTH].icrc == old)
EOT
expect "pad count, payload, UDP checksum; ICRC kept; kept after icrc = None" \
	"0 30 True True False " "$(inside python3 g.py 2>/dev/null | tr '\n' ' ')"
