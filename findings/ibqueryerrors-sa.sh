#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# ibqueryerrors and the subnet administrator
#
# Guess: ibqueryerrors reads counters by directed or LID routed MADs, as perfquery does, and needs
#       no subnet manager once LIDs are set; if it can look at no port, it fails.
# Seen:  after opensm has ended, iblinkinfo and perfquery still work, but ibqueryerrors asks the
#       SA for a path first. It checks nothing, prints "Query SA failed" and no summary, and ends
#       with 0.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

simulated_fabric
cat >"$top/work/run" <<'EOT'
. ./fabric
opensm -f osm.log >osm.out 2>&1 &
sm=$!
until saquery -c >/dev/null 2>&1; do sleep 0.2; done
ibqueryerrors >with.out 2>&1
echo "status $?" >>with.out
kill $sm
wait $sm
iblinkinfo >link.out 2>&1
echo "status $?" >>link.out
perfquery 1 1 >perf.out 2>&1
echo "status $?" >>perf.out
ibqueryerrors >without.out 2>&1
echo "status $?" >>without.out
EOT
inside timeout 200 sh run
work=$top/work
expect "nodes checked with opensm" "3 nodes checked" \
	"$(grep -o '[0-9]* nodes checked' "$work/with.out")"
expect "iblinkinfo without" "status 0" "$(grep status "$work/link.out")"
expect "perfquery without" "status 0" "$(grep status "$work/perf.out")"
expect "ibqueryerrors without" "1" "$(grep -c 'Query SA failed' "$work/without.out")"
expect "its summary" "0" "$(grep -c 'nodes checked' "$work/without.out" || true)"
expect "its exit" "status 0" "$(grep status "$work/without.out")"
