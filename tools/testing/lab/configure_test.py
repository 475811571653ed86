#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how compat/configure finds out what a kernel has, with a kernel of one Makefile."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import SCRIPTS

# It prints what Kbuild prints.
MAKEFILE = """\
CC = gcc
%.o:
	@echo '  CC [M]  $(M)/$@'; $(CC) $(MORE) -Iinclude -c -o $(M)/$@ $(M)/$*.c
"""
FEATURES = """\
[HAS]
#include <linux/module.h>
int f(void) { return old(1); }

[HEADER]
#include <linux/new.h>

[MACRO]
#include <linux/module.h>
int f(void) { return MEMBER(new); }
"""
HEADER = """\
struct it { int first; };
static inline int old(int i) { return i; }
#define MEMBER(name) (((struct it *)0)->name)
"""
# A compiler that notes each file that it compiles, and fails as $BROKEN says.
COMPILER = """\
#!/bin/sh
case "$*" in
*--version*) cat "$ROOT/version"; exit ;;
*"$BROKEN"*) echo "gcc: fatal error: Killed signal terminated program cc1" >&2; exit 1 ;;
esac
echo "$*" >>"$ROOT/compiled"
exec gcc "$@"
"""


class Configure(unittest.TestCase):
    """The features of a kernel that has only the feature HAS."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        for name, text in (("kernel/Makefile", MAKEFILE), ("compat/features", FEATURES),
                           ("kernel/include/linux/module.h", HEADER),
                           ("kernel/include/config/auto.conf", ""),
                           ("kernel/include/generated/utsrelease.h", ""),
                           ("version", "gcc 1\n"), ("cc", COMPILER), ("compiled", "")):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.root / "cc").chmod(0o755)
        shutil.copy(SCRIPTS.parent / "compat/configure", self.root / "compat")

    def configure(self, *arguments, broken="no such file"):
        """What the kernel lacks, the messages, and how many files were compiled for it."""
        before = len(self.compiled())
        ended = subprocess.run(
            [self.root / "compat/configure", self.root / "kernel", self.root / "out",
             f"CC={self.root}/cc", *arguments], check=False, text=True,
            env={**os.environ, "LC_ALL": "C", "ROOT": str(self.root), "BROKEN": broken},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(ended.returncode, 1 if ended.stderr else 0, ended.stderr)
        return ended.stdout.split(), ended.stderr, len(self.compiled()) - before

    def compiled(self):
        """The command lines of the compiler."""
        return (self.root / "compiled").read_text(encoding="utf-8").splitlines()

    def test_features(self):
        """A missing header, and an error that the compiler reports in a line of a header."""
        self.assertEqual(self.configure("-j2"), (["HEADER", "MACRO"], "", 4))
        self.assertEqual((self.root / "out/bluebell_config.h").read_text().splitlines()[1:],
                         ["#define BB_HAVE_HAS", "/* BB_HAVE_HEADER is not defined */",
                          "/* BB_HAVE_MACRO is not defined */"])

    def test_compiler_that_was_killed(self):
        """It says nothing of the kernel: nothing is written, and the next run compiles again."""
        for name in ("HAS", "MACRO", "CONTROL"):
            lacks, said, _ = self.configure("-j2", broken=f"{name}.c")
            self.assertEqual(lacks, [])
            self.assertIn(f"error: cannot compile {name}.c for the kernel", said)
            self.assertFalse((self.root / "out/bluebell_config.h").exists())
        self.assertEqual(self.configure(), (["HEADER", "MACRO"], "", 4))

    def test_answers_are_kept(self):
        """For the same kernel, features, compiler and arguments; the number of jobs is free."""
        self.configure("-j2")
        self.assertEqual(self.configure("-j1")[2], 0)
        self.assertEqual(self.configure("-j1", "MORE=-Dnew=first"), (["HEADER"], "", 4))
        self.assertEqual(self.configure(), (["HEADER", "MACRO"], "", 4))
        for name in ("version", "compat/features", "kernel/include/config/auto.conf"):
            with (self.root / name).open("a", encoding="utf-8") as file:
                file.write("\n")
            self.assertEqual(self.configure()[2], 4, name)


if __name__ == "__main__":
    unittest.main()
