#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The link layer on a simulated fabric
#
# Guess: libumad2sim shows a port as the kernel does: link_layer is "InfiniBand".
# Seen:  it is "IB". A script that looks for "Link layer: InfiniBand" in the output of ibstat
#       finds no port in ibsim.

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
ibstat >stat.out 2>&1
EOT
inside timeout 120 sh run
expect "ibstat" "Link layer: IB" "$(grep -o 'Link layer: .*' "$top/work/stat.out")"
expect "type" "CA type: simulator" "$(grep -o 'CA type: .*' "$top/work/stat.out")"
