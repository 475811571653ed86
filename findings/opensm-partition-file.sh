#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a partition file does to the default partition of opensm
#
# Guess: a partition file that defines only one partition of two hosts leaves the default partition
#       as it is without a file: all ports full members (0xffff).
# Seen:  with the file all ports but that of opensm are limited members (0x7fff), so that two hosts
#       cannot reach each other in the default partition any more, and opensm does not create its
#       IPoIB broadcast group. A file with only a comment is an error, and opensm does what it does
#       without a file.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

simulated_fabric
cat >"$top/work/run" <<'EOT'
. ./fabric
# partitions NAME: what opensm makes of NAME.conf: the P_Keys of H1, where opensm is, and of H2, the
# IPoIB groups of the partitions 0xffff and 0x8005, and errors in the log.
partitions() {
	rm -f osm.log
	opensm -o -P "$1.conf" -f osm.log >osm.out 2>&1
	for lid in 1 3; do
		smpquery pkeys "$lid" | awk 'NR == 1 { print $2, $3 }'
	done >"$1.out" 2>&1
	guid=$(smpquery nodeinfo 3 | sed -n 's/^PortGuid:\.*//p')
	rm -f osm.log
	opensm -P "$1.conf" -f osm.log >osm.out 2>&1 &
	sm=$!
	until saquery -c >/dev/null 2>&1; do sleep 0.2; done
	saquery -g >groups 2>&1
	kill $sm
	wait $sm
	grep -c 401b:ffff groups >>"$1.out"
	grep -c 401b:8005 groups >>"$1.out"
	grep -o 'configuration in error' osm.log >>"$1.out" || true
}
partitions none
echo '# no partition' >comment.conf
partitions comment
echo "two=0x5,ipoib: SELF=full, $guid=full;" >two.conf
partitions two
EOT
inside timeout 300 sh run
seen() {
	tr '\n' ' ' <"$top/work/$1.out"
}
expect "no file: P_Keys of two hosts, IPoIB groups" "0xffff 0x0000 0xffff 0x0000 1 0 " \
	"$(seen none)"
expect "a comment only" "0xffff 0x0000 0xffff 0x0000 1 0 configuration in error " "$(seen comment)"
expect "a partition of both" "0xffff 0x8005 0x7fff 0x8005 0 1 " "$(seen two)"
