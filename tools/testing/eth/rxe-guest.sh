# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The functions by which the tests between rdma_rxe and the HCA work in one guest, besides those of
# guest.sh and roce-guest.sh.

# self is the path of the script that sources this file; ibdev is for the functions of
# roce-guest.sh.
# shellcheck disable=SC2154,SC2034

# The RDMA device of this guest: the HCA with its verbs driver in one, rdma_rxe in the other.
use_device() {
	local devices=(/sys/class/infiniband/*)
	ibdev=${devices[0]}
	device=${ibdev##*/}
}

# ---- up and down ---------------------------------------------------------------------------------

# Bring rdma_rxe up on the netdev, without the verbs driver of the HCA, whose netdev is down if it is
# not this one. In the guests of scripts/vm libibverbs has the file of one provider.
rxe_up() {
	echo "driver rxe" >/etc/libibverbs.d/rxe.driver && driver none && nic_up "10.9.0.$1" &&
		modprobe -a rdma_rxe rdma_ucm && rdma link add rxe0 type rxe netdev "$(nic)" &&
		wait_for 20 test -e /sys/class/infiniband/rxe0 && addresses_up "$1"
}

# The driver of the netdev.
netdev_driver() {
	basename "$(readlink "/sys/class/net/$(nic)/device/driver")"
}

rxe_down() {
	rdma link delete rxe0 && modprobe -r rdma_rxe
}

hca_up() {
	modprobe rdma_ucm && nic_up "10.9.0.$1" && addresses_up "$1"
}

# addresses_up HOST [VLAN]: the other kind of address, and wait for both in the GID table.
addresses_up() {
	local netdev
	netdev=${2:+vlan$2}
	use_device
	ip -6 address replace "$(gid 6 "$1" "${2:-0}")/64" dev "${netdev:-$(nic)}" nodad &&
		wait_for 20 gid_index v2 "$(gid 4 "$1" "${2:-0}")" &&
		wait_for 20 gid_index v2 "$(gid 6 "$1" "${2:-0}")"
}

# vlan_with_addresses HOST VLAN
vlan_with_addresses() {
	vlan_up "$2" "10.9.$2.$1" && addresses_up "$1" "$2"
}

# mtu_is_set NETDEV-MTU PATH-MTU: the MTU of the netdev, and of its VLAN, which does not grow with
# the netdev's; and the MTU of the port that follows.
mtu_is_set() {
	nic_mtu "$1" && ip link set vlan7 mtu "$1" && wait_for 20 active_mtu_is "$2"
}

# ---- servers and clients -------------------------------------------------------------------------

# server_of HOST IP VLAN PROGRAM OPTION [ARGUMENT...]: run a program as a server. The OPTION takes
# the index of a GID.
server_of() {
	local index
	use_device
	index=$(gid_index v2 "$(gid "$2" "$1" "$3")") || return
	serve "$4" -d "$device" "$5" "$index" "${@:6}"
}

# client_of HOST SERVER IP VLAN PROGRAM OPTION [ARGUMENT...]: the same as a client of a server.
client_of() {
	local index
	use_device
	index=$(gid_index v2 "$(gid "$3" "$1" "$4")") || return
	"$5" -d "$device" "$6" "$index" "${@:7}" "$2"
}

# operations_of HOST MTU [SERVER]: rxe-operations with each kind of address.
operations_of() {
	local ip vlan indexes=()
	use_device
	for vlan in 0 7; do
		for ip in 4 6; do
			indexes+=("$(gid_index v2 "$(gid "$ip" "$1" "$vlan")")") || return
		done
	done
	set -- "${self%/*}/rxe-operations" -d "$device" -m "$2" \
		-g "$(IFS=, && echo "${indexes[*]}")" ${3:+"$3"}
	if (($# == 8)); then
		"$@"
	else
		serve "$@"
	fi
}

# Show the counters of rdma_rxe, and whether it has sent and received $1 packets at least.
rxe_has_sent() {
	local counters=/sys/class/infiniband/rxe0/ports/1/hw_counters
	grep -H . $counters/*
	(($(<$counters/sent_pkts) >= $1 && $(<$counters/rcvd_pkts) >= $1))
}
