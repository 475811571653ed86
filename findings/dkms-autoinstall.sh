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

dummy_dkms
dkms_conf AUTOINSTALL=yes
expect "add" "0" "$(status dkms add dummy/1)"
for value in yes YES no; do
	dkms_conf "AUTOINSTALL=$value"
	expect "build with $value" "0" "$(status dkms build dummy/1 -k 1.2.3/x86_64 --force)"
done
for value in 1 y true; do
	dkms_conf "AUTOINSTALL=$value"
	expect "build with $value" "8" "$(status dkms build dummy/1 -k 1.2.3/x86_64 --force)"
	expect "what it says" "Unsupported AUTOINSTALL value '$value'" \
		"$(grep -o 'Unsupported AUTOINSTALL.*' "$top/output")"
	expect "dkms status" "0" "$(status dkms status)"
done
