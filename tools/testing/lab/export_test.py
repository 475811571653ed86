#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the series of scripts/export-patches: what the patches and the cover letter have, that
`git am` takes them, and that a mistake in tools/upstream/ is refused."""

import contextlib
import fnmatch
import io
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from program import SCRIPTS, load

REPO = SCRIPTS.parent
DRIVER = "drivers/infiniband/hw/bluebell"
EXPORT = load("export-patches")
LIMIT = 3000        # lines that a patch may add, if it has no KUnit suites

WITHOUT_CONFIG = {name: value for name, value in os.environ.items()
                  if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@localhost"}


def git(directory, *args):
    """What git says in a directory."""
    return subprocess.run(["git", "-C", directory, *args], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=WITHOUT_CONFIG).stdout


def make_kernel(directory):
    """A git repository with the files of the kernel that the series changes. Returns its commit."""
    source = EXPORT.lab_source()
    for name in (*EXPORT.HOOKS, "Makefile"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, directory / name)
    git(directory, "init", "-q")
    git(directory, "add", "-A")
    git(directory, "-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "-q", "-m",
        "Linux")
    return git(directory, "rev-parse", "HEAD").strip()


def added_lines(patch):
    """{file: number of lines that the patch adds}."""
    added, name = Counter(), None
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            name = line[len("+++ b/"):]
        elif line.startswith("+"):
            added[name] += 1
    return added


class Exported(unittest.TestCase):
    """The series as it is."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.kernel = Path(directory.name, "linux")
        cls.kernel.mkdir()
        cls.base = make_kernel(cls.kernel)
        cls.out = Path(directory.name, "patches")
        subprocess.run([SCRIPTS / "export-patches", "--signoff", "--source", cls.kernel, cls.out],
                       check=True, stderr=subprocess.PIPE)
        cls.patches = {path: path.read_text("utf-8") for path in sorted(cls.out.iterdir())}
        cls.cover = (cls.out.parent / "patches-cover-letter.patch").read_text("utf-8")
        git(cls.kernel, "am", "-q", *cls.patches)

    def steps(self):
        """The commits that git am has made."""
        return git(self.kernel, "rev-list", "--reverse", f"{self.base}..HEAD").split()

    def test_git_am_makes_a_commit_of_each_file(self):
        """The glob DIRECTORY/* has no cover letter, at which git am would stop."""
        self.assertGreater(len(self.patches), 30)
        self.assertEqual(len(self.steps()), len(self.patches))

    def test_each_file_is_added_by_one_patch(self):
        """All of them together have the driver, its header for users and its KUnit suites."""
        added = Counter()
        for text in self.patches.values():
            added.update(re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)$", text, re.M))
        self.assertEqual([name for name, count in added.items() if count > 1], [])
        wanted = {str(path.relative_to(REPO)): path for path in (REPO / DRIVER).rglob("*.[ch]")
                  if not path.name.endswith(".mod.c")}
        wanted |= {f"{DRIVER}/tests/{path.relative_to(REPO / 'kunit')}": path
                   for path in (REPO / "kunit").rglob("*.[ch]")}
        wanted["include/uapi/rdma/bluebell-abi.h"] = REPO / "include/uapi/rdma/bluebell-abi.h"
        self.assertEqual({name for name in added if name.endswith((".c", ".h"))}, set(wanted))
        for name, path in wanted.items():
            self.assertEqual((self.kernel / name).read_bytes(), path.read_bytes(), name)

    def test_makefile_and_kconfig_are_complete_in_the_end(self):
        """They grow from patch to patch."""
        for name in "Makefile", "Kconfig":
            lines = (self.kernel / DRIVER / name).read_text("utf-8").splitlines()
            for path in REPO / DRIVER / name, REPO / "kunit" / name:
                if path == REPO / "kunit/Kconfig":
                    continue
                missing = set(path.read_text("utf-8").splitlines()[1:]) - set(lines)
                self.assertEqual(missing, set(), path)
        self.assertIn(f'source "{DRIVER}/tests/Kconfig"', lines)

    def test_makefile_names_files_that_are_there(self):
        """After each patch; and all of them."""
        for step in self.steps():
            names = set(git(self.kernel, "ls-tree", "-r", "--name-only", step, DRIVER).split())
            if not names:
                continue
            text = git(self.kernel, "show", f"{step}:{DRIVER}/Makefile")
            objects = {f"{DRIVER}/{folder}{name}.c" for prefix, folder in
                       ((r"bluebell-\S+", ""), (r"tests-\S+", "tests/"))
                       for name in re.findall(rf"^{prefix}\s+\+= (\S+)\.o$", text, re.M)}
            self.assertEqual(objects, {name for name in names if name.endswith(".c")}, step)

    def test_no_patch_is_long(self):
        """Patches of KUnit suites excepted."""
        for path, text in self.patches.items():
            added = added_lines(text)
            if not any("/tests/" in name for name in added):
                self.assertLessEqual(sum(added.values()), LIMIT, path.name)

    def test_messages(self):
        """A subject with its prefix, a text in lines of 75 columns, signed off."""
        for step in self.steps():
            subject, body = git(self.kernel, "show", "-s", "--format=%s%x00%b", step).split("\0")
            self.assertRegex(subject, r"^(RDMA/bluebell|MAINTAINERS|Documentation): [a-z]")
            self.assertLessEqual(len(subject), 72, subject)
            text, found, signature = body.rpartition("Signed-off-by: ")
            self.assertTrue(found and signature.strip(), subject)
            self.assertGreater(len(text.split()), 10, subject)
            self.assertEqual([line for line in text.splitlines() if len(line) > 75], [], subject)

    def test_maintainers_has_each_file(self):
        """checkpatch asks for this in each patch, and cannot see the patch that adds the entry.
        That patch is the first."""
        first = git(self.kernel, "show", self.steps()[0])
        patterns = re.findall(r"^\+F:\t(\S+)$", first, re.M)
        self.assertTrue(patterns)
        names = git(self.kernel, "diff", "--name-only", "--diff-filter=A", self.base).split()
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertTrue(any(name.startswith(pattern) if pattern.endswith("/")
                                else fnmatch.fnmatchcase(name, pattern) for pattern in patterns),
                            name)

    def test_pages_name_what_the_kernel_has(self):
        """The other pages of Documentation/ and their pictures are not in the series."""
        folder = self.kernel / EXPORT.PAGES
        pages = {path.stem: path.read_text("utf-8") for path in folder.glob("bluebell*.rst")}
        self.assertEqual(set(pages), set(EXPORT.PAGE_NAMES.values()))
        index = (folder / "index.rst").read_text("utf-8").split()
        for name, text in pages.items():
            self.assertIn(name, index)
            self.assertEqual(set(re.findall(r":doc:`([^`]+)`", text)) - set(pages), set(), name)
            for picture in re.findall(r"^\.\. \S*(?:figure|image):: (\S+)", text, re.M):
                self.assertTrue((folder / picture).exists(), picture)
            for source in re.findall(r"^\.\. kernel-doc:: (\S+)$", text, re.M):
                self.assertTrue((self.kernel / source).exists(), source)

    def test_sources_name_what_the_kernel_has(self):
        """No comment, text or Kconfig names a file that is only in this repository."""
        source = EXPORT.lab_source()
        names = git(self.kernel, "diff", "--name-only", "--diff-filter=A", self.base).split()
        names = [name for name in names if not name.startswith(EXPORT.PAGES)]
        self.assertGreater(len(names), 100)
        for name in names:
            text = (self.kernel / name).read_text("utf-8")
            for path in re.findall(r"(?<![\w./-])(?:(?:tools|scripts|kunit|compat|Documentation)/"
                                   r"[\w./-]*\w|[\w-]+\.rst)", text):
                self.assertTrue(any((folder / path).exists() for folder in
                                    (self.kernel, source, source / "include")), f"{name}: {path}")

    def test_code_patches_after_the_pages_build_the_driver(self):
        """The pages come before the driver can be configured."""
        commits = [git(self.kernel, "log", "-1", "--format=%H", "--diff-filter=A", "--",
                       name).strip() for name in (f"{EXPORT.PAGES}/bluebell.rst",
                                                  f"{DRIVER}/Kconfig")]
        steps = self.steps()
        self.assertLess(*(steps.index(commit) for commit in commits))

    def test_cover_letter(self):
        """No placeholder is left, and b4 finds the base and the series."""
        self.assertRegex(self.cover, r"(?m)^Subject: \[PATCH 00/\d\d\] RDMA/bluebell: ")
        self.assertNotRegex(self.cover, r"\*\*\*|BLURB|SUBJECT HERE|TODO|FIXME|XXX|\$|EDITME")
        self.assertRegex(self.cover, rf"(?m)^base-commit: {self.base}$")
        self.assertRegex(self.cover, r"(?m)^change-id: \d{8}-bluebell-[0-9a-f]{12}$")
        cases = sum(len(re.findall(r"^\s+KUNIT_CASE", path.read_text("utf-8"), re.M))
                    for path in (REPO / "kunit").glob("*.c"))
        self.assertIn(f"{cases} cases", self.cover)
        author = git(self.kernel, "log", "-1", "--format=%an <%ae>").strip()
        self.assertRegex(self.cover, rf"\n\nSigned-off-by: {re.escape(author)}\n\n")
        text = self.cover.partition("\n\n")[2].partition("\nSigned-off-by: ")[0]
        self.assertEqual([line for line in text.splitlines() if len(line) > 75], [])
        for words in ("a second driver", "What is the same", "What is new", "emulated HCA",
                      "LAG", "git am", "asked of the list"):
            self.assertIn(words, text)


