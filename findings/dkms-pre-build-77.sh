#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A script PRE_BUILD of dkms.conf that ends with status 77
#
# Guess: any status of the script but 0 is a failed build, with which dkms autoinstall, and so the
#       installation of a kernel, fails.
# Seen:  77 is different: dkms build ends with 77, and dkms autoinstall says "skipped" and ends with
#       0, as for a kernel that BUILD_EXCLUSIVE_KERNEL excludes. With 76, and with 77 of MAKE, the
#       build has failed, and dkms autoinstall ends with 11. The manual has 77 for
#       BUILD_EXCLUSIVE_KERNEL only.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

# pre_build STATUS: the status of PRE_BUILD.
pre_build() {
	printf '#!/bin/sh\nexit %s\n' "$1" >"$top/work/src/dummy-1/pre"
	chmod +x "$top/work/src/dummy-1/pre"
}

dummy_dkms
dkms_conf AUTOINSTALL=yes PRE_BUILD=pre
pre_build 77
expect "add" "0" "$(status dkms add dummy/1)"
expect "build after 77" "77" "$(status dkms build dummy/1 -k 1.2.3/x86_64)"
expect "autoinstall after 77" "0" "$(status dkms autoinstall -k 1.2.3/x86_64)"
expect "what it says" "was skipped for module(s) dummy" \
	"$(grep -o 'was skipped for module(s) dummy' "$top/output")"
pre_build 76
expect "build after 76" "76" "$(status dkms build dummy/1 -k 1.2.3/x86_64)"
expect "autoinstall after 76" "11" "$(status dkms autoinstall -k 1.2.3/x86_64)"
expect "what it says" "failed for module(s) dummy(76)" \
	"$(grep -o 'failed for module(s) dummy(76)' "$top/output")"
pre_build 0
dkms_conf AUTOINSTALL=yes PRE_BUILD=pre 'MAKE[0]="exit 77"'
expect "autoinstall, 77 of MAKE" "11" "$(status dkms autoinstall -k 1.2.3/x86_64)"
expect "how often the manual has 77" "1" "$(zgrep -cw 77 "$root/usr/share/man/man8/dkms.8.gz")"
