#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how scripts/coverage adds up what its runs have counted, and of its summary."""

import contextlib
import io
import json
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from program import load

COVERAGE = load("coverage")
SOURCE = """\
static int unused(void)
{
\treturn 1;
}

/* Two lines of a head. */
int mlx5_ib_used(struct ib_device *ibdev,
\t\t int number)
{
\tif (number)
\t\treturn 2;
\treturn 0;
}

static const struct uapi_definition table[] = {
\tUAPI_DEF_END(),
};

static int UVERBS_HANDLER(MLX5_IB_METHOD)(struct uverbs_attr_bundle *attrs)
{
\treturn 3;
}
"""


def counts(lines, branches=None):
    """The counts of the file a.c of the driver."""
    data = {f"{COVERAGE.DRIVER}/a.c": {"lines": lines, "branches": branches or {}}}
    return COVERAGE.Counts(data)


class Adding(unittest.TestCase):
    """The counts of several runs, and of several places of a line."""

    def test_line_is_reached_if_one_run_reaches_it(self):
        """The second run alone reaches line 3, and no run reaches line 4."""
        sum_of = counts({2: 1, 3: 0, 4: 0}).add(counts({3: 5, 4: 0}))
        self.assertEqual(sum_of.figures(f"{COVERAGE.DRIVER}/a.c"), (2, 3, 0, 0))

    def test_branches_of_a_line_are_added_one_by_one(self):
        """Each run takes another branch; a copy of the line has a branch more."""
        sum_of = counts({2: 1}, {2: [1, 0]}).add(counts({2: 1}, {2: [0, 1, 0]}))
        self.assertEqual(sum_of.figures(f"{COVERAGE.DRIVER}/a.c"), (1, 1, 2, 3))

    def test_counts_survive_their_file(self):
        """JSON makes strings of the numbers of lines."""
        before = counts({2: 1, 30: 0}, {2: [1, 0]})
        after = COVERAGE.Counts(json.loads(json.dumps(before.data())))
        self.assertEqual(after.data(), before.data())

    def test_adding_leaves_the_other_run_as_it_was(self):
        """The summary has a column for each single run."""
        one = counts({2: 0})
        COVERAGE.Counts().add(one).add(counts({2: 7}))
        self.assertEqual(one.figures(f"{COVERAGE.DRIVER}/a.c"), (0, 1, 0, 0))


class Names(unittest.TestCase):
    """Which files are measured, and the names under which their lines are counted."""

    def test_files_that_are_measured(self):
        """The driver and the HCA, without KUnit suites, tests and what Kbuild generates."""
        module, repo = COVERAGE.MODULE, COVERAGE.REPO
        for path, directory, name in (
                (f"{module}/qp.c", "/", f"{COVERAGE.DRIVER}/qp.c"),
                ("qp.c", str(module), f"{COVERAGE.DRIVER}/qp.c"),
                ("verbs/qp.c", str(module), f"{COVERAGE.DRIVER}/verbs/qp.c"),
                (f"{module}/tests/qp_test.c", "/", None),
                (f"{module}/bluebell.mod.c", "/", None),
                ("../core/hca.c", f"{repo}/tools/hca/base", "tools/hca/core/hca.c"),
                ("tests/core/test_hca.c", f"{repo}/tools/hca", None),
                ("/usr/include/stdio.h", "/", None)):
            self.assertEqual(COVERAGE.source_name(path, directory), name, path)

    def test_function_of_each_line(self):
        """A head may have two lines, a handler's name is in a macro, a table has no function."""
        names = COVERAGE.functions_of(SOURCE)
        self.assertEqual([names.get(line) for line in (3, 7, 11, 16, 21)],
                         ["unused", "mlx5_ib_used", "mlx5_ib_used", None, "MLX5_IB_METHOD"])

    def test_ranges(self):
        """Lines that follow each other are one range."""
        self.assertEqual(COVERAGE.ranges([1, 2, 3, 7, 9, 10]), "1-3 7 9-10")

    def test_counts_of_older_sources_are_left_out(self):
        """In an older source the number of a line means another line."""
        with tempfile.TemporaryDirectory() as directory, \
                mock.patch.object(COVERAGE, "OUT", Path(directory)), \
                mock.patch.object(COVERAGE, "hca_print", return_value="same"), \
                contextlib.redirect_stderr(io.StringIO()) as err:
            with mock.patch.object(COVERAGE, "driver_print", return_value="old"):
                COVERAGE.keep("kunit", counts({2: 1}), counts({3: 1}))
                self.assertTrue(all(COVERAGE.kept("kunit")))
            with mock.patch.object(COVERAGE, "driver_print", return_value="new"):
                driver, hca = COVERAGE.kept("kunit")
        self.assertIsNone(driver)
        self.assertEqual(hca.data(), counts({3: 1}).data())
        self.assertIn("an older driver", err.getvalue())


