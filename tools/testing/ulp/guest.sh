# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The functions by which the tests work in one guest: bring IPoIB up, offer block devices and files
# to the other guest, use the block devices and files of the other guest, take the device away.
# Functions that end in _up or _down are called in either guest.

# here and there are the addresses of the two guests, and tmp a directory: common.sh sets them.
# shellcheck disable=SC2154

nvmet=/sys/kernel/config/nvmet
nullb=/sys/kernel/config/nullb/nullb0
target=/sys/kernel/config/target
ibdev=/sys/class/infiniband/mlx5_0
pci_pull=/sys/module/pci_pull/parameters/device

# ---- IPoIB ---------------------------------------------------------------------------------------

# Wait up to $1 seconds until the rest of the arguments, a command, succeeds.
wait_for() {
	local limit=$((SECONDS + $1))
	shift
	while ! "$@"; do
		((SECONDS <= limit)) || return
		sleep 0.1
	done
}

file_has() {
	[[ $(cat "$1" 2>/dev/null) == "$2" ]]
}

# Load the modules and give the IPoIB interface the address $1.
ipoib_up() {
	modprobe -a ib_umad ib_ipoib rdma_ucm && wait_for 60 test -e /sys/class/net/ib0 || return
	ip address add "$1/24" dev ib0 && ip link set ib0 up || return
	# The interface has a carrier when it has joined the broadcast group, which subnet
	# administration grants.
	wait_for 60 file_has /sys/class/net/ib0/carrier 1
}

ipoib_mode() {
	echo "$1" >/sys/class/net/ib0/mode && ip link set ib0 mtu "$2"
}

ipoib_down() {
	local module
	for module in rdma_ucm ib_ipoib ib_umad; do
		# A module that is built into the kernel stays.
		! grep -q "^$module " /proc/modules || modprobe -r "$module" || return
	done
}

# ---- an Ethernet port ----------------------------------------------------------------------------

# The netdev of the HCA with the number $1. A guest may have other netdevs, too.
nth_nic() {
	local devs=(/sys/bus/pci/drivers/mlx5_core/*:*/net/*)
	local dev=${devs[$(($1 - 1))]:-/none}
	[[ ! -e $dev ]] || echo "${dev##*/}"
}

