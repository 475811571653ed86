#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# mlx5_ib in the initramfs, and the soft dependencies of /etc/modprobe.d
#
# Guess: an initramfs has the drivers of disks and of Ethernet, for the root file system, and no
#       verbs drivers. So a line "softdep mlx5_ib pre: other_ib" in /etc/modprobe.d has its effect
#       at the next boot.
# Seen:  wherever mlx5_core is in an initramfs, as with MODULES=most, mlx5_ib is, too: a list in
#       initramfs-tools says so. The module other_ib is not there until the initramfs is made again
#       after the line was written; then it is, and so is the line.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

# What mkinitramfs calls, and no package names.
unpack initramfs-tools=0.148.4 kmod=34.2-2 binutils=2.44-3 dpkg libc-bin linux-base
modules=$root/lib/modules/1.2.3
mkdir -p "$modules/kernel/drivers/net/ethernet" "$modules/kernel/drivers/infiniband" \
	"$modules/updates" "$root/etc/modprobe.d" "$root/var/tmp"
# Modules without code: their names are what counts.
cat >"$top/work/make" <<'EOT'
for name in kernel/drivers/net/ethernet/mlx5_core kernel/drivers/infiniband/mlx5_ib \
	updates/other_ib; do
	printf '.section .modinfo,"a"\n.asciz "name=%s"\n.asciz "license=GPL"\n' "${name##*/}" |
		as -o "/lib/modules/1.2.3/$name.ko"
done
cd /lib/modules/1.2.3 && find . -name '*.ko' | cut -c 3- >modules.order && : >modules.builtin
depmod 1.2.3
EOT
inside sh make 2>"$top/log"
echo CONFIG_RD_GZIP=y >"$root/boot/config-1.2.3"

# has: the modules that the initramfs has, and the lines of modprobe that name them.
has() {
	inside sh -c 'mkinitramfs -c gzip -o image 1.2.3 && rm -rf main &&
		unmkinitramfs image main' >"$top/log" 2>&1 || { cat "$top/log" >&2; exit 1; }
	find "$top/work/main" -name '*.ko*' -printf '%f\n' | sort | tr '\n' ' '
	cat "$top/work/main/etc/modprobe.d/test.conf" 2>/dev/null || true
}

conf='softdep mlx5_ib pre: other_ib'
expect "MODULES" "most" "$(sed -n 's/^MODULES=//p' "$root/etc/initramfs-tools/initramfs.conf")"
expect "the initramfs" "mlx5_core.ko mlx5_ib.ko " "$(has)"
echo "$conf" >"$root/etc/modprobe.d/test.conf"
expect "made again, with the line" "mlx5_core.ko mlx5_ib.ko other_ib.ko $conf" "$(has)"
