# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the tests between two guests, which print KTAP, and call functions of guest.sh in either
# guest.

# self is the path of the script that sources this file. guest.sh uses here and there, the addresses
# of this guest and of the other one.
# shellcheck disable=SC2154,SC2034

ulp=$(cd "${BASH_SOURCE[0]%/*}" && pwd -P)	# the folder of this file
tmp=$(mktemp -d)
count=0
failed=0
patience=60	# seconds that a client and its server may take
delays=(1 2 4 8)	# seconds after which served() starts a client that has failed again
here=10.9.0.1
there=10.9.0.2
peer=host2
alone=
# One guest alone is its own peer.
if ! getent hosts host2 >/dev/null; then
	alone=1
	there=$here
	peer=localhost
	mkdir "$tmp/bin"
	printf '#!/bin/sh\nshift\nexec "$@"\n' >"$tmp/bin/on"
	chmod +x "$tmp/bin/on"
	PATH=$tmp/bin:$PATH
fi
trap 'rm -rf "$tmp"' EXIT

# shellcheck source=tools/testing/ulp/guest.sh
source "${self%/*}/guest.sh"

# In the other guest: call one function.
if [[ ${1:-} == --there ]]; then
	shift
	"$@"
	exit
fi

pattern=${1:-*}

# Call a function of guest.sh in the other guest.
peer_calls() {
	on 2 "$self" --there "$@"
}

# both COMMAND...: run a command, or call a function of guest.sh, in both guests.
both() {
	"$@" && peer_calls "$@"
}

# at HOST COMMAND...: run a command in a guest, or call a function of guest.sh there.
at() {
	if (($1 == 1)); then
		"${@:2}"
	else
		peer_calls "${@:2}"
	fi
}

# check NAME COMMAND...: one test, which passes if COMMAND succeeds.
check() {
	local name=$1 status=0
	shift
	# shellcheck disable=SC2053 # the right side is a pattern
	[[ $name == $pattern ]] || return 0
	rm -f "$tmp"/*.log
	"$@" >"$tmp/output.log" 2>&1 || status=$?
	((++count))
	if ((status == 0)); then
		echo "ok $count $name"
	else
		((++failed))
		echo "not ok $count $name"
		tail -n 10 "$tmp"/*.log | sed 's/^/# /'
	fi
}

# between NAME COMMAND...: as check, for a test that is left out if there is only one guest.
between() {
	[[ $alone ]] || check "$@"
}

# skip NAME REASON: one test that is not run.
skip() {
	# shellcheck disable=SC2053 # the right side is a pattern
	[[ $1 == $pattern ]] || return 0
	((++count))
	echo "ok $count $1 # SKIP ${*:2}"
}

# Whether the kernel is the debug kernel, which finds leaks.
on_debug_kernel() {
	[[ -e /sys/kernel/debug/kmemleak ]]
}

# Start a server in the other guest and, when it waits for clients, a client here. Both must
# succeed. The arguments of the two are separated by "--". A server that is a function of guest.sh
# ("$self" --there FUNCTION) itself prints that it waits for clients. If the client fails while the
# server runs, the client is started again, because the link may have gone down in between.
served() {
	served_by 2 "$@"
}

# served_by HOST SERVER... -- CLIENT...: the same with the server in the guest HOST, and the client
# in the other one.
served_by() {
	local server_host=(on 2) client_host=() server=() delay pid status
	(($1 == 2)) || { server_host=() client_host=(on 2); }
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	[[ ${server[0]} == "$self" ]] || server=("$self" --there serve "${server[@]}")
	: >"$tmp/server.log"
	"${server_host[@]}" timeout "$patience" "${server[@]}" >>"$tmp/server.log" 2>&1 &
	pid=$!
	wait_for 60 waits_or_has_ended "$pid"
	for delay in "${delays[@]}"; do
		"${client_host[@]}" timeout "$patience" "$@"
		status=$?
		((status == 0)) || not_running "$pid" && break
		sleep "$delay"
	done
	wait "$pid" && ((status == 0))
}

# compared COMMAND...: served by a pingpong that compares the data. It exits with 0 even if the data
# is wrong.
compared() {
	"$@" && ! grep -q "invalid data" "$tmp/server.log"
}

waits_or_has_ended() {
	not_running "$1" || [[ $(<"$tmp/server.log") == *"$waiting"* ]]
}

# mpi TRANSPORT ARGUMENT...: mpi.py with two ranks in each guest. Only the connections by which
# mpirun starts the ranks do not use RDMA. UCX's strong fence flushes all endpoints, which UCX
# cannot do on a device without DEVX; with DEVX the rank that has the lock of a window was seen to
# wait in the fence for ever, while the other ranks spun for the lock. The weak fence suffices on a
# reliable connection.
mpi() {
	local transport=$1 hosts=host1:2,host2:2
	shift
	interrupted_doorbells
	if [[ $alone ]]; then
		hosts=localhost:4
	else
		peer_calls interrupted_doorbells
	fi
	mpirun --allow-run-as-root --host "$hosts" --bind-to none --prtemca plm_ssh_agent \
		"$ulp/remote-shell" --mca pml ucx --mca osc ucx -x UCX_FENCE_MODE=weak -x UCX_TLS="$transport" \
		-x UCX_NET_DEVICES=mlx5_0:1 python3 "$ulp/mpi.py" "$@"
}

# Whether the results of all four ranks are right.
mpi_works() {
	mpi "$1" | tee >(cat >&2) | grep -c "^rank . of 4 on" | grep -qx 4
}

# bring_up WHAT COMMAND...: the command brings up what all tests need. If it fails there is no WHAT
# between the guests, and no test runs.
bring_up() {
	echo "TAP version 13"
	"${@:2}" >"$tmp/up.log" 2>&1 && return
	sed 's/^/# /' "$tmp/up.log"
	echo "Bail out! no $1 between the guests"
	exit 1
}

# The addresses of both guests.
ports_up() {
	port_up "$here" && { [[ $alone ]] || peer_calls port_up "$there"; }
}

start() {
	bring_up interface ports_up
}

# Print the plan, and exit with the verdict.
finish() {
	echo "1..$count"
	exit $((failed > 0))
}
