#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how scripts/bench and scripts/bench-hca judge what their guests have measured. No guest
is booted."""

import contextlib
import io
import types
import unittest
from unittest import mock

from program import load

BENCH = load("bench")
BENCH_HCA = load("bench-hca")
ARGS = types.SimpleNamespace(boots=2, row=[], many=3000, exit=1000, turns=3, instructions=False,
                             after_load=False, link="ib")


def cells(stock, ours):
    """The measurements of a row in a boot: for each driver its turns, of three samples each."""
    return {driver: {"turns": [[sample - 1, sample, sample + 1] for sample in turns],
                     "commands": 1, "doorbells": 2}
            for driver, turns in zip(BENCH.DRIVERS, (stock, ours))}


def quietly(function, *arguments):
    """(what a function returns, what it prints)."""
    with contextlib.redirect_stdout(io.StringIO()) as out, \
            contextlib.redirect_stderr(io.StringIO()) as err:
        result = function(*arguments)
    return result, out.getvalue() + err.getvalue()


class Ratios(unittest.TestCase):
    """From the samples of turns to the ratio of a row."""

    def test_ratio_is_that_of_turns_that_follow_each_other(self):
        """The machine was twice as slow in the second turns of both drivers."""
        self.assertEqual(BENCH.ratios(cells([100, 200], [50, 100])), [0.5, 0.5])

    def test_one_turn_that_was_disturbed_does_not_decide(self):
        """The median of three ratios counts, and the median of the samples of a turn."""
        self.assertEqual(BENCH.ratio_of([cells([100, 100, 100], [90, 900, 90])]), 0.9)
        disturbed = cells([100], [90])
        disturbed["bluebell"]["turns"][0][2] = 9000
        self.assertEqual(BENCH.ratio_of([disturbed]), 0.9)

    def test_all_boots_count(self):
        """A boot that favours one driver is outvoted by two others."""
        self.assertEqual(BENCH.ratio_of([cells([100], [ours]) for ours in (70, 110, 120)]), 1.1)

    def test_instructions_are_compared_in_hundredths(self):
        """A difference below a hundredth is noise."""
        self.assertEqual(BENCH.ratio_of_instructions([cells([10000], [10304])]), 1.03)


class Verdicts(unittest.TestCase):
    """Which rows are above their limit."""

    def test_row_at_the_limit_passes_and_above_fails(self):
        """With one row of each kind the counts are one and one."""
        rows = {"at": [cells([100], [105])], "above": [cells([100], [106])]}
        counts, text = quietly(BENCH.report_rows, rows, {})
        self.assertEqual(counts, (1, 1))
        self.assertRegex(text, r"(?m)^above .*above 1\.05$")
        self.assertRegex(text, r"(?m)^at .*above 0\.9$")

    def test_time_of_a_row_with_counted_instructions_may_differ_more(self):
        """The limit is 1.25, since the instructions are judged, too."""
        rows = {"row": [cells([100], [124])]}
        self.assertEqual(quietly(BENCH.report_rows, rows, {"row": None})[0], (1, 0))
        self.assertEqual(quietly(BENCH.report_rows, rows, {})[0], (0, 1))

    def test_instructions_above_their_limit_fail(self):
        """1.04 times the stock driver's instructions are above the limit of 1.03 times."""
        rows = {"good": [cells([1000], [1030])], "bad": [cells([1000], [1040])]}
        counts, text = quietly(BENCH.report_instructions, rows)
        self.assertEqual(counts, (1, 1))
        self.assertRegex(text, r"(?m)^bad .*above 1\.03$")

    def test_part_of_hosts_has_its_own_limit(self):
        """Calls of the kernel have the limit 0.9."""
        rows = {"row": [cells([100], [91])]}
        self.assertEqual(quietly(BENCH.report_part, rows, BENCH.PARTS["calls"])[0], (0, 1))
        self.assertEqual(quietly(BENCH.report_part, rows, BENCH.PARTS["hosts"])[0], (1, 0))

    def test_one_object_more_after_load_fails(self):
        """Rows without a limit are not counted, neither as good nor as bad."""
        stock = {"objects": 10, "commands": 20, "held": 4096, "module": 1, "not free": 1,
                 "load": 1.0, "unload": 1.0}
        loaded = {"mlx5_ib": stock, "bluebell": {**stock, "module": 9, "not free": 9}}
        self.assertEqual(quietly(BENCH.report_load, loaded)[0], (5, 0))
        loaded["bluebell"]["objects"] = 11
        self.assertEqual(quietly(BENCH.report_load, loaded)[0], (4, 1))


