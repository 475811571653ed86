# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Packages of Debian, fetched from the mirror that this machine uses, by an apt with a configuration
# and an index of its own: for scripts/lab, and for scripts/lib/vm-fetch, which bluebell-vm calls.
#
# The script that sources this file sets the variable log, the name of a file for the messages of
# other programs, and defines say, which prints a message, and die, which prints an error and exits.
# shellcheck disable=SC2154

# shellcheck source=scripts/lib/lock.sh
. "$(dirname "${BASH_SOURCE[0]}")/lock.sh"

# The suite of the lab, and the series of its kernel, which is also that of bluebell-vm's guests.
# shellcheck disable=SC2034
suite=trixie
# shellcheck disable=SC2034
kernel_series=7.2

# Packages that QEMU and the kernel need in the version of the backports. All other packages are of
# the stable suite.
backport_pins='qemu-* seabios ipxe-qemu linux-binary-* linux-modules-* linux-base-* linux-base
	linux-headers-* linux-kbuild-* linux-source-*'

# write_pins FILE: the preferences of apt that say so.
write_pins() {
	printf 'Package: %s\nPin: release n=%s-backports\nPin-Priority: 990\n' \
		"$(tr -s '\n\t ' ' ' <<<"$backport_pins")" "$suite" >"$1"
}

quietly() {
	DEBIAN_FRONTEND=noninteractive "$@" >>"$log" 2>&1
}

