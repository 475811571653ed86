#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# fi_info and a provider that is not there
#
# Guess: fi_info -p tells a provider without a device from a name that no provider has.
# Seen:  verbs without a device and a misspelt name both give "-61 (No data available)" and status
#       61. fi_info -l lists verbs in both cases: it lists the providers that are built in, not
#       those that can be used.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack libfabric-bin=2.1.0-1.1
without_devices
for provider in verbs nosuch; do
	expect "$provider" "61" "$(status inside fi_info -p "$provider")"
	expect "what it says" "fi_getinfo: -61 (No data available)" "$(cat "$top/output")"
done
expect "fi_info -l has verbs" "1" "$(inside fi_info -l 2>/dev/null | grep -c '^verbs:')"
