#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# ucx_info and the variable that chooses transports
#
# Guess: ucx_info -d lists what UCX_TLS allows, so it shows whether a value of UCX_TLS is right.
# Seen:  -d ignores UCX_TLS and lists the same transports for a name that does not exist, with
#       status 0. Only -e, which makes an endpoint, applies it: "no usable transports/devices",
#       status 242.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack ucx-utils=1.18.1+ds-2+b1
transports() {
	inside env "UCX_TLS=$1" ucx_info -d 2>/dev/null |
		sed -n 's/^# *Transport: //p' | tr '\n' ' '
}
expect "-d, nosuch is as all" "$(transports all)" "$(transports nosuch)"
expect "-d has self" "1" "$(transports nosuch | grep -cw self)"
expect "-d, status" "0" "$(status inside env UCX_TLS=nosuch ucx_info -d)"
expect "-e, status" "242" "$(status inside env UCX_TLS=nosuch ucx_info -e -u t)"
expect "-e, error" "1" "$(grep -c 'no usable transports/devices' "$top/output")"
