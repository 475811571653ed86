#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What rdma-core takes a ConnectX for, and what it loads
#
# Guess: a ConnectX with Ethernet ports counts as RoCE, one with InfiniBand ports as InfiniBand;
#       an RDMA device brings ib_uverbs, rdma_ucm and nothing of storage.
# Seen:  every device of mlx5_core counts as both, whatever its ports, so ib_ipoib and ib_umad are
#       loaded for Ethernet ports, too. Any RDMA device also loads the transports of iSER and of
#       NFS, client and server. roce.conf, which is loaded for RoCE, names no module.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack rdma-core=56.1-1
kinds() {
	sed -n "s/^DRIVERS==\"$1\", ENV{ID_RDMA_\([A-Z]*\)}=\"1\"/\1/p" \
		"$root/usr/lib/udev/rules.d/75-rdma-description.rules" | tr '\n' ' '
}
modules() {
	grep -v '^#' "$root/etc/rdma/modules/$1.conf" | grep . | tr '\n' ' ' || true
}
expect "mlx5_core is" "INFINIBAND ROCE " "$(kinds mlx5_core)"
expect "bnxt_en is" "ROCE " "$(kinds bnxt_en)"
expect "for InfiniBand" "ib_ipoib ib_umad " "$(modules infiniband)"
expect "for RoCE" "" "$(modules roce)"
expect "for any" "ib_iser ib_uverbs rdma_ucm xprtrdma svcrdma " "$(modules rdma)"