# Print the address of the Debian mirror that this machine uses. If apt has fetched its index,
# Origin and Label tell the main archive from security and backports; otherwise the address and the
# codename have to do.
find_mirror() {
	local site codename

	if [[ -n ${BLUEBELL_MIRROR:-} ]]; then
		echo "$BLUEBELL_MIRROR"
		return
	fi
	command -v apt-get >/dev/null ||
		die "this machine has no apt to take a mirror from:" \
			"set BLUEBELL_MIRROR=http://MIRROR/debian"
	# shellcheck disable=SC2016 # the $(…) are apt's
	site=$(apt-get indextargets --format '$(SITE)|$(ORIGIN)|$(LABEL)' \
		'Created-By: Packages' 'Component: main' |
		awk -F'|' '$2 == "Debian" && $3 == "Debian" { print $1; exit }')
	if [[ -z $site ]]; then
		# shellcheck disable=SC1091
		codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-$suite}")
		# shellcheck disable=SC2016
		site=$(apt-get indextargets --no-release-info --format '$(SITE)|$(RELEASE)' \
			'Created-By: Packages' 'Component: main' |
			awk -F'|' -v c="$codename" '$1 !~ /security/ && $1 ~ /debian/ &&
				($2 == c || $2 ~ /^(old)?stable$/) { print $1; exit }')
	fi
	# Cloud images name a file with a list of mirrors, which the tree does not have: take the
	# first mirror.
	if [[ $site == mirror+file:* ]]; then
		site=${site#mirror+file:}
		site=$(awk '!/^#/ && NF { print $1; exit }' "${site#//}")
	fi
	[[ -n $site ]] ||
		die "no Debian mirror in this machine's apt configuration:" \
			"set BLUEBELL_MIRROR=http://MIRROR/debian"
	echo "$site"
}

# This machine's apt options for proxies and time checks, one "key value;" a line.
apt_access_options() {
	command -v apt-config >/dev/null || return 0
	apt-config dump |
		grep -E '^Acquire::(https?::([Pp]roxy|[^ ]*::Proxy)|Check-|Retries)' || true
}

# apt-get or apt-cache, with the configuration and the index of start_apt.
own_apt() {
	local command=$1
	shift

	APT_CONFIG=$apt_directory/apt.conf "$command" "${apt_options[@]}" "$@" 2>>"$log"
}

# start_apt ARCHITECTURE MIRROR DIRECTORY SUITE...: set up an apt with a configuration and an index
# of its own in the directory. Sets apt_directory and apt_options, for own_apt.
start_apt() {
	local arch=$1 mirror=$2 apt=$3
	shift 3

	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	printf "deb ${mirror//%/%%} %s main\n" "$@" >"$apt/sources.list"
	apt_access_options >"$apt/apt.conf"
	apt_directory=$apt
	apt_options=(-o Dir::State="$apt" -o Dir::State::lists="$apt/lists"
		-o Dir::State::status="$apt/status"
		-o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/sources.list"
		-o Dir::Etc::sourceparts=- -o Dir::Etc::preferences=-
		-o Dir::Etc::preferencesparts=-
		-o APT::Architecture="$arch" -o APT::Architectures="$arch"
		-o Dir::Etc::trustedparts=/usr/share/keyrings -o APT::Sandbox::User=root)
	own_apt apt-get update >>"$log" || {
		tail -n 5 "$log" >&2
		die "cannot read the index of $* at $mirror" \
			"(BLUEBELL_MIRROR chooses another mirror)"
	}
}

# newest_kernel SERIES FLAVOUR: the newest release of a kernel series, or of all series if SERIES is
# empty, as uname -r prints it; nothing if there is none.
newest_kernel() {
	own_apt apt-cache pkgnames "linux-headers-$1${1:+.}" |
		sed -n "s/^linux-headers-\\([0-9][0-9.]*+[a-z0-9]*-$2\\)\$/\\1/p" | sort -V |
		tail -n 1
}

# The packages of a kernel's image and modules, one a line. Newer packages have the modules apart
# from the image, and the lists of modules that are built in, the configuration and System.map in a
# third package.
image_packages() {
	if [[ $(own_apt apt-cache show "linux-binary-$1") == Package:* ]]; then
		printf '%s\n' "linux-binary-$1" "linux-modules-$1" "linux-base-$1"
	else
		echo "linux-image-$1"
	fi
}

# Read the lines of apt's APT::Status-Fd, and say when another tenth has been fetched.
fetch_progress() {
	local percent told=0

	while IFS=: read -r _ _ percent _; do
		percent=${percent%%.*}
		if [[ $percent =~ ^[0-9]+$ ]] && ((percent / 10 > told)); then
			told=$((percent / 10))
			say "fetched ${told}0 %"
		fi
	done
}

# fetch_packages DIRECTORY PACKAGE...: the packages' files, without what they depend on.
fetch_packages() {
	local directory=$1
	shift

	(cd "$directory" && own_apt apt-get -o APT::Status-Fd=3 download "$@" 3>&1 >>"$log") |
		fetch_progress || cannot_fetch "$@"
}

# fetch_needed DIRECTORY PACKAGE...: the packages' files, and those of what they need and the status
# file of start_apt's apt does not have.
fetch_needed() {
	local directory=$1
	shift

	mkdir -p "$directory/partial"
	own_apt apt-get install -y --download-only --no-install-recommends \
		-o Dir::Cache::archives="$directory" -o APT::Status-Fd=3 "$@" 3>&1 >>"$log" |
		fetch_progress || cannot_fetch "$@"
}

cannot_fetch() {
	tail -n 5 "$log" >&2
	die "cannot fetch $* (BLUEBELL_MIRROR chooses another mirror)"
}

# unpack_packages TREE FILE... [--exclude=PATTERN...]: unpack packages into a tree, and run none of
# their scripts.
unpack_packages() {
	local tree=$1 word debs=() exclude=()
	shift

	for word; do
		case $word in
		--exclude=*) exclude+=("$word") ;;
		*) debs+=("$word") ;;
		esac
	done
	((${#debs[@]} <= 10)) || say "unpacking ${#debs[@]} packages"
	for word in "${debs[@]}"; do
		((${#debs[@]} > 10)) || say "unpacking $(basename "$word")"
		dpkg-deb --fsys-tarfile "$word" | tar -C "$tree" --keep-directory-symlink \
			--no-same-owner "${exclude[@]}" -xf - ||
			die "cannot unpack $word"
	done
}
