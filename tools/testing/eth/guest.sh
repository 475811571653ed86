# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The functions by which the tests of the Ethernet port work in one guest. Functions that end in _up
# or _down are called in either guest.

# self is the path of the script that sources this file; here and there are the addresses of the
# guests.
# shellcheck disable=SC2154,SC2034 source=tools/testing/ulp/guest.sh
source "${self%/*}/../ulp/guest.sh"

# What is there until the guest ends. $tmp goes with the process.
run=/run/eth

# ---- the netdev ----------------------------------------------------------------------------------

# The directory of the PCI function of the netdev.
pci_function() {
	readlink -f "/sys/class/net/$(nic)/device"
}

nic_mtu() {
	ip link set "$(nic)" mtu "$1" && wait_for 30 nic_is carrier 1
}

linklocal() {
	ip -6 -o address show dev "$(nic)" scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

# The duplicate address detection has found nothing.
linklocal_is_usable() {
	[[ $(linklocal) && ! $(ip -6 address show dev "$(nic)" tentative) ]]
}

mac() {
	cat "/sys/class/net/$(nic)/address"
}

# A statistic of the netdev: an answer of QUERY_VPORT_COUNTER among others.
statistic() {
	cat "/sys/class/net/$(nic)/statistics/$1"
}

# The counters $1, $2 and so on of ethtool -S, each of which the netdev must have.
counters() {
	ethtool -S "$(nic)" | awk -v names="$*" '
		{ sub(":", "", $1); value[$1] = $2 }
		END {
			n = split(names, name, " ")
			for (i = 1; i <= n; i++) {
				if (!(name[i] in value))
					exit 1
				printf "%s%s", value[name[i]], i < n ? " " : "\n"
			}
		}'
}

# No packet has come with a wrong checksum since the guest was booted.
no_wrong_checksums() {
	nstat -asz | awk '$1 ~ /CsumErrors$/ && $2 > 0 { print; wrong = 1 } END { exit wrong }'
}

# All counters: those of ethtool -S, and those of nstat.
all_counters() {
	ethtool -S "$(nic)" | tr -d : && nstat -asz
}

# ---- its settings --------------------------------------------------------------------------------

# The offloads that users can turn off, by their names for ethtool -K.
offloads=(rx tx sg tso gso gro rxvlan txvlan rxhash)

# offload on|off NAME...
offload() {
	local name words=()
	for name in "${@:2}"; do
		words+=("$name" "$1")
	done
	ethtool -K "$(nic)" "${words[@]}"
}

# Whether ethtool has something to say for each option that reads.
settings_are_shown() {
	local option
	for option in -i -a -c -g -k -l -n -S -T -x --show-priv-flags; do
		echo "ethtool $option"
		[[ $(ethtool "$option" "$(nic)" | tee >(cat >&2)) ]] || return
	done
	ethtool "$(nic)"
}

# shows OPTION PATTERN: whether a line that ethtool OPTION prints matches, with its blanks as one.
shows() {
	ethtool "$1" "$(nic)" | tr -s '[:blank:]' ' ' | tee >(cat >&2) | grep -E "$2" >/dev/null
}

# How many queues the netdev has now; with the argument max, how many it can have.
queues() {
	ethtool -l "$(nic)" | awk -v which="${1:-now}" '/^Combined:/ { n[++i] = $2 }
		END { print which == "max" ? n[1] : n[2] }'
}

# How many packets each of the first $1 receive queues has received.
received_by_queue() {
	local names
	printf -v names 'rx%d_packets ' $(seq 0 $(($1 - 1)))
	# shellcheck disable=SC2086 # several names
	counters $names
}

# ---- other netdevs above it ----------------------------------------------------------------------

# vlan_up ID ADDRESS [PROTOCOL]: a VLAN interface with an address.
vlan_up() {
	modprobe 8021q || return
	ip link add link "$(nic)" name "vlan$1" type vlan id "$1" protocol "${3:-802.1Q}" &&
		ip address add "$2/24" dev "vlan$1" && ip link set "vlan$1" up
}

vlan_down() {
	ip link delete "vlan$1"
}

# A customer's VLAN in one of a provider, with an address. The driver sets the MTU of the port to
# that of the netdev and one tag.
qinq_up() {
	vlan_up 7 10.9.7.100 802.1ad && ip link add link vlan7 name inner type vlan id 70 &&
		ip link set inner mtu 1496 up && ip address add "$1/24" dev inner
}

qinq_down() {
	ip link delete inner && vlan_down 7
}

macvlan_up() {
	ip link add link "$(nic)" name macvlan0 type macvlan mode bridge &&
		ip address add "$1/24" dev macvlan0 && ip link set macvlan0 up
}

macvlan_down() {
	ip link delete macvlan0
}

# A bridge with the netdev and, behind a pair of veth, a namespace that has the address $1.
bridge_up() {
	modprobe -a bridge veth && ip netns add behind || return
	ip link add bridge0 type bridge &&
		ip link add veth0 type veth peer name veth1 netns behind &&
		ip link set "$(nic)" master bridge0 && ip link set veth0 master bridge0 || return
	ip link set veth0 up && ip link set bridge0 up && ip -n behind link set veth1 up &&
		ip -n behind address add "$1/24" dev veth1
}

bridge_down() {
	ip link delete veth0 && ip link delete bridge0 && ip netns delete behind
}

# A bond, with the address $1, of the netdevs of two HCAs, one of which is active.
bond_up() {
	modprobe bonding && ip link add bond0 type bond mode active-backup miimon 100 || return
	ip address flush dev "$(nic)" && ip link set "$(nic)" down && ip link set "$(nth_nic 2)" down &&
		ip link set "$(nic)" master bond0 && ip link set "$(nth_nic 2)" master bond0 || return
	ip address add "$1/24" dev bond0 && ip link set bond0 up &&
		wait_for 30 bond_uses "$(nic)" &&
		wait_for 30 file_has "/sys/class/net/$(nth_nic 2)/carrier" 1
}

bond_uses() {
	file_has /sys/class/net/bond0/bonding/active_slave "$1"
}

# The netdev gets its own address back.
bond_down() {
	ip link delete bond0 && ip link set "$(nth_nic 2)" down && nic_up "$1"
}

# ---- servers and clients -------------------------------------------------------------------------

# Serve files of 1 and of 20 MiB of random bytes, and their checksums, by HTTP, from now on.
web_up() {
	local size
	[[ ! -e $run/nginx.pid ]] || return 0
	mkdir -p $run/www || return
	for size in 1 20; do
		web_file $size || return
	done
	cat >$run/nginx.conf <<-END
		user root;
		worker_processes 1;
		pid $run/nginx.pid;
		error_log $run/nginx.log;
		events {}
		http {
			access_log off;
			sendfile on;
			server {
				listen 8080;
				listen [::]:8080;
				root $run/www;
			}
		}
	END
	nginx -c $run/nginx.conf
}

web_file() {
	head -c "$1M" /dev/urandom >"$run/www/$1" && sha256sum <"$run/www/$1" >"$run/www/$1.sum"
}

# Fetch the file of $2 MiB from the address $1, with the options $3 and so on of curl, and compare
# its checksum.
fetch() {
	local sum
	sum=$(curl -sSf "${@:3}" "http://$1:8080/$2.sum") &&
		[[ $(curl -sSf -m 300 "${@:3}" "http://$1:8080/$2" | sha256sum) == "$sum" ]]
}

# Give addresses to who asks for one, and announce a network of IPv6.
dhcp_serve() {
	ip address add 10.9.4.1/24 dev "$(nic)" &&
		ip -6 address add fd00:9::1/64 dev "$(nic)" || return
	dnsmasq --no-daemon --conf-file=/dev/null --port=0 --user=root --group=root \
		--interface="$(nic)" --bind-interfaces --dhcp-authoritative --leasefile-ro \
		--dhcp-range=10.9.4.10,10.9.4.20 --enable-ra --dhcp-range=fd00:9::,ra-only &
	announce $! dhcp_serves
}

dhcp_serves() {
	[[ $(ss -Hlnup 'sport = :67') == *"pid=$1,"* ]]
}

dhcp_down() {
	ip address delete 10.9.4.1/24 dev "$(nic)" && ip -6 address delete fd00:9::1/64 dev "$(nic)"
}

# Write what arrives for a group to standard output, until the first datagram has arrived.
group_serve() {
	socat -u "UDP4-RECVFROM:7001,ip-add-membership=$1:$(nic)" - &
	announce $! group_is_joined "$1"
}

group_is_joined() {
	[[ $(ip maddress show dev "$(nic)") == *" $1"* ]]
}

# Receive $1 datagrams, each of which begins with its number, and count the bytes.
datagrams_serve() {
	python3 - "$1" "$waiting" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)    # SO_RCVBUFFORCE
		s.bind(("", 7002))
		s.settimeout(20)
		print(sys.argv[2], flush=True)
		want = [(i.to_bytes(4) * 400)[:1400] for i in range(int(sys.argv[1]))]
		got = []
		for i in range(len(want)):
		    data, peer = s.recvfrom(9000)
		    got.append(data)
		    if i % 40 == 39:
		        s.sendto(b"next", peer)
		assert sorted(got) == want
	END
}

