#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The packet life time of opensm's path records
#
# Guess: the packet life time follows from the number of switches on the path, some microseconds
#       for one switch, and the timeouts that the RDMA CM takes from it are as short.
# Seen:  the field is 18 for each path, also across one switch: 4.096 us * 2^18, which is 1.07 s.
#       The value is that of the option packet_life_time, by default 0x12, and "mtu 0x84", "rate
#       0x83" and "pkt_life 0x92" of saquery have the selector "exactly" in their upper two bits.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

simulated_fabric
cat >"$top/work/run" <<'EOT'
. ./fabric
opensm -f osm.log >osm.out 2>&1 &
sm=$!
until saquery -c >/dev/null 2>&1; do sleep 0.2; done
saquery -p --src-to-dst 1:3 >path.out 2>&1
kill $sm
wait $sm
opensm -c osm.conf >/dev/null 2>&1
EOT
inside timeout 200 sh run
field() {
	sed -n "s/^[ \t]*$1\.*\(0x[0-9A-Fa-f]*\)\$/\1/p" "$top/work/path.out"
}
expect "mtu, rate, pkt_life" "0x84 0x83 0x92" "$(field mtu) $(field rate) $(field pkt_life)"
expect "option" "packet_life_time 0x12" "$(grep '^packet_life_time' "$top/work/osm.conf")"