class ManyObjects(unittest.TestCase):
    """Whether the last of many objects cost more than the first."""

    @staticmethod
    def turns(last, size):
        """Two turns with many objects of a kind."""
        return [{"first": 100, "last": last, "bytes": size}] * 2

    def test_time_and_memory_of_the_last_objects(self):
        """Each of the two limits is told when it is exceeded."""
        stock = self.turns(100, 1000)
        for ours, faults in ((self.turns(125, 1030), 0), (self.turns(126, 1030), 1),
                             (self.turns(125, 1031), 1), (self.turns(126, 1031), 2)):
            measured = {"mlx5_ib": stock, "bluebell": ours}
            self.assertEqual(len(BENCH.faults_of_kind(measured)), faults)
            self.assertEqual(quietly(BENCH.report_kind, "QP", measured)[0], (2 - faults, faults))

    def test_growth_of_instructions(self):
        """A tenth more for the last ones than for the first is the limit."""
        measured = {"mlx5_ib": [[100, 200]], "bluebell": [[100, 110]]}
        self.assertEqual(BENCH.faults_of_growth(measured), (False, False))
        measured["bluebell"] = [[100, 111]]
        self.assertEqual(BENCH.faults_of_growth(measured), (True, False))
        measured["bluebell"] = [[200, 211]]
        self.assertEqual(BENCH.faults_of_growth(measured), (False, True))

    def test_first_and_last_windows_are_at_the_same_place_of_libmlx5s_table(self):
        """The number of objects is a multiple of the size of a table's part, plus a window."""
        for many in (1, 1000, 3000, 5095, 5096, 50000):
            number = BENCH.objects_of_growth(types.SimpleNamespace(many=many))
            self.assertEqual((number - BENCH.WINDOW) % BENCH.PART_OF_TABLE, 0)
            self.assertGreaterEqual(number, many)

    def test_end_of_a_process_without_objects_is_no_row(self):
        """Such an end may take any time: it is measured only to compare other ends with it."""
        found = {"many": {}, "growth": {}, "exit": {
            "nothing": {"mlx5_ib": [10], "bluebell": [90]},
            "queue pairs": {"mlx5_ib": [100], "bluebell": [50]},
            "regions": {"mlx5_ib": [100], "bluebell": [51]}}}
        counts, text = quietly(BENCH.report_many, found, ARGS)
        self.assertEqual(counts, (1, 1))
        self.assertEqual(text.count("above 0.5"), 1)
        self.assertEqual(BENCH.faults_of_many(found), 1)


