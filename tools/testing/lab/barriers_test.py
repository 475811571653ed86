#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/barriers: which barriers it finds, and what it compares them with."""

import tempfile
import unittest
from pathlib import Path

from program import load, run

barriers = load("barriers")

FUNCTION = """\
/* Pairs with smp_mb() of another. */
static void planted_ring(__be32 *record,
			 u16 posted)
{
	%s;
	*record = cpu_to_be32(posted);	/* after wmb() */
}
"""
PAGE = """\
   * - ``planted_ring()``
     - ``dma_wmb()``
     - the WQEs before the record
     - the device
"""


class Barriers(unittest.TestCase):
    """What is found in the text of a function, and in the table of a page."""

    def test_a_barrier_is_found(self):
        for name in ("mb", "wmb", "rmb", "dma_wmb", "dma_rmb", "dma_mb", "smp_mb", "smp_wmb",
                     "smp_store_release", "smp_load_acquire", "smp_store_mb", "barrier",
                     "smp_mb__after_atomic", "smp_acquire__after_ctrl_dep", "cmpxchg_release",
                     "atomic_dec_return_release", "io_stop_wc"):
            self.assertEqual(list(barriers.barriers(FUNCTION % f"x = {name}(y)")),
                             [(5, "planted_ring", name)])

    def test_another_call_is_not_found(self):
        for name in ("kmb", "wmbs", "READ_ONCE", "refcount_dec_and_lock", "xa_cmpxchg"):
            self.assertEqual(list(barriers.barriers(FUNCTION % f"{name}(y)")), [], name)

    def complaints(self, statement, page=PAGE):
        """The complaints about a function that contains a statement."""
        return list(barriers.check({"a.c": FUNCTION % statement}, page))

    def test_the_listed_barrier_is_wanted(self):
        self.assertEqual(self.complaints("dma_wmb()"), [])
        self.assertEqual(self.complaints(""), [
            "planted_ring() has no dma_wmb(), which is listed for it"])

    def test_another_barrier_is_not_listed(self):
        self.assertEqual(self.complaints("barrier()"), [
            "a.c:5: barrier() of planted_ring() is not listed",
            "planted_ring() has no dma_wmb(), which is listed for it"])

    def test_each_of_two_barriers_is_listed(self):
        self.assertEqual(self.complaints("dma_wmb(); dma_wmb()"), [
            "a.c:5: dma_wmb() of planted_ring() is not listed"])
        self.assertEqual(self.complaints("dma_wmb(); dma_wmb()", 2 * PAGE), [])

    def test_a_page_without_a_table_is_an_error(self):
        self.assertEqual(self.complaints("", ""), ["the page has no table of barriers"])

    def test_the_program_complains(self):
        """By its status, too."""
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            source, page = Path(directory) / "a.c", Path(directory) / "page"
            page.write_text(PAGE)
            source.write_text(FUNCTION % "dma_wmb()")
            self.assertEqual(run("barriers", "--source", directory, "--page", page), (0, []))
            source.write_text(FUNCTION % "")
            self.assertEqual(run("barriers", "--source", directory, "--page", page), (
                1, ["barriers: error: planted_ring() has no dma_wmb(), which is listed for it "
                    "(page)"]))


if __name__ == "__main__":
    unittest.main()
