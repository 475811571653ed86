#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Names of RDMA devices, and the node exporter of Prometheus
#
# Guess: for a RoCE port with hw_counters these counters are exported, too. A device without
#       counters/ (as rxe) is left out; other devices are still exported.
# Seen:  no hw_counters are exported. If one device has no counters/, which the kernel makes only
#       for drivers that process MADs, no device of the machine is exported:
#       node_scrape_collector_success is 0, and the log has no error. A device named irdma0 may lack
#       counters/, but rdma-core renames it to rocep1s0 or the like. A device named mlx5_1 must have
#       hw_counters/, a device named ibp1s0 need not.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack prometheus-node-exporter=1.9.0-1+b4 rdma-core=56.1-1 python3=3.13.5-1
cat >"$top/work/fetch.py" <<'EOT'
import re, time, urllib.request
for _ in range(300):
    try:
        page = urllib.request.urlopen('http://127.0.0.1:9100/metrics').read().decode()
        break
    except OSError:
        time.sleep(0.2)
print(*sorted(set(re.findall(r'^node_infiniband.*device="(\w*)"', page, re.M))))
print(*re.findall(r'^node_scrape_collector_success.* (\d)', page, re.M))
print(*re.findall(r'^node_infiniband.*out_of_seq.*', page, re.M))
EOT
cat >"$top/work/run" <<'EOT'
prometheus-node-exporter --path.sysfs=sys --collector.disable-defaults --collector.infiniband \
	--web.listen-address=127.0.0.1:9100 2>log &
python3 fetch.py | xargs
kill $!
EOT
# exported DEVICE FOLDER: print the devices that are exported, and node_scrape_collector_success, on
# a machine with a complete mlx5_0 and a DEVICE that has FOLDER: counters, hw_counters or both.
exported() {
	rm -rf "$top/work/sys"
	for device in mlx5_0 "$1"; do
		device=$top/work/sys/class/infiniband/$device
		port=$device/ports/1
		mkdir -p "$port/counters" "$port/hw_counters"
		echo MT4119 >"$device/hca_type"
		echo MT_0000000008 >"$device/board_id"
		echo 16.35.2000 >"$device/fw_ver"
		echo '4: ACTIVE' >"$port/state"
		echo '5: LinkUp' >"$port/phys_state"
		echo '100 Gb/sec (4X EDR)' >"$port/rate"
		echo 7 >"$port/counters/link_downed"
		echo 9 >"$port/hw_counters/out_of_sequence"
	done
	case $2 in
	counters) rm -r "$port/hw_counters" ;;
	hw_counters) rm -r "$port/counters" ;;
	esac
	inside sh run
}
expect "mlx5_1 with both" "mlx5_0 mlx5_1 1" "$(exported mlx5_1 both)"
expect "rxe0 with hw_counters" "0" "$(exported rxe0 hw_counters)"
expect "errors in the log" "0" "$(grep -c -e ERROR -e WARN "$top/work/log" || true)"
expect "irdma0 with hw_counters" "irdma0 mlx5_0 1" "$(exported irdma0 hw_counters)"
expect "rocep1s0 with hw_counters" "0" "$(exported rocep1s0 hw_counters)"
expect "mlx5_1 with counters" "0" "$(exported mlx5_1 counters)"
expect "ibp1s0 with counters" "ibp1s0 mlx5_0 1" "$(exported ibp1s0 counters)"
rules=$root/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules
expect "rdma-core renames" 'PROGRAM="rdma_rename %k NAME_FALLBACK"' \
	"$(sed -n 's/^ACTION.*, \(PROGRAM=\)/\1/p' "$rules")"
