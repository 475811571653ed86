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
        """All UARs that were allocated meanwhile are the process's."""
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


if __name__ == "__main__":
    unittest.main()
