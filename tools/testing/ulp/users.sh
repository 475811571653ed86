# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Tests of users of verbs that find each other by IP addresses, over IPoIB or over RoCE: NVMe, iSER,
# NFS and RDS of the kernel, libfabric and MPI. They leave the addresses to guest.sh and common.sh.

# self, here and there are variables of common.sh. The checks call functions by name, which ShellCheck
# takes for no calls.
# shellcheck disable=SC2154,SC2317

nvme_tests() {
	check "nvme: the target starts" peer_calls nvmet_up 32 "$there"
	check "nvme: connect" nvme_up "$there"
	check "nvme: data, 4 KiB requests" block_device_keeps_data /dev/nvme0n1 4096 2
	check "nvme: data, 1 MiB requests" block_device_keeps_data /dev/nvme0n1 1048576 8
	check "nvme: verified writes in any order" block_device_verifies /dev/nvme0n1 3
	check "nvme: verified writes while the link flaps" \
		block_device_survives /dev/nvme0n1 link_flap 3
	between "nvme: verified writes while the peer's link flaps" \
		block_device_survives /dev/nvme0n1 peer_calls link_flap 3
	check "nvme: verified writes while the target restarts" \
		block_device_survives /dev/nvme0n1 peer_calls nvmet_restart 2
	check "nvme: disconnect" nvme_down
	check "nvme: the target stops" peer_calls nvmet_down
	check "nvme: a target with a file starts" peer_calls nvmet_up 32 "$there" file
	check "nvme: connect to the file" nvme_up "$there"
	check "nvme: verified writes to the file" block_device_verifies /dev/nvme0n1 3
	check "nvme: disconnect from the file" nvme_down
	check "nvme: the target with a file stops" peer_calls nvmet_down
}

iser_tests() {
	local disk
	if ! on 2 modinfo -n ib_isert >/dev/null || ! modinfo -n ib_iser >/dev/null; then
		skip iser "the kernel has no ib_isert or no ib_iser"
		return
	fi
	check "iser: the target starts" peer_calls isert_up 32 "$there"
	check "iser: log in" iser_up "$there"
	disk=$(scsi_node)
	check "iser: the session uses RDMA" iser_is_used
	check "iser: data, 4 KiB requests" block_device_keeps_data "$disk" 4096 2
	check "iser: data, 1 MiB requests" block_device_keeps_data "$disk" 1048576 8
	check "iser: keys are registered fast, and invalidated by the target" \
		iser_registers_and_target_invalidates "$disk"
	check "iser: verified writes in any order" block_device_verifies "$disk" 2
	check "iser: log out" iser_down
	check "iser: the target stops" peer_calls isert_down
}

nfs_tests() {
	check "nfs: the server starts" peer_calls nfsd_up 10.9.0.0/24
	check "nfs: mount" nfs_up "$there"
	check "nfs: data, mounted again" nfs_keeps_data "$there"
	check "nfs: unmount" nfs_down
	check "nfs: the server stops" peer_calls nfsd_down
}

# libfabric_pingpong PROVIDERS ENDPOINT: both ends compare the data.
libfabric_pingpong() {
	local program=(fi_pingpong -p "$1" -e "$2" -I 20 -S 4096 -c)
	served "${program[@]}" -- "${program[@]}" "$there"
}

libfabric_tests() {
	check "libfabric: messages" libfabric_pingpong verbs msg
	check "libfabric: reliable datagrams" libfabric_pingpong "verbs;ofi_rxm" rdm
}

mpi_tests() {
	check "mpi: rc" mpi_works rc,self
	check "mpi: ud" mpi_works ud,self
}

rds_tests() {
	if on_debug_kernel; then
		skip rds "RDS takes its locks in two orders, and maps memory for reading that the" \
			"device writes: the kernel reports both"
	else
		check "rds" served "$self" --there rds_echo "$there" -- \
			"$self" --there rds_ask "$here" "$there" 50
	fi
}
