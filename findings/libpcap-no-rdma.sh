#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Capturing on RDMA devices with Debian's libpcap
#
# Guess: libpcap has had a module for RDMA devices (rdmasniff) since 1.9, so tcpdump -i mlx5_0
#       works.
# Seen:  Debian builds libpcap without libibverbs: the library neither needs it nor has a trace of
#       rdmasniff. The libraries that it needs are those of libc and D-Bus.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack libpcap0.8t64=1.10.5-2 binutils=2.44-3
library=/usr/lib/x86_64-linux-gnu/libpcap.so.0.8
expect "needs" "libc.so.6 ld-linux-x86-64.so.2 libdbus-1.so.3 " \
	"$(inside objdump -p $library | awk '$1 == "NEEDED" { print $2 }' | tr '\n' ' ')"
expect "mentions of rdma or ibv_" "0" \
	"$(inside strings -a $library | grep -ciE 'rdma|ibv_' || true)"
