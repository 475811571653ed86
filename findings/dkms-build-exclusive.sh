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

dummy_dkms
dkms_conf AUTOINSTALL=yes 'BUILD_EXCLUSIVE_KERNEL="^9[.]"'
expect "add" "0" "$(status dkms add dummy/1)"
expect "build" "77" "$(status dkms build dummy/1 -k 1.2.3/x86_64)"
expect "install" "77" "$(status dkms install dummy/1 -k 1.2.3/x86_64)"
expect "autoinstall" "0" "$(status dkms autoinstall -k 1.2.3/x86_64)"
expect "what it says" "was skipped for module(s) dummy" \
	"$(grep -o 'was skipped for module(s) dummy' "$top/output")"
expect "status of a module never added" "0" "$(status dkms status nosuch/1)"