# The NIC of QEMU's that scripts/vm --peer-nic puts at the switch of the HCAs, if this guest has it.
peer_nic() {
	local device
	# A VLAN has no device.
	for device in /sys/class/net/*/device; do
		[[ $(<"${device%/*}/address") != 52:54:00:68:* ]] || { basename "${device%/*}"; return; }
	done
	return 1
}

# The netdev at the switch.
nic() {
	peer_nic || nth_nic 1
}

nic_is() {
	file_has "/sys/class/net/$(nic)/$1" "$2"
}

# Give the netdev the address $1, and wait until it has a carrier.
nic_up() {
	ip address replace "$1/24" dev "$(nic)" && ip link set "$(nic)" up &&
		wait_for 30 nic_is carrier 1
}

# The words of sysfs for the versions.
declare -A roce_types=([v1]="IB/RoCE v1" [v2]="RoCE v2")

# gid 4|6 HOST [VLAN]: the GID of an address of a guest's netdev, or of its VLAN, as sysfs has it.
gid() {
	case $1 in
	4) printf '0000:0000:0000:0000:0000:ffff:0a09:%02x%02x\n' "${3:-0}" "$2" ;;
	6) printf 'fd00:0009:%04x:0000:0000:0000:0000:%04x\n' "${3:-0}" "$2" ;;
	esac
}

# gid_index VERSION GID: the index of an address in the GID table. VERSION is v1 or v2.
gid_index() {
	local file index type
	while read -r file; do
		index=${file##*/} type=
		read -r type <"$ibdev/ports/1/gid_attrs/types/$index"
		[[ $type != "${roce_types[$1]}" ]] || { echo "$index"; return; }
	done < <(grep -lx "$2" "$ibdev"/ports/1/gids/*)
	return 1
}

on_ethernet() {
	wait_for 60 test -e "$ibdev/ports/1/link_layer" &&
		file_has "$ibdev/ports/1/link_layer" Ethernet
}

# The first IPv4 address of the port, as an index in the GID table.
first_gid_index() {
	local mapped
	mapped=$(grep -hm 1 '^0000:0000:0000:0000:0000:ffff:' "$ibdev"/ports/1/gids/*) &&
		gid_index v2 "${mapped%%$'\n'*}"
}

pingpong_seconds=300	# after which a pingpong is ended

# pingpong_here PROGRAM ARGUMENT...: become a pingpong for this time at most, which on an Ethernet
# port is told the address.
pingpong_here() {
	if on_ethernet; then
		set -- "$@" -g "$(first_gid_index)"
	fi
	exec timeout "$pingpong_seconds" "$@"
}

# ---- either kind of port -------------------------------------------------------------------------

# Give the interface of the port the address $1, and wait until the two can be used.
port_up() {
	if on_ethernet; then
		modprobe rdma_ucm && nic_up "$1" &&
			wait_for 20 gid_index v2 "$(gid 4 "${1##*.}")" && wait_for 20 port_is "4: ACTIVE"
	else
		ipoib_up "$1"
	fi
}

# ---- the HCA -------------------------------------------------------------------------------------

# Send a request to the control socket of this guest's HCA; of another of its HCAs if hca_number is
# 2, 3 and so on.
hca() {
	local answer
	exec 9<>"/dev/virtio-ports/bluebell.hca${hca_number:-}"
	echo "$*" >&9
	read -r answer <&9
	exec 9>&-
	echo "$answer"
	[[ $answer == *'"ok":true'* ]]
}

# A counter of this guest's HCA.
hca_counter() {
	hca counters | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}

# Take the link down for $1 seconds.
link_flap() {
	hca link down && sleep "$1" && hca link up
}

port_is() {
	file_has "$ibdev/ports/1/state" "$1"
}

# listening PORT...: whether servers listen at these TCP ports.
listening() {
	local port
	for port; do
		[[ $(ss -Hltn "sport = :$port") ]] || return
	done
}

# rdma_listening PORT...: whether servers listen at these ports of the RDMA CM.
rdma_listening() {
	local port
	for port; do
		rdma resource show cm_id | grep -q "state LISTEN.*src-addr [^ ]*:$port " || return
	done
}

listening_somehow() {
	listening "$1" || rdma_listening "$1"
}

not_running() {
	! kill -0 "$1" 2>/dev/null
}

# What a server prints when it waits for clients.
waiting="waiting for clients"

# Run a server, and print the line above as soon as it listens at a TCP port or at one of the RDMA
# CM, or has the address of its multicast group, which a member joins next.
serve() {
	"$@" &
	announce $! serves_or_has_ended
}

# Do as serve does, for a server whose address is a GID (AF_IB).
serve_by_gid() {
	local before
	before=$(cm_ids)
	"$@" &
	announce $! has_an_id_or_has_ended "$before"
}

# announce PID COMMAND...: print $waiting when the command, with PID as its last argument, succeeds.
announce() {
	local server=$1
	shift
	wait_for 50 "$@" "$server" && ! not_running "$server" && echo "$waiting"
	wait "$server"
}

serves_or_has_ended() {
	not_running "$1" || [[ $(ss -Hltnp) == *"pid=$1,"* ]] ||
		[[ $(rdma resource show cm_id pid "$1") =~ \ state\ (LISTEN|ADDR_RESOLVED)\  ]]
}

# The number of IDs of the RDMA CM: the rdma tool counts the IDs whose addresses are GIDs, but does
# not list them.
cm_ids() {
	rdma resource show mlx5_0 | grep -o 'cm_id [0-9]*' | cut -d ' ' -f 2
}

has_an_id_or_has_ended() {
	not_running "$2" || (($(cm_ids) > $1))
}

# Write $1 to the file $2. The write must return within two minutes.
write_in_time() {
	echo "$1" >"$2" &
	wait_for 120 not_running $! && wait $!
}

# Announce to the HCA the doorbells that are rung when the device has gone in the way $1: the HCA
# ignores them, and they do no harm. When a driver is unbound, ib_core destroys the queues of a
# process before it takes the process's mappings of doorbell registers away, so a process may ring
# for a queue that no longer exists. Bluebell itself does not ring the doorbell of a device that has
# failed; but the network device of an Ethernet port, which is mlx5_core's, does.
late_doorbells() {
	case $BLUEBELL_DRIVER-$1 in
	*-fatal)
		[[ $BLUEBELL_DRIVER == mlx5_ib ]] || on_ethernet || return 0
		hca expect drop no_uar any
		;;
	mlx5_ib-unbind)
		hca expect drop no_qp any && hca expect drop bad_state any
		;;
	bluebell-unbind)
		hca expect drop no_qp any
		;;
	esac
}

# Announce to the HCA the doorbells that UCX interrupts: a signal arrives while UCX writes a WQE to
# a BlueFlame register, the handler writes another WQE to the same register, and then UCX writes the
# rest of the first WQE. By then the HCA has taken the first WQE for an ordinary doorbell, and
# ignores the rest.
interrupted_doorbells() {
	hca expect drop bad_offset any
}

# Take the device away from its users. $1 says how:
# unplug  the HCA is pulled out, and its PCI device is removed some seconds later, as by a hotplug
#         slot. By then mlx5_core, which looks at the HCA every two or three seconds, knows that no
#         command will be answered
# pull    the HCA is pulled out, and its PCI device is removed at once, as by a hotplug driver. By
#         then mlx5_core has not looked at the HCA, and does not report that it has failed
# fatal   firmware fails; mlx5_core takes the device away and brings it back
# unbind  the verbs driver is unbound from the device
take_away() {
	local pci function
	pci=$(readlink -f "$ibdev/device") && function=$(compgen -G "$pci/*.rdma.*") && late_doorbells "$1" || return
	case $1 in
	unplug)
		hca unplug && sleep 5 && write_in_time 1 "$pci/remove" && [[ ! -e $pci ]]
		;;
	pull)
		[[ -e $pci_pull ]] || insmod /run/bluebell/modules/test/pci_pull.ko || return
		hca unplug && write_in_time "${pci##*/}" "$pci_pull" && [[ ! -e $pci ]]
		;;
	fatal)
		# mlx5_core does not recover from a second error within the grace period, a minute.
		devlink health set "pci/${pci##*/}" reporter fw_fatal grace_period 0 &&
			hca inject fatal && wait_for 120 test ! -e "$function"
		;;
	unbind)
		readlink -f "$function/driver" >/run/unbound && echo "${function##*/}" >>/run/unbound &&
			write_in_time "${function##*/}" "$function/driver/unbind"
		;;
	esac
}

