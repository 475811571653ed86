#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of build/hca/bluebell-hca as a program: its options, what it refuses, and when it ends."""

import json
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from program import SCRIPTS

HCA = SCRIPTS.parent / "build/hca/bluebell-hca"


def connect(path, request=None):
    """Connect to the socket at a path, which the HCA may not have made yet. Returns the answer to a
    request, if one is given."""
    deadline = time.monotonic() + 30
    while True:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
            except OSError:
                if time.monotonic() > deadline:
                    raise
            else:
                if not request:
                    return None
                client.sendall(request.encode() + b"\n")
                return json.loads(client.makefile().readline())
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

    def test_wrong_options_are_named(self):
        for options, reason in (([], "--socket is needed"),
                                (["--link", "token-ring"], "--link must be ib or eth, not token"),
                                (["--file-limit", "-1"], "--file-limit must be a number of MiB"),
                                (["--file-limit", "1x"], "--file-limit must be a number of MiB"),
                                (["--file-limit", str(1 << 44)], "--file-limit must be a number"),
                                (["--impair", "loss=200"], "--impair: loss has to be"),
                                (["--caps", "/tmp"], "--caps needs --profile")):
            with self.subTest(options=options):
                hca = self.start(options=options)
                self.assertEqual(hca.wait(timeout=60), 64)
                self.assertIn(reason, hca.stderr.read())

    def test_a_profile_is_sound_or_refused(self):
        profile = self.path / "profile"
        check = ["--check-profile", "--profile", profile]
        profile.write_text('{"name": "mine", "mtu": 2048}', encoding="utf-8")
        hca = self.start(options=check)
        self.assertEqual(hca.wait(timeout=60), 0)
        profile.write_text('{"name": "mine", "mtu": 2049}', encoding="utf-8")
        hca = self.start(options=check)
        self.assertEqual(hca.wait(timeout=60), 2)
        self.assertIn(f"profile {profile} refused: mtu is 2049", hca.stderr.read())

    def test_options_are_for_each_hca(self):
        profile = self.path / "profile"
        profile.write_text('{"name": "mine"}', encoding="utf-8")
        options = ["--profile", profile, "--impair", "loss=5,seed=9", "--trace", self.path / "t"]
        for name in "cd":
            options += ["--control", self.path / name]
        hca = self.start("a", "b", options=options)
        for index, name in enumerate("cd"):
            self.assertEqual(connect(self.path / name, "profile")["name"], "mine")
            settings = connect(self.path / name, "impair")["settings"]
            self.assertEqual((settings["loss"], settings["seed"]), (5, 9))
            connect(self.path / name, f"inject fatal {index + 1}")
        for name in "ab":
            connect(self.path / name)
        self.assertEqual(hca.wait(timeout=60), 0)
        for index, name in enumerate(("t", "t.1")):
            lines = (self.path / name).read_text(encoding="utf-8").splitlines()
            events = [json.loads(line) for line in lines]
            self.assertEqual({event["hca"] for event in events}, {index})
            self.assertIn(index + 1, [event["synd"] for event in events
                                      if event["type"] == "fatal"])

    def test_a_signal_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                hca = self.start("a", options=["--control", self.path / "c"])
                connect(self.path / "c", "census")
                hca.send_signal(number)
                self.assertEqual(hca.wait(timeout=60), 0)
                self.assertFalse((self.path / "a").exists())

    def test_a_trace_that_cannot_be_written_ends_it_with_the_reason(self):
        hca = self.start("a", options=["--trace", self.path / "none/trace"])
        self.assertEqual(hca.wait(timeout=60), 1)
        self.assertIn(f"cannot write the trace to {self.path}/none/trace: "
                      "No such file or directory", hca.stderr.read())

    def test_a_capture_that_cannot_be_written_is_told_and_does_not_end_it(self):
        hca = self.start("a", options=["--capture", self.path / "none/capture"])
        connect(self.path / "a")
        self.assertEqual(hca.wait(timeout=60), 0)
        self.assertIn(f"cannot write the capture to {self.path}/none/capture: "
                      "No such file or directory", hca.stderr.read())


if __name__ == "__main__":
    unittest.main()
