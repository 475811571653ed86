#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the modules of scripts/vm without a guest: initramfs, QEMU's options, the verdict."""

import contextlib
import io
import os
import socket
import subprocess
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import program
from program import SCRIPTS
from vm import Place, VmError, arch, image, kernel, qemu, run
from vm.root import Root

VM = program.load("vm", "vm_program")
PLACE = Place(scripts=SCRIPTS, profiles=Path("/profiles"), cache=Path("/cache"),
              logs=Path("/logs"), base=SCRIPTS.parent)

REPORTS = """\
WARNING: CPU: 0 PID: 1 at drivers/x.c:1 f+0x1/0x2
BUG: unable to handle page fault for address: 0000
Oops: Oops: 0002 [#1] PREEMPT SMP
BUG: KASAN: slab-use-after-free in f+0x1/0x2
UBSAN: shift-out-of-bounds in drivers/x.c:1:2
refcount_t: underflow; use-after-free.
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
vm-init: not freed: 1 allocated by mlx5_ib_probe+0x1/0x2
DMA-API: mlx5_core 0000:00:03.0: device driver frees DMA memory with different size
WARNING: possible circular locking dependency detected
INFO: task insmod:123 blocked for more than 10 seconds.
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
watchdog: BUG: soft lockup - CPU#0 stuck for 22s!
BUG: sleeping function called from invalid context at mm/slab.h:1
bluebell: Unknown symbol ib_umem_get (err -2)
Kernel panic - not syncing: Fatal exception
Call Trace:
Call trace:
Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008
Internal error: synchronous external abort: 0000000096000010 [#1]  SMP
SError Interrupt on CPU0, code 0x00000000bf000000 -- SError
""".splitlines()
HARMLESS = """\
Command line: console=ttyS0 oops=panic # WARNING: a word of the user's
bluebell-vm: running the command BUG: x
DMA-API: cacheline tracking ENOMEM, dma-debug disabled
mlx5_core 0000:00:03.0: firmware version: 16.35.4030
infiniband mlx5_0: a warning that the driver prints
""".splitlines()
BAD_PAGE = """\
[    9.1] BUG: Bad page state in process x  pfn:1
[    9.1] page: refcount:0 mapcount:0 mapping:0000000000000000 index:0x1 pfn:0x1
[    9.1] flags: 0x100000000000010(dirty|node=0|zone=1)
[    9.1] page dumped because: PAGE_FLAGS_CHECK_AT_PREP flag(s) set
[    9.1] Call Trace:
[    9.1]  </TASK>
""".splitlines()
# The same of an arm64 kernel.
ARM64_BAD_PAGE = [*BAD_PAGE[:4], "[    9.1] Call trace:", "[    9.1]  bad_page+0x8c/0x140",
                  "[    9.1]  el0t_64_sync+0x1ac/0x1b0"]


class Reports(unittest.TestCase):
    """Which lines of a kernel's log fail a run."""

    def bad(self, line):
        """Whether a line is a report."""
        return bool(run.REPORT.search(line) and not run.EXCUSED.search(line))

    def test_reports(self):
        """One line of each kind."""
        for line in REPORTS:
            self.assertTrue(self.bad("[    1.234567] " + line), line)

    def test_what_is_no_report(self):
        """What this program writes, and what drivers print."""
        for line in HARMLESS:
            self.assertFalse(self.bad("[    1.234567] " + line), line)

    def test_known_report_of_the_kernel_is_split_off(self):
        """With the driver that causes the report, it does not count; the lines around it remain."""
        for report in (BAD_PAGE, ARM64_BAD_PAGE):
            kept, known = run.split_known(["before", *report, "after"], "mlx5_ib")
            self.assertEqual((kept[0], kept[-1], len(known)), ("before", "after", 1))
            self.assertFalse([line for line in kept if self.bad(line)])

    def test_known_report_counts_with_another_driver(self):
        """Bluebell does not cause this report, so the report counts."""
        self.assertEqual(run.split_known(BAD_PAGE, "bluebell"), (BAD_PAGE, []))

    def test_report_that_is_a_little_different_counts(self):
        """Each of the patterns has to be found."""
        for index in (1, 2, 3):
            other = [*BAD_PAGE[:index], *BAD_PAGE[index + 1:]]
            self.assertEqual(run.split_known(other, "mlx5_ib"), (other, []))

    def test_known_report_without_an_end_counts(self):
        """The guest has died in the middle of the report."""
        self.assertEqual(run.split_known(BAD_PAGE[:-1], "mlx5_ib"), (BAD_PAGE[:-1], []))


