# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What scripts/lab adds to the lab when a run asks for it: kernels, the tools that build packages,
# programs that use Ethernet, and what arm64 guests need. scripts/lab sources this file, and has the
# variables and functions that are not defined here. Other processes use the lab meanwhile, so
# nothing in it is replaced, and what is not complete does not count.
# shellcheck disable=SC2154,SC2034

# Packages of the stable suite that only `make deb` needs.
packaging=(bash-completion debhelper dh-dkms dh-python dkms dpkg-dev lintian mokutil)

# Packages of the stable suite that only tools/testing/eth uses, in guests with --link eth.
ethernet=(curl dhcpcd-base dnsmasq-base ethtool nginx socat tcpdump)

# Packages that are added to the lab for arm64 guests: a cross compiler, and QEMU in the version
# that the lab has for amd64.
arm64_tools=(gcc-aarch64-linux-gnu qemu-system-arm)

# Packages of the tree that is the root of arm64 guests. Their scripts are not run.
arm64_packages=(
	# what scripts/vm-init and the tests' scripts use
	base-files base-passwd bash dash coreutils sed grep gawk findutils diffutils tar gzip
	util-linux mount hostname kmod procps iproute2 less pciutils iputils-ping strace libc-bin
	ncurses-base perl-base python3 busybox-static
	# programs that use verbs
	ibverbs-utils ibverbs-providers rdmacm-utils perftest infiniband-diags python3-pyverbs
	# what the programs of the tests are compiled with
	libc6-dev libibverbs-dev librdmacm-dev libjson-c-dev
)

# What nobody needs of packages: guests read no manual, and have no boards with device trees.
unneeded_files=(--exclude='./dev/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
	--exclude='*/dtb')

# Begin to add something: choose the mirror, and make a directory for what is fetched.
begin_adding() {
	install_tools
	mirror=$(find_mirror)
	make_tmp "$1"
}

