#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What loads the RDMA driver of a ConnectX
#
# Guess: modprobe by the alias of the auxiliary device, so that any driver with that alias can
#       take the place of the stock one.
# Seen:  the rules of rdma-core also load mlx5_ib by name, for each PCI function bound to
#       mlx5_core and for each of its netdevs, not only when the device is added: on each event
#       but "remove".

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack rdma-core=56.1-1
rules=$root/usr/lib/udev/rules.d/90-rdma-hw-modules.rules
expect "rules for mlx5_core" \
	'ENV{ID_NET_DRIVER}=="mlx5_core" mlx5_ib;ENV{DRIVER}=="mlx5_core" mlx5_ib;' \
	"$(sed -n 's/^\([^,]*=="mlx5_core"\), RUN{builtin}+="kmod load \(.*\)"/\1 \2/p' "$rules" |
		tr '\n' ';')"
expect "actions" 'ACTION=="remove", GOTO="rdma_hw_modules_end"' "$(grep ACTION "$rules")"