class Verdict(unittest.TestCase):
    """The exit status of a run, from the steps of its guest and the failures that were found."""

    def setUp(self):
        self.run = run.Run.__new__(run.Run)
        self.run.failures, self.run.status, self.run.hca = [], None, None
        self.run.args = types.SimpleNamespace(link="ib")
        self.run.start_time = time.monotonic()
        self.answers = []
        self.guest = types.SimpleNamespace(host=1, state="", controls=[],
                                           answer=lambda text="ok": self.answers.append(text))
        self.run.guests = [self.guest]

    def steps(self, *steps):
        """The exit status of a run in which the guest reports these steps."""
        with contextlib.redirect_stderr(io.StringIO()) as err:
            for step in steps:
                word, _, rest = step.partition(" ")
                self.run.take_step(self.guest, word, rest)
            status = self.run.verdict()
        self.text = err.getvalue()
        return status

    def test_status_of_the_command(self):
        """The run has the exit status of the command."""
        self.assertEqual(self.steps("status 0"), 0)
        self.assertIn("vm: ok: ", self.text)
        self.assertEqual(self.steps("status 7"), 7)
        self.assertNotIn("ok: ", self.text)

    def test_failure_of_a_successful_command(self):
        """A failure is a report in the kernel's log, for example."""
        self.run.failures = ["report"]
        self.assertEqual(self.steps("status 0"), run.EXIT_REPORT)

    def test_failure_keeps_the_status_of_the_command(self):
        """The command's own status says more."""
        self.run.failures = ["report"]
        self.assertEqual(self.steps("status 7"), 7)

    def test_guest_that_does_not_come_up(self):
        """The init of the guest says why."""
        self.assertEqual(self.steps("fail cannot load bluebell.ko"), run.EXIT_VM)
        self.assertIn("host 1: cannot load bluebell.ko", self.text)
        self.run.failures, self.run.status = [], None
        self.assertEqual(self.steps("status 7", "fail cannot unload bluebell.ko"), 7)

    def control(self, **answers):
        """A connection to an HCA with these answers."""
        self.guest.controls = [types.SimpleNamespace(request=lambda line: answers[line])]

    def test_census(self):
        """What the verbs driver leaves fails the run; EQs of mlx5_core, and on an Ethernet port the
        queues of its netdev, do not."""
        for link, delta, status in (("ib", {"eq": 1, "cq": 0}, 0),
                                    ("ib", {"cq": 1}, run.EXIT_REPORT),
                                    ("eth", {"cq": 1, "flow_entry": -1}, 0),
                                    ("eth", {"qp": 1}, run.EXIT_REPORT)):
            self.run.failures = []
            self.run.args.link = link
            self.control(census={"delta": delta})
            self.assertEqual(self.steps("status 0", "driver-unloaded"), status)
            self.assertEqual(self.answers.pop(), "ok")

    def test_everything_counts_after_mlx5_cores_unload(self):
        """An EQ that is left then is a failure, too, and so is a refusal that no test announced."""
        none = {"list": [], "unlisted": 0}
        refusal = {"list": [{"kind": "command", "name": "CREATE_CQ", "status": "BAD_PARAM",
                             "count": 2, "cause": "cqe_sz", "why": "too large"}], "unlisted": 1}
        for total, unexpected, status in ((0, none, 0), (1, none, run.EXIT_REPORT),
                                          (0, refusal, run.EXIT_REPORT)):
            self.run.failures = []
            self.control(census={"objects": {"eq": {"total": total}}}, unexpected=unexpected)
            self.assertEqual(self.steps("status 0", "core-unloaded"), status)
        self.assertIn("CREATE_CQ BAD_PARAM, 2 times (cqe_sz: too large)", self.text)

    def test_hca_that_was_pulled_out_is_not_judged(self):
        """Its objects are gone with it."""
        self.control(census={"unplugged": True, "delta": {"cq": 1}})
        self.assertEqual(self.steps("status 0", "driver-unloaded"), 0)


