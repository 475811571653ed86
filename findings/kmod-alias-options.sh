#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Module options that are given for an alias
#
# Guess: an options line takes the name of a module; with an alias it does nothing.
# Seen:  options of an alias go to each module that is loaded by the alias, after the options of
#       its own name; they do not apply when the module is loaded by name. So one line can hand
#       two drivers of one device the same parameter.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

dummy_modules
conf 'options other_ib debug=1' 'options auxiliary:core.rdma x=1'
expect "by the alias" "other_ib debug=1 x=1 stock_ib x=1 " "$(loads auxiliary:core.rdma)"
expect "by name" "other_ib debug=1 " "$(loads other_ib)"
