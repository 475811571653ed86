# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The functions by which the tests of RoCE work in one guest, besides those of guest.sh.

# self is the path of the script that sources this file; there is the address of the second guest,
# and ibdev the folder of the RDMA device.
# shellcheck disable=SC2154,SC2034

# An entry of the GID table that is empty.
no_gid=0000:0000:0000:0000:0000:0000:0000:0000
cm_modes=/sys/kernel/config/rdma_cm

# ---- addresses -----------------------------------------------------------------------------------

no_gid_index() {
	! gid_index "$@"
}

has_version() {
	grep -qsx "${roce_types[$1]}" "$ibdev"/ports/1/gid_attrs/types/*
}

# The GID table as sysfs shows it: index, version, kind of IP (version 2), GID, MAC, VLAN. The
# function starts few processes, because that takes long in a guest without KVM.
sysfs_addresses() {
	local port=$ibdev/ports/1 entry index gid type dev mac ip name vlan
	local -A vlans
	while read -r name _ vlan _; do
		vlans[$name]=$vlan
	done < <(cat /proc/net/vlan/config 2>/dev/null)
	grep -vx "$no_gid" "$port"/gids/* | while read -r entry; do
		entry=${entry#"$port/gids/"} index=${entry%%:*} gid=${entry#*:}
		type='' dev='' mac=''
		read -r type <"$port/gid_attrs/types/$index"
		read -r dev <"$port/gid_attrs/ndevs/$index"
		read -r mac <"/sys/class/net/$dev/address"
		ip=6
		[[ $gid != 0000:0000:0000:0000:0000:ffff:* ]] || ip=4
		[[ $type != "${roce_types[v1]}" ]] || ip=
		echo "$index ${type##*v} $ip $gid $mac ${vlans[$dev]:-}"
	done | sort -n
}

# The same table as the HCA has it.
hca_addresses() {
	hca addresses | grep -o '{"index"[^}]*}' | sed -E '
		s/"ip":([46]),/\1/
		s/^\{"index":([0-9]+),"version":([0-9]),([46]?)"gid":/\1 \2 \3 /
		s/"([^"]*)","mac":"([^"]*)"/\1 \2 /
		s/,"vlan":([0-9]+)/\1/
		s/\}$//'
}

addresses_agree_now() {
	local device
	device=$(hca_addresses)
	[[ $device && $device == "$(sysfs_addresses)" ]]
}

# Whether the HCA has the addresses that sysfs shows. The RDMA core changes both a little later than
# the netdev changes.
addresses_agree() {
	wait_for 20 addresses_agree_now && return
	printf 'sysfs:\n%s\nHCA:\n%s\n' "$(sysfs_addresses)" "$(hca_addresses)"
	return 1
}

no_addresses() {
	[[ $(hca addresses) == *'"list":[]'* && ! $(sysfs_addresses) ]]
}

# Bring the netdev up with the addresses of the guest $1, which the GID table then has.
roce_up() {
	port_up "10.9.0.$1" &&
		ip -6 address replace "$(gid 6 "$1")/64" dev "$(nic)" nodad &&
		wait_for 20 gid_index v2 "$(gid 6 "$1")" && wait_for 20 link_is ACTIVE
}

# roce_vlan_up HOST VLAN: a VLAN interface with addresses.
roce_vlan_up() {
	vlan_up "$2" "10.9.$2.$1" &&
		ip -6 address add "$(gid 6 "$1" "$2")/64" dev "vlan$2" nodad &&
		wait_for 20 gid_index v2 "$(gid 4 "$1" "$2")" &&
		wait_for 20 gid_index v2 "$(gid 6 "$1" "$2")"
}

# In the first guest: bring up both.
roce_both_up() {
	roce_up 1 && peer_calls roce_up 2
}

# In the first guest: bring up both, and find out which versions of RoCE the HCA has.
roce_start() {
	[[ ! ${BLUEBELL_CAPTURE:-} ]] || hca capture off >/dev/null
	bring_up RoCE roce_both_up
	versions=(v2)
	! has_version v1 || versions=(v1 v2)
}

# In the first guest: run a command while the RDMA CM of both connects by the version $1.
with_version() {
	local status
	both cm_mode "$1" && "${@:2}"
	status=$?
	both cm_mode_down && return "$status"
}

# ---- the port ------------------------------------------------------------------------------------

# link_is STATE: whether the port has this state and the netdev.
link_is() {
	[[ $(rdma link show mlx5_0/1) == *" state $1 "*" netdev $(nic) "* ]]
}

# link_has_no_netdev: whether the port is down and has no netdev.
link_has_no_netdev() {
	local link
	link=$(rdma link show mlx5_0/1)
	[[ $link == *" state DOWN "* && $link != *" netdev "* ]]
}

# active_mtu_is BYTES
active_mtu_is() {
	ibv_devinfo | grep -q "active_mtu:[[:blank:]]*$1 "
}

# No process has left an object of verbs.
nothing_is_left() {
	local kind left
	rdma resource show && ibv_devinfo -v >/dev/null || return
	for kind in qp cq mr pd cm_id srq; do
		left=$(rdma resource show "$kind" | grep ' pid ') && echo "$left" && return 1
	done
	return 0
}

# The kernel has logged no error of the driver or the RDMA core.
log_has_no_errors() {
	! dmesg --level emerg,alert,crit,err | grep -iE 'mlx5|bluebell|infiniband|rdma|roce'
}

# ---- servers and clients -------------------------------------------------------------------------

# program_of HOST VIA VLAN PROGRAM OPTION [ARGUMENT...]: run a program whose OPTION takes the index
# of a GID: in the second guest as a server, in the first one as its client. VIA is v1-4, v1-6, v2-4
# or v2-6: the version of RoCE, and the kind of address.
program_of() {
	local host=$1 via=$2 vlan=$3 program=$4 option=$5 index
	shift 5
	index=$(gid_index "${via%-*}" "$(gid "${via#*-}" "$host" "$vlan")") || return
	if ((host == 2)); then
		serve "$program" "$option" "$index" "$@"
	else
		"$program" "$option" "$index" "$@" "$there"
	fi
}

# cm_mode VERSION: the version by which the RDMA CM connects from now on.
cm_mode() {
	modprobe rdma_cm
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config || return
	mkdir -p $cm_modes/mlx5_0 &&
		echo "${roce_types[$1]}" >$cm_modes/mlx5_0/ports/1/default_roce_mode
}

cm_mode_down() {
	cm_mode v2 && rmdir $cm_modes/mlx5_0
}

# ---- ways in which the netdev changes or goes ----------------------------------------------------

# The auxiliary device of the netdev.
eth_function() {
	local functions
	functions=("$(pci_function)"/mlx5_core.eth.*)
	echo "${functions[0]##*/}"
}
