#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# UCX's traffic class on RoCE v2
#
# Guess: without settings UCX sends with traffic class 0, and UCX_IB_TRAFFIC_CLASS takes a DSCP, 0
#       to 63.
# Seen:  the default is "auto", which is 106 on RoCE v2 and 0 otherwise, as the option's own
#       description says. The description calls the number a DSCP, but 106 does not fit into 6 bits:
#       it is the whole byte, DSCP 26 and ECN-capable.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack ucx-utils=1.18.1+ds-2+b1
inside ucx_info -cf >"$top/seen" 2>/dev/null
expect "default" "UCX_RC_VERBS_TRAFFIC_CLASS=auto" \
	"$(grep '^UCX_RC_VERBS_TRAFFIC_CLASS=' "$top/seen")"
expect "what auto is" "selects 106 on RoCEv2 and 0 otherwise" \
	"$(grep -B12 '^UCX_RC_VERBS_TRAFFIC_CLASS=' "$top/seen" | grep -o 'selects 106.*otherwise')"
expect "it is called a DSCP" "1" \
	"$(grep -B12 '^UCX_RC_VERBS_TRAFFIC_CLASS=' "$top/seen" | grep -c '(DSCP)')"
expect "DSCP and ECN of 106" "26 2" "$((106 >> 2)) $((106 & 3))"
