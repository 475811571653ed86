#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of bluebell-switch on a tree that looks like a host. Nothing of this host is changed."""

import contextlib
import errno
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TOOL = HERE.parents[1] / "switch"
sys.path[:0] = [str(HERE), str(TOOL)]

# pylint: disable=wrong-import-position
import fake  # noqa: E402
import functions  # noqa: E402
import host as host_module  # noqa: E402
import persist  # noqa: E402
from fake import FakeHost  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("bluebell_switch", str(TOOL / "bluebell-switch"))
switch = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("bluebell_switch", LOADER))
LOADER.exec_module(switch)

FIRST, SECOND, THIRD = "0000:03:00.0", "0000:03:00.1", "0000:81:00.0"
CONF = "etc/modprobe.d/bluebell.conf"


class OnATree(unittest.TestCase):
    """A host with one InfiniBand device, which mlx5_ib has; Bluebell is built, and not loaded."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.host = FakeHost(Path(folder.name))
        self.host.driven("mlx5_ib")
        self.out = self.err = ""

    def call(self, *words):
        """The exit status of the program. What it prints is kept."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = switch.main(list(words), self.host)
            except SystemExit as end:
                status = end.code
        self.out, self.err = out.getvalue(), err.getvalue()
        return status

    def one_error(self):
        """The error that was printed, which has to be one line."""
        lines = [line for line in self.err.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), 1, self.err)
        return lines[0].partition(": error: ")[2]

    def refused(self, status, *words):
        """The program refuses, and changes nothing. Returns the error."""
        before = self.host.snapshot()
        self.assertEqual(self.call(*words), status, self.err)
        self.assertEqual(self.host.steps, [])
        self.assertEqual(self.host.snapshot(), before)
        return self.one_error()


class Switching(OnATree):
    """on and off."""

    def test_on_and_off(self):
        self.assertEqual(self.call("on", "mlx5_0"), 0, self.err)
        self.assertEqual(self.host.steps, ["modprobe bluebell", f"unbind {FIRST} mlx5_ib",
                                           f"bind {FIRST} bluebell"])
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})
        self.assertEqual(self.out, f"{FIRST}: bluebell has it now (mlx5_0, port 1 ACTIVE "
                         "(LinkUp))\n")
        self.assertIn("until the next boot, which gives it to mlx5_ib", self.err)
        self.host.steps.clear()
        self.assertEqual(self.call("off", "mlx5_0"), 0, self.err)
        self.assertEqual(self.host.steps, [f"unbind {FIRST} bluebell", f"bind {FIRST} mlx5_ib"])
        self.assertEqual(self.host.logged, [f"{FIRST} was given to bluebell",
                                            f"{FIRST} was given to mlx5_ib"])

    def test_device_is_named_in_any_way(self):
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=False)
        for name in (FIRST, "03:00.0", "mlx5_0", "ib0"):
            self.assertEqual(self.call("on", "--dry-run", name), 0, name)
        self.assertIn("there is no mlx5 device mlx5_1; there are: 0000:03:00.0 mlx5_0",
                      self.refused(2, "on", "mlx5_1"))

    def test_only_the_named_device_is_switched(self):
        self.host.take(self.host.function(SECOND, 1), "mlx5_ib")
        self.assertEqual(self.call("on", FIRST), 0, self.err)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell", SECOND: "mlx5_ib"})

    def test_nothing_to_do(self):
        self.host.built = set()
        self.assertEqual(self.call("off", "mlx5_0"), 0)
        self.assertEqual((self.host.steps, self.out), ([], "mlx5_ib has it already\n"))

    def test_device_without_a_driver(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        self.host.load("bluebell")
        self.assertEqual(self.call("on", FIRST), 0, self.err)
        self.assertEqual(self.host.steps, [f"bind {FIRST} bluebell"])

    def test_module_takes_a_device_without_a_driver_when_it_is_loaded(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        self.assertEqual(self.call("on", FIRST), 0, self.err)
        self.assertEqual(self.host.steps, ["modprobe bluebell"])
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})

    def test_dry_run_changes_nothing(self):
        self.host.root_user = False
        before = self.host.snapshot()
        self.assertEqual(self.call("on", "mlx5_0", "--dry-run", "--persist"), 0, self.err)
        drivers = self.host.sys / "bus/auxiliary/drivers"
        self.assertEqual(self.out.splitlines(), [
            "would load the module: modprobe bluebell",
            f"would write 'mlx5_core.rdma.0' to {drivers}/mlx5_ib.rdma/unbind",
            f"would write 'mlx5_core.rdma.0' to {drivers}/bluebell.rdma/bind",
            f"would wait up to 10 s for the RDMA device of {FIRST} and its ports, and otherwise "
            "give it to mlx5_ib",
            f"would write {self.host.root / CONF}: softdep mlx5_ib pre: bluebell"])
        self.assertEqual((self.host.steps, self.host.snapshot()), ([], before))

    def test_dry_run_is_refused_as_the_command_would_be(self):
        self.host.process(100, "app", "/dev/infiniband/uverbs0")
        self.assertIn("in use", self.refused(1, "on", "mlx5_0", "--dry-run"))
        self.host.built.remove("bluebell")
        self.assertIn("no bluebell.ko", self.refused(6, "on", "mlx5_0", "--dry-run", "--force"))

    def test_only_root_switches(self):
        self.host.root_user = False
        self.assertIn("needs root", self.refused(5, "on", "mlx5_0"))

    def test_one_at_a_time(self):
        with self.host.locked():
            self.assertIn("another bluebell-switch", self.refused(1, "on", "mlx5_0"))
        self.assertEqual(self.call("on", "mlx5_0"), 0)

    def test_lock_that_cannot_be_made(self):
        self.host.lock_file.parent.rmdir()
        self.assertIn("bluebell-switch.lock: No such file", self.refused(5, "on", "mlx5_0"))

    def test_device_that_udev_renames(self):
        self.host.udev_name = "ibp3s0"
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        self.host.take(self.host.folder_of("mlx5_core.rdma.0"), "mlx5_ib")
        self.host.sleep(2)
        self.assertEqual(self.call("on", "ibp3s0"), 0, self.err)
        self.assertIn("(ibp3s0, port 1 ACTIVE", self.out)
        self.assertNotIn("the RDMA device is now", self.err)

    def test_name_that_changes_is_told(self):
        self.host.names_after["bluebell"] = "mlx5_7"
        self.assertEqual(self.call("on", FIRST), 0)
        self.assertIn("the RDMA device is now mlx5_7, and was mlx5_0", self.err)

    def test_signals_do_not_end_a_switch(self):
        """A hangup comes when the user is logged in by the device that goes."""
        take = self.host.take

        def take_and_hang_up(*arguments):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGINT)
            take(*arguments)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with mock.patch.object(self.host, "take", take_and_hang_up):
            self.assertEqual(self.call("on", "mlx5_0"), 0)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_terminal_that_is_gone_does_not_end_a_switch(self):
        """Nor does the error come again when the output is closed."""
        with open("/dev/full", "w", encoding="ascii") as full, \
                contextlib.redirect_stdout(full), contextlib.redirect_stderr(full):
            self.assertEqual(switch.main(["on", "mlx5_0", "--persist"], self.host), 0)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})
        self.assertEqual(persist.state(self.host), "ours")


