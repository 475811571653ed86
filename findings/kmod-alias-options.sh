#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Module options that are given for an alias
#
# Guess: an options line takes the name of a module; with an alias it does nothing.
# Seen:  options of an alias go to each module that is loaded by the alias, after the options of
#       its own name; they do not apply when the module is loaded by name. So one line can hand
#       two drivers of one device the same parameter.

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
conf 'options other_ib debug=1' 'options auxiliary:core.rdma x=1'
expect "by the alias" "other_ib debug=1 x=1 stock_ib x=1 " "$(loads auxiliary:core.rdma)"
expect "by name" "other_ib debug=1 " "$(loads other_ib)"
