# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The functions by which the tests of the Ethernet port work in one guest.

# self is the path of the script that sources this file.
# shellcheck disable=SC2154 source=tools/testing/ulp/guest.sh
source "${self%/*}/../ulp/guest.sh"

# The netdev of the HCA. A guest may have other netdevs, too.
nic() {
	local dev
	for dev in /sys/class/net/*; do
		[[ $(readlink "$dev/device/driver") != */mlx5_core ]] || echo "${dev##*/}"
	done
}

nic_is() {
	file_has "/sys/class/net/$(nic)/$1" "$2"
}

# Give the netdev the address $1, and wait until it has a carrier.
nic_up() {
	ip address add "$1/24" dev "$(nic)" && ip link set "$(nic)" up && wait_for 30 nic_is carrier 1
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

# vlan_up ID ADDRESS [PROTOCOL]: a VLAN interface with an address.
vlan_up() {
	modprobe 8021q || return
	ip link add link "$(nic)" name "vlan$1" type vlan id "$1" protocol "${3:-802.1Q}" &&
		ip address add "$2/24" dev "vlan$1" && ip link set "vlan$1" up
}

vlan_down() {
	ip link delete "vlan$1"
}

macvlan_up() {
	ip link add link "$(nic)" name macvlan0 type macvlan mode bridge &&
		ip address add "$1/24" dev macvlan0 && ip link set macvlan0 up
}

macvlan_down() {
	ip link delete macvlan0
}

# A statistic of the netdev: an answer of QUERY_VPORT_COUNTER among others.
statistic() {
	cat "/sys/class/net/$(nic)/statistics/$1"
}

# Serve $1 MiB of random bytes, and their checksum, by HTTP: two requests.
serve_file() {
	mkdir -p "$tmp/www" && cd "$tmp/www" || return
	head -c "$1M" /dev/urandom >data && sha256sum <data >sum || return
	python3 - <<-'END' &
		from http.server import HTTPServer, SimpleHTTPRequestHandler

		server = HTTPServer(("", 8080), SimpleHTTPRequestHandler)
		for i in range(2):
		    server.handle_request()
	END
	announce $! serves_or_has_ended
}

# Fetch the file of serve_file from $1, and compare its checksum.
fetch_file() {
	python3 - "$1" <<-'END'
		import hashlib, sys, urllib.request

		def get(name):
		    url = f"http://{sys.argv[1]}:8080/{name}"
		    return urllib.request.urlopen(url, timeout=60).read()

		assert hashlib.sha256(get("data")).hexdigest() == get("sum").decode().split()[0]
	END
}

# Unload mlx5_core and load it again: the netdev must come back with the same MAC, without its
# addresses.
nic_reload() {
	local before
	before=$(mac)
	modprobe -r mlx5_core && [[ ! $(nic) ]] && modprobe mlx5_core &&
		wait_for 60 nic_is address "$before"
}