# Send $2 such datagrams to $1, 40 in one call, and wait for the answer before the next 40: a
# receiver drops what it has no room for.
datagrams_send() {
	python3 - "$1" "$2" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_UDP, 103, 1400)     # UDP_SEGMENT
		s.settimeout(20)
		data = [(i.to_bytes(4) * 400)[:1400] for i in range(int(sys.argv[2]))]
		for first in range(0, len(data), 40):
		    s.sendto(b"".join(data[first:first + 40]), (sys.argv[1], 7002))
		    assert s.recv(9) == b"next"
	END
}

# Receive a datagram of UDP at the address $1, and print it with its header.
datagram_serve() {
	python3 - "$1" "$waiting" <<-'END'
		import socket, sys
		datagrams = socket.SOCK_DGRAM
		family, _, _, _, here = socket.getaddrinfo(sys.argv[1], 7003, type=datagrams)[0]
		raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_UDP)
		s = socket.socket(family, datagrams)
		s.bind(here)
		s.settimeout(60)
		raw.settimeout(60)
		print(sys.argv[2], flush=True)
		data = s.recv(100)
		while True:
		    packet = raw.recv(100)
		    packet = packet[20:] if family == socket.AF_INET else packet
		    if packet[2:4] == (7003).to_bytes(2) and packet[8:] == data:
		        break
		print("datagram", packet.hex(), flush=True)
	END
}

