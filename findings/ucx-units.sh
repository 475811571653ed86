#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Units of bandwidth in UCX
#
# Guess: 100Gbps is 100e9 bit/s: ucx_info -c prints UCX_TCP_MAX_BW as 12500 MBps. The MB/s of
#       ucx_perftest are 10^6 bytes.
# Seen:  both count in powers of two. 100Gbps is 2^30 times 100 bit/s, 12800 MBps of 2^20 bytes
#       each: 7 % more than the line rate of a 100 Gbit/s link. "8Mbps" is 1024 KBps. ucx_perftest
#       counts a message of 10^6 bytes as 0.954 MB.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack ucx-utils=1.18.1+ds-2+b1
bandwidth() {
	inside env "UCX_TCP_MAX_BW=$1" ucx_info -c 2>/dev/null | sed -n 's/^UCX_TCP_MAX_BW=//p'
}
expect "100Gbps" "12800.00MBps" "$(bandwidth 100Gbps)"
expect "8Mbps" "1024.00KBps" "$(bandwidth 8Mbps)"
expect "12500MBps" "12500.00MBps" "$(bandwidth 12500MBps)"
expect "1024MBps" "1024.00MBps" "$(bandwidth 1024MBps)"
inside ucx_perftest -l -t tag_bw -s 1000000 -n 200 >"$top/output" 2>/dev/null
# The last two pairs of columns: MB/s and messages per second, average and overall.
expect "MB per message" "0.954" \
	"$(awk '$1 == "Final:" { printf "%.3f", $(NF - 2) / $NF }' "$top/output")"