# Give the device back that was taken away in the way $1, and the address $2 to the interface of its
# port.
give_back() {
	local driver function
	case $1 in
	unplug | pull)
		hca plug && echo 1 >/sys/bus/pci/rescan
		;;
	unbind)
		{ read -r driver && read -r function; } </run/unbound && echo "$function" >"$driver/bind"
		;;
	esac && port_up "$2"
}

# ---- a block device: its data, and what a fault does to a user of it -----------------------------

# Write $3 MiB of random data through the block device $1 in requests of $2 bytes, and read it back.
block_device_keeps_data() {
	dd if=/dev/urandom of="$tmp/data" bs=1M count="$3" status=none &&
		dd if="$tmp/data" of="$1" bs="$2" oflag=direct conv=nocreat status=none &&
		dd if="$1" of="$tmp/back" bs="$2" count=$(($3 * 1048576 / $2)) iflag=direct status=none &&
		cmp "$tmp/data" "$tmp/back"
}

# Write blocks of 4 KiB in any order to the device $1 for $2 seconds, eight at a time by each of two
# processes, each in a part of its own, and read back and compare the blocks after each 64 writes.
# The last blocks, after the time is over, are not compared. A device that is gone is an error: fio
# does not make a file in its place.
block_device_verifies() {
	fio --name=verify --filename="$1" --allow_file_create=0 --direct=1 --rw=randwrite --bs=4k --size=8M \
		--offset_increment=8M --numjobs=2 --ioengine=libaio --iodepth=8 --verify=crc32c --verify_fatal=1 \
		--verify_backlog=64 --runtime="$2" --time_based --group_reporting
}