class Hca(unittest.TestCase):
    """How the process with the HCAs is started."""

    def test_options(self):
        """A socket and a control socket for each HCA; what is not asked for is left out."""
        one = run.Run.__new__(run.Run)
        with tempfile.TemporaryDirectory() as directory:
            one.logs, one.place = Path(directory), PLACE
            one.args = types.SimpleNamespace(hca="/bin/true", link="ib", profile="p.json",
                                             trace=None, capture="c.pcap", impair=None,
                                             peer_nic="virtio-net-pci")
            one.directory = Path("/d")
            one.guests = [types.SimpleNamespace(path=lambda name, host=host: f"/d/{name}-{host}",
                                                hcas=["", 2] if host == 1 else [""], controls=[])
                          for host in (1, 2)]
            with mock.patch.object(run.subprocess, "Popen") as popen, \
                    mock.patch.object(run, "wait_for_socket"), mock.patch.object(run, "Control"):
                one.start_hca()
        self.assertEqual(" ".join(popen.call_args.args[0]),
                         "/bin/true --link ib --profile p.json --capture c.pcap --peer /d/peer "
                         "--socket /d/vfio-user-1 --control /d/control-1 "
                         "--socket /d/vfio-user2-1 --control /d/control2-1 "
                         "--socket /d/vfio-user-2 --control /d/control-2")

    def test_missing_program(self):
        """The error says what to do."""
        one = run.Run.__new__(run.Run)
        one.args, one.place = types.SimpleNamespace(hca="/none", link="ib"), PLACE
        with self.assertRaisesRegex(VmError, "cannot find /none: do 'make hca'"):
            one.start_hca()


