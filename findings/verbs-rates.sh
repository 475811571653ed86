#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Rates of libibverbs in Mbit/s and in multiples of 2.5 Gbit/s
#
# Guess: IBV_RATE_100_GBPS is 100000 Mbit/s and IBV_RATE_400_GBPS is 400000 Mbit/s; each rate has a
#       multiple of 2.5 Gbit/s, whole or rounded; and mbps_to_ibv_rate(100000) finds the rate.
# Seen:  rates from FDR on are signalling rates: IBV_RATE_14_GBPS is 14062 Mbit/s, 100 is 103125,
#       400 is 425000, and 800 is 850000. The multiple is -1 for 14, 25, 56, 100 and 200 Gbit/s, but
#       11 for 28 and 160 for 400 Gbit/s. 100000 Mbit/s is IBV_RATE_MAX (0).

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack libibverbs1=56.1-1 python3=3.13.5-1
cat >"$top/work/rates.py" <<'EOT'
import ctypes
verbs = ctypes.CDLL('libibverbs.so.1')
# IBV_RATE_40, 14, 25, 100, 200, 28, 50, 400 and 800_GBPS
for rate in (7, 11, 15, 16, 17, 19, 20, 21, 23):
    print(verbs.ibv_rate_to_mbps(rate), verbs.ibv_rate_to_mult(rate))
for mbps in (40000, 100000, 103125, 400000):
    print('of', mbps, verbs.mbps_to_ibv_rate(mbps))
for mult in (16, 40, 80, 160):
    print('times', mult, verbs.mult_to_ibv_rate(mult))
EOT
inside python3 rates.py >"$top/seen"
expect "Mbit/s" "40000 14062 25781 103125 206250 28125 53125 425000 850000 " \
	"$(awk 'NF == 2 { print $1 }' "$top/seen" | tr '\n' ' ')"
expect "multiples" "16 -1 -1 -1 -1 11 20 160 320 " \
	"$(awk 'NF == 2 { print $2 }' "$top/seen" | tr '\n' ' ')"
expect "rates of 40000, 100000, 103125, 400000 Mbit/s" "7 0 16 0 " \
	"$(awk '$1 == "of" { print $3 }' "$top/seen" | tr '\n' ' ')"
expect "rates of 16, 40, 80, 160 times 2.5 Gbit/s" "7 0 0 21 " \
	"$(awk '$1 == "times" { print $3 }' "$top/seen" | tr '\n' ' ')"
