#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two modules with one alias, and a blacklist
#
# Guess: the module that comes first, or the one in the configuration, gets the alias. With both
#       on the blacklist modprobe of the alias fails.
# Seen:  all modules with the alias are loaded, in the order of modules.order. An alias line of
#       the configuration replaces all of them. With all on the blacklist nothing is loaded and
#       the status is 0; modprobe -R lists the modules on the blacklist, too.

set -eu
# shellcheck source=findings/lib.sh
. "$(dirname "$0")/lib.sh"

unpack kmod=34.2-2 binutils=2.44-3
modules=$top/work/root/lib/modules/1.2.3
mkdir -p "$modules" "$top/work/conf"
cat >"$top/work/make" <<'EOT'
for name in core stock_ib other_ib; do
	case $name in
	core) info='softdep=post: stock_ib' ;;
	*) info=alias=auxiliary:core.rdma ;;
	esac
	printf '.section .modinfo,"a"\n.asciz "name=%s"\n.asciz "%s"\n' "$name" "$info" |
		as -o "root/lib/modules/1.2.3/$name.ko"
done
printf '%s\n' other_ib.ko stock_ib.ko core.ko >root/lib/modules/1.2.3/modules.order
depmod -b root 1.2.3 2>/dev/null
EOT
inside sh make
# The names of the modules that modprobe would load, in this order.
loads() {
	inside modprobe -d root -S 1.2.3 -C conf -D "$@" 2>&1 |
		sed 's|^insmod .*/\([a-z_]*\)\.ko *|\1 |' | tr -s '\n ' ' '
}
conf() {
	printf '%s\n' "$@" >"$top/work/conf/test.conf"
}
alias=auxiliary:core.rdma
conf ''
expect "the alias loads" "other_ib stock_ib " "$(loads $alias)"
conf "alias $alias stock_ib"
expect "with an alias line" "stock_ib " "$(loads $alias)"
conf 'blacklist stock_ib'
expect "with one on the blacklist" "other_ib " "$(loads $alias)"
conf 'blacklist stock_ib' 'blacklist other-ib'
expect "with both" "" "$(loads $alias)"
expect "status" "0" "$(status inside modprobe -d root -S 1.2.3 -C conf -D $alias)"
expect "modprobe -R" "other_ib stock_ib " \
	"$(inside modprobe -d root -S 1.2.3 -C conf -R $alias | tr '\n' ' ')"