class Kernels(unittest.TestCase):
    """Which kernel and which of its modules are used."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.modules = Path(directory.name)
        (self.modules / "modules.dep").write_text(
            "kernel/mlx5_core.ko.xz: kernel/mlxfw.ko.xz kernel/psample.ko.xz\n"
            "kernel/ib-uverbs.ko: kernel/ib_core.ko\nkernel/ib_core.ko:\n", encoding="utf-8")
        (self.modules / "modules.builtin").write_text("kernel/fs/overlay.ko\n", encoding="utf-8")
        self.kernel = types.SimpleNamespace(modules=self.modules, release="7.2")

    def names(self, *wanted):
        """The files of modules, in the order of their loading."""
        return [path.name for path in kernel.module_files(self.kernel, wanted)]

    def test_dependencies_come_first(self):
        """depmod lists dependencies in the reverse order. A module that is built in has no file."""
        self.assertEqual(self.names("overlay", "mlx5_core", "ib_uverbs", "ib_core"),
                         ["psample.ko.xz", "mlxfw.ko.xz", "mlx5_core.ko.xz", "ib_core.ko",
                          "ib-uverbs.ko"])

    def test_missing_module(self):
        """A missing module is an error, unless guests can do without the module."""
        self.assertEqual(self.names("virtio_net"), [])
        with self.assertRaisesRegex(VmError, "no module mlx5_ib"):
            self.names("mlx5_ib")

    def test_newest_kernel_of_those_that_are_meant(self):
        """Versions are compared as numbers, and may be abbreviated by whole numbers. The stock
        kernel is none of those that scripts/lab --kernel has added, or has begun to add."""
        for release in ("6.1.9+deb13", "6.12.9+deb13", "6.12.10+deb13", "7.2.3+deb13",
                        "7.3.1+deb13", "7.3.2+deb13"):
            (self.modules / release).mkdir()
            (self.modules / release / "vmlinuz").touch()
        (self.modules / "7.3.1+deb13/added-to-lab").write_text("complete\n", encoding="utf-8")
        (self.modules / "7.3.2+deb13/added-to-lab").write_text("begun\n", encoding="utf-8")
        (self.modules / "9.9").mkdir()
        found = {name: kernel.find_kernel(name, SCRIPTS.parent, self.modules).release
                 for name in ("stock", "6.1", "6.12", "6.12.9", "7", "7.2.3+deb13")}
        for name in ("8", "9.9", "6.12.1"):
            with self.assertRaisesRegex(VmError, f"cannot find a kernel {name} among .*6.12.9"):
                kernel.find_kernel(name, SCRIPTS.parent, self.modules)
        self.assertEqual(found, {"stock": "7.2.3+deb13", "6.1": "6.1.9+deb13",
                                 "6.12": "6.12.10+deb13", "6.12.9": "6.12.9+deb13",
                                 "7": "7.3.1+deb13", "7.2.3+deb13": "7.2.3+deb13"})

    def test_folder_of_kernels_is_a_symbolic_link(self):
        """On some distributions /lib/modules is one."""
        (self.modules / "7.2.3").mkdir()
        (self.modules / "7.2.3/vmlinuz").touch()
        (self.modules / "link").symlink_to(self.modules)
        found = kernel.find_kernel("stock", SCRIPTS.parent, self.modules / "link")
        self.assertEqual(found.release, "7.2.3")

    def test_kernel_is_added_to_the_lab(self):
        """A version makes scripts/lab add its series."""
        for name, option in (("6.12.9+deb13", ["--kernel", "6.12"]), ("7.3", ["--kernel", "7.3"]),
                             ("7.3-16k", ["--kernel", "7.3"]), ("stock", []), ("debug", []),
                             ("stock-16k", [])):
            self.assertEqual(kernel.kernel_to_add(name), option)

    def test_pages_of_16_kib(self):
        """A kernel has them if its name says so, and is not meant if the wanted name does not."""
        for release in ("7.2.3+deb13-arm64", "7.2.4+deb13-arm64-16k", "7.2.3+deb13-arm64-16k"):
            (self.modules / release).mkdir()
            (self.modules / release / "vmlinuz").touch()
        with mock.patch.dict(os.environ, BLUEBELL_LAB_ARM64=str(self.modules)):
            found = {name: kernel.find_kernel(name, SCRIPTS.parent, self.modules,
                                              arch.ARM64).release
                     for name in ("stock", "7.2", "stock-16k", "7-16k", "7.2.3-16k",
                                  "7.2.3+deb13-arm64", "7.2.3+deb13-arm64-16k")}
        self.assertEqual(found, {"stock": "7.2.3+deb13-arm64", "7.2": "7.2.3+deb13-arm64",
                                 "stock-16k": "7.2.4+deb13-arm64-16k",
                                 "7-16k": "7.2.4+deb13-arm64-16k",
                                 "7.2.3-16k": "7.2.3+deb13-arm64-16k",
                                 "7.2.3+deb13-arm64": "7.2.3+deb13-arm64",
                                 "7.2.3+deb13-arm64-16k": "7.2.3+deb13-arm64-16k"})

    def test_files_of_an_arm64_guest(self):
        """The kernel is that of the guest's own tree, and the module that of build-module."""
        modules = self.modules / "lib/modules/6.12.9+deb13-arm64"
        modules.mkdir(parents=True)
        (self.modules / "boot").mkdir()
        (self.modules / "boot/vmlinuz-6.12.9+deb13-arm64").touch()
        with mock.patch.dict(os.environ, BLUEBELL_LAB_ARM64=str(self.modules)):
            stock = kernel.find_kernel("stock", SCRIPTS.parent, arch=arch.ARM64)
            other = kernel.find_kernel("6.12", SCRIPTS.parent, arch=arch.ARM64)
        self.assertEqual(stock.image, self.modules / "boot/vmlinuz-6.12.9+deb13-arm64")
        self.assertEqual(image.boot_image(stock, PLACE.cache), stock.image)
        self.assertEqual([one.driver.parent.name for one in (stock, other)],
                         ["stock-arm64", "6.12.9+deb13-arm64"])

    def test_arm64_guest_without_its_tree(self):
        """The error says what adds the tree."""
        for root in ("", "/none"):
            with mock.patch.dict(os.environ, BLUEBELL_LAB_ARM64=root), \
                    self.assertRaisesRegex(VmError, "'scripts/lab --arch arm64' adds it"):
                kernel.find_kernel("stock", SCRIPTS.parent, arch=arch.ARM64)

    def test_key_changes_with_a_file(self):
        """The initramfs in the cache is another one when a file has changed."""
        path = self.modules / "modules.dep"
        before = image.key_of([path])
        self.assertEqual(image.key_of([path]), before)
        os.utime(path, ns=(0, 0))
        self.assertNotEqual(image.key_of([path]), before)

    def test_initramfs_is_a_cpio_archive(self):
        """cpio(1) lists what was added, with its directories, and finds the contents."""
        archive = image.Cpio()
        archive.file("a/b/file", b"odd", 0o755)
        archive.file("a/other", b"")
        archive.symlink("a/link", "b/file")
        data = archive.bytes()
        listed = subprocess.run(["cpio", "-t", "--quiet"], input=data, check=True,
                                stdout=subprocess.PIPE, text=False).stdout.decode().split()
        self.assertEqual(listed, ["a", "a/b", "a/b/file", "a/other", "a/link"])
        subprocess.run(["cpio", "-id", "--quiet"], input=data, check=True, cwd=self.modules)
        self.assertEqual((self.modules / "a/link").read_bytes(), b"odd")
        self.assertTrue(os.access(self.modules / "a/b/file", os.X_OK))


