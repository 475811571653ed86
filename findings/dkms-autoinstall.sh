#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Values of AUTOINSTALL in dkms.conf
#
# Guess: AUTOINSTALL is true for any value that is not empty, as older versions of dkms took it.
# Seen:  "yes" in any case and "no" are taken; 1, y and true make the whole file invalid, with
#       status 8 and nothing built. dkms status still lists the module as added, with status 0.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack dkms=3.2.2-1~deb13u1 kmod=34.2-2
work=$top/work
mkdir -p "$work/src/dummy-1" "$work/dkms" "$work/modules/1.2.3/build/include"
echo x >"$work/src/dummy-1/dummy.in"
conf() {
	printf '%s\n' PACKAGE_NAME=dummy PACKAGE_VERSION=1 'BUILT_MODULE_NAME[0]=dummy' \
		'DEST_MODULE_LOCATION[0]=/updates/dkms' 'MAKE[0]="cp dummy.in dummy.ko"' \
		"$@" >"$work/src/dummy-1/dkms.conf"
}
dkms() {
	inside dkms --dkmstree /finding/dkms --sourcetree /finding/src \
		--installtree /finding/modules "$@"
}
conf AUTOINSTALL=yes
expect "add" "0" "$(status dkms add dummy/1)"
for value in yes YES no; do
	conf "AUTOINSTALL=$value"
	expect "build with $value" "0" "$(status dkms build dummy/1 -k 1.2.3/x86_64 --force)"
done
for value in 1 y true; do
	conf "AUTOINSTALL=$value"
	expect "build with $value" "8" "$(status dkms build dummy/1 -k 1.2.3/x86_64 --force)"
	expect "what it says" "Unsupported AUTOINSTALL value '$value'" \
		"$(grep -o 'Unsupported AUTOINSTALL.*' "$top/output")"
	expect "dkms status" "0" "$(status dkms status)"
done
