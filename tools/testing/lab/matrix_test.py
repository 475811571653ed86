#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the matrix of kernels: which parts of it words mean, what is kept and recorded of a run,
and the page."""

import contextlib
import io
import json
import shutil
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from program import load

import matrix  # noqa: E402 pylint: disable=wrong-import-order

CHECK = load("check")


def words(parts):
    """The parts' names."""
    return [" ".join(part.words) for part in parts]


def part(kernel, suite, driver="bluebell"):
    """The part of this name."""
    return next(one for one in matrix.parts() if one.key == (kernel, suite, driver))


class Parts(unittest.TestCase):
    """What the matrix consists of."""

    def test_words_of_a_kind_are_alternatives(self):
        self.assertEqual(words(matrix.choose(["6.12", "7.3", "rdma-core", "mlx5_ib"])),
                         ["6.12 module", "6.12 rdma-core mlx5_ib",
                          "7.3 module", "7.3 rdma-core mlx5_ib"])

    def test_no_word_of_a_kind_means_all(self):
        self.assertEqual(matrix.choose([]), matrix.parts())
        self.assertEqual(words(matrix.choose(["6.12"])),
                         ["6.12 module", *(f"6.12 {suite} {driver}"
                                           for suite in ("selftests", "rdma-core", "ulp")
                                           for driver in ("bluebell", "mlx5_ib"))])

    def test_module_is_built_only_for_guests(self):
        """The module of an earlier commit would be loaded else."""
        self.assertEqual(words(matrix.choose(["7.3", "kunit"])), ["7.3 kunit"])
        self.assertEqual(words(matrix.choose(["7.2", "ulp", "mlx5_ib"])),
                         ["7.2 module", "7.2 ulp mlx5_ib"])

    def test_unknown_word(self):
        with self.assertRaisesRegex(ValueError, r"the matrix has no 6\.13; there are: 6\.12, "):
            matrix.choose(["6.12", "6.13"])

    def test_what_a_kernel_cannot_run_is_no_part(self):
        names = words(matrix.parts())
        for name in ("6.12 kunit", "arm64 ulp bluebell", "arm64-64k selftests bluebell"):
            self.assertNotIn(name, names)
        for name in ("7.3 kunit", "arm64 rdma-core bluebell", "arm64-64k kunit"):
            self.assertIn(name, names)


class Suites(unittest.TestCase):
    """The suites of scripts/check for the parts."""

    @staticmethod
    def commands(*arguments):
        """{name: command} of the suites that run with these arguments."""
        out = io.StringIO()
        with (mock.patch("sys.argv", ["check", *arguments, "--list"]),
              contextlib.redirect_stdout(out)):
            CHECK.main()
        return dict(line.split(" scripts/", 1) for line in out.getvalue().splitlines()
                    if " scripts/" in line)

    def test_every_part_has_its_suite(self):
        found = [suite.part for suite in CHECK.SUITES if suite.part]
        self.assertEqual(found, matrix.parts())

    def test_guests_have_the_kernel_and_the_driver(self):
        commands = self.commands("--matrix", "arm64-16k", "rdma-core")
        self.assertEqual([name.strip() for name in commands],
                         ["matrix arm64-16k module", "matrix arm64-16k rdma-core bluebell",
                          "matrix arm64-16k rdma-core mlx5_ib"])
        for driver in matrix.DRIVERS:
            command = commands[f"matrix arm64-16k rdma-core {driver}"]
            self.assertIn(f"--driver {driver} ", command)
            self.assertIn("--arch arm64 --kernel stock-16k", command)

    def test_full_run_has_a_sample_of_each_other_kernel_with_both_drivers(self):
        names = [name.strip() for name in self.commands("--full")]
        for kernel in matrix.KERNELS:
            for driver in matrix.DRIVERS:
                here = bool(kernel.boots) and kernel.boots != "stock" or kernel.name == "arm64"
                self.assertEqual(f"sample {kernel.name} {driver}" in names, here)
            self.assertEqual(f"module {kernel.name}" in names, here)
        self.assertFalse([name for name in names if name.startswith("matrix ")])

    def test_unknown_word_ends_the_run(self):
        out = io.StringIO()
        with (self.assertRaises(SystemExit), contextlib.redirect_stderr(out)):
            self.commands("--matrix", "6.13")
        self.assertIn("the matrix has no 6.13", out.getvalue())


