#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# InfiniBand tools on a machine without a device
#
# Guess: all of them say that there is no device, and fail.
# Seen:  ibstat prints nothing and ends with 0; opensm -o says "No local ports detected!" and ends
#       with 0; ibstatus and ibnetdiscover end with 255.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack opensm=3.3.23-3.1 infiniband-diags=56.1-1
without_devices
expect "ibstat" "0" "$(status inside ibstat)"
expect "its output" "" "$(cat "$top/output")"
expect "opensm -o" "0" "$(status inside opensm -o -f osm.log)"
expect "what it says" "No local ports detected!" "$(grep 'No local' "$top/output")"
expect "ibstatus" "255" "$(status inside ibstatus)"
expect "ibnetdiscover" "255" "$(status inside ibnetdiscover)"