# Use the device $1 while the rest of the arguments, a command, disturbs it.
block_device_survives() {
	local device=$1 pid status
	shift
	block_device_verifies "$device" 8 >"$tmp/fio.log" 2>&1 &
	pid=$!
	sleep 2
	"$@"
	status=$?
	wait "$pid" && return "$status"
}

# ---- NVMe over RDMA ------------------------------------------------------------------------------

nvmet_file=/run/nvmet-file

# Make a block device of $1 MiB in memory.
nullb_up() {
	modprobe null_blk nr_devices=0 && mkdir "$nullb" || return
	echo 1 >"$nullb/memory_backed" && echo "$1" >"$nullb/size" && echo 1 >"$nullb/power"
}

# Make a target at the address $2 with a device of $1 MiB; the device is a file in memory if there
# is a third argument.
nvmet_up() {
	local device=/dev/nullb0 family=ipv4
	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	modprobe nvmet-rdma || return
	if [[ ${3:-} ]]; then
		device=$nvmet_file
		truncate -s "$1M" "$device"
	else
		nullb_up "$1"
	fi || return
	mkdir "$nvmet/subsystems/test" && echo 1 >"$nvmet/subsystems/test/attr_allow_any_host" || return
	mkdir "$nvmet/subsystems/test/namespaces/1" || return
	echo "$device" >"$nvmet/subsystems/test/namespaces/1/device_path" || return
	echo 1 >"$nvmet/subsystems/test/namespaces/1/enable" || return
	mkdir "$nvmet/ports/1" || return
	echo rdma >"$nvmet/ports/1/addr_trtype"
	[[ $2 == *:* ]] && family=ipv6
	echo "$family" >"$nvmet/ports/1/addr_adrfam"
	echo "$2" >"$nvmet/ports/1/addr_traddr"
	echo 4420 >"$nvmet/ports/1/addr_trsvcid"
	ln -s "$nvmet/subsystems/test" "$nvmet/ports/1/subsystems/test"
}

# Take the target away for $1 seconds.
nvmet_restart() {
	rm "$nvmet/ports/1/subsystems/test" && sleep "$1" &&
		ln -s "$nvmet/subsystems/test" "$nvmet/ports/1/subsystems/test"
}

nvmet_down() {
	rm "$nvmet/ports/1/subsystems/test" && rmdir "$nvmet/ports/1" "$nvmet/subsystems/test/namespaces/1" \
		"$nvmet/subsystems/test" || return
	rm -f "$nvmet_file"
	[[ ! -e $nullb ]] || rmdir "$nullb" || return
	modprobe -r nvmet-rdma
}

# Connect to the target at the address $1. If the connection breaks, the kernel tries to connect
# again each second. $2 is the timeout of keep-alives in seconds.
nvme_up() {
	modprobe nvme-rdma || return
	echo "transport=rdma,traddr=$1,trsvcid=4420,nqn=test,nr_io_queues=2,reconnect_delay=1,keep_alive_tmo=${2:-2}" \
		>/dev/nvme-fabrics && wait_for 30 test -b /dev/nvme0n1
}

