#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how scripts/check counts the results that suites print."""

import contextlib
import io
import threading
import time
import types
import unittest
from unittest import mock

from program import load

CHECK = load("check")


def count(text, ended=0, **kwargs):
    """(passed, failed, skipped) of a suite with this output and exit status."""
    results = CHECK.Results()
    for line in text.splitlines():
        results.line(line)
    results.close(CHECK.Suite("suite", [], "needs", **kwargs), ended)
    return results.passed, results.failed, results.skipped


class Counting(unittest.TestCase):
    """One test for each kind of output."""

    def test_leaves_only(self):
        """A line that sums up counted results is not counted itself."""
        self.assertEqual(count("1..1\n    1..2\n    ok 1 a\n    not ok 2 b\nnot ok 1 both\n", 1),
                         (1, 1, 0))

    def test_sum_after_a_leaf(self):
        """A line sums up the deeper results before it only, not those of its own level."""
        self.assertEqual(count("ok 1 a\n    ok 1 b\n    not ok 2 c\nnot ok 2 both\n", 1),
                         (2, 1, 0))

    def test_crash_after_good_cases(self):
        """A program that crashes after all its cases passed is a failure."""
        self.assertEqual(count("    ok 1 a\nnot ok 1 program # exit=139\n", 1), (1, 1, 0))

    def test_skip(self):
        """A skipped test is neither passed nor failed."""
        self.assertEqual(count("ok 1 a # SKIP no device\nok 2 b\n"), (1, 0, 1))

    def test_summary(self):
        """Without KTAP the closing count is used."""
        self.assertEqual(count("noise\nkunit: 80 passed, 1 failed, 2 skipped\n", 1), (80, 1, 2))

    def test_bad_exit_with_good_results(self):
        """A suite with a bad exit status has failed, whatever it has printed."""
        self.assertEqual(count("ok 1 a\n", 99), (1, 1, 0))

    def test_silence(self):
        """A suite that prints no result has failed."""
        self.assertEqual(count("hello\n"), (0, 1, 0))

    def test_status(self):
        """A suite may have no result but its exit status."""
        self.assertEqual(count("ok 1 a\n", 0, status=True), (1, 0, 0))
        self.assertEqual(count("ok 1 a\n", 1, status=True), (0, 1, 0))


class Running(unittest.TestCase):
    """How many suites run at the same time."""

    def run_suites(self, jobs, *alone):
        """Run a suite for each of @alone. Returns for each, in the order of their starts, the
        greatest number of suites that ran beside it."""
        lock, now, most, ended = threading.Lock(), [], {}, []

        def run_suite(suite, _terminal, _verbose):
            with lock:
                if jobs == 1:
                    # What an interrupted run leaves behind has the results of the suites before.
                    self.assertEqual(ended, [str(n) for n in range(int(suite.name))])
                now.append(suite.name)
                for name in now:
                    most[name] = max(most.get(name, 0), len(now) - 1)
            time.sleep(0.05)
            with lock:
                now.remove(suite.name)
            return types.SimpleNamespace(passed=1, failed=0, skipped=0)

        suites = [types.SimpleNamespace(name=str(number), alone=value)
                  for number, value in enumerate(alone)]
        with mock.patch.object(CHECK, "run_suite", run_suite), \
                contextlib.redirect_stdout(io.StringIO()):
            done = [suite.name for suite, _ in
                    CHECK.run_suites(suites, jobs, False,
                                     lambda suite, _: ended.append(suite.name))]
        self.assertEqual(sorted(done), sorted(most))
        return list(most.values())

    def test_as_many_as_processors(self):
        """And one after the other with one processor."""
        self.assertEqual(self.run_suites(1, False, False), [0, 0])
        self.assertLessEqual(max(self.run_suites(2, *[False] * 6)), 1)

    def test_suite_that_runs_alone(self):
        """It waits for those that run, and the next ones wait for it."""
        self.assertEqual(self.run_suites(3, False, False, True, False, False)[2], 0)