class SeveralDevices(OnATree):
    """--all, and devices that Bluebell cannot drive: the second one has two ports."""

    def setUp(self):
        super().setUp()
        self.host.take(self.host.function(SECOND, 1, ports=2), "mlx5_ib")
        self.host.take(self.host.function(THIRD, 2, link_layer="Ethernet"), "mlx5_ib")

    def test_all_leaves_two_ports_alone(self):
        self.assertEqual(self.call("on", "--all"), 0, self.err)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell", SECOND: "mlx5_ib",
                                               THIRD: "bluebell"})
        self.assertIn(f"{SECOND} is left as it is: it has more than one port", self.err)
        self.assertEqual(self.call("off", "--all"), 0, self.err)
        self.assertEqual(set(self.host.drivers().values()), {"mlx5_ib"})

    def test_two_ports_are_refused_before_anything_changes(self):
        self.assertIn("it has more than one port, which Bluebell cannot drive yet",
                      self.refused(1, "on", FIRST, SECOND))

    def test_ethernet_without_a_driver_is_switched(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.2"))
        self.assertEqual(self.call("on", THIRD), 0, self.err)
        self.assertEqual(self.host.drivers()[THIRD], "bluebell")

    def test_two_ports_and_representors_are_refused(self):
        self.host.take(self.host.function("0000:05:00.0", 3, ports=2), "mlx5_ib")
        self.assertIn("more than one port", self.refused(1, "on", "mlx5_3"))
        folder = self.host.function("0000:06:00.0", 4)
        (folder / "mlx5_core.rdma-rep.4").mkdir()
        self.host.link("sys/bus/auxiliary/devices/mlx5_core.rdma-rep.4",
                       folder / "mlx5_core.rdma-rep.4")
        self.host.take(folder, "mlx5_ib")
        self.assertIn("representors", self.refused(1, "on", "mlx5_4"))

    def test_function_without_rdma_is_refused(self):
        folder = self.host.sys / "devices/pci0000:00/0000:07:00.0"
        folder.mkdir()
        self.host.link("sys/bus/pci/drivers/mlx5_core/0000:07:00.0", folder)
        self.assertIn("mlx5_core offers no RDMA on it", self.refused(1, "on", "07:00.0"))
        self.assertIn("mlx5_core offers no RDMA on it", self.refused(1, "off", "07:00.0"))

    def test_no_device_that_bluebell_can_drive(self):
        for auxiliary in ("mlx5_core.rdma.0", "mlx5_core.rdma.2"):
            (self.host.sys / "bus/auxiliary/devices" / auxiliary).unlink()
        self.assertIn("no device that bluebell can drive", self.refused(1, "on", "--all"))

    def test_unknown_driver_is_left(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        self.host.load("other")
        self.host.take(self.host.folder_of("mlx5_core.rdma.0"), "other")
        self.assertIn("its driver is other", self.refused(1, "on", FIRST))

    def test_the_first_failure_ends_the_command(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.assertEqual(self.call("on", "--all"), 3)
        self.assertEqual(set(self.host.drivers().values()), {"mlx5_ib"})
        self.assertFalse(any(THIRD in step for step in self.host.steps))


class GivingBack(OnATree):
    """The new driver fails."""

    def given_back(self, why):
        """on fails, and mlx5_ib has the device again."""
        self.assertEqual(self.call("on", FIRST), 3, self.err)
        self.assertEqual(self.host.drivers(), {FIRST: "mlx5_ib"})
        self.assertIn(f"{FIRST}: mlx5_ib has it, because bluebell has failed: {why}",
                      self.one_error())
        self.assertTrue((self.host.sys / "class/infiniband/mlx5_0").exists())
        self.assertIn("mlx5_ib has it", self.host.logged[-1])

    def test_bind_fails(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.given_back("Input/output error")

    def test_reason_is_taken_from_the_kernel_log(self):
        self.host.errors["bluebell", "bind"] = errno.ENODEV
        self.host.kernel_says = ["usb 1-1: new device", "bluebell.rdma mlx5_core.rdma.0: not for "
                                 "this driver: its port is part of a LAG", "other line",
                                 "bluebell.rdma mlx5_core.rdma.0: probe with driver bluebell.rdma "
                                 "failed with error -19"]
        self.given_back("bluebell.rdma mlx5_core.rdma.0: not for this driver: its port is part of")

    def test_line_of_the_driver_core_is_better_than_none(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.host.kernel_says = ["bluebell.rdma mlx5_core.rdma.0: probe with driver failed (-5)"]
        self.given_back("bluebell.rdma mlx5_core.rdma.0: probe with driver failed (-5)")

    def test_no_rdma_device_comes_up(self):
        self.host.dead.add("bluebell")
        self.given_back("no RDMA device has come up")
        self.assertEqual(self.host.steps[1:], [
            f"unbind {FIRST} mlx5_ib", f"bind {FIRST} bluebell", f"unbind {FIRST} bluebell",
            f"bind {FIRST} mlx5_ib"])
        self.assertGreaterEqual(self.host.clock, 10)

    def test_port_does_not_answer(self):
        self.host.port_after["bluebell"] = None
        self.given_back("port 1 does not answer")

    def test_port_is_less_than_it_was(self):
        self.host.port_after["bluebell"] = fake.INIT
        self.given_back("port 1 is INIT, and was ACTIVE")

    def test_port_that_was_down_may_come_up(self):
        folder = self.host.folder_of("mlx5_core.rdma.0")
        (folder / "infiniband/mlx5_0/ports/1/state").write_text(fake.DOWN)
        self.assertEqual(self.call("on", "mlx5_0"), 0, self.err)

    def test_no_uverbs_device(self):
        with mock.patch.object(functions, "read_rdma", side_effect=self.without_uverbs):
            self.assertEqual(self.call("on", "mlx5_0"), 3)
        self.assertIn("mlx5_0 has no uverbs device", self.one_error())

    def without_uverbs(self, host, function, read_rdma=functions.read_rdma):
        """read_rdma(), with no uverbs device of Bluebell."""
        read_rdma(host, function)
        if function.driver == "bluebell":
            function.uverbs = []

    def test_what_happens_is_told(self):
        self.host.dead.add("bluebell")
        self.assertEqual(self.call("on", FIRST), 3)
        self.assertIn(f"{FIRST}: bluebell has failed (no RDMA device has come up): giving it to "
                      "mlx5_ib\n", self.err)

    def test_other_module_is_loaded_if_need_be(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        shutil.rmtree(self.host.sys / "bus/auxiliary/drivers/mlx5_ib.rdma")
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.given_back("Input/output error")
        self.assertIn("modprobe mlx5_ib", self.host.steps)

    def test_nobody_has_it_after_bluebell_had_it(self):
        self.host.dead.add("bluebell")
        self.host.errors["mlx5_ib", "bind"] = errno.EIO
        self.assertEqual(self.call("on", FIRST), 4)
        self.assertIn("no driver has it", self.one_error())

    def test_wait_is_how_long_is_waited(self):
        self.host.dead.add("bluebell")
        self.assertEqual(self.call("on", "mlx5_0", "--wait", "30"), 3)
        self.assertGreaterEqual(self.host.clock, 30)

    def test_nobody_has_it(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.host.errors["mlx5_ib", "bind"] = errno.ENOMEM
        self.assertEqual(self.call("on", "mlx5_0"), 4)
        error = self.one_error()
        self.assertIn(f"{FIRST}: no driver has it, because bluebell has failed (Input/output error",
                      error)
        self.assertIn("so has mlx5_ib (Cannot allocate memory", error)
        self.assertEqual(self.host.drivers(), {FIRST: None})

    def test_stock_driver_comes_back_without_a_device(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.host.dead.add("mlx5_ib")
        self.assertEqual(self.call("on", "mlx5_0"), 4)
        self.assertIn("mlx5_ib has it, but no RDMA device has come up", self.one_error())

    def test_off_that_fails_gives_it_to_bluebell(self):
        self.assertEqual(self.call("on", "mlx5_0"), 0)
        self.host.errors["mlx5_ib", "bind"] = errno.EIO
        self.assertEqual(self.call("off", "mlx5_0"), 3)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})

    def test_device_without_a_driver_gets_the_other_one(self):
        self.host.release_driver(self.host.folder_of("mlx5_core.rdma.0"))
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.given_back("Input/output error")

    def test_unbind_that_does_not_end(self):
        self.host.errors["mlx5_ib", "unbind"] = None
        self.assertEqual(self.call("on", "mlx5_0"), 4)
        self.assertIn("has not taken it from mlx5_ib within 120 s", self.one_error())
        self.assertEqual(self.host.steps[-1], f"unbind {FIRST} mlx5_ib")

    def test_limits_of_a_slow_host(self):
        """All limits of time are longer: of a step of the kernel, of the device, of a command."""
        slow = mock.patch.dict(os.environ, {"BLUEBELL_SWITCH_SLOW": "4"})
        self.host.errors["mlx5_ib", "unbind"] = None
        with slow:
            self.assertEqual(self.call("on", "mlx5_0"), 4)
        self.assertIn("has not taken it from mlx5_ib within 480 s", self.one_error())
        with slow:
            self.assertEqual(self.call("on", "mlx5_0", "--dry-run"), 0)
        self.assertIn("would wait up to 40 s", self.out)
        with slow, mock.patch.object(subprocess, "run",
                                     side_effect=subprocess.TimeoutExpired("x", 1)) as run:
            self.assertEqual(host_module.Host.command(self.host, "update-initramfs", seconds=900),
                             (124, "", "update-initramfs has not ended after 3600 s"))
        self.assertEqual(run.call_args.kwargs["timeout"], 3600)

    def test_step_of_the_kernel_that_a_slow_host_ends_late(self):
        """A child of the program that ends after the time of other hosts, but before that of this
        one."""
        ends = iter([(0, 0)] * 4 + [(1, 0)])
        for slow, result in ((1, None), (4, 0)):
            self.host.slow = slow
            clock = iter(range(0, 10000, 100))
            with mock.patch.object(self.host, "now", lambda clock=clock: next(clock)), \
                    mock.patch.object(os, "waitpid", lambda *_, ends=ends: next(ends)), \
                    contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(self.host.wait_for_child(1, "x"), result, slow)

    def test_slow_is_a_number(self):
        for text in ("", "x", "0", "0.9", "-4", "nan", "1001", "inf"):
            with mock.patch.dict(os.environ, {"BLUEBELL_SWITCH_SLOW": text}):
                self.assertEqual(self.refused(2, "on", "mlx5_0"),
                                 f"BLUEBELL_SWITCH_SLOW is '{text}', not a number from 1 to 1000")

    def test_unbind_that_fails(self):
        self.host.errors["mlx5_ib", "unbind"] = errno.ENODEV
        self.assertEqual(self.call("on", "mlx5_0"), 3)
        self.assertEqual(self.host.drivers(), {FIRST: "mlx5_ib"})
        self.assertIn("cannot be taken from mlx5_ib: No such device", self.one_error())

    def test_nothing_is_written_if_the_switch_fails(self):
        self.host.errors["bluebell", "bind"] = errno.EIO
        self.assertEqual(self.call("on", "mlx5_0", "--persist"), 3)
        self.assertEqual(persist.state(self.host), "absent")


class Modules(OnATree):
    """The module cannot be loaded: nothing is changed."""

    def test_not_built_and_no_dkms(self):
        self.host.built.remove("bluebell")
        self.assertIn("no bluebell.ko for 6.12.118+deb13-amd64, and no dkms: install bluebell-dkms",
                      self.refused(6, "on", "mlx5_0"))

    def test_dkms_does_not_know_bluebell(self):
        self.host.built.remove("bluebell")
        self.host.dkms = ""
        self.assertIn("dkms does not know bluebell: install bluebell-dkms",
                      self.refused(6, "on", "mlx5_0"))

    def test_not_built_for_this_kernel(self):
        self.host.built.remove("bluebell")
        self.host.dkms = "bluebell/1.0: added\nbluebell/1.0, 6.12.1, x86_64: installed\n"
        error = self.refused(6, "on", "mlx5_0")
        self.assertIn("'bluebell/1.0: added; bluebell/1.0, 6.12.1, x86_64: installed'", error)
        self.assertIn("install linux-headers-6.12.118+deb13-amd64, do 'dkms autoinstall'", error)

    def test_package_knows_why_it_was_not_built(self):
        """Its paragraph becomes a part of the line, unless it finds a module or says nothing."""
        self.host.built.remove("bluebell")
        self.host.dkms = "bluebell/1.0: added\n"
        self.host.put("usr/share/bluebell-dkms/advice", "")
        self.host.advice = ("bluebell-dkms: There is no module for the kernel 7.3, which is not\n"
                            "  of a series that Bluebell has been tested on.\n")
        error = self.refused(6, "on", "mlx5_0")
        self.assertIn("no bluebell.ko for 6.12.118+deb13-amd64; 'dkms status bluebell' says "
                      "'bluebell/1.0: added': There is no module for the kernel 7.3, which is not "
                      "of a series", error)
        self.assertNotIn("autoinstall", error)
        for self.host.advice in ("", "bluebell-dkms: Secure Boot is off.\n"):
            self.assertIn("do 'dkms autoinstall'", self.refused(6, "on", "mlx5_0"))

    def test_secure_boot(self):
        for said, lockdown in (("Key was rejected by service", "none [integrity] confidentiality"),
                               ("Required key not available", "[none] integrity"),
                               ("Operation not permitted", "none [integrity] confidentiality")):
            self.host.load_error["bluebell"] = said
            self.host.put("sys/kernel/security/lockdown", lockdown)
            error = self.refused(6, "on", "mlx5_0")
            self.assertIn("Secure Boot refuses bluebell.ko", error, said)
            self.assertIn("mokutil --import /var/lib/dkms/mok.pub", error)

    def test_not_permitted_without_lockdown_is_not_secure_boot(self):
        self.host.load_error["bluebell"] = "Operation not permitted"
        self.host.put("sys/kernel/security/lockdown", "[none] integrity confidentiality")
        error = self.refused(6, "on", "mlx5_0")
        self.assertNotIn("Secure Boot", error)
        self.assertIn("Operation not permitted", error)

    def test_built_for_another_kernel(self):
        self.host.load_error["bluebell"] = "Exec format error"
        self.assertIn("built for another kernel", self.refused(6, "on", "mlx5_0"))
        self.host.load_error["bluebell"] = "Invalid argument"
        self.host.kernel_says = ["bluebell: disagrees about version of symbol ib_register_device"]
        self.assertIn("another RDMA stack", self.refused(6, "on", "mlx5_0"))

    def test_module_that_loads_nothing(self):
        with mock.patch.object(self.host, "modprobe", return_value=(0, "", "")):
            self.assertIn("is it blacklisted", self.refused(6, "on", "mlx5_0"))


class Users(OnATree):
    """Who uses a device: it takes --force to switch it."""

    def in_use(self, *texts):
        """The switch is refused with these texts, and done with --force, which repeats them."""
        error = self.refused(1, "on", "mlx5_0")
        for text in (*texts, "add --force"):
            self.assertIn(text, error)
        self.assertEqual(self.call("on", "mlx5_0", "--force"), 0, self.err)
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})
        for text in texts:
            self.assertIn(text, self.err)

    def not_in_use(self):
        """The switch is done without --force."""
        self.assertEqual(self.call("on", "mlx5_0"), 0, self.err)

    def test_process_with_a_verbs_file(self):
        self.host.process(4321, "ib_send_bw", "/dev/null", "/dev/infiniband/uverbs0")
        self.in_use("process 4321 (ib_send_bw; uverbs0): ib_send_bw -d mlx5_0")

    def test_process_whose_name_would_change_a_terminal(self):
        self.host.process(4321, "a\x1b[2Jb\nc", "/dev/infiniband/uverbs0")
        self.host.put("proc/4321/cmdline", "x" * 300 + "\0")
        self.in_use("process 4321 (a?[2Jb?c; uverbs0): " + "x" * 100 + "...")
        self.assertNotIn("x" * 101, self.err)

    def test_many_processes(self):
        for pid in range(101, 112):
            self.host.process(pid, "app", "/dev/infiniband/uverbs0")
        error = self.refused(1, "on", "mlx5_0")
        self.assertIn("process 108", error)
        self.assertNotIn("process 109", error)
        self.assertIn("; 3 more (see 'bluebell-switch status'): end what uses it", error)
        self.call()
        self.assertIn("process 111", self.out)

    def test_process_with_a_management_file(self):
        self.host.put("sys/class/infiniband_mad/umad0/ibdev", "mlx5_0")
        self.host.put("sys/class/infiniband_mad/umad0/dev", "231:0")
        self.host.process(77, "opensm", "/dev/infiniband/umad0")
        self.in_use("process 77 (opensm; umad0)")

    def test_process_with_another_devices_file(self):
        self.host.take(self.host.function(SECOND, 1), "mlx5_ib")
        self.host.process(77, "app", "/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm")
        self.not_in_use()

    def test_process_with_a_connection_only(self):
        self.host.process(88, "server", "/dev/infiniband/rdma_cm")
        self.host.rdma["cm_id"] = [{"ifname": "mlx5_0", "pid": 88, "comm": "server",
                                    "state": "LISTEN"}]
        self.in_use("process 88 (server; cm_id)")

    def test_interface(self):
        folder = self.host.folder_of("mlx5_core.rdma.0")
        self.host.interface("ib1", folder, up=False, index="8")
        self.host.interface("ib0", folder, up=True)
        self.in_use("interface ib0 (up)")
        self.assertNotIn("ib1", self.err)

    def test_interface_that_is_down(self):
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=False)
        self.host.rdma["qp"] = [{"ifname": "mlx5_0", "comm": "ib_ipoib", "type": "UD"},
                                {"ifname": "mlx5_0", "comm": "ib_ipoib", "type": "RC"},
                                {"ifname": "mlx5_0", "comm": "ib_core", "type": "UD"},
                                {"ifname": "mlx5_0", "comm": "[mlx5_ib]", "type": "UD"}]
        self.not_in_use()

    def test_interface_in_another_namespace(self):
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=False)
        self.host.rdma["qp"] = [{"ifname": "mlx5_0", "comm": "ib_ipoib", "type": "UD"}] * 2
        self.in_use("an IPoIB interface that is not visible here")

    def test_interface_with_a_pkey(self):
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=False)
        self.host.put("sys/class/net/ib0.8001/type", "32")
        self.host.put("sys/class/net/ib0.8001/flags", "0x1003")
        self.host.put("sys/class/net/ib0.8001/iflink", "7")
        self.in_use("interface ib0.8001 (up)")

    def nvme(self):
        """A controller over RDMA with a disk, a partition, and a volume on the partition."""
        self.host.put("sys/class/nvme/nvme1/transport", "rdma\n")
        self.host.put("sys/class/nvme/nvme1/address",
                      "traddr=10.9.0.2,trsvcid=4420,src_addr=10.9.0.1\n")
        self.host.put("sys/class/nvme/nvme1/subsysnqn", "nqn.test\n")
        self.host.put("sys/class/nvme/nvme0/transport", "pcie\n")
        subsystem = "sys/class/nvme-subsystem/nvme-subsys1"
        self.host.link(f"{subsystem}/nvme1", "sys/class/nvme/nvme1")
        self.host.block("nvme1n1", "259:1", subsystem, [("nvme1n1p1", "259:2")])
        (self.host.root / subsystem / "nvme1n1/nvme1n1p1/holders/dm-0").mkdir()
        self.host.block("dm-0", "253:0", "sys/devices/virtual/block")
        self.host.block("sda", "8:0", "sys/devices/pci0000:00/0000:00:17.0", [("sda1", "8:1")])
        self.host.put("sys/devices/virtual/block/dm-0/dm/name", "vg-data\n")
        self.host.put("proc/self/mountinfo",
                      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                      "30 22 253:0 / /my\\040data rw shared:1 - xfs /dev/mapper/vg-data rw\n"
                      "31 22 0:40 / /b rw - btrfs /dev/nvme1n1p1 rw\n")
        self.host.put("proc/swaps", "Filename Type Size Used Priority\n"
                      "/dev/sda2 partition 1 0 -2\n/dev/mapper/vg-data partition 1 0 -3\n")

    def test_nvme(self):
        self.nvme()
        self.host.rdma["cm_id"] = [
            {"ifname": "mlx5_0", "comm": "nvme_rdma", "dst-addr": "10.9.0.2:4420"}]
        self.host.rdma["qp"] = [{"ifname": "mlx5_0", "comm": "nvme_rdma"}] * 3
        self.in_use("nvme controller nvme1 (10.9.0.2, nqn.test)",
                    "mount /my data on /dev/mapper/vg-data", "mount /b on /dev/nvme1n1p1",
                    "swap /dev/mapper/vg-data", "kernel nvme_rdma (3 queue pairs)")
        self.assertNotIn("/dev/sda", self.err)

    def test_nvme_through_another_device(self):
        self.nvme()
        self.host.rdma["cm_id"] = [
            {"ifname": "mlx5_1", "comm": "nvme_rdma", "dst-addr": "10.9.0.2:4420"},
            {"ifname": "mlx5_0", "comm": "nvme_rdma", "dst-addr": "10.9.0.3", "dst-port": 4420}]
        self.not_in_use()

    def test_connection_of_another_module_or_process_is_not_nvmes(self):
        self.nvme()
        self.host.rdma["cm_id"] = [
            {"ifname": "mlx5_0", "comm": "rpcrdma", "dst-addr": "10.9.0.2:4420"},
            {"ifname": "mlx5_0", "comm": "nvme_rdma", "pid": 99, "dst-addr": "10.9.0.2:4420"}]
        error = self.refused(1, "on", "mlx5_0")
        self.assertIn("process 99 (?; cm_id)", error)
        self.assertNotIn("nvme1", error)

    def test_address_and_port_in_two_words(self):
        self.nvme()
        self.host.rdma["cm_id"] = [{"ifname": "mlx5_0", "comm": "nvme_rdma",
                                    "dst-addr": "10.9.0.2", "dst-port": 4420}]
        self.in_use("nvme controller nvme1")

    def test_scsi(self):
        device = "sys/devices/pci0000:00/" + FIRST + "/host6"
        self.host.put(f"{device}/scsi_host/host6/proc_name", "ib_srp\n")
        self.host.link("sys/class/scsi_host/host6", f"{device}/scsi_host/host6")
        self.host.block("sdb", "8:16", f"{device}/target6:0:0/6:0:0:0/block")
        self.host.block("sda", "8:0", "sys/devices/pci0000:00/0000:00:17.0", [("sda1", "8:1")])
        self.host.put("sys/class/scsi_host/host0/proc_name", "ahci\n")
        self.host.put("proc/self/mountinfo", "30 22 8:16 / /srp rw - ext4 /dev/sdb rw\n"
                      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
        self.in_use("scsi host6 (ib_srp)", "mount /srp on /dev/sdb")
        self.assertNotIn("sda", self.err)
        self.assertNotIn("host0", self.err)

    def test_nfs(self):
        self.host.put("proc/self/mountinfo",
                      "30 1 0:50 / /nfs rw - nfs4 srv:/x rw,proto=rdma,port=20049,addr=10.9.0.2\n"
                      "31 1 0:51 / /tcp rw - nfs4 srv:/y rw,proto=tcp,addr=10.9.0.2\n"
                      "32 1 0:52 / /far rw - nfs4 far:/z rw,proto=rdma,addr=10.9.0.9\n")
        self.host.rdma["cm_id"] = [{"ifname": "mlx5_0", "comm": "[rpcrdma]",
                                    "dst-addr": "10.9.0.2:20049"}]
        self.in_use("mount /nfs on srv:/x (NFS)")
        self.assertNotIn("/tcp", self.err)
        self.assertNotIn("/far", self.err)

    def test_modules_of_the_kernel(self):
        self.host.rdma["qp"] = [{"ifname": "mlx5_0", "comm": "rds_rdma"},
                                {"ifname": "mlx5_0", "comm": "smc"},
                                {"ifname": "mlx5_1", "comm": "rpcrdma"}]
        self.in_use("kernel rds_rdma (1 queue pairs)", "kernel smc (1 queue pairs)")
        self.assertNotIn("rpcrdma", self.err)

    def test_queue_pair_of_a_connection_is_the_modules(self):
        self.host.rdma["cm_id"] = [{"ifname": "mlx5_0", "comm": "rds_rdma", "lqpn": 70},
                                   {"ifname": "mlx5_0", "comm": "rds_rdma", "lqpn": 71}]
        self.host.rdma["qp"] = [{"ifname": "mlx5_0", "comm": "rdma_cm", "lqpn": 70},
                                {"ifname": "mlx5_0", "comm": "rdma_cm", "lqpn": 71},
                                {"ifname": "mlx5_0", "comm": "rdma_cm", "lqpn": 72}]
        self.in_use("kernel rdma_cm (1 queue pairs)", "kernel rds_rdma (2 queue pairs)")

    def test_rdma_tool_knows_no_connections(self):
        self.host.rdma["cm_id"] = None
        self.in_use("'rdma resource show' fails")

    def test_rdma_tool_is_missing(self):
        self.host.rdma = None
        self.nvme()
        self.in_use("'rdma resource show' fails", "install iproute2", "nvme controller nvme1")

    def test_device_in_another_namespace(self):
        (self.host.sys / "class/infiniband/mlx5_0").unlink()
        error = self.refused(1, "on", FIRST)
        self.assertIn("what has its RDMA device, which is not visible here", error)


class Persistence(OnATree):
    """--persist."""

    def conf(self):
        """The file."""
        return self.host.root / CONF

    def test_on_writes_and_off_removes(self):
        self.assertEqual(self.call("on", "mlx5_0", "--persist"), 0, self.err)
        lines = self.conf().read_text().splitlines()
        self.assertEqual([line for line in lines if not line.startswith("#")],
                         ["softdep mlx5_ib pre: bluebell"])
        self.assertIn("bluebell-switch", lines[0])
        self.assertEqual(self.conf().stat().st_mode & 0o777, 0o644)
        self.assertEqual(self.call("off", "mlx5_0"), 0)
        self.assertIn("until the next boot, which gives it to bluebell", self.err)
        self.assertTrue(self.conf().exists())
        self.assertEqual(self.call("off", "mlx5_0", "--persist"), 0)
        self.assertEqual(os.listdir(self.host.modprobe_d), [])

    def test_file_of_somebody_else(self):
        for text in ("options mlx5_ib x=1\n", persist.TEXT + "options x y=1\n",
                     "softdep mlx5_ib pre: bluebell\n"):
            self.conf().write_text(text)
            self.assertIn("was not written by bluebell-switch",
                          self.refused(1, "on", "mlx5_0", "--persist"))
            self.assertIn("was not written by bluebell-switch",
                          self.refused(1, "off", "mlx5_0", "--persist"))

    def test_link_in_place_of_the_file(self):
        target = self.host.root / "target"
        target.write_text(persist.TEXT)
        self.conf().symlink_to(target)
        self.assertIn("was not written by", self.refused(1, "on", "mlx5_0", "--persist"))

    def test_read_only(self):
        flags = mock.Mock(f_flag=os.ST_RDONLY)
        with mock.patch.object(os, "statvfs", return_value=flags):
            self.assertIn("mounted read-only", self.refused(5, "on", "mlx5_0", "--persist"))
        self.host.modprobe_d.rmdir()
        self.assertIn("does not exist", self.refused(5, "on", "mlx5_0", "--persist"))

    def test_write_that_fails_after_the_switch(self):
        with mock.patch.object(os, "fsync", side_effect=OSError(errno.ENOSPC, "No space left")):
            self.assertEqual(self.call("on", "mlx5_0", "--persist"), 7)
        self.assertIn("could not be written (No space left)", self.one_error())
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})
        self.assertEqual(os.listdir(self.host.modprobe_d), [])

    def test_other_devices_are_named(self):
        self.host.take(self.host.function(SECOND, 1), "mlx5_ib")
        self.assertEqual(self.call("on", FIRST, "--persist"), 0)
        self.assertIn(f"for all devices of this host, also for {SECOND}", self.err)

    def test_all_devices_are_switched_for_all_boots(self):
        self.assertEqual(self.call("on", "--all", "--persist"), 0)
        self.assertEqual(self.err, "")
        self.assertEqual(self.call("off", "--all", "--persist", "--dry-run"), 0)
        self.assertEqual(self.out.splitlines()[-1], f"would remove {self.conf()}")
        self.assertTrue(self.conf().exists())

    def initramfs(self):
        """Two kernels with an initramfs, one of them without bluebell.ko; and a third without
        initramfs. Returns the command that has to be called."""
        for release, built, initrd in ((fake.RELEASE, True, True), ("6.1", False, True),
                                       ("7.2", True, False)):
            (self.host.lib_modules / release).mkdir(parents=True)
            if built:
                self.host.put(f"lib/modules/{release}/updates/dkms/bluebell.ko.xz", "")
            if initrd:
                self.host.put(f"boot/initrd.img-{release}", "")
        return f"update-initramfs -u -k {fake.RELEASE}"

    def test_initramfs_is_made_again(self):
        command = self.initramfs()
        self.assertEqual(self.call("on", FIRST, "--persist", "--dry-run"), 0)
        self.assertEqual(self.out.splitlines()[-1], f"would make an initramfs again: {command}")
        self.assertEqual(self.host.steps, [])
        for word in ("on", "off"):
            self.host.steps.clear()
            self.assertEqual(self.call(word, FIRST, "--persist"), 0, self.err)
            self.assertEqual(self.host.steps[-1], command)
            self.assertEqual(self.host.steps.count(command), 1)
            self.host.steps.clear()
            # Nothing has changed.
            self.assertEqual(self.call(word, FIRST, "--persist"), 0)
            self.assertEqual(self.call(word, FIRST), 0)
            self.assertEqual(self.host.steps, [])

    def test_initramfs_of_dracut(self):
        self.initramfs()
        self.host.put("usr/bin/dracut", "")
        self.assertEqual(self.call("on", FIRST, "--persist"), 0, self.err)
        self.assertEqual(self.host.steps[-1], f"dracut --force --kver {fake.RELEASE} "
                         f"{self.host.boot}/initrd.img-{fake.RELEASE}")
        self.host.put("usr/sbin/update-initramfs", "")
        self.assertEqual(self.call("off", FIRST, "--persist"), 0, self.err)
        self.assertTrue(self.host.steps[-1].startswith("update-initramfs"))

    def test_initramfs_has_a_quarter_of_an_hour(self):
        self.initramfs()
        with mock.patch.object(self.host, "command", return_value=(0, "", "")) as command, \
                contextlib.redirect_stderr(io.StringIO()):
            persist.make_initramfs(self.host)
        self.assertEqual([call.kwargs for call in command.call_args_list], [{"seconds": 900}])

    def test_initramfs_that_cannot_be_made(self):
        command = self.initramfs()
        self.host.initramfs_error = "update-initramfs: failed for initrd"
        self.assertEqual(self.call("on", FIRST, "--persist"), 7)
        self.assertIn(f"(update-initramfs: failed for initrd), and mlx5_ib may be loaded from it "
                      f"first: do '{command}'", self.one_error())
        self.assertEqual(self.host.drivers(), {FIRST: "bluebell"})

    def test_line_in_another_file(self):
        self.host.put("etc/modprobe.d/site.conf", "softdep  mlx5_ib pre: bluebell\n")
        self.assertEqual(self.call("off", "mlx5_0", "--persist"), 0)
        self.assertIn("another file", self.err)
        self.assertTrue((self.host.modprobe_d / "site.conf").exists())

    def test_file_and_folder_are_on_the_disk(self):
        for function in (persist.write, persist.remove):
            with mock.patch.object(os, "fsync") as fsync:
                function(self.host)
            self.assertEqual(fsync.call_count, 2 if function is persist.write else 1)

    def test_temporary_file_is_not_read_by_modprobe(self):
        seen = []
        fsync = os.fsync
        with mock.patch.object(os, "fsync", side_effect=lambda number: (
                seen.extend(os.listdir(self.host.modprobe_d)), fsync(number))):
            persist.write(self.host)
        self.assertTrue(seen and not seen[0].endswith(".conf"), seen)