nvme_down() {
	echo 1 >/sys/class/nvme/nvme0/delete_controller && modprobe -r nvme-rdma
}

# ---- SCSI disks and targets ----------------------------------------------------------------------

# Make a block device of $1 MiB in memory.
ramdisk_up() {
	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	mkdir -p "$target/core/rd_mcp_0/disk" && echo "rd_pages=$(($1 * 256))" >"$target/core/rd_mcp_0/disk/control" &&
		echo 1 >"$target/core/rd_mcp_0/disk/enable"
}

ramdisk_down() {
	rmdir "$target/core/rd_mcp_0/disk" "$target/core/rd_mcp_0"
}

scsi_disk() {
	compgen -G '/sys/class/scsi_disk/*/device/block/*'
}

# The device node of the disk.
scsi_node() {
	local disk
	disk=$(scsi_disk | head -n 1) && echo "/dev/${disk##*/}"
}

# ---- SRP: SCSI over RDMA -------------------------------------------------------------------------

# The GUID of this guest's port, by which SRP knows initiators and targets.
port_guid() {
	cut -d: -f5- "$ibdev/ports/1/gids/0"
}

# The service ID of the SRP target. By default it is the GUID of the node; but the GUIDs of the
# emulated HCA begin with 02, and the connection manager lets nobody choose a service ID that begins
# with 02.
srp_service=0000000000005352

# Make a target with a device in memory of $1 MiB, for the initiator whose port has the GUID $2.
srpt_up() {
	local guid wwn acl
	guid=$(port_guid)
	modprobe ib_srpt "srpt_service_guid=0x$srp_service" && ramdisk_up "$1" || return
	wwn=$target/srpt/$guid/$guid
	mkdir -p "$wwn/lun/lun_0" && ln -s "$target/core/rd_mcp_0/disk" "$wwn/lun/lun_0/disk" || return
	acl=$wwn/acls/$2
	mkdir -p "$acl/lun_0" && ln -s "$wwn/lun/lun_0" "$acl/lun_0/disk" && echo 1 >"$wwn/enable"
}

srpt_down() {
	local guid wwn
	guid=$(port_guid)
	wwn=$target/srpt/$guid/$guid
	echo 0 >"$wwn/enable" && rm "$wwn"/acls/*/lun_0/disk && rmdir "$wwn"/acls/*/lun_0 "$wwn"/acls/* || return
	rm "$wwn/lun/lun_0/disk" && rmdir "$wwn/lun/lun_0" "$wwn" "$target/srpt/$guid" "$target/srpt" && ramdisk_down &&
		modprobe -r ib_srpt
}

# Whether this guest's port announces device management, as a port with a target does.
announces_device_management() {
	(($(cat "$ibdev/ports/1/cap_mask") & 1 << 19))
}

# Log in to the target whose port has the GID $1.
srp_up() {
	modprobe -a sd_mod ib_srp && wait_for 30 compgen -G '/sys/class/infiniband_srp/*/add_target' >/dev/null || return
	echo "id_ext=$srp_service,ioc_guid=$srp_service,dgid=${1//:/},pkey=ffff,service_id=$srp_service" \
		>/sys/class/infiniband_srp/srp-mlx5_0-1/add_target && wait_for 60 scsi_disk
}

srp_down() {
	modprobe -r ib_srp
}

# ---- iSER: iSCSI over RDMA -----------------------------------------------------------------------

iqn=iqn.2026-01.test:disk
tpg=$target/iscsi/$iqn/tpgt_1

# Make a target at the address $2, which anybody may use, with a device in memory of $1 MiB.
isert_up() {
	modprobe ib_isert && ramdisk_up "$1" && mkdir -p "$tpg/lun/lun_0" "$tpg/np/$2:3260" || return
	ln -s "$target/core/rd_mcp_0/disk" "$tpg/lun/lun_0/disk" && echo 1 >"$tpg/np/$2:3260/iser" || return
	echo 0 >"$tpg/attrib/authentication" && echo 1 >"$tpg/attrib/generate_node_acls" &&
		echo 0 >"$tpg/attrib/demo_mode_write_protect" && echo 1 >"$tpg/enable"
}

