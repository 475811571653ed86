#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/docs: what it finds on a page, and what it lets pass."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from program import load, run

docs = load("docs")

TABLE = """\
============  ====
``name``      text
``longer``    text
============  ====
"""
SOURCE = "drivers/infiniband/hw/bluebell/lib/orphan.c"


class Pages(unittest.TestCase):
    """The complaints about a page in whose folder there are another page and a picture."""

    def setUp(self):
        docs.register()
        directory = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)
        for name in ("other.rst", "there.png"):
            (self.folder / name).touch()

    def found(self, text):
        """The complaints about a page, without its path."""
        page = self.folder / "page.rst"
        return [line.removeprefix(str(page)) for line in docs.complaints(page, text)]

    def test_a_sound_page_has_no_complaint(self):
        self.assertEqual(self.found(
            f"Title\n=====\n\n{TABLE}\n:doc:`other`, :doc:`text <other>`, :manpage:`x(1)`,\n"
            ":c:func:`f`, Title_\n\n.. toctree::\n   :maxdepth: 2\n\n   other\n\n"
            f".. kernel-doc:: {SOURCE}\n   :doc: Orphans\n\n"
            ".. code-block:: none\n\n   *text\n\n.. figure:: there.png\n   :alt: x\n\n   Caption.\n"
        ), [])

    def test_a_table_is_broken_by_one_character(self):
        for old, new in (("=  =", "   ="), ("``longer``    ", "``longer``   "),
                         ("============  ", "===========  ")):
            lines = self.found(TABLE.replace(old, new, 1))
            self.assertRegex("\n".join(lines), r":\d+: error: ", (old, new))

    def test_mistakes_of_a_page_are_found(self):
        for text, line in (("Title\n====\n", "Title underline too short."),
                           ("``x`\n", "Inline literal start-string without end-string."),
                           (".. nonsense::\n", 'Unknown directive type "nonsense".'),
                           (":nonsense:`x`\n", 'Unknown interpreted text role "nonsense".'),
                           ("Nowhere_\n", 'Unknown target name: "nowhere".')):
            self.assertIn(line, "\n".join(self.found(text)))

    def test_what_a_page_names_has_to_be_there(self):
        for text, line in ((":doc:`absent`\n", ":1: error: there is no page absent"),
                           (".. toctree::\n\n   absent\n", ":1: error: there is no page absent"),
                           (".. image:: absent.png\n", ": error: there is no picture absent.png"),
                           (".. kernel-doc:: absent.c\n", ":1: error: there is no absent.c"),
                           (f".. kernel-doc:: {SOURCE}\n   :doc: Orphan\n",
                            f":1: error: {SOURCE} has no section 'DOC: Orphan'")):
            self.assertIn(line, self.found(text))

    def test_the_program_complains(self):
        """By its status, too; of the pages that it is given, and of no others."""
        page = self.folder / "page.rst"
        page.write_text(TABLE)
        self.assertEqual(run("docs", page), (0, []))
        page.write_text("``x`\n")
        status, lines = run("docs", page)
        self.assertEqual(status, 1)
        self.assertRegex("\n".join(lines), r"page\.rst:1: error: Inline literal")
        good = self.folder / "good.rst"
        good.write_text(TABLE)
        for pages in ((page, good), (good, page), (page, page)):
            status, lines = run("docs", *pages)
            self.assertEqual((status, len(lines)), (1, pages.count(page)), pages)

    def main_of_tree(self, **pages):
        """What the program says, to stdout and to stderr, of a tree with these pages."""
        (self.folder / "Documentation").mkdir()
        for name, text in pages.items():
            (self.folder / "Documentation" / f"{name}.rst").write_text(text)
        with mock.patch.object(docs, "REPO", self.folder), \
                mock.patch.object(docs.sys, "argv", ["docs"]), \
                contextlib.redirect_stderr(io.StringIO()) as summary, \
                contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(docs.main(), 1)
        return said.getvalue(), summary.getvalue()

    def test_each_page_is_in_a_table_of_contents(self):
        """Except the index, which has the table."""
        self.assertEqual(
            self.main_of_tree(index=".. toctree::\n\n   listed\n", listed=TABLE, orphan=TABLE),
            ("Documentation/orphan.rst: error: no table of contents has this page\n",
             "docs: 3 pages, 1 complaints\n"))

    def test_each_page_of_the_tree_is_parsed(self):
        said, summary = self.main_of_tree(index=".. toctree::\n\n   a\n   b\n", a="``x`\n",
                                          b="``x`\n")
        self.assertEqual([line.partition(":")[0] for line in said.splitlines()],
                         ["Documentation/a.rst", "Documentation/b.rst"])
        self.assertEqual(summary, "docs: 3 pages, 2 complaints\n")


if __name__ == "__main__":
    unittest.main()
