#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Programs of librdmacm on a machine without a device
#
# Guess: all use one library, so all give the same message, that there is no device, and the same
#       exit status.
# Seen:  rdma_server blames its own flags: "rdma_getaddrinfo: Bad value for ai_flags", since the
#       -1 that the library returns is printed as an error of getaddrinfo(). The others say "No
#       RDMA devices were detected", and end with 19 (rping), 1 (ucmatose, udaddy) and 255
#       (riostream).

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack rdmacm-utils=56.1-1
without_devices
expect "rdma_server" "255" "$(status inside rdma_server)"
expect "what it says" "rdma_getaddrinfo: Bad value for ai_flags" "$(grep getaddr "$top/output")"
for pair in rping:19 ucmatose:1 udaddy:1 riostream:255; do
	program=${pair%:*}
	set -- inside "$program"
	[ "$program" != rping ] || set -- inside rping -s
	expect "$program" "${pair#*:}" "$(status "$@")"
	expect "what it says" "No RDMA devices were detected" "$(grep -i 'no rdma' "$top/output")"
done