class Changed(unittest.TestCase):
    """The export of a copy of the sources, with a planted mistake or for a later version."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.repo = Path(directory.name, "repo")
        for folder in (DRIVER, "include", "kunit", "Documentation", "scripts", "tools/upstream"):
            shutil.copytree(REPO / folder, self.repo / folder,
                            ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", "__pycache__"))
        (self.repo / "tools/testing").symlink_to(REPO / "tools/testing")
        self.out = Path(directory.name, "patches")

    def export(self, *options):
        """(exit status, messages) of the export."""
        done = subprocess.run([self.repo / "scripts/export-patches", *options, self.out],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        return done.returncode, done.stdout

    def refused(self, pattern, *options):
        """Check that the export fails, with this message."""
        status, text = self.export(*options)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, pattern)

    def change(self, name, old, new):
        """Replace a text in a file of tools/upstream."""
        path = self.repo / "tools/upstream" / name
        text = path.read_text("utf-8")
        self.assertEqual(text.count(old), 1)
        path.write_text(text.replace(old, new), "utf-8")

    def test_file_in_no_patch(self):
        """A new file has to be entered in the list of patches."""
        path = self.repo / DRIVER / "verbs/new_object.c"
        path.write_text("", encoding="utf-8")
        self.refused(r"verbs/new_object\.c is in no patch")

    def test_suite_in_no_patch(self):
        """The same for a KUnit suite."""
        (self.repo / "kunit/new_kunit.c").write_text("", encoding="utf-8")
        self.refused(r"tests/new_kunit\.c is in no patch")

    def test_file_in_two_patches(self):
        """A file belongs to one patch."""
        self.change("series", "\nlib/rsc.[ch] ", "\nlib/rsc.[ch] lib/umr.c ")
        self.refused(r"lib/umr\.c is in two patches: .*find queues by number.*change memory keys")

    def test_pattern_without_a_file(self):
        """A file that is gone has to be taken out of the list."""
        (self.repo / DRIVER / "verbs/ufile_cleanup.c").unlink()
        self.refused(r"no file is 'verbs/ufile_cleanup\.c'")

    def test_patch_without_a_message(self):
        """Each patch says why."""
        self.change("series", "[RDMA/bluebell: add queue pairs]\nverbs/qp.c ",
                    "[RDMA/bluebell: add queue pairs]\nverbs/qp.c\n[RDMA/bluebell: more]\n")
        self.refused("without files or without a message")

    def test_later_version(self):
        """The cover letter says what has changed since each earlier version."""
        self.refused("does not say what has changed in v2", "--version", "2")
        path = self.repo / "tools/upstream/changes"
        path.write_text(path.read_text("utf-8") + "\nv3:\n- less\n\nv2:\n- more\n", "utf-8")
        for options, subject in ((["--version", "2"], "[PATCH v2 00/"),
                                 (["--version", "3", "--rfc", "--in-reply-to", "<a@b>"],
                                  "[RFC PATCH v3 00/")):
            status, text = self.export(*options)
            self.assertEqual(status, 0, text)
            cover = (self.out.parent / "patches-cover-letter.patch").read_text("utf-8")
            self.assertIn(f"Subject: {subject}", cover)
            self.assertIn("Changes in v2:\n- more\n", cover)
            self.assertEqual("\n---\nChanges in v3:\n- less\n\nChanges in v2:" in cover,
                             "v3" in subject)
            self.assertEqual("\n---\nChanges in v2:" in cover, "v2" in subject)
            self.assertNotIn("Signed-off-by:", cover)
            self.assertEqual("\nIn-Reply-To: <a@b>\n" in cover, "v3" in subject)
            names = {path.name for path in self.out.iterdir()}
            self.assertTrue(all(re.match(rf"{subject.split()[-2]}-\d{{4}}-", name)
                                for name in names), names)
        (self.out / "v1.patch").write_text("not of this series", "utf-8")
        status, text = self.export()
        self.assertEqual(status, 0, text)
        self.assertEqual([path.name for path in self.out.glob("v*")], ["v1.patch"])

    def test_address_and_base(self):
        """What only the sender knows."""
        base = "0123456789" * 4
        status, text = self.export("--repository", "https://example.org/b", "--base", base)
        self.assertEqual(status, 0, text)
        cover = (self.out.parent / "patches-cover-letter.patch").read_text("utf-8")
        self.assertIn("in a clone of https://example.org/b", cover)
        self.assertIn(f"base-commit: {base}\nchange-id: ", cover)

    def test_kernel_with_changes(self):
        """Patches of what is not committed would apply to no commit."""
        kernel = self.out.parent / "linux"
        kernel.mkdir()
        make_kernel(kernel)
        path = kernel / "MAINTAINERS"
        path.write_text(path.read_text("utf-8") + "more\n", "utf-8")
        self.refused("has changes that are not committed: M MAINTAINERS", "--source", kernel)


class Order(unittest.TestCase):
    """References to later patches, in a small driver."""

    def bad(self, *division):
        """The complaints about two files in patches in this order."""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("low.c", "int low(void) { return 1; }\n"),
                               ("low.h", "int low(void);\n"),
                               ("high.c", '#include "low.h"\nint high(void) { return low(); }\n')):
                Path(directory, name).write_text(text, "utf-8")
            for name in "low", "high":
                subprocess.run(["gcc", "-c", Path(directory, f"{name}.c"), "-o",
                                Path(directory, f"{name}.o")], check=True)
            series = SimpleNamespace(
                division=[[f"{DRIVER}/{name}" for name in names] for names in division],
                rows=[SimpleNamespace(subject=f"patch {number}")
                      for number in range(len(division))])
            with contextlib.redirect_stderr(io.StringIO()) as said:
                number = EXPORT.check_order(series, Path(directory), Path(directory))
        return number, said.getvalue()

    def test_good(self):
        """A file may refer to files of its own and of earlier patches."""
        self.assertEqual(self.bad(["low.c", "low.h"], ["high.c"])[0], 0)
        self.assertEqual(self.bad(["high.c", "low.c", "low.h"])[0], 0)

    def test_later(self):
        """Neither to a function nor to a header of a later one."""
        number, said = self.bad(["low.h", "high.c"], ["low.c"])
        self.assertEqual(number, 1)
        self.assertIn("high.c refers to low.c, which is in the later patch 'patch 1'", said)
        number, said = self.bad(["low.c", "high.c"], ["low.h"])
        self.assertEqual(number, 1)
        self.assertIn("high.c refers to low.h", said)


if __name__ == "__main__":
    unittest.main()
