#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of build/hca/bluebell-hca as a program: what it refuses to start with, and when it ends."""

import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from program import SCRIPTS

HCA = SCRIPTS.parent / "build/hca/bluebell-hca"


def connect(path):
    """Connect to the socket at a path, which the HCA may not have made yet, and close it."""
    deadline = time.monotonic() + 30
    while True:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.05)


class Program(unittest.TestCase):
    """The life of the process."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def start(self, *sockets, options=()):
        """Start the HCA with sockets in the directory."""
        command = [HCA, *options]
        for name in sockets:
            command += ["--socket", self.path / name]
        hca = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(hca.stderr.close)
        self.addCleanup(hca.wait)
        self.addCleanup(hca.kill)
        return hca

    def test_a_file_in_the_place_of_a_socket_is_kept(self):
        file = self.path / "notes"
        file.write_text("mine", encoding="utf-8")
        hca = self.start("notes")
        self.assertEqual(hca.wait(timeout=60), 1)
        self.assertIn("a file that is not a socket exists at this path", hca.stderr.read())
        self.assertEqual(file.read_text(encoding="utf-8"), "mine")

    def test_an_hca_that_cannot_be_served_ends_all(self):
        (self.path / "notes").touch()
        hca = self.start("a", "notes", "b")
        self.assertEqual(hca.wait(timeout=60), 1)
        self.assertIn("a file that is not a socket exists at this path", hca.stderr.read())
        self.assertFalse((self.path / "a").exists())
        self.assertFalse((self.path / "b").exists())

    def test_hcas_are_sixteen_at_most(self):
        sockets = [f"s{i}" for i in range(17)]
        controls = [f"--control={self.path}/c{i}" for i in range(17)]
        check = ["--check-profile"]
        hca = self.start(*sockets[:16], options=check + controls[:16])
        self.assertEqual(hca.wait(timeout=60), 0)
        hca = self.start(*sockets, options=check)
        self.assertEqual(hca.wait(timeout=60), 64)
        self.assertIn("at most 16 HCAs", hca.stderr.read())
        hca = self.start(*sockets[:16], options=check + controls)
        self.assertEqual(hca.wait(timeout=60), 64)
        self.assertIn("at most 16 HCAs", hca.stderr.read())
        hca = self.start("a", options=check + controls[:2])
        self.assertEqual(hca.wait(timeout=60), 64)
        self.assertIn("more --control than --socket", hca.stderr.read())

    def test_it_ends_with_the_client_of_each_hca(self):
        hca = self.start("a", "b")
        for _ in range(3):
            connect(self.path / "a")
            time.sleep(0.3)     # a client that comes while another one is there is turned away
        with self.assertRaises(subprocess.TimeoutExpired):
            hca.wait(timeout=1)
        connect(self.path / "b")
        self.assertEqual(hca.wait(timeout=60), 0)
        self.assertFalse((self.path / "a").exists())


if __name__ == "__main__":
    unittest.main()
