#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The recipes of Documentation/ci.rst, with stand-ins for what takes long."""

import os
import re
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

from program import SCRIPTS

PAGE = SCRIPTS.parent / "Documentation/ci.rst"

# make fails where the tree has the file "unbuildable"; bluebell-vm ends with the status in the file
# "status", as if the command in the guest had.
MAKE = """#!/bin/sh
echo "make $*" >>../calls
case $* in *bzImage*) [ ! -e unbuildable ] ;; esac
"""
VM = """#!/bin/sh
echo "bluebell-vm $*" >>../calls
exit "$(cat status)"
"""


def example(name):
    """The script that the page shows after its name."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"``[./]*{re.escape(name)}``[^\n]*::\n\n((?:   .*\n|\n)+)", text)
    return textwrap.dedent(found[1])


class Bisection(unittest.TestCase):
    """The script bisect.sh, in a repository with a commit for each of the states."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = Path(directory.name)
        self.tree = self.top / "linux"
        (self.tree / "scripts/kconfig").mkdir(parents=True)
        for name, text in (("bin/make", MAKE), ("bin/bluebell-vm", VM),
                           ("bisect.sh", example("bisect.sh")), ("rdma.config", ""),
                           ("linux/scripts/kconfig/merge_config.sh", "#!/bin/sh\n")):
            path = self.top / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.env = {**os.environ, "PATH": f"{self.top}/bin:{os.environ['PATH']}",
                    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        self.git("init", "-q")

    def git(self, *words):
        """The output of git in the tree."""
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words],
                              cwd=self.tree, env=self.env, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def commits(self, *states):
        """A commit for each state, the status of bluebell-vm or "unbuildable"."""
        for number, state in enumerate(states):
            (self.tree / "unbuildable").unlink(missing_ok=True)
            if state == "unbuildable":
                (self.tree / state).touch()
            else:
                (self.tree / "status").write_text(str(state))
            (self.tree / "number").write_text(str(number))
            self.git("add", "-A")
            self.git("commit", "-q", "-m", f"commit {number}: {state}")

    def bisect(self, *states):
        """What the bisection from the first to the last commit says."""
        self.commits(*states)
        self.git("bisect", "start", "HEAD", f"HEAD~{len(states) - 1}")
        return self.git("bisect", "run", "../bisect.sh")

    def test_the_commit_that_fails_is_found(self):
        """Whatever the status is: that of the command, of a signal, of a report, of a hang."""
        for bad in (1, 99, 124, 139, 255):
            with self.subTest(status=bad):
                said = self.bisect(0, 0, 0, bad, bad, bad)
                self.assertRegex(said, rf"is the first bad commit[^§]*commit 3: {bad}")
                self.git("bisect", "reset")
                self.git("update-ref", "-d", "HEAD")

    def test_what_cannot_be_tested_is_skipped(self):
        """A kernel that is not built, and one that does not boot, are neither good nor bad."""
        for state in ("unbuildable", 125):
            for first, states in ((2, (0, 0, 1, state, 1, 1, 1)), (5, (0, 0, 0, state, 0, 1, 1))):
                with self.subTest(state=state, first=first):
                    said = self.bisect(*states)
                    self.assertRegex(said, f"is the first bad commit[^§]*commit {first}: 1")
                    self.git("bisect", "reset")
                    self.git("update-ref", "-d", "HEAD")

    def test_the_configuration_is_made_anew_for_each_commit(self):
        """And the image is built before the guest boots it."""
        self.bisect(0, 0, 1)
        calls = (self.top / "calls").read_text().splitlines()
        self.assertRegex(calls[0], "config")
        built = next(n for n, call in enumerate(calls) if "bzImage" in call)
        self.assertRegex(calls[built + 1], r"bluebell-vm --kernel \. ")


if __name__ == "__main__":
    unittest.main()
