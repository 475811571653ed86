#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The link layer on a simulated fabric
#
# Guess: libumad2sim shows a port as the kernel does: link_layer is "InfiniBand".
# Seen:  link_layer is "IB". A script that looks for "Link layer: InfiniBand" in the output of
#       ibstat finds no port in ibsim.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

simulated_fabric
cat >"$top/work/run" <<'EOT'
. ./fabric
ibstat >stat.out 2>&1
EOT
inside timeout 120 sh run
expect "ibstat" "Link layer: IB" "$(grep -o 'Link layer: .*' "$top/work/stat.out")"
expect "type" "CA type: simulator" "$(grep -o 'CA type: .*' "$top/work/stat.out")"