class Status(OnATree):
    """status."""

    def test_text(self):
        self.host.take(self.host.function(SECOND, 1, link_layer="Ethernet", ports=2), "mlx5_ib")
        self.host.function(THIRD, 2)
        self.host.process(4321, "ib_send_bw", "/dev/infiniband/uverbs0")
        self.assertEqual(self.call(), 0)
        self.assertEqual(self.out.splitlines(), [
            f"{FIRST}: mlx5_ib, mlx5_0, InfiniBand",
            "    port 1 ACTIVE (LinkUp)",
            "    used by process 4321 (ib_send_bw; uverbs0): ib_send_bw -d mlx5_0",
            f"{SECOND}: mlx5_ib, mlx5_1, Ethernet",
            "    port 1 ACTIVE (LinkUp)",
            "    port 2 ACTIVE (LinkUp)",
            "    not for Bluebell: it has more than one port, which Bluebell cannot drive yet",
            f"{THIRD}: no driver, no RDMA device, link layer not known",
            f"bluebell: not loaded, /lib/modules/{fake.RELEASE}/updates/dkms/bluebell.ko.xz",
            f"mlx5_ib: loaded, /lib/modules/{fake.RELEASE}/updates/dkms/mlx5_ib.ko.xz",
            "at boot: mlx5_ib"])
        self.assertEqual(self.host.steps, [])

    def test_one_device(self):
        self.host.take(self.host.function(SECOND, 1), "mlx5_ib")
        self.assertEqual(self.call("status", "mlx5_1"), 0)
        self.assertNotIn(FIRST, self.out)
        self.assertIn(SECOND, self.out)
        self.assertEqual(self.call("status", "mlx5_9"), 2)

    def test_json(self):
        self.host.process(4321, "ib_send_bw", "/dev/infiniband/uverbs0")
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=True)
        self.call("on", FIRST, "--persist", "--force")
        self.assertEqual(self.call("--json"), 0)
        found = json.loads(self.out)
        device, = found.pop("devices")
        self.assertEqual(found["at_boot"], "bluebell")
        self.assertEqual(found["file"], str(self.host.root / CONF))
        self.assertTrue(found["modules"]["bluebell"]["loaded"])
        self.assertEqual((device["address"], device["driver"], device["rdma"], device["netdevs"]),
                         (FIRST, "bluebell", ["mlx5_0"], ["ib0"]))
        self.assertEqual(device["ports"], [{"port": 1, "state": "ACTIVE", "physical_state":
                                            "LinkUp", "link_layer": "InfiniBand"}])
        self.assertEqual([user["kind"] for user in device["users"]], ["process", "interface"])
        self.assertEqual(device["users"][0]["pid"], 4321)

    def test_what_belongs_to_another_device_is_left_out(self):
        self.host.take(self.host.function(SECOND, 1), "mlx5_ib")
        self.host.interface("ib0", self.host.folder_of("mlx5_core.rdma.0"), up=True)
        self.host.interface("ib1", self.host.folder_of("mlx5_core.rdma.1"), up=True, index="8")
        for name, kind, below in (("ib0.8001", "32", "7"), ("eth0", "1", "9"), ("ib9", "32", "9"),
                                  ("vlan", "1", "7")):
            self.host.put(f"sys/class/net/{name}/type", kind)
            self.host.put(f"sys/class/net/{name}/iflink", below)
        self.assertEqual(self.call("--json"), 0)
        self.assertIsNone(json.loads(self.out)["file"])
        devices = json.loads(self.out)["devices"]
        self.assertEqual([device["uverbs"] for device in devices], [["uverbs0"], ["uverbs1"]])
        self.assertEqual([device["netdevs"] for device in devices], [["ib0", "ib0.8001"], ["ib1"]])

    def test_other_auxiliary_devices_are_no_devices(self):
        folder = self.host.sys / "devices/pci0000:00/0000:09:00.0"
        for name in ("other.rdma.0", "mlx5_core.vnet.0"):
            (folder / name).mkdir(parents=True)
            self.host.link(f"sys/bus/auxiliary/devices/{name}", folder / name)
        self.host.link("sys/bus/auxiliary/devices/mlx5_core.rdma.9", folder / "gone")
        self.call("--json")
        self.assertEqual([device["address"] for device in json.loads(self.out)["devices"]],
                         [FIRST])

    def test_others_do_not_see_all(self):
        self.call()
        self.assertEqual(self.err, "")
        self.host.root_user = False
        self.assertEqual(self.call(), 0)
        self.assertIn("shown to root only", self.err)

    def test_no_device(self):
        with tempfile.TemporaryDirectory() as folder:
            self.host = FakeHost(Path(folder))
            self.assertEqual(self.call(), 0)
        self.assertIn("mlx5_core drives no device", self.out)

    def test_port_that_does_not_answer(self):
        folder = self.host.folder_of("mlx5_core.rdma.0")
        (folder / "infiniband/mlx5_0/ports/1/state").unlink()
        self.call()
        self.assertIn("port 1 does not answer", self.out)

    def test_wrong_arguments(self):
        for words in (["on"], ["on", "--all", "mlx5_0"], ["status", "--force"], ["up", "mlx5_0"],
                      ["check", "mlx5_0"], ["on", "mlx5_0", "--json"],
                      ["on", FIRST, "--wait", "-1"]):
            self.assertEqual(self.call(*words), 2, words)
        self.assertEqual(self.host.steps, [])


