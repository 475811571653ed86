#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The status of dkms for a module that does not fit the kernel
#
# Guess: BUILD_EXCLUSIVE_KERNEL gives one status, whether the module is built by name or by
#       autoinstall.
# Seen:  dkms build and dkms install end with 77; dkms autoinstall, which the hook of kernel
#       packages calls, says "skipped" and ends with 0. dkms status of a module that was never
#       added also ends with 0.

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
conf AUTOINSTALL=yes 'BUILD_EXCLUSIVE_KERNEL="^9[.]"'
expect "add" "0" "$(status dkms add dummy/1)"
expect "build" "77" "$(status dkms build dummy/1 -k 1.2.3/x86_64)"
expect "install" "77" "$(status dkms install dummy/1 -k 1.2.3/x86_64)"
expect "autoinstall" "0" "$(status dkms autoinstall -k 1.2.3/x86_64)"
expect "what it says" "was skipped for module(s) dummy" \
	"$(grep -o 'was skipped for module(s) dummy' "$top/output")"
expect "status of a module never added" "0" "$(status dkms status nosuch/1)"
