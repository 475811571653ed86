#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The exit status of ibping
#
# Guess: as ping does, ibping fails when no answer came.
# Seen:  with 100 % loss it ends with 0; only its text tells. (On a simulated fabric, where nobody
#       answers the vendor class of ibping; LID 99 does not exist at all.)

set -eu
# shellcheck source=findings/lib.sh
. "$(dirname "$0")/lib.sh"

unpack opensm=3.3.23-3.1 ibsim-utils=0.12-1 infiniband-diags=56.1-1
cat >"$top/work/net" <<'EOT'
Switch	4 "S1"
[1]	"H1"[1]
[2]	"H2"[1]

Hca	1 "H1"
[1]	"S1"[1]

Hca	1 "H2"
[1]	"S1"[2]
EOT
cat >"$top/work/run" <<'EOT'
ibsim -s net >ibsim.log 2>&1 </dev/null &
until grep -q 'simulator ready' ibsim.log; do sleep 0.2; done
export LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so SIM_HOST=H1
opensm -o -f osm.log >osm.out 2>&1
ibping -c 1 99 >ping.out 2>/dev/null
echo "status $?" >>ping.out
EOT
inside timeout 120 sh run
expect "loss" "100% packet loss" "$(grep -o '[0-9]*% packet loss' "$top/work/ping.out")"
expect "exit" "status 0" "$(grep status "$top/work/ping.out")"
