#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A blacklist and soft dependencies
#
# Guess: a module on the blacklist is not loaded as the soft dependency of another module, or at
#       least not with modprobe -b, which applies the blacklist to names as well.
# Seen:  the module is loaded in both cases: the blacklist is for aliases, and with -b for the name
#       that was asked for, not for the soft dependencies of that module. Only an install line
#       prevents that the module is loaded.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

dummy_modules
conf 'blacklist stock_ib'
expect "by name" "stock_ib " "$(loads stock_ib)"
expect "by name with -b" "" "$(loads -b stock_ib)"
expect "as soft dependency" "core stock_ib " "$(loads core)"
expect "as soft dependency with -b" "core stock_ib " "$(loads -b core)"
conf 'install stock_ib /bin/true'
expect "with an install line" "core install /bin/true " "$(loads core)"
