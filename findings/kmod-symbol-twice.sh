#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two modules that export one symbol, and depmod
#
# Guess: depmod warns, and the modules that use the symbol depend on the exporter that is first in
#       modules.order.
# Seen:  depmod prints nothing, not even with -w (warn about duplicates), and the modules that use
#       the symbol depend on the exporter that is last in modules.order. An exporter in updates/
#       comes before both.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack kmod=34.2-2 binutils=2.44-3
modules=$top/work/root/lib/modules/1.2.3
mkdir -p "$modules/kernel" "$modules/updates"
cat >"$top/work/make" <<'EOT'
# exporter DIRECTORY NAME: a module that exports the symbol hook.
exporter() {
	printf '.section .modinfo,"a"\n.asciz "name=%s"\n' "$2" >source
	printf '.section __ksymtab_strings,"aMS",@progbits,1\n.asciz "hook"\n' >>source
	as -o "root/lib/modules/1.2.3/$1/$2.ko" source
}
exporter kernel stock_ib
exporter kernel other_ib
exporter updates new_ib
printf '.section .modinfo,"a"\n.asciz "name=user"\n.data\n.quad hook\n' |
	as -o root/lib/modules/1.2.3/kernel/user.ko
EOT
inside sh make
mv "$modules/updates/new_ib.ko" "$top/work/"
touch "$modules/modules.builtin" "$modules/modules.builtin.modinfo"
# needs NAME...: list these modules in modules.order, and print what depmod says and on which of
# them the module "user" depends.
needs() {
	printf 'kernel/%s.ko\n' "$@" user >"$modules/modules.order"
	inside depmod -b root -w 1.2.3 2>&1
	sed -n 's/^kernel\/user.ko: //p' "$modules/modules.dep"
}
expect "stock_ib first" "kernel/other_ib.ko" "$(needs stock_ib other_ib)"
expect "other_ib first" "kernel/stock_ib.ko" "$(needs other_ib stock_ib)"
mv "$top/work/new_ib.ko" "$modules/updates/"
expect "with a third in updates" "updates/new_ib.ko" "$(needs other_ib stock_ib)"
