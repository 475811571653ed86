#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the series of scripts/export-patches: each file of the driver is in one patch, and a
folder that no patch adds is refused."""

import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from program import SCRIPTS

REPO = SCRIPTS.parent
DRIVER = "drivers/infiniband/hw/bluebell"


class Export(unittest.TestCase):
    """The export of a copy of the sources, with a planted mistake."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.repo = Path(directory.name, "repo")
        for folder in (DRIVER, "include", "kunit", "Documentation", "scripts"):
            shutil.copytree(REPO / folder, self.repo / folder,
                            ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", "__pycache__"))
        (self.repo / "tools").symlink_to(REPO / "tools")
        self.out = Path(directory.name, "patches")

    def export(self):
        """(exit status, messages) of the export."""
        done = subprocess.run([self.repo / "scripts/export-patches", self.out], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def refused(self, pattern):
        """Check that the export fails, with this message."""
        status, text = self.export()
        self.assertNotEqual(status, 0, text)
        self.assertRegex(text, pattern)

    def test_each_file_is_added_by_one_patch(self):
        """All of them together have the driver, its header for users and its KUnit suites."""
        status, text = self.export()
        self.assertEqual(status, 0, text)
        added = Counter()
        for path in self.out.glob("*.patch"):
            added.update(re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)$", path.read_text("utf-8"),
                                    re.M))
        self.assertEqual([name for name, count in added.items() if count > 1], [])
        wanted = {str(path.relative_to(REPO)) for path in (REPO / DRIVER).rglob("*.[ch]")
                  if not path.name.endswith(".mod.c")}
        wanted |= {f"{DRIVER}/tests/{path.relative_to(REPO / 'kunit')}"
                   for path in (REPO / "kunit").rglob("*.[ch]")}
        wanted |= {"include/uapi/rdma/bluebell-abi.h", f"{DRIVER}/Kconfig", f"{DRIVER}/Makefile"}
        self.assertEqual(wanted - set(added), set())
        self.assertEqual({name for name in added if name.endswith((".c", ".h"))} - wanted, set())

    def test_file_in_no_patch(self):
        """A new folder has to be entered in the list of patches."""
        path = self.repo / DRIVER / "new/new_object.c"
        path.parent.mkdir()
        path.write_text("", encoding="utf-8")
        self.refused(r"new/new_object\.c is in no patch")


if __name__ == "__main__":
    unittest.main()