class Qemu(unittest.TestCase):
    """QEMU's command line."""

    DEFAULTS = {"icount": False, "in_turn": False, "iommu": False, "swiotlb": False, "hca": "x",
                "hosts": 1, "hcas": 1, "answered_writes": False, "oops_panic": False,
                "command": ["true"], "memory": None, "cpus": 2, "append": [], "nic": [],
                "peer_nic": None}

    def options(self, accel="tcg", debug=False, machine=arch.AMD64, **changes):
        """The command line for these options of scripts/vm, as one text."""
        around = types.SimpleNamespace(
            args=types.SimpleNamespace(**{**self.DEFAULTS, **changes}), accel=accel,
            kernel=types.SimpleNamespace(debug=debug, arch=machine), logs=Path("/logs"),
            directory=Path("/d"), image="/image", place=PLACE, root=Root(),
            qemu=[machine.qemu])
        guest = qemu.Guest(around, 1)
        guest.ports = dict.fromkeys(("ctl", "out", "err"))
        return " ".join(str(word) for word in guest.qemu_command("/initrd"))

    def test_what_an_option_adds(self):
        """Each text is in the command line with its option, and not without the option."""
        for text, changes in (
                ("tsc=unstable", {}), ("init_on_alloc=1", {}), ("thread=multi", {}),
                ("-m 1536M ", {}), ("-m 3072M ", {"debug": True}), ("-m 99M ", {"memory": 99}),
                ("-m 2560M ", {"swiotlb": True}), ("swiotlb=262144,force", {"swiotlb": True}),
                ("thread=single", {"in_turn": True}), ("thread=single", {"icount": True}),
                ("-icount shift=1", {"icount": True}), ("intel_iommu=on", {"iommu": True}),
                ("-device intel-iommu", {"iommu": True}), ("oops=panic", {"oops_panic": True}),
                ('"x-no-posted-writes": true', {"answered_writes": True}),
                ("mac=52:54:00:66:00:01", {"hosts": 2}), ("vfio-user2-1", {"hcas": 2}),
                ("-device e1000e,netdev=nic2,romfile=,mac=52:54:00:67:02:01",
                 {"hosts": 2, "nic": ["virtio-net-pci", "e1000e"]}),
                ("id=nic1,server=on,", {"hosts": 2, "nic": ["e1000e"]}),
                ("server=off,addr.type=unix,addr.path=/d/peer", {"peer_nic": "virtio-net-pci"}),
                ("-device e1000e,netdev=peer,romfile=,mac=52:54:00:68:00:01",
                 {"peer_nic": "e1000e"}),
                ("chassis=2,slot=2", {"hcas": 2}), ("name=bluebell.hca2,nr=5", {"hcas": 2}),
                ("chardev=shell", {"command": []}),
                ("kernel-irqchip=split", {"iommu": True, "accel": "kvm"}),
                ("id=hca,path=/d/control-1", {}), ("vfio-user-1", {}),
                ("cryptomgr.notests a b", {"append": ["a b"]})):
            self.assertIn(text, self.options(**changes))
            if changes:
                self.assertNotIn(text, self.options())

    def test_what_an_option_leaves_out(self):
        """Clocks that count instructions can be trusted; KVM needs no options of emulation."""
        self.assertNotIn("tsc=unstable", self.options(icount=True))
        self.assertNotRegex(self.options(accel="kvm"), "tsc=unstable|init_on_alloc|tcg")
        self.assertNotRegex(self.options(hca="none"), "vfio-user|id=hca")

    def test_architectures(self):
        """Each has its machine, processor and console; clocks of amd64 are not those of arm64."""
        for machine, words in ((arch.AMD64, ("qemu-system-x86_64 ", "-machine q35,", "-cpu Nehalem",
                                             "console=ttyS0 ", "clocksource=hpet")),
                               (arch.ARM64, ("qemu-system-aarch64 ", "-machine virt,",
                                             "-cpu neoverse-n1 ", "console=ttyAMA0 "))):
            for word in words:
                for other in arch.ARCHES.values():
                    has = word in self.options(machine=other)
                    self.assertEqual(has, other is machine, (word, other.name))
        for word in ("vfio-user-pci", "init_on_alloc=1", "virtserialport", "thread=multi"):
            self.assertIn(word, self.options(machine=arch.ARM64))

    def test_iommu_comes_before_the_hca(self):
        """Only devices that come after the IOMMU are behind it."""
        options = self.options(iommu=True)
        self.assertLess(options.index("-device intel-iommu"), options.index("vfio-user-pci"))