isert_down() {
	echo 0 >"$tpg/enable" && rm "$tpg/lun/lun_0/disk" && rmdir "$tpg/lun/lun_0" "$tpg"/np/* "$tpg" "${tpg%/*}" \
		"$target/iscsi" && ramdisk_down && modprobe -r ib_isert
}

# Log in to the target at the address $1.
iser_up() {
	modprobe -a sd_mod ib_iser && echo InitiatorName=iqn.2026-01.test:host >/etc/iscsi/initiatorname.iscsi || return
	mkdir -p /run/lock/iscsi && iscsid && iscsiadm -m node -o new -T "$iqn" -p "$1:3260" -I iser &&
		iscsiadm -m node -T "$iqn" --login && wait_for 60 scsi_disk
}

iser_down() {
	iscsiadm -m node -T "$iqn" --logout && iscsiadm -m node -T "$iqn" -o delete && iscsiadm -k 0 &&
		modprobe -r ib_iser
}

# Whether the session uses iSER and not TCP.
iser_is_used() {
	iscsiadm -m session -P 3 | tee >(cat >&2) | grep -q 'Iface Transport: iser'
}

# Each read of the disk $1 registers its buffer by a work request; the target invalidates the key of
# the buffer by the SEND of its response.
iser_registers_and_target_invalidates() {
	local umr inval
	umr=$(hca_counter umr) && inval=$(hca_counter remote_invalidations) || return
	dd if="$1" of="$tmp/back" bs=64k count=32 iflag=direct status=none || return
	umr=$(($(hca_counter umr) - umr)) inval=$(($(hca_counter remote_invalidations) - inval))
	echo "$umr registrations, $inval invalidations"
	((umr >= 32 && inval >= 32))
}

# ---- NFS over RDMA -------------------------------------------------------------------------------

# Export a directory in memory to the network $1, by version 4 alone, which needs no rpcbind.
nfsd_up() {
	modprobe rpcrdma && modprobe nfsd || return
	mkdir -p /run/nfs /var/lib/nfs/v4recovery && mount -t tmpfs nfs /run/nfs &&
		mount -t nfsd nfsd /proc/fs/nfsd || return
	touch /var/lib/nfs/etab /var/lib/nfs/rmtab
	# A server that has started lets clients reclaim their files in a grace period, during which
	# no client may open other files. By default the period is 90 seconds.
	echo 10 >/proc/fs/nfsd/nfsv4leasetime && echo 10 >/proc/fs/nfsd/nfsv4gracetime || return
	rpc.mountd -N 3 && exportfs -o rw,no_root_squash,insecure,fsid=0 "$1:/run/nfs" || return
	rpc.nfsd -N 3 --rdma=20049 4 || return
	# Nobody had files of this server open, so the server need not wait for such clients.
	echo Y >/proc/fs/nfsd/v4_end_grace || true
}

nfsd_down() {
	rpc.nfsd 0 && exportfs -ua && pkill rpc.mountd
	umount /proc/fs/nfsd /run/nfs && modprobe -r nfsd rpcrdma
}

nfs_up() {
	mkdir -p /run/nfs-client && mount -t nfs4 -o proto=rdma,port=20049 "$1:/" /run/nfs-client
}

nfs_down() {
	umount /run/nfs-client
}

# Write and read back files for $1 seconds. The pages of the client are dropped before it reads.
nfs_verifies() {
	local end=$((SECONDS + $1)) i
	dd if=/dev/urandom of="$tmp/nfs" bs=1M count=4 status=none || return
	for ((i = 0; SECONDS < end; i = (i + 1) % 4)); do
		cp "$tmp/nfs" "/run/nfs-client/$i" && sync "/run/nfs-client/$i" || return
		echo 1 >/proc/sys/vm/drop_caches
		cmp "$tmp/nfs" "/run/nfs-client/$i" || return
	done
}

# Whether files that were written before the file system is unmounted are there when it is mounted
# again.
nfs_keeps_data() {
	local i
	dd if=/dev/urandom of="$tmp/data" bs=1M count=8 status=none || return
	for i in 1 2 3; do
		cp "$tmp/data" "/run/nfs-client/$i" || return
	done
	nfs_down && nfs_up "$1" || return
	for i in 1 2 3; do
		cmp "$tmp/data" "/run/nfs-client/$i" && rm "/run/nfs-client/$i" || return
	done
}

# ---- RDS -----------------------------------------------------------------------------------------

# The modules of RDS stay loaded, because (Linux 7.2) they report a leak when they are unloaded soon
# after use.

# Send each datagram back that arrives at the address $1, until one says that it is the last.
rds_echo() {
	modprobe rds_rdma && python3 - "$1" "$waiting" <<'EOT'
import socket, sys
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
s.bind((sys.argv[1], 4000))
print(sys.argv[2], flush=True)
while True:
    data, peer = s.recvfrom(65536)
    if data == b"end":
        break
    s.sendto(data, peer)
EOT
}

# Send $3 datagrams of all lengths from the address $1 to $2, and compare what comes back. RDS drops
# a datagram for which there is no socket yet, so the first ones are only sent to find out whether
# somebody answers.
rds_ask() {
	modprobe rds_rdma && python3 - "$1" "$2" "$3" <<'EOT'
import os, socket, sys
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
s.bind((sys.argv[1], 4001))
server = (sys.argv[2], 4000)

def hello():
    s.settimeout(1)
    for i in range(50):
        s.sendto(b"hello", server)
        try:
            return s.recvfrom(65536)
        except TimeoutError:
            pass
    sys.exit("nobody answers")

hello()
s.settimeout(20)
for i in range(int(sys.argv[3])):
    data = os.urandom(6 + i * 997 % 30000)
    s.sendto(data, server)
    back = b"hello"
    while back == b"hello":
        back = s.recvfrom(65536)[0]
    if back != data:
        sys.exit("other data came back")
s.sendto(b"end", server)
EOT
}

# ---- SMC-R ---------------------------------------------------------------------------------------

# A TCP server at the address $1 that sends back what it gets, and its client, which sends $2 MiB and
# compares. The sockets are of SMC, which uses TCP itself if the hosts cannot use RDMA. So the client
# looks for queue pairs of SMC before it closes its socket.
smc_echo() {
	modprobe smc && python3 - "$1" "$waiting" <<'EOT'
import socket, sys
IPPROTO_SMC = 256
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)
s.bind((sys.argv[1], 4500))
s.listen()
print(sys.argv[2], flush=True)
conn = s.accept()[0]
while data := conn.recv(65536):
    conn.sendall(data)
EOT
}

smc_ask() {
	modprobe smc && python3 - "$1" "$2" <<'EOT'
import os, socket, subprocess, sys
IPPROTO_SMC = 256
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)
s.settimeout(60)
s.connect((sys.argv[1], 4500))
for i in range(int(sys.argv[2]) * 16):
    data = os.urandom(65536)
    s.sendall(data)
    back = b""
    while len(back) < len(data):
        part = s.recv(len(data) - len(back))
        if not part:
            sys.exit("the server is gone")
        back += part
    if back != data:
        sys.exit("other data came back")
queues = subprocess.run(["rdma", "resource", "show", "qp"], stdout=subprocess.PIPE, text=True,
                        check=True).stdout
if "comm [smc]" not in queues:
    sys.exit("no queue pair of SMC, which uses TCP:\n" + queues)
EOT
}
