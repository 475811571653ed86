#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Several softdep lines for one module
#
# Guess: softdep lines of the module and of modprobe.d for one module add up.
# Seen:  only the first line counts. The lines of the modules themselves are in the file
#       modules.softdep, which is sorted by its name among the files of modprobe.d. So a line in
#       mlx5.conf takes away what the module asks for, and the same line in rdma.conf does nothing.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

dummy_modules
# with FILE=LINE...: print what modprobe loads for the module core when modprobe.d has these files.
with() {
	rm -f "$top/work/conf"/*
	for file; do
		echo "${file#*=}" >"$top/work/conf/${file%%=*}"
	done
	loads core
}
pre='softdep core pre: other_ib'
post='softdep core post: stock_ib'
expect "the module's own, post: stock_ib" "core stock_ib " "$(with)"
expect "another in mlx5.conf" "other_ib core " "$(with "mlx5.conf=$pre")"
expect "the same in rdma.conf" "core stock_ib " "$(with "rdma.conf=$pre")"
expect "in mlx5.conf and in ib.conf" "core stock_ib " "$(with "mlx5.conf=$pre" "ib.conf=$post")"
expect "in mlx5.conf and in mlx6.conf" "other_ib core " \
	"$(with "mlx5.conf=$pre" "mlx6.conf=$post")"
expect "both in one line of mlx5.conf" "other_ib core stock_ib " \
	"$(with "mlx5.conf=$pre post: stock_ib")"