class CommandLine(unittest.TestCase):
    """What scripts/vm refuses before it starts anything."""

    def parse(self, text):
        """The arguments, or the error."""
        with mock.patch.object(VM.sys, "argv", ["vm", *text.split(), "--", "true"]), \
                contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                return VM.parse_arguments(PLACE)
            except SystemExit as end:
                self.assertEqual(end.code, run.EXIT_USAGE)
                return err.getvalue()

    def test_architecture(self):
        """A guest is for this machine's architecture unless told otherwise."""
        self.assertEqual((self.parse("").arch, self.parse("--arch arm64").arch),
                         ("amd64", "arm64"))
        self.assertEqual(self.parse("--arch arm64 --kernel stock-16k").kernel, "stock-16k")

    def test_what_an_architecture_cannot_have(self):
        """The error says why, or what is missing."""
        for text, said in (("--arch mips", "invalid choice: 'mips'"),
                           ("--kernel stock-16k", "add --arch arm64"),
                           ("--kernel 7.3-16k --arch amd64", "add --arch arm64"),
                           ("--arch arm64 --accel kvm", "needs QEMU's emulator"),
                           ("--arch arm64 --kernel debug", "no debug kernel for arm64"),
                           ("--arch arm64 --iommu", "have no IOMMU")):
            self.assertIn(said, self.parse(text))

    def test_wires_connect_two_guests(self):
        """A NIC of QEMU's needs its like in one other guest."""
        self.assertIn("--nic needs --hosts 2", self.parse("--nic e1000e"))
        self.assertIn("--nic needs --hosts 2", self.parse("--nic e1000e --hosts 3"))
        for options in ("", "--link ib", "--link eth --hca none --driver none"):
            self.assertIn("--peer-nic needs --link eth, and HCAs",
                          self.parse(f"--peer-nic e1000e {options}"))
        self.assertEqual(self.parse("--peer-nic e1000e --link eth").peer_nic, "e1000e")
        self.assertEqual(self.parse("--nic e1000e --nic tulip --hosts 2").nic, ["e1000e", "tulip"])

    def test_nothing_is_fetched_for_what_is_refused(self):
        """The arguments are looked at before scripts/lab adds anything. It adds what guests with an
        Ethernet port use only for these."""
        for text, entered in (("--arch arm64 --kernel debug", False), ("--arch arm64", True),
                              ("--link eth", True), ("--link eth --arch arm64", True)):
            with mock.patch.dict(os.environ), mock.patch.object(VM.os, "execv") as execv, \
                    mock.patch.object(VM.sys, "argv", ["vm", *text.split(), "--", "true"]), \
                    contextlib.redirect_stderr(io.StringIO()):
                os.environ.pop("BLUEBELL_LAB", None)
                os.environ.pop("LAB", None)
                execv.side_effect = SystemExit
                with self.assertRaises(SystemExit):
                    VM.main()
                self.assertEqual(execv.called, entered)
                if entered:
                    words = execv.call_args.args[1]
                    self.assertEqual((words[1] == "--arch=arm64", words[2] == "--ethernet"),
                                     ("arm64" in text, text == "--link eth"))