class AfterBoot(OnATree):
    """check."""

    def setUp(self):
        super().setUp()
        persist.write(self.host)
        self.folder = self.host.folder_of("mlx5_core.rdma.0")

    def checked(self, status, *texts):
        """The check has this status, and prints one line with these texts."""
        self.assertEqual(self.call("check"), status, self.err)
        self.assertEqual(len(self.out.splitlines()), 1, self.out)
        for text in texts:
            self.assertIn(text, self.out)

    def test_not_asked_for(self):
        (self.host.root / CONF).unlink()
        self.host.release_driver(self.folder)
        self.checked(0, "nothing to check")
        self.assertEqual(self.host.steps, [])

    def test_bluebell_has_it(self):
        self.call("on", FIRST)
        self.host.steps.clear()
        self.checked(0, f"{FIRST}: bluebell has it (mlx5_0)")
        self.assertEqual(self.host.steps, [])

    def test_stock_driver_has_it_because_nothing_was_built(self):
        self.host.built.remove("bluebell")
        self.host.dkms = "bluebell/1.0: added\n"
        self.checked(3, f"{FIRST}: mlx5_ib has it", "'bluebell/1.0: added'")
        self.host.load("bluebell")
        self.checked(3, f"{FIRST}: mlx5_ib has it: mlx5_ib got it first, perhaps in the initramfs")
        self.assertEqual((self.host.steps, self.host.clock), ([], 0))

    def test_nobody_has_it(self):
        self.host.release_driver(self.folder)
        (self.host.sys / "bus/auxiliary/drivers/mlx5_ib.rdma").rename(
            self.host.sys / "bus/auxiliary/drivers/gone")
        self.host.load_error["bluebell"] = "Key was rejected by service"
        self.checked(3, "given to mlx5_ib", "could not be loaded")
        self.assertEqual(self.host.steps, ["modprobe mlx5_ib"])
        self.assertEqual(self.host.drivers(), {FIRST: "mlx5_ib"})

    def test_nobody_has_it_and_both_are_loaded(self):
        self.host.load("bluebell")
        self.host.release_driver(self.folder)
        self.checked(3, "given to mlx5_ib", "bluebell has refused it")
        self.assertEqual(self.host.steps, [f"bind {FIRST} mlx5_ib"])

    def test_bluebell_has_not_brought_it_up(self):
        self.host.release_driver(self.folder)
        self.host.dead.add("bluebell")
        self.host.load("bluebell")
        self.host.take(self.folder, "bluebell")
        self.checked(3, "given to mlx5_ib", "no RDMA device has come up")
        self.assertEqual(self.host.drivers(), {FIRST: "mlx5_ib"})

    def test_driver_that_comes_late(self):
        self.host.release_driver(self.folder)
        self.host.load("bluebell")
        sleep = self.host.sleep

        def late(seconds):
            sleep(seconds)
            if self.host.clock > 5 and not (self.folder / "mlx5_core.rdma.0/driver").exists():
                self.host.take(self.folder, "bluebell")

        with mock.patch.object(self.host, "sleep", late):
            self.checked(0, "bluebell has it")

    def test_nobody_can_take_it(self):
        self.host.release_driver(self.folder)
        self.host.errors["mlx5_ib", "bind"] = errno.EIO
        self.checked(4, "no driver has it", "mlx5_ib: Input/output error")

    def test_only_root_checks(self):
        self.host.root_user = False
        self.assertIn("needs root", self.refused(5, "check"))

    def test_unit_calls_it(self):
        unit = (TOOL / "bluebell-check.service").read_text(encoding="utf-8")
        self.assertIn(f"\nConditionPathExists=/{CONF}\n", unit)
        program, *words = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
        self.assertEqual(program, "/usr/sbin/bluebell-switch")
        self.assertEqual(self.call(*words), 3)
        self.assertIn("mlx5_ib has it", self.out)

    def test_representors_are_not_looked_at(self):
        folder = self.host.function(SECOND, 1, link_layer="Ethernet")
        (folder / "mlx5_core.rdma-rep.1").mkdir()
        self.host.link("sys/bus/auxiliary/devices/mlx5_core.rdma-rep.1",
                       folder / "mlx5_core.rdma-rep.1")
        self.call("on", FIRST)
        self.checked(0, FIRST)
        self.assertNotIn(SECOND, self.out)