# Add packages of an amd64 suite, and what they need, to the lab. They are unpacked and not
# configured: the tools among them work without it.
add_packages() {
	local name=$1 replaced
	shift

	# With the lab's own list of packages, apt fetches what the lab lacks.
	cp "$lab/var/lib/dpkg/status" "$apt_directory/status"
	replaced=$(own_apt apt-get install -s --no-install-recommends "$@" |
		awk '/^(Inst [^ ]+ \[|Remv )/ { printf " %s", $2 }') || cannot_fetch "$@"
	[[ ! $replaced ]] ||
		die "the archive has changed since the lab was made, and$replaced would be" \
			"replaced: do 'scripts/lab --rebuild'"
	fetch_needed "$tmp/$name" "$@"
	unpack_packages "$lab" "$tmp/$name"/*.deb
}

# The file in the lab that says that a list of packages has been added.
mark_of() {
	echo "$lab/usr/lib/bluebell-added-$(sha256sum <<<"$*" | cut -c1-12)"
}

# add_list NAME PACKAGE...: add a list of packages of the stable suite, if that has not been done.
add_list() {
	local name=$1 mark mirror
	shift

	mark=$(mark_of "$@")
	[[ ! -e $mark ]] || return 0
	lock_cache "changing the lab"
	if [[ ! -e $mark ]]; then
		begin_adding "$name"
		say "adding $* to the lab, from $mirror"
		start_apt amd64 "$mirror" "$tmp/apt" "$suite"
		add_packages packages "$@"
		: >"$mark"
	fi
	end_change
}

# --- Kernels --------------------------------------------------------------------------------------

# Whether a tree has a kernel of a series and flavour: its own, or one that has been added
# completely.
has_kernel() {
	local modules

	for modules in "$1/usr/lib/modules/$2."*"-$3"; do
		if [[ -e $modules/added-to-lab ]]; then
			[[ $(<"$modules/added-to-lab") != complete ]] || return 0
		elif [[ -e $modules/modules.dep ]]; then
			return 0
		fi
	done
	return 1
}

# Fetch a kernel into a directory: its headers, its modules, and what boots.
fetch_kernel() {
	local names

	mapfile -t names < <(image_packages "$2")
	names+=("linux-headers-$2")
	[[ $2 != *-amd64 ]] || names+=("linux-headers-${2%-amd64}-common"
		"linux-kbuild-${2%-amd64}")
	mkdir -p "$1"
	fetch_packages "$1" "${names[@]}"
}

# Put a kernel that fetch_kernel has fetched into a tree. Headers for arm64 go to the lab, where
# modules are compiled: the files in them name /usr/src.
put_kernel() {
	local from=$1 release=$2 tree=$3 headers=/usr/src/linux-headers-$2 modules base=()

	unpack_packages "$tree" "${unneeded_files[@]}" "$from"/*.deb
	modules=$tree/usr/lib/modules/$release
	[[ -d $modules/kernel && (-e $modules/vmlinuz || -e $tree/boot/vmlinuz-$release) ]] ||
		die "the packages lack the modules of kernel $release, or the kernel itself"
	if [[ $tree != "$lab" ]]; then
		[[ -d $lab$headers ]] || mv "$tree$headers" "$lab$headers"
		rm -rf "$tree/usr/src"
		ln -sfn "$headers" "$modules/build"
		base=(--bind "$tree" /mnt)
	fi
	bwrap --clearenv --bind "$lab" / "${base[@]}" --dev-bind /dev /dev --proc /proc -- \
		/usr/sbin/depmod ${base:+-b /mnt} "$release" ||
		die "cannot list the modules of kernel $release"
}

# Add the newest kernel of a series and flavour to a tree.
add_flavour() {
	local tree=$1 series=$2 flavour=$3 release added

	release=$(find_release "$series" "$flavour")
	[[ -n $release ]] ||
		die "no kernel $series for $flavour in $suite or $suite-backports at $mirror"
	say "adding kernel $release to the lab"
	fetch_kernel "$tmp/$release" "$release"
	# From here on the kernel is not taken for the tree's own (scripts/lib/kernel-release).
	added=$tree/usr/lib/modules/$release/added-to-lab
	mkdir -p "${added%/*}"
	echo begun >"$added"
	put_kernel "$tmp/$release" "$release" "$tree"
	[[ $flavour == amd64 ]] || add_common "$release"
	echo complete >"$added"
}

# Add the newest kernel of a series, with modules and headers: to the lab, or for arm64 in two
# flavours to the tree of the guests.
add_kernel() {
	local series=$1 tree=$lab flavours=(amd64) flavour mirror missing=()

	if [[ $arch == arm64 ]]; then
		tree=$arm64_tree
		flavours=(arm64 arm64-16k)
	fi
	for flavour in "${flavours[@]}"; do
		has_kernel "$tree" "$series" "$flavour" || missing+=("$flavour")
	done
	((${#missing[@]})) || return 0
	lock_cache "changing the lab"
	for flavour in "${missing[@]}"; do
		! has_kernel "$tree" "$series" "$flavour" || continue
		if [[ ! $tmp ]]; then
			begin_adding kernel
			say "asking $mirror for the newest kernel $series"
			start_apt "$arch" "$mirror" "$tmp/apt" "$suite" "$suite-backports"
		fi
		add_flavour "$tree" "$series" "$flavour"
	done
	end_change
}

# --- Guests of another architecture ---------------------------------------------------------------

# The release of a kernel series and flavour to add: for arm64 that of the version which the lab has
# for amd64, if the mirror has it, and else the newest.
find_release() {
	local series=$1 flavour=$2 version=

	[[ $flavour == amd64 ]] ||
		version=$("$repo/scripts/lib/kernel-release" "$series" headers \
			"$lab/usr/lib/modules") || true
	version=${version%-amd64}
	if [[ $version &&
		$(own_apt apt-cache show "linux-headers-$version-$flavour") == Package:* ]]; then
		echo "$version-$flavour"
	else
		newest_kernel "$series" "$flavour"
	fi
}

# Add to the lab what the headers of an arm64 kernel share with those for amd64, and kbuild's
# programs, if the lab does not have that version for amd64. In a process of its own, so that the
# caller's apt stays the one for arm64.
add_common() (
	version=${1%%-*}

	! "$repo/scripts/lib/kernel-release" "$version-amd64" headers "$lab/usr/lib/modules" \
		>/dev/null || return 0
	start_apt amd64 "$mirror" "$tmp/apt-amd64" "$suite" "$suite-backports"
	mkdir -p "$tmp/common-$version"
	fetch_packages "$tmp/common-$version" "linux-headers-$version-common" "linux-kbuild-$version"
	unpack_packages "$lab" "$tmp/common-$version"/*.deb
)

# Add the cross compiler and QEMU to the lab.
add_arm64_tools() {
	local mark version

	mark=$(mark_of "${arm64_tools[@]}")
	[[ ! -e $mark ]] || return 0
	start_apt amd64 "$mirror" "$tmp/apt-amd64" "$suite" "$suite-backports"
	version=$(awk '$1 == "Package:" { found = $2 == "qemu-system-x86" }
		found && $1 == "Version:" { print $2 }' "$lab/var/lib/dpkg/status")
	add_packages tools "${arm64_tools[@]/%qemu-system-arm/qemu-system-arm=$version}"
	: >"$mark"
}

# Make the tree that is the root of arm64 guests. No program for arm64 can run here: what the
# packages' scripts would make is taken from the lab, where they have made the same.
make_arm64_tree() {
	local root=$1 flavour release

	start_apt arm64 "$mirror" "$tmp/apt-arm64" "$suite" "$suite-backports"
	fetch_needed "$tmp/guest" "${arm64_packages[@]}"
	mkdir "$root"
	# base-files has the links /bin, /lib and /sbin, which have to be there first.
	unpack_packages "$root" "${unneeded_files[@]}" "$tmp/guest"/base-files_*.deb \
		"$tmp/guest"/*.deb
	cp "$lab/etc/passwd" "$lab/etc/group" "$lab/etc/nsswitch.conf" "$root/etc"
	cp "$lab/etc/pam.d"/common-* "$root/etc/pam.d"
	# A user of a guest may work in a repository that is in /root.
	chmod 755 "$root/root"
	ln -s gawk "$root/usr/bin/awk"
	ln -s which.debianutils "$root/usr/bin/which"
	for flavour in arm64 arm64-16k; do
		release=$(find_release "$kernel_series" "$flavour")
		[[ -n $release ]] ||
			die "no kernel $kernel_series for $flavour in $suite-backports at $mirror"
		fetch_kernel "$tmp/$release" "$release"
		put_kernel "$tmp/$release" "$release" "$root"
		add_common "$release"
	done
}

# Add what arm64 guests need: the tools to the lab, and a tree beside it, which appears when all is
# complete.
add_arm64() {
	local mirror

	[[ ! -d $arm64_tree ]] || return 0
	lock_cache "changing the lab"
	if [[ ! -d $arm64_tree ]]; then
		begin_adding arm64
		say "adding arm64 to the lab, from $mirror (log: $log)"
		add_arm64_tools
		make_arm64_tree "$tmp/root"
		mv "$tmp/root" "$arm64_tree"
		say "done: $(du -sh "$arm64_tree" | cut -f1) in $arm64_tree"
	fi
	end_change
}