class Kernel(unittest.TestCase):
    """The options --kernel and --arch."""

    def test_only_suites_with_guests_of_any_kernel(self):
        """The guests of a suite get the kernel. A suite without guests, or with a kernel of its
        own, is left out."""
        any_kernel = CHECK.Suite("a", CHECK.in_guest("bluebell", ["run"]), "needs")
        suite = any_kernel.in_guests_of("amd64", "6.12")
        self.assertEqual(suite.name, "a 6.12")
        self.assertEqual(suite.command[:3], ["scripts/vm", "--kernel", "6.12"])
        self.assertEqual(suite.command[-2:], ["--", "run"])
        debug = CHECK.Suite("b", CHECK.in_guest("bluebell", ["run"], *CHECK.DEBUG), "needs")
        self.assertIsNone(debug.in_guests_of("amd64", "6.12"))
        self.assertIsNone(CHECK.Suite("c", ["scripts/kunit"],
                                      "needs").in_guests_of("amd64", "6.12"))

    def test_only_suites_that_arm64_guests_can_run(self):
        """Their tree has not the programs of all suites, and they have no IOMMU."""
        def suite(*options, program=CHECK.SELFTESTS):
            return CHECK.Suite("a", CHECK.in_guest("bluebell", [program], *options), "needs")

        for kernel, name, words in (("stock", "a arm64", ["--arch", "arm64"]),
                                    ("stock-16k", "a arm64 stock-16k",
                                     ["--kernel", "stock-16k", "--arch", "arm64"])):
            one = suite().in_guests_of("arm64", kernel)
            self.assertEqual((one.name, one.command[1:1 + len(words)]), (name, words))
        for other in (suite("--iommu"), suite(program=CHECK.ULP), suite(*CHECK.DEBUG),
                      CHECK.Suite("c", ["scripts/kunit"], "needs")):
            self.assertIsNone(other.in_guests_of("arm64", "stock"))

    def run_check(self, *arguments):
        """The exit status of scripts/check with a suite that has guests and one that has none, and
        what it prints. The program of the first is not there."""
        suites = [CHECK.Suite("guest", CHECK.in_guest("bluebell", ["run"]), "no/such/program"),
                  CHECK.Suite("none", ["scripts/kunit"], "scripts")]
        out = io.StringIO()
        with (mock.patch.object(CHECK, "SUITES", suites),
              mock.patch("sys.argv", ["check", *arguments]),
              contextlib.redirect_stdout(out), contextlib.redirect_stderr(out)):
            try:
                status = CHECK.main()
            except SystemExit as end:
                status = end.code
        return status, out.getvalue()

    def test_no_suite_can_run(self):
        """A run without a suite has not passed."""
        status, said = self.run_check("--kernel", "6.12", "none")
        self.assertEqual(status, 2)
        self.assertIn("none of these suites can run on amd64, kernel 6.12", said)

    def test_suites_that_were_named_are_not_left_out_silently(self):
        """They are skipped. Without names, only the suites that can run are meant."""
        self.assertIn("skipped: none: cannot run on amd64, kernel 6.12\n",
                      self.run_check("--kernel", "6.12", "guest", "none")[1])
        said = self.run_check("--kernel", "6.12")[1]
        self.assertNotIn("none:", said)
        self.assertIn("\n0 passed, 0 failed, 1 skipped\n", said)


class Ethernet(unittest.TestCase):
    """The selftests on an Ethernet port."""

    def test_all_but_the_timed_ones_run_with_both_drivers(self):
        """With --full, and not without it."""
        for driver in CHECK.BOTH:
            suite = next(suite for suite in CHECK.SUITES if suite.name == f"selftests eth {driver}")
            options, program = " ".join(suite.command).split(" -- ")
            self.assertIn(f"--driver {driver} ", options)
            self.assertIn("--link eth --profile roce", options)
            self.assertTrue(program.endswith(f"{CHECK.SELFTESTS} --without neighbours"))
            self.assertTrue(suite.runs(full=True, only=""))
            self.assertFalse(suite.runs(full=False, only=""))


if __name__ == "__main__":
    unittest.main()