class RealHost(unittest.TestCase):
    """What the tests above replace."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.host = host_module.Host(self.root)

    def test_write_gives_the_errno(self):
        file = self.root / "file"
        file.write_text("")
        self.assertEqual(self.host.write(file, "mlx5_core.rdma.0"), 0)
        self.assertEqual(file.read_text(), "mlx5_core.rdma.0")
        self.assertEqual(self.host.write(self.root / "none", "x"), errno.ENOENT)
        self.assertEqual(self.host.write(Path("/dev/full"), "x"), errno.ENOSPC)

    def test_write_that_blocks_is_given_up(self):
        """A FIFO that nobody reads blocks, as the kernel may."""
        os.mkfifo(self.root / "fifo")
        times = iter(range(0, 10000, 4))
        with mock.patch.object(self.host, "now", side_effect=lambda: next(times)), \
                contextlib.redirect_stderr(io.StringIO()) as err, \
                mock.patch.object(host_module.os, "fork", side_effect=self.remembered_fork):
            self.assertIsNone(self.host.write(self.root / "fifo", "x"))
        self.assertEqual(err.getvalue().count("still waiting for the kernel"), 1)
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    def remembered_fork(self, fork=os.fork):
        """fork(), whose child is killed later."""
        self.child = fork()
        return self.child

    def test_command(self):
        self.assertEqual(self.host.command("sh", "-c", "echo out; echo err >&2; exit 3"),
                         (3, "out\n", "err\n"))
        self.assertEqual(self.host.command("/none/such")[0], 127)
        self.assertIsNone(self.host.json_command("sh", "-c", "echo no json"))
        self.assertIsNone(self.host.json_command("false"))
        self.assertEqual(self.host.json_command("echo", '[{"a": 1}]'), [{"a": 1}])
        self.assertEqual(self.host.json_command("true"), [])

    def test_command_of_the_administrator(self):
        """chroot is in /usr/sbin, which the PATH of an ordinary user lacks."""
        with mock.patch.dict(os.environ, {"PATH": "/none"}):
            self.assertEqual(self.host.command("chroot", "--version")[0], 0)

    def test_character_device(self):
        self.assertIsNone(self.host.character_device(__file__))
        with open("/dev/zero", "rb") as zero, open(__file__, "rb") as file, \
                mock.patch.object(os, "stat", wraps=os.stat) as stat:
            self.assertEqual(self.host.character_device(f"/proc/self/fd/{zero.fileno()}"), (1, 5))
            self.assertEqual(stat.call_count, 1)
            # The status of another file is not asked for.
            self.assertIsNone(self.host.character_device(f"/proc/self/fd/{file.fileno()}"))
            self.assertEqual(stat.call_count, 1)
        self.assertIsNone(self.host.character_device("/none/such"))

    def test_kernel_log(self):
        """What was logged before is left out, and so are a record's head and its dictionary."""
        self.assertEqual(self.host.kernel_log()(), [])
        (self.root / "dev").mkdir()
        log = self.root / "dev/kmsg"
        log.write_text("6,1,1,-;before\n")
        lines = self.host.kernel_log()
        with open(log, "a", encoding="ascii") as file:
            file.write("4,2,2,-;bluebell.rdma mlx5_core.rdma.0: why; not\n SUBSYSTEM=auxiliary\n")
        opened = len(os.listdir("/proc/self/fd"))
        self.assertEqual(lines(), ["bluebell.rdma mlx5_core.rdma.0: why; not"])
        self.assertEqual(len(os.listdir("/proc/self/fd")), opened - 1)


