#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The exit status of ibping
#
# Guess: as ping does, ibping fails when no answer came.
# Seen:  with 100 % loss ibping ends with 0; only its output tells of the loss. (The script runs
#       ibping on a simulated fabric, where nobody answers the vendor class of ibping, with LID 99,
#       which no port has.)

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

simulated_fabric
cat >"$top/work/run" <<'EOT'
. ./fabric
opensm -o -f osm.log >osm.out 2>&1
ibping -c 1 99 >ping.out 2>/dev/null
echo "status $?" >>ping.out
EOT
inside timeout 120 sh run
expect "loss" "100% packet loss" "$(grep -o '[0-9]*% packet loss' "$top/work/ping.out")"
expect "exit" "status 0" "$(grep status "$top/work/ping.out")"