class Results(unittest.TestCase):
    """What is kept of a run."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)

    def keep(self, one, commits, **counts):
        """Run a part; commits are what is checked out when the run begins and when it ends."""
        results = types.SimpleNamespace(**{"passed": 2, "failed": 0, "skipped": 1, "failures": [],
                                           **counts})
        with (mock.patch.object(matrix, "commit", side_effect=commits),
              mock.patch.object(matrix, "release", return_value="7.3.4+deb13-amd64")):
            matrix.Keeper(self.folder / "results").keep(one, results)

    def record(self):
        """Record the folder. Returns what was left out."""
        return matrix.record(self.folder / "results", self.folder / "record",
                             self.folder / "page")

    def test_release_of_the_kernel(self):
        """It is that of the tree whose kernel boots, wherever the tree has its image."""
        (self.folder / "lib/modules").mkdir(parents=True)
        (self.folder / "boot").mkdir()
        names = {"6.12": "6.12.9+deb13-amd64", "7.2": "7.2.3+deb13-amd64",
                 "7.3": "7.3.4+deb13-amd64", "arm64-16k": "7.2.3+deb13-arm64-16k"}
        for name in names.values():
            (self.folder / "lib/modules" / name).mkdir()
        (self.folder / "lib/modules/7.3.4+deb13-amd64/added-to-lab").write_text("complete\n")
        (self.folder / "boot/vmlinuz-6.12.9+deb13-amd64").touch()
        for name in list(names.values())[1:]:
            (self.folder / "lib/modules" / name / "vmlinuz").touch()
        env = {"BLUEBELL_LAB": str(self.folder), "BLUEBELL_LAB_ARM64": str(self.folder)}
        with mock.patch.dict("os.environ", env):
            found = {kernel.name: matrix.release(kernel) for kernel in matrix.KERNELS
                     if kernel.name in names}
        self.assertEqual(found, names)

    def test_newer_results_replace_those_of_the_same_part_only(self):
        self.keep(part("7.3", "ulp"), ["aaa", "aaa"])
        self.keep(part("7.3", "ulp", "mlx5_ib"), ["bbb", "bbb"])
        self.assertEqual(self.record(), [])
        shutil.rmtree(self.folder / "results")      # as 'make clean' does
        self.keep(part("7.3", "ulp"), ["ccc", "ccc"], passed=5, failed=1, failures=["iser"])
        self.assertEqual(self.record(), [])
        known = matrix.read(self.folder / "record")
        ours, stock = known["7.3", "ulp", "bluebell"], known["7.3", "ulp", "mlx5_ib"]
        self.assertEqual((ours.passed, ours.failed, ours.skipped, ours.failures, ours.commit),
                         (5, 1, 1, ["iser"], "ccc"))
        self.assertEqual((stock.passed, stock.failed, stock.commit, stock.release),
                         (2, 0, "bbb", "7.3.4+deb13-amd64"))
        self.assertIn("5 passed, **1 failed**, 1 skipped", (self.folder / "page").read_text())

    def test_results_of_a_checkout_with_changes_are_not_recorded(self):
        """Also if the checkout changed while the suite ran."""
        self.keep(part("7.3", "ulp"), ["aaa-dirty", "aaa-dirty"])
        self.keep(part("7.2", "ulp"), ["aaa", "bbb"])
        self.assertEqual(self.record(), [("7.2", "ulp", "bluebell"), ("7.3", "ulp", "bluebell")])
        self.assertEqual(matrix.read(self.folder / "record"), {})
        self.assertEqual(len(list((self.folder / "results").glob("*.json"))), 2)


class Page(unittest.TestCase):
    """The page of the matrix."""

    @staticmethod
    def row(page, kernel):
        """The lines of the table from a kernel's name on."""
        return page[page.index(f"   * - {kernel}\n"):].splitlines()

    def result(self, key, **values):
        """A result of a part."""
        return {key: matrix.Result(*key, **{"release": "6.12.1", "passed": 1200, "failed": 0,
                                            "skipped": 0, "commit": "abc", "date": "2026-01-31",
                                            **values})}

    def test_committed_page_is_that_of_the_record(self):
        """So what the page says was found by a run of the commit that it names."""
        self.assertEqual(matrix.PAGE.read_text(encoding="utf-8"),
                         matrix.page_of(matrix.read(matrix.RECORD)))

    def test_committed_record_is_written_as_runs_write_it(self):
        """One result a line, so that a commit shows which have changed."""
        text = matrix.RECORD.read_text(encoding="utf-8")
        self.assertEqual(len(text.splitlines()), len(json.loads(text)) + 2)
        for result in matrix.read(matrix.RECORD).values():
            self.assertRegex(result.commit, r"^[0-9a-f]{12}$")

    def test_entries(self):
        """Each part is passed, failed, not run or cannot run."""
        page = matrix.page_of(self.result(("6.12", "module", "bluebell"), passed=1)
                              | self.result(("6.12", "selftests", "mlx5_ib"), failed=2, skipped=3))
        self.assertEqual(self.row(page, "6.12 (Debian 13)")[1:14],
                         ["     - ``bluebell``", "     - yes", "     - *not run*",
                          "     - *not run*", "     - *not run*", "     - cannot run", "   * -",
                          "     - ``mlx5_ib``", "     -",
                          "     - 1,200 passed, **2 failed**, 3 skipped", "     - *not run*",
                          "     - *not run*", "     -"])

    def test_failed_tests_are_named(self):
        key = ("7.3", "ulp", "mlx5_ib")
        self.assertIn("Of what has been run, nothing.\n", matrix.page_of(self.result(key)))
        page = matrix.page_of(self.result(key, failed=3, failures=["nvme: write", "iser"]))
        self.assertIn("* ``7.3``, ``ulp``, ``mlx5_ib``:\n\n  * ``nvme: write``\n  * ``iser``\n"
                      "  * and 1 more\n", page)
        self.assertNotIn("nothing.\n", page)

    def test_module_that_is_not_built(self):
        page = matrix.page_of(self.result(("7.3", "module", "bluebell"), passed=0, failed=1))
        self.assertEqual(self.row(page, "7.3 (backports)")[2], "     - **fails**")

    def test_page_is_sound(self):
        """docutils has no complaint, whatever the results are."""
        docs = load("docs")
        docs.register()
        every = {}
        for number, one in enumerate(matrix.parts()):
            every |= self.result(one.key, failed=number % 2, failures=["a.b"] * (number % 2))
        for results in ({}, every):
            self.assertEqual(list(docs.complaints(matrix.PAGE, matrix.page_of(results))), [])


if __name__ == "__main__":
    unittest.main()