class Again(unittest.TestCase):
    """A row above its limit is measured in as many boots again before it fails."""

    def timed(self, results):
        """The counts of timed() after boots with these times of Bluebell, and how many boots."""
        boots = [{"rows": {"row": cells([100], [ours])}, "found": None, "loaded": None}
                 for ours in results]
        with mock.patch.object(BENCH, "boot", side_effect=boots) as boot:
            counts, _ = quietly(BENCH.timed, ARGS, {})
        return counts, boot.call_count

    def test_row_within_the_limit_is_not_measured_again(self):
        """Two boots, as --boots says."""
        self.assertEqual(self.timed([100, 100]), ((1, 0), 2))

    def test_second_measurement_may_acquit(self):
        """The median of four boots decides."""
        self.assertEqual(self.timed([110, 106, 90, 90]), ((1, 0), 4))

    def test_second_measurement_may_confirm(self):
        """The median of four boots is above the limit."""
        self.assertEqual(self.timed([110, 110, 110, 90]), ((0, 1), 4))

    def test_instructions_are_counted_again(self):
        """Only the row above the limit is counted again."""
        first = {"good": cells([1000], [900]), "bad": cells([1000], [1100])}
        with mock.patch.object(BENCH, "boot_instructions", side_effect=lambda args, number, rows:
                               first if not rows else {row: first[row] for row in rows}) as boot:
            rows, _ = quietly(BENCH.counted, ARGS)
        self.assertEqual([call.args[2] for call in boot.call_args_list],
                         [[], [], ["bad"], ["bad"]])
        self.assertEqual({name: len(boots) for name, boots in rows.items()}, {"good": 2, "bad": 4})

    def test_failure_of_a_limit_is_the_exit_status(self):
        """host() returns the number of limits that are exceeded."""
        rows = {"row": [cells([1000], [2000])]}
        with mock.patch.object(BENCH, "counted", return_value=rows), \
                mock.patch.object(BENCH, "timed", return_value=(3, 2)):
            bad, text = quietly(BENCH.host, ARGS)
        self.assertEqual(bad, 3)
        self.assertIn("3 passed, 3 failed", text)

    def test_failure_of_a_guest_is_the_exit_status(self):
        """scripts/vm has found a report in the kernel's log, for example."""
        args = types.SimpleNamespace(**vars(ARGS), timeout=1, rounds=1, iterations=1,
                                     processor=None)
        with mock.patch.object(BENCH.subprocess, "run",
                               return_value=types.SimpleNamespace(returncode=99)), \
                self.assertRaises(SystemExit) as error:
            BENCH.vm(args, 1, [], [])
        self.assertEqual(error.exception.code, 99)

    def test_profile_is_that_of_the_kind_of_port(self):
        """A guest for times has the default profile, a guest for instructions maps device
        memory; on an Ethernet port, both have RoCE."""
        args = types.SimpleNamespace(**{**vars(ARGS), "link": "eth"})
        with mock.patch.object(BENCH, "vm", return_value={}) as vm:
            BENCH.boot(ARGS, 1)
            BENCH.boot(args, 1)
            BENCH.boot(args, 1, BENCH.DEVICE_MEMORY + "row")
            quietly(BENCH.boot_instructions, args, 1, [])
        profiles = [options[options.index("--profile") + 1]
                    for options in (call.args[3] for call in vm.call_args_list)]
        self.assertEqual(profiles, ["default", "roce", "roce-mapped-memory", "roce-mapped-memory"])

    def test_no_row_is_an_error(self):
        """A name that no row contains does not pass."""
        with mock.patch.object(BENCH, "counted", return_value={}), \
                mock.patch.object(BENCH, "timed", return_value=(0, 0)), \
                self.assertRaises(SystemExit) as error:
            quietly(BENCH.host, ARGS)
        self.assertIn("no row's name contains", str(error.exception))


class Functions(unittest.TestCase):
    """The function that a sample counts for, by its stack."""

    TABLE = ([0x100, 0x200, 0x300, 0x400],
             [(0x100, "copy_from_user", None), (0x200, "create_qp", "bluebell"),
              (0x300, "ib_uverbs_ioctl", "ib_uverbs"), (0x400, "__x64_sys_ioctl", None)])

    def test_driver_is_blamed_for_what_it_calls(self):
        """The first frame of a module counts, by the address at which its function starts."""
        self.assertEqual(BENCH.blame([0x110, 0x2ff, 0x310, 0x410], self.TABLE),
                         ("driver", "create_qp"))

    def test_kernel_is_blamed_by_system_call(self):
        """No module is in the stack."""
        self.assertEqual(BENCH.blame([0x110, 0x410], self.TABLE), ("kernel", "__x64_sys_ioctl"))

    def test_empty_stack_is_user_space(self):
        """The kernel has not been entered."""
        self.assertEqual(BENCH.blame([], self.TABLE), ("user space", ""))


class Ethernet(unittest.TestCase):
    """bench-hca --link eth: the shares that the HCA's netdev has of the rates of the others."""

    @staticmethod
    def turn(tcp, trips, speed=1):
        """The rates of a boot, in which virtio has a rate of 100 and e1000e of 20."""
        hca = {"TCP": tcp, "TCP without LSO": 1, "packets of 64 bytes": 1, "round trips": trips}
        return {(row, driver): speed * rate for row, own in hca.items()
                for driver, rate in (("mlx5_core", own), ("e1000e", 20), ("virtio_net", 100))}

    def test_goals(self):
        """0.8 of virtio's TCP, three times that of e1000e, and 1.2 times the time of a trip."""
        for tcp, trips, bad in ((80, 84, 0), (79, 84, 1), (80, 83, 1), (59, 83, 3)):
            missed, said = quietly(BENCH_HCA.report_ethernet, [self.turn(tcp, trips)])
            self.assertEqual(missed, bad, said)
            self.assertIn(f"{3 - bad} passed, {bad} failed", said)

    def test_shares_are_those_of_a_boot(self):
        """In one boot the machine was ten times as slow."""
        turns = [self.turn(90, 90), self.turn(90, 90, speed=0.1), self.turn(60, 90)]
        self.assertEqual(quietly(BENCH_HCA.report_ethernet, turns)[0], 0)


if __name__ == "__main__":
    unittest.main()