# send_from_ports udp4|tcp4 ADDRESS PORT...: send a datagram, or the request for a connection, to the
# port 9 of the address, where nobody listens, from each of the ports.
send_from_ports() {
	python3 - "$@" <<-'END'
		import socket, sys
		kind = {"udp4": socket.SOCK_DGRAM, "tcp4": socket.SOCK_STREAM}[sys.argv[1]]
		for port in map(int, sys.argv[3:]):
		    with socket.socket(socket.AF_INET, kind) as s:
		        s.bind(("", port))
		        s.settimeout(5)
		        if not s.connect_ex((sys.argv[2], 9)):
		            s.send(b"x")
	END
}

# Record the packets that match the filter $1.
record_up() {
	mkdir -p $run
	tcpdump -i "$(nic)" -Z root --immediate-mode -U -w $run/record.pcap "$1" \
		>$run/record.log 2>&1 &
	echo $! >$run/record.pid
	wait_for 30 grep -q "listening on" $run/record.log
}

# The process is nobody's child, and init does not wait for it: it ends with this line.
record_down() {
	kill "$(<$run/record.pid)" && wait_for 30 grep -q "packets captured" $run/record.log
}

# ---- ways in which the device goes and comes -----------------------------------------------------

# With the command $2, the device goes and comes back: the netdev must come back with the same MAC.
# Then it gets the address $1.
nic_returns() {
	local before address=$1
	shift
	before=$(mac)
	"$@" && wait_for 120 nic_is address "$before" && nic_up "$address"
}

# Unload mlx5_core and load it again.
nic_reload() {
	modprobe -r mlx5_core && [[ ! $(nic) ]] && modprobe mlx5_core
}

nic_unbind_bind() {
	local function driver=/sys/bus/pci/drivers/mlx5_core
	function=$(pci_function)
	echo "${function##*/}" >$driver/unbind && [[ ! -e $function/net ]] &&
		echo "${function##*/}" >$driver/bind
}

nic_devlink_reload() {
	local function
	function=$(pci_function)
	devlink dev reload "pci/${function##*/}"
}

# Pull the HCA out, and plug it in again.
nic_unplug_plug() {
	local function
	function=$(pci_function)
	hca unplug && sleep 5 && write_in_time 1 "$function/remove" && [[ ! -e $function ]] &&
		hca plug && echo 1 >/sys/bus/pci/rescan
}

# before_fatal FUNCTION: let mlx5_core recover from an error at any time, not only a minute after
# the last one. Until it notices the error it rings doorbells, which the HCA drops.
before_fatal() {
	hca expect drop any any &&
		devlink health set "pci/${1##*/}" reporter fw_fatal grace_period 0
}

# mlx5_core is not told of the reset: it finds out and recovers.
nic_function_reset() {
	local function dev
	function=$(pci_function) dev=$(nic)
	before_fatal "$function" && echo 1 >"$function/reset" &&
		wait_for 120 test ! -e "/sys/class/net/$dev"
}

# Firmware fails; mlx5_core takes the netdev away and brings it back.
nic_fatal() {
	local function dev
	function=$(pci_function) dev=$(nic)
	before_fatal "$function" && hca inject fatal &&
		wait_for 120 test ! -e "/sys/class/net/$dev"
}

# The kernel suspends one device after the other, in the reverse order of their discovery. The
# device with the root file system comes after the HCA and refuses, so the kernel resumes the HCA at
# once.
nic_suspend_resume() {
	local said
	echo 0 >/sys/power/pm_async && hca commands reset || return
	[[ ! -e /sys/power/pm_test ]] || echo devices >/sys/power/pm_test
	said=$({ echo freeze >/sys/power/state; } 2>&1) ||
		[[ $said == *"not supported"* ]] || { echo "$said"; return 1; }
	hca commands | grep -q '"TEARDOWN_HCA":1'
}
