#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two modules with one alias, and a blacklist
#
# Guess: modprobe of the alias loads the module that comes first, or the one that the configuration
#       names. With both modules on the blacklist modprobe of the alias fails.
# Seen:  all modules with the alias are loaded, in the order of modules.order. An alias line of
#       the configuration replaces all of them. With all on the blacklist nothing is loaded and
#       the status is 0; modprobe -R lists the modules on the blacklist, too.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

dummy_modules
alias=auxiliary:core.rdma
conf ''
expect "the alias loads" "other_ib stock_ib " "$(loads $alias)"
conf "alias $alias stock_ib"
expect "with an alias line" "stock_ib " "$(loads $alias)"
conf 'blacklist stock_ib'
expect "with one on the blacklist" "other_ib " "$(loads $alias)"
conf 'blacklist stock_ib' 'blacklist other-ib'
expect "with both" "" "$(loads $alias)"
expect "status" "0" "$(status inside modprobe -d root -S 1.2.3 -C conf -D $alias)"
expect "modprobe -R" "other_ib stock_ib " \
	"$(inside modprobe -d root -S 1.2.3 -C conf -R $alias | tr '\n' ' ')"
