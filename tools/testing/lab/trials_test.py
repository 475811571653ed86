#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the trials of the packages (tools/testing/host-trials) without a guest: what is a
failure, and what is printed."""

import contextlib
import io
import sys
import tempfile
import types
import unittest
from pathlib import Path

from program import SCRIPTS, load

sys.path.insert(0, str(SCRIPTS.parent / "tools/testing/host-trials"))

# pylint: disable=wrong-import-position
import guest  # noqa: E402

guests = load("../tools/testing/host-trials/guests")


class ResultTest(unittest.TestCase):
    """What a command has to have done."""

    def test_a_command_that_fails_is_a_failure(self):
        with self.assertRaisesRegex(guest.Failure, "status 3"):
            guest.Result("false", 3, "why").ok()
        self.assertEqual(guest.Result("true", 0, "out\n").ok(), "out")

    def test_a_refusal_has_its_status_and_says_why_in_one_line(self):
        refusal = guest.Result("switch", 1, "error: in use by sh, add --force\n")
        refusal.refused(1, "in use", "--force")
        for status, patterns in ((2, []), (1, ["mounted"])):
            with self.assertRaises(guest.Failure):
                refusal.refused(status, *patterns)

    def test_a_refusal_of_two_lines_or_of_none_is_a_failure(self):
        for output in ("error: in use\nTraceback\n", ""):
            with self.assertRaises(guest.Failure):
                guest.Result("switch", 1, output).refused(1)


class HostTest(unittest.TestCase):
    """What a guest leaves."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = Path(directory.name)
        self.host = guest.Host("name", path, path, path / "disk.qcow2")
        self.addCleanup(self.host.close)

    def test_a_report_in_the_log_is_a_failure(self):
        self.host.console.write_text("Command line: x\nmlx5_core 0000:01:00.0: hello\n")
        self.host.judge_log()
        self.host.console.write_text("x\nBUG: unable to handle page fault\n")
        with self.assertRaisesRegex(guest.Failure, "page fault"):
            self.host.judge_log()

    def test_an_object_that_is_left_is_a_failure(self):
        census = {"objects": {"qp": {"total": 1}, "cq": {"total": 0}}}
        self.host.control = types.SimpleNamespace(request=lambda _: census)
        self.host.sh = lambda command: guest.Result(command, 0, "")
        with self.assertRaisesRegex(guest.Failure, "qp"):
            self.host.unload()
        census["objects"]["qp"]["total"] = 0
        self.host.unload()

    def test_a_guest_that_does_not_answer_is_asked_once(self):
        self.host.agent = types.SimpleNamespace(settimeout=lambda _: None, recv=lambda _: b"")
        with self.assertRaisesRegex(guest.Failure, "died"):
            self.host.answer(1)
        with self.assertRaisesRegex(guest.Failure, "any more"):
            self.host.sh("true")


class ReportTest(unittest.TestCase):
    """KTAP."""

    def test_each_trial_has_a_line_and_the_others_go_on(self):
        report, out = guests.Report(), io.StringIO()
        with contextlib.redirect_stdout(out):
            with report.trial("good"):
                pass
            with report.trial("bad"):
                raise guest.Failure("first\nsecond")
            report.skip("none", "no such kernel")
        lines = [line for line in out.getvalue().splitlines() if not line.endswith(" s")]
        self.assertEqual(lines, ["ok 1 good", "not ok 2 bad", "# first", "# second",
                                 "ok 3 none # SKIP no such kernel"])
        self.assertEqual((report.count, report.failed), (3, 1))


class RowsTest(unittest.TestCase):
    """Which guests boot."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = Path(directory.name)
        (path / "logs").mkdir()
        (path / "kernels").write_text("suite trixie\nown 6.12.1\n")
        self.trials = guests.Trials(path, path)
        self.booted = set()
        for name in ("persistent", "lockdown"):
            self.stand_in(name, lambda left: self.assertEqual(left, "left"))
        for name in ("upgraded", "unsupported", "broken"):
            self.stand_in(name, lambda: None)
        self.stand_in("installed", lambda: "left")

    def stand_in(self, name, function):
        """Let a guest do nothing but this."""
        def guest_of_name(*args):
            self.booted.add(name)
            return function(*args)
        guest_of_name.__name__ = name
        setattr(self.trials, name, guest_of_name)

    def run_trials(self, *names):
        """The status of a run, and the guests that have booted."""
        self.booted.clear()
        self.trials.disks.mkdir(exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            return self.trials.run(list(names)), self.booted

    def test_guests_that_are_named_boot_and_what_they_need(self):
        self.assertEqual(self.run_trials("upgraded"), (0, {"upgraded"}))
        self.assertEqual(self.run_trials("lockdown"), (0, {"installed", "lockdown"}))
        self.assertEqual(self.run_trials("installed", "broken"), (0, {"installed", "broken"}))
        self.assertEqual(len(self.run_trials()[1]), 6)

    def test_a_guest_without_a_disk_does_not_keep_the_others_from_booting(self):
        def fails():
            raise guest.Failure("no disk")
        self.stand_in("installed", fails)
        self.assertEqual(self.run_trials(),
                         (1, {"installed", "upgraded", "unsupported", "broken"}))


if __name__ == "__main__":
    unittest.main()
