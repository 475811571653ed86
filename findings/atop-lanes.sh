#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Traffic of InfiniBand ports in atop
#
# Guess: bytes are port_rcv_data times 4, whatever the width of the link.
# Seen:  atop multiplies by the number of lanes in the file rate. With the same counters, which are
#       in units of 4 bytes for each width, atop shows a quarter of the traffic of a 4X port for a
#       1X port, and half of it for a 2X port. atop reads a rate with a fraction, "2.5 Gb/sec (1X
#       SDR)", as 2 Gbit/s without lanes, and shows no traffic at all.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack atop=2.11.1-3
# port DEVICE RATE: a port that has sent and received 4e15 bytes.
port() {
	folder=$root/sys/class/infiniband/$1/ports/1
	mkdir -p "$folder/counters"
	echo "$2" >"$folder/rate"
	for counter in port_rcv_data port_xmit_data port_rcv_packets port_xmit_packets; do
		echo 1000000000000000 >"$folder/counters/$counter"
	done
}
mkdir -p "$root/sys/fs/cgroup"
port ib4x '100 Gb/sec (4X EDR)'
port ib2x '50 Gb/sec (2X EDR)'
port ib1x '25 Gb/sec (1X EDR)'
port sdr1x '2.5 Gb/sec (1X SDR)'
inside atop 1 1 >"$top/seen" 2>/dev/null
inside atop -P IFB 1 1 >"$top/raw" 2>/dev/null
# The average rate at which a port has received since the machine was started, in Kbit/s.
received() {
	awk -v port="$1/1" '$1 == "IFB" && $3 == port {
		unit = /si +[0-9]+ Gbps/ ? 1e6 : /si +[0-9]+ Mbps/ ? 1e3 : 1
		for (i = 4; i < NF; i++)
			if ($i == "si")
				print $(i + 1) * unit
	}' "$top/seen"
}
ratio() {
	awk -v a="$(received "$1")" -v b="$(received "$2")" 'BEGIN { printf "%.0f", a / b }'
}
expect "4X has received so many times what 2X has" "2" "$(ratio ib4x ib2x)"
expect "4X has received so many times what 1X has" "4" "$(ratio ib4x ib1x)"
expect "1X SDR has received" "0" "$(received sdr1x)"
expect "lanes, Mbit/s of the ports" "ib1x 1 25000 ib2x 2 50000 ib4x 4 100000 sdr1x 0 2 " \
	"$(awk '$1 == "IFB" { print $7, $9, $10 }' "$top/raw" | sort | tr '\n' ' ')"
