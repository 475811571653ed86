#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The tests of pyverbs in Debian's package
#
# Guess: the package ships the test suite of rdma-core, and run_tests.py in its folder runs it.
# Seen:  the package has the suite as documentation, so the tools that build Debian packages have
#       compressed each larger file (.py.gz), base.py among them, and no test can be imported where
#       it lies ("No module named tests.base"). Unpacked to another place, its modules are found.

set -eu
# shellcheck source=findings/lib
. "$(dirname "$0")/lib"

unpack rdma-core=56.1-1 python3-pyverbs=56.1-1
tests=$root/usr/share/doc/rdma-core/tests
expect "packed and not" "36 23" \
	"$(find "$tests" -name '*.py.gz' | wc -l) $(find "$tests" -name '*.py' | wc -l)"
expect "status" "1" "$(status inside python3 /usr/share/doc/rdma-core/tests/run_tests.py)"
expect "error" "No module named 'tests.base'" "$(grep -o "No module named.*" "$top/output")"
mkdir "$top/work/copy"
cp -r "$tests" "$top/work/copy/"
gunzip "$top/work/copy/tests"/*.gz
expect "unpacked" "1" \
	"$(inside env PYTHONPATH=/finding/copy:/finding/copy/tests PYTHONDONTWRITEBYTECODE=1 \
		python3 -c 'import tests.base; print(1)')"
