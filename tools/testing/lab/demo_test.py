#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what scripts/demo draws of the HCA's trace."""

import contextlib
import io
import unittest

from program import load

DEMO = load("demo")


def command(name, uid, **out):
    """The trace of a firmware command."""
    return {"type": "cmd", "op": name, "status": 0, "in": {"uid": uid} if uid else {}, "out": out}


class Uars(unittest.TestCase):
    """Whose UAR pages are drawn."""

    COMMANDS = [command("ALLOC_UAR", 5, uar=8), command("CREATE_CQ", 5, cqn=1),
                command("ALLOC_UAR", 0, uar=9), command("ALLOC_UAR", 5, uar=10)]

    def test_uars_of_the_process(self):
        """Their commands have the process's user id."""
        self.assertEqual(DEMO.uars_of_process(self.COMMANDS), {8, 10})

    def test_device_without_user_ids(self):
        """All UARs that were allocated while the process ran count as the UARs of the process."""
        self.assertEqual(DEMO.uars_of_process([command("ALLOC_UAR", 0, uar=3)]), {3})
        self.assertEqual(DEMO.uars_of_process([]), set())

    def test_page_of_the_kernel_is_not_that_of_the_process(self):
        """The driver has created a queue pair and a completion queue of its own on page 2."""
        doorbells = [{"uar": 8, "bf": 1, "qpn": 0x40, "reg": "blueflame"},
                     {"uar": 8, "bf": 1, "qpn": 0x40, "reg": "doorbell"},
                     {"uar": 2, "bf": 0, "qpn": 0x41, "reg": "doorbell"}]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            DEMO.draw([(0x40, 8), (0x41, 2)], doorbells, {8, 10}, {2: [7], 3: [9], 8: [6]})
        pages = out.getvalue().split("  UAR ")[1:]
        self.assertEqual([page.split(",")[0] for page in pages], ["2", "3", "8", "10"])
        self.assertIn("of the kernel: no process has it mapped", pages[0])
        self.assertNotIn("this process", pages[0])
        self.assertIn("0x020 arm     │ CQ 0x7", pages[0])
        self.assertIn("0x020 arm     │ CQ 0x9", pages[1])
        self.assertIn("write-only in this process", pages[2])
        self.assertIn("bfreg 1 │ QP 0x40 (1 doorbells, 1 BlueFlame)", pages[2])
        self.assertIn("bfreg 0…3 │ no QP", pages[3])


class Commands(unittest.TestCase):
    """How the firmware commands are listed."""

    def test_commands_that_differ_in_their_output_are_one_line(self):
        """Commands of another name or input, and refused commands, have lines of their own."""
        commands = [command("CREATE_MKEY", 0, mkey_index=index) for index in (17, 18, 19)]
        commands += [command("ALLOC_UAR", 5, uar=8),
                     {**command("ALLOC_UAR", 5), "status": 3, "why": "no UAR is left"},
                     {**command("CREATE_CQ", 5), "in": {"uar_page": 8}},
                     {**command("CREATE_CQ", 5), "in": {"uar_page": 9}},
                     {"type": "doorbell"}, command("QUERY_HCA_CAP", 0), command("QUERY_HCA_CAP", 0)]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            DEMO.show_commands(commands)
        self.assertEqual([" ".join(line.split()) for line in out.getvalue().splitlines()], [
            "CREATE_MKEY → mkey_index=17 … mkey_index=19 (3 times)", "ALLOC_UAR → uar=8",
            "ALLOC_UAR refused: no UAR is left", "CREATE_CQ uar_page=8", "CREATE_CQ uar_page=9",
            "QUERY_HCA_CAP (2 times)"])


if __name__ == "__main__":
    unittest.main()
