# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# What all findings share. Debian 13 packages of stated versions, and all that these depend on, are
# unpacked into a temporary folder, which becomes the root directory of the commands that are run.
# Nothing is installed on the machine. The folder is removed when the script ends.
#
# With FINDINGS_CACHE=DIRECTORY the index and the packages are kept there for the next script.

# The exit status for "the packages cannot be had": not a verdict.
readonly not_offered=77

top=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM
root=$top/root
cache=${FINDINGS_CACHE:-$top/cache}
mkdir -p "$root" "$cache" "$top/work"

# stop REASON: nothing can be said about the finding.
stop() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "$not_offered"
}

command -v bwrap >/dev/null || stop "needs bubblewrap"
command -v apt-get >/dev/null || stop "needs apt"

# The address of the Debian mirror in this machine's apt configuration, or BLUEBELL_MIRROR.
mirror() {
	if [ -n "${BLUEBELL_MIRROR:-}" ]; then
		echo "$BLUEBELL_MIRROR"
		return
	fi
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(SITE)|$(ORIGIN)|$(LABEL)' 'Created-By: Packages' |
		awk -F'|' '$2 == "Debian" && $3 == "Debian" { print $1; exit }'
}

# Run an apt program that knows Debian 13 only, and no package as installed.
apt() {
	APT_CONFIG=$cache/apt.conf "$@"
}

fetch_index() {
	site=$(mirror)
	[ -n "$site" ] || stop "no Debian mirror in apt's configuration: set BLUEBELL_MIRROR"
	mkdir -p "$cache/lists/partial" "$cache/archives/partial"
	: >"$cache/status"
	printf 'deb %s trixie main\n' "$site" >"$cache/sources.list"
	# Of the machine's configuration only proxies and time checks count.
	apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' >"$cache/apt.conf" || true
	cat >>"$cache/apt.conf" <<-EOT
	Dir::Etc::parts "/dev/null";
	Dir::Etc::main "/dev/null";
	Dir::Etc::sourcelist "$cache/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	Dir::Etc::trustedparts "/usr/share/keyrings";
	Dir::State "$cache";
	Dir::State::status "$cache/status";
	Dir::Cache "$cache";
	APT::Architecture "amd64";
	APT::Architectures { "amd64"; };
	APT::Install-Recommends "false";
	Acquire::Languages "none";
	Debug::NoLocking "true";
	EOT
	apt apt-get -qq update >"$top/log" 2>&1 ||
		{ tail -n 3 "$top/log" >&2; stop "cannot read the index of trixie"; }
	touch "$cache/indexed"
}

# unpack PACKAGE=VERSION...: fill $root with these packages and what they depend on.
unpack() {
	[ -e "$cache/indexed" ] || fetch_index
	printf 'versions:'
	printf ' %s' "$@"
	echo
	# What programs expect of every Debian system, and no package names as a dependency.
	set -- base-files bash coreutils dash debianutils diffutils findutils grep gzip hostname \
		mawk sed tar util-linux "$@"
	apt apt-get -qq --simulate install "$@" >"$top/plan" 2>&1 ||
		{ tail -n 3 "$top/plan" >&2; stop "a version is no longer offered"; }
	apt apt-get -qq -y --download-only install "$@" \
		>"$top/log" 2>&1 ||
		{ tail -n 3 "$top/log" >&2; stop "the packages cannot be downloaded"; }
	# The links /bin, /lib and /sbin of base-files have to be there before any file.
	for deb in "$cache"/archives/base-files_*.deb; do
		dpkg -x "$deb" "$root"
	done
	# Inst PACKAGE (VERSION SUITE [ARCHITECTURE]): in file names a colon is %3a.
	sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*\[\([a-z0-9]*\)\]).*/\1_\2_\3.deb/p' "$top/plan" |
		sed 's/:/%3a/g' >"$top/debs"
	while read -r deb; do
		dpkg -x "$cache/archives/$deb" "$root"
	done <"$top/debs"
	ln -sf dash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
}

# inside COMMAND...: run it with $root as /, and the temporary folder as /finding, which is also
# the current directory. The network is not there.
inside() {
	bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --uid 0 --gid 0 \
		--die-with-parent --bind "$root" / --dev /dev --proc /proc --tmpfs /run \
		--tmpfs /tmp --bind "$top/work" /finding --chdir /finding \
		--setenv PATH /usr/sbin:/usr/bin --setenv HOME /finding --setenv LC_ALL C.UTF-8 \
		-- "$@"
}

# without_devices: what follows is true of a machine that has no RDMA device.
without_devices() {
	[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || stop "this machine has RDMA devices"
}

# frames FILE: write a capture. Standard input is Python that appends RoCE v2 frames to the list
# frames, by scapy, which computes the ICRC. roce() makes a frame, from 192.0.2.1 if no IP is given.
frames() {
	cat >"$top/body" <<-'EOT'
	from scapy.all import *
	from scapy.contrib.roce import *
	frames = []
	def roce(bth, ip=IP(src='192.0.2.1', dst='192.0.2.2')):
	    ether = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
	    return ether / ip / UDP(sport=49152, dport=4791, chksum=0) / bth
	EOT
	{ cat "$top/body" -; echo "wrpcap('$1', frames)"; } >"$top/work/frames.py"
	inside python3 frames.py >"$top/log" 2>&1 || { cat "$top/log"; exit 1; }
}

# tshark ARGUMENT...: without its complaints about the user.
tshark() {
	inside tshark "$@" 2>/dev/null
}

# expect WHAT EXPECTED SEEN: fail unless both are the same.
expect() {
	if [ "$2" = "$3" ]; then
		printf 'seen: %s: %s\n' "$1" "$3"
	else
		printf 'CHANGED: %s: was "%s", is "%s"\n' "$1" "$2" "$3"
		exit 1
	fi
}

# status COMMAND...: print the command's exit status.
status() {
	code=0
	"$@" >"$top/output" 2>&1 || code=$?
	echo "$code"
}