class Completion(OnATree):
    """Completion for bash."""

    def completed(self, line):
        """What is offered at the end of a line, split into words as readline does."""
        script = (f". {TOOL}/bluebell-switch.bash\n"
                  "COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$' \\t\\n:'\n"
                  "read -ra COMP_WORDS <<<\"${1//:/ : }\"\n"
                  "[[ $1 != *' ' ]] || COMP_WORDS+=('')\n"
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bluebell_switch\n"
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script, "bash", line], check=True, text=True,
                              capture_output=True,
                              env={**os.environ, "BLUEBELL_SYSFS": str(self.host.sys)})
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(self.completed("bluebell-switch o"), ["on", "off"])
        self.assertIn("status", self.completed("bluebell-switch "))

    def test_devices(self):
        self.assertEqual(self.completed("bluebell-switch on m"), ["mlx5_0"])
        self.assertIn(FIRST, self.completed("bluebell-switch on "))
        self.assertEqual(self.completed("bluebell-switch on 0000:0"), ["03:00.0"])
        self.assertEqual(self.completed("bluebell-switch check m"), [])

    def test_options_are_those_of_the_program(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, self.assertRaises(SystemExit):
            switch.main(["--help"], self.host)
        offered = {word for command in ("", "on ", "status ", "check ")
                   for word in self.completed(f"bluebell-switch {command}-")}
        self.assertEqual({option for option in offered if f"{option} " not in out.getvalue()},
                         {option for option in offered if option not in out.getvalue()})
        for option in ("--all", "--persist", "--force", "--dry-run", "--wait", "--json"):
            self.assertIn(option, offered)
            self.assertIn(option, out.getvalue())


if __name__ == "__main__":
    unittest.main()