class Summary(unittest.TestCase):
    """The summary of a repository with one file of the driver."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.repo = Path(directory.name)
        (self.repo / COVERAGE.DRIVER).mkdir(parents=True)
        (self.repo / COVERAGE.DRIVER / "a.c").write_text(SOURCE, encoding="utf-8")
        self.reasons = self.repo / "reasons.txt"
        (self.repo / "out").mkdir()
        for name, value in (("REPO", self.repo), ("REASONS", self.reasons),
                            ("OUT", self.repo / "out"), ("write_html", lambda *args: None)):
            patch = mock.patch.object(COVERAGE, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def report(self, minimum, **runs):
        """(problems, printed text) of a summary of these runs."""
        with mock.patch.object(COVERAGE, "kept", lambda run: (runs.get(run), None)), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            problems = COVERAGE.report(types.SimpleNamespace(min=minimum))
        return problems, out.getvalue()

    def test_runs_count_together(self):
        """KUnit reaches two of four lines, the selftests another one: 75 %."""
        runs = {"kunit": counts({3: 1, 10: 1, 11: 0, 12: 0}),
                "selftests": counts({3: 0, 10: 0, 11: 1, 12: 0})}
        problems, text = self.report(75, **runs)
        self.assertEqual(problems, [])
        self.assertRegex(text, r"(?m)^a\.c +4 +50\.0% +25\.0% +75\.0% ")
        problems, _ = self.report(76, **runs)
        self.assertIn("reach 75.0 % of the driver's lines, which is less than 76 %", problems[0])

    def test_fail_nth_and_selftests_are_one_column(self):
        """A line that one of the two runs reaches counts as reached by the selftests."""
        _, text = self.report(0, selftests=counts({3: 1, 10: 0}), fail_nth=counts({3: 0, 10: 1}))
        self.assertRegex(text, r"(?m)^a\.c +2 +100\.0% +100\.0% ")

    def test_what_is_not_reached_is_told_with_its_reason(self):
        """unused() has a reason, mlx5_ib_used() has none; one more reason is for no function."""
        self.reasons.write_text("# comment\n\na.c: unused: nothing calls it\n"
                                "a.c: gone: it was removed\n", encoding="utf-8")
        _, text = self.report(0, kunit=counts({3: 0, 10: 1, 11: 0, 12: 0}))
        self.assertIn("  a.c: unused(): 3\n      nothing calls it\n", text)
        self.assertIn("  a.c: mlx5_ib_used(): 11-12\n\n", text)
        self.assertIn("  a.c: gone: remove the reason", text)
        self.assertIn("2 of the lines that are not reached have no reason", text)

    def test_reason_without_a_text_is_an_error(self):
        """The error has the number of the line."""
        self.reasons.write_text("a.c: unused: good\na.c: unused\n", encoding="utf-8")
        with self.assertRaises(SystemExit) as error:
            COVERAGE.read_reasons()
        self.assertIn("reasons.txt:2: not 'FILE: FUNCTION: REASON'", str(error.exception))

    def test_summary_of_nothing_is_an_error(self):
        """No run has been made."""
        with self.assertRaises(SystemExit) as error:
            self.report(0)
        self.assertIn("no run has been made yet", str(error.exception))


if __name__ == "__main__":
    unittest.main()
