#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Exit statuses of --help and --version
#
# Guess: --help and --version of every program print to standard output and end with 0.
# Seen:  perftest --version and -h: 1; ibv_devinfo has no -h ("invalid option", 255); rping -h:
#       22; opensm --help: 2; fi_info -h: 1, but its --version: 0. A package test that calls
#       --version to see whether a program starts fails.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack perftest=25.01.0+0.80-1 ibverbs-utils=56.1-1 rdmacm-utils=56.1-1 opensm=3.3.23-3.1 \
	libfabric-bin=2.1.0-1.1
expect "ib_write_bw --version" "1" "$(status inside ib_write_bw --version)"
expect "what it says" "Version: 6.24" "$(cat "$top/output")"
expect "ib_write_bw -h" "1" "$(status inside ib_write_bw -h)"
expect "ibv_devinfo -h" "255" "$(status inside ibv_devinfo -h)"
expect "what it says" "1" "$(grep -c 'invalid option' "$top/output")"
expect "rping -h" "22" "$(status inside rping -h)"
expect "opensm --help" "2" "$(status inside opensm --help)"
expect "fi_info -h" "1" "$(status inside fi_info -h)"
expect "fi_info --version" "0" "$(status inside fi_info --version)"