class Build(unittest.TestCase):
    """What scripts/build-module refuses before it enters the lab."""

    def test_what_is_refused(self):
        """The error says what would be right."""
        around = {name: value for name, value in os.environ.items()
                  if name not in ("BLUEBELL_LAB", "BLUEBELL_LAB_ARM64")}
        for words, said in ((["--arch", "mips"], "--arch takes amd64 or arm64, not 'mips'"),
                            (["--arch"], "--arch takes amd64 or arm64, not ''"),
                            (["--fast"], "unknown option --fast"),
                            (["stock-16k"], "only kernels of --arch arm64 have pages of 16 KiB"),
                            (["--arch", "arm64", "debug"], "no debug kernel for arm64"),
                            (["--arch", "arm64"], "'scripts/lab --arch arm64' adds them")):
            done = subprocess.run([program.SCRIPTS / "build-module", *words], text=True,
                                  check=False, env={**around, "LAB": "host"},
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            self.assertEqual((done.returncode, said in done.stderr), (1, True), done.stderr)


class Ethernet(unittest.TestCase):
    """The switch between the guests."""

    def test_frames_go_to_all_others(self):
        """A frame in two parts is sent when it is complete; the sender does not get it."""
        pairs = [socket.socketpair() for _ in range(3)]
        ports = [pair[0] for pair in pairs]
        frame = b"\0\0\0\x05hello"
        self.assertEqual(qemu.Switch.forward(ports[0], frame[:6], ports), frame[:6])
        self.assertEqual(qemu.Switch.forward(ports[0], frame + frame[:2], ports), frame[:2])
        received = []
        for _, guest in pairs:
            guest.setblocking(False)
            try:
                received.append(guest.recv(100))
            except BlockingIOError:
                received.append(b"")
        for pair in pairs:
            for end in pair:
                end.close()
        self.assertEqual(received, [b"", frame, frame])


if __name__ == "__main__":
    unittest.main()
