#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A blacklist and soft dependencies
#
# Guess: a module on the blacklist is not loaded as the soft dependency of another module, or at
#       least not with modprobe -b, which applies the blacklist to names as well.
# Seen:  it is loaded in both cases: the blacklist is for aliases, and with -b for the name that
#       was asked for, not for what that module pulls in. Only an install line stops it.

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
conf 'blacklist stock_ib'
expect "by name" "stock_ib " "$(loads stock_ib)"
expect "by name with -b" "" "$(loads -b stock_ib)"
expect "as soft dependency" "core stock_ib " "$(loads core)"
expect "as soft dependency with -b" "core stock_ib " "$(loads -b core)"
conf 'install stock_ib /bin/true'
expect "with an install line" "core install /bin/true " "$(loads core)"
