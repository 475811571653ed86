#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/static-checks in a small repository: what cannot be checked must not pass."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import SCRIPTS

DRIVER = "drivers/infiniband/hw/bluebell"


class Checks(unittest.TestCase):
    """A repository with one file of the driver, and a machine without a kernel's headers."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.repo = Path(directory.name)
        self.tools = self.repo / "bin"
        self.write("scripts/lib/kernel-release", "#!/bin/sh\nexit 1\n")
        self.write(f"{DRIVER}/main.c", "int version;\n")
        self.write(f"{DRIVER}/main.h", "\n")
        shutil.copy(SCRIPTS / "static-checks", self.repo / "scripts")
        shutil.copy(SCRIPTS / "lib/lock.sh", self.repo / "scripts/lib")
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", "-C", self.repo, *words], check=True)

    def write(self, name, text):
        """Write a file of the repository, which can be run."""
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def check(self, name):
        """Run a check. Returns its exit status, and what it has said."""
        env = {**os.environ, "LAB": "host", "PATH": f"{self.tools}:{os.environ['PATH']}"}
        ended = subprocess.run([self.repo / "scripts/static-checks", name], env=env, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return ended.returncode, ended.stdout

    def test_versions(self):
        """The line that asks for the version is shown."""
        self.assertEqual(self.check("versions")[0], 0)
        self.write(f"{DRIVER}/main.c", "#if LINUX_VERSION_CODE > 1\n")
        status, said = self.check("versions")
        self.assertEqual(status, 1)
        self.assertIn("main.c:1:#if LINUX_VERSION_CODE > 1: error:", said)

    def test_search_that_fails(self):
        """git could not look at the files."""
        self.write("bin/git", f"#!/bin/sh\n[ \"$1\" != grep ] || exit 128\n"
                              f"exec {shutil.which('git')} \"$@\"\n")
        status, said = self.check("versions")
        self.assertEqual(status, 1)
        self.assertIn("not ok 1", said)

    def test_no_headers(self):
        """The message names what is missing, instead of what make cannot do without it."""
        for name in ("stock", "headers", "layers"):
            status, said = self.check(name)
            self.assertEqual(status, 1)
            self.assertIn("error: cannot find kernel headers", said, name)


if __name__ == "__main__":
    unittest.main()
