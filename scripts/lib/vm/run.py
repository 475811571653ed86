# SPDX-License-Identifier: GPL-2.0
"""The run of all guests: the HCA, the steps that the guests report, the judgement at the end."""

import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from vm import VmError, modified, say
from vm.arch import AMD64
from vm.image import base_initramfs, boot_image
from vm.qemu import Guest, Switch, kvm_works, wait_for_socket

KEPT_LOGS = 60

# The exit statuses of this program. Any other is the command's.
EXIT_USAGE = 2
EXIT_TIMEOUT = 124
EXIT_VM = 125
EXIT_REPORT = 99

# A line of the kernel's log that matches REPORT, and does not match EXCUSED, is a report.
REPORT = re.compile(
    r"WARNING: |\bWARN(_ON)?\b|\bBUG: |kernel BUG at|\bOops\b|"
    r"KASAN: |UBSAN: |KCSAN: |KFENCE: |KMSAN: |"
    r"Call [Tt]race:|general protection fault|[Uu]nable to handle|unreferenced object|"
    r"Internal error: |SError Interrupt|"
    r"suspected memory leak|vm-init: not freed: |"
    r"DMA-API: .*(device driver|exceeded|overlapping|cacheline|leak|not mapped)|"
    r"possible (recursive|circular|irq|deadlock)|lock held when returning|suspicious RCU usage|"
    r"INFO: (task|rcu|possible|suspicious|trying|lockdep)|rcu: INFO|soft lockup|hard LOCKUP|"
    r"refcount_t: |ODEBUG: |list_(add|del) corruption|Kernel panic|scheduling while atomic|"
    r"sleeping function called|bad page|page allocation failure|Unknown symbol|"
    r"segfault at .*(ib_|mlx5)|Unable to (mount|find)|stack-protector|invalid opcode")
# Lines that are no report: what this program writes, and the message that the checks of the DMA API
# end, because fail_nth let one of their own allocations fail.
EXCUSED = re.compile(r"bluebell-vm: |Command line: |"
                     r"DMA-API: cacheline tracking ENOMEM, dma-debug disabled")


@dataclass
class Known:
    """A report of a mistake of the kernel itself, which is printed and does not fail the run."""

    reason: str
    first: re.Pattern   # matches the first line of the report
    last: re.Pattern    # matches the line that ends the report
    inside: list        # patterns, each of which matches a line of the report
    drivers: tuple      # with which the report does not fail the run


# The end of a stack: amd64 kernels mark it; on arm64 it is the entry to the kernel, or the
# beginning of a thread.
END_OF_STACK = re.compile(r"</TASK>| el0t_64_sync\+| ret_from_fork\+")

KNOWN = [
    # Bluebell never causes this report, so with Bluebell it fails the run.
    Known("ib_umem_odp_map_dma_and_lock() races with invalidation, see Documentation/testing.rst",
          re.compile(r"BUG: Bad page state"), END_OF_STACK,
          [re.compile(r"page: refcount:0 mapcount:0 mapping:0+ "),
           re.compile(r"flags: 0x\w+\(dirty\|node="),
           re.compile(r"PAGE_FLAGS_CHECK_AT_PREP flag\(s\) set")], ("mlx5_ib",)),
    Known("ib_cm reports two events of a connection at a time, see Documentation/testing.rst",
          re.compile(r"BUG: KASAN: slab-use-after-free in __mutex_lock"), re.compile(r"={60}"),
          [re.compile(r"Workqueue: ib_cm cm_work_handler"), re.compile(r" cma_ib_handler\+"),
           re.compile(r" rpcrdma_xprt_connect\+"), re.compile(r" destroy_id_handler_unlock\+"),
           re.compile(r" cm_send_handler\+")], ("bluebell", "mlx5_ib")),
]


def split_known(lines, driver):
    """Split off the reports that KNOWN describes. Returns the other lines, and what is known:
    (first line, reason)."""
    kept, known, index = [], [], 0
    while index < len(lines):
        for kind in KNOWN:
            if driver not in kind.drivers or not kind.first.search(lines[index]):
                continue
            ends = (end for end in range(index, min(index + 150, len(lines)))
                    if kind.last.search(lines[end]))
            report = lines[index:next(ends, index)]
            if report and all(any(pattern.search(line) for line in report)
                              for pattern in kind.inside):
                known.append((lines[index].strip(), kind.reason))
                index += len(report)
                break
        else:
            kept.append(lines[index])
        index += 1
    return kept, known


class Control:
    """The host's connection to the control socket of one HCA: each request is a line, each answer a
    JSON line."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.connect(path)
        self.lines = self.sock.makefile("r", encoding="utf-8")

    def connect(self, path):
        """Connect to the socket, which the HCA binds before it listens."""
        deadline = time.monotonic() + 10
        while True:
            try:
                self.sock.connect(str(path))
                return
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise VmError(f"the HCA does not listen on {path}") from None
                time.sleep(0.02)

    def request(self, line):
        """Send a request. Returns the answer."""
        try:
            self.sock.sendall(line.encode() + b"\n")
            answer = self.lines.readline()
            result = json.loads(answer) if answer else None
        except (OSError, ValueError) as err:
            raise VmError(f"the HCA does not answer '{line}': {err}") from None
        if not result or not result.get("ok"):
            raise VmError(f"the HCA refuses '{line}': {result}")
        return result


# What the netdev of an Ethernet port creates and destroys while the command runs: it opens and
# closes its queues, and follows the addresses of the interface.
NETDEV_KINDS = ("cq", "flow_entry", "flow_group", "flow_table", "qcounter", "rq", "rqt", "sq",
                "td", "tir", "tis")


def foreign_objects(census, link):
    """The objects by which a census exceeds the baseline. mlx5_core creates a completion EQ when
    its vector is first used, and keeps it until mlx5_core is unloaded, so EQs are judged only
    then, and so is what the netdev has."""
    skip = ("eq", *NETDEV_KINDS) if link == "eth" else ("eq",)
    return {kind: count for kind, count in census.get("delta", {}).items() if count
            and kind not in skip}


class Run:
    """All guests of one run, and its result."""

    status_only = False     # whether the command's status counts and nothing else

    def __init__(self, args, place, kernel, root, directory):
        self.args = args
        self.place = place
        self.directory = directory
        self.kernel = kernel
        self.root = root
        self.qemu = place.qemu if kernel.arch is AMD64 else [kernel.arch.qemu]
        self.status_only = getattr(args, "status_only", False)
        self.accel = args.accel
        if self.accel == "auto":
            own = self.kernel.arch is AMD64
            self.accel = "kvm" if own and kvm_works(self.kernel, place) else "tcg"
        self.image = boot_image(self.kernel, place.cache)
        self.base = base_initramfs(self.kernel, place, args.driver, bool(root.image))
        self.start_time = time.monotonic()
        self.logs = place.logs / f"vm-{time.strftime('%m%d-%H%M%S')}-{directory.name[-4:]}"
        self.logs.mkdir(parents=True)
        self.status = None
        self.failures = []
        self.hca = None
        self.guests = [Guest(self, host) for host in range(1, args.hosts + 1)]
        self.selector = selectors.DefaultSelector()
        self.deadline = None

    def fail(self, text):
        """Note a reason why the run fails, whatever the command's exit status."""
        if text not in self.failures:
            self.failures.append(text)
            say("FAIL: " + text)

    def start_hca(self):
        """Start one process with all HCAs, which share a fabric."""
        if self.args.hca == "none":
            return
        binary = Path(self.args.hca)
        if not binary.exists():
            raise VmError(f"cannot find {binary}: {self.place.no_hca}")
        command = [*self.place.wrapper, binary, "--link", self.args.link]
        for option in ("profile", "trace", "capture", "impair"):
            value = getattr(self.args, option)
            if value:
                command += [f"--{option}", value]
        if self.args.peer_nic:
            command += ["--peer", self.directory / "peer"]
        hcas = [(guest, hca) for guest in self.guests for hca in guest.hcas]
        for guest, hca in hcas:
            command += ["--socket", guest.path(f"vfio-user{hca}"),
                        "--control", guest.path(f"control{hca}")]
        with open(self.logs / "hca.log", "wb") as log:
            self.hca = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log)
        for guest, hca in hcas:
            for name in (f"vfio-user{hca}", f"control{hca}"):
                wait_for_socket(guest.path(name), self.hca, "hca", self.logs)
            guest.controls.append(Control(guest.path(f"control{hca}")))

    def start(self):
        """Start the HCAs and the guests."""
        self.start_hca()
        if self.args.hosts > 1:
            Switch(self.directory / "net", self.args.hosts).start()
        for guest in self.guests:
            guest.start()
            for name, port in guest.ports.items():
                self.selector.register(port, selectors.EVENT_READ, (guest, name))
        if self.args.timeout:
            self.deadline = time.monotonic() + self.args.timeout

    def loop(self):
        """Pass on the guests' output and answer their init until all guests have ended."""
        while self.selector.get_map():
            for key, _ in self.selector.select(1):
                guest, name = key.data
                try:
                    data = key.fileobj.recv(65536)
                except OSError:
                    data = b""
                if not data:
                    self.selector.unregister(key.fileobj)
                elif name == "ctl":
                    self.take_steps(guest, data)
                else:
                    self.pass_on(1 if name == "out" else 2, data)
            if self.deadline and time.monotonic() > self.deadline:
                self.status = EXIT_TIMEOUT
                self.fail(f"not done after {self.args.timeout} s (--timeout)")
                for guest in self.guests:
                    say(f"host {guest.host} was {guest.state}; the end of its kernel log:"
                        + guest.log_tail("console"))
                return
            if self.hca and self.hca.poll() is not None and \
                    any(guest.state != "done" for guest in self.guests):
                log = (self.logs / "hca.log").read_text(errors="replace").strip().splitlines()
                end = self.hca.returncode
                if end or any(guest.qemu.poll() is None for guest in self.guests):
                    self.fail(f"the HCA ended with {end}:" + "\n    ".join(["", *log[-30:]]))
                    return
        for guest in self.guests:
            if guest.state != "done" and not guest.state.startswith("fail"):
                reason = guest.early_failure()
                if reason:
                    self.status = EXIT_VM
                    self.fail(f"host {guest.host}: {reason}")
                    continue
                if guest.state == "booting":
                    self.status = EXIT_VM
                self.fail(f"host {guest.host} died while {guest.state}; the end of its kernel log:"
                          + guest.log_tail("console") + guest.log_tail("qemu"))

    @staticmethod
    def pass_on(stream, data):
        """Write all data. A reader that has closed its end is no failure of the run."""
        while data:
            try:
                data = data[os.write(stream, data):]
            except BlockingIOError:
                time.sleep(0.01)
            except BrokenPipeError:
                return

    def take_steps(self, guest, data):
        """Take the steps that a guest's init (scripts/vm-init) reports."""
        guest.buffer += data
        while b"\n" in guest.buffer:
            line, guest.buffer = guest.buffer.split(b"\n", 1)
            word, _, rest = line.decode(errors="replace").partition(" ")
            try:
                self.take_step(guest, word, rest)
            except VmError as err:
                self.fail(str(err))
                guest.answer("error")

    def take_step(self, guest, word, rest):
        """Take one step, and answer if the guest waits for an answer."""
        guest.state = {"root": "loading modules", "baseline": "loading the driver",
                       "ready": "running the command",
                       "status": "unloading the driver"}.get(word, word)
        if word == "baseline":
            for control in guest.controls:
                control.request("census reset")
            guest.answer()
        elif word == "ready":
            if guest.host == 1:
                self.ready(guest)
            else:
                guest.answer()
            self.release_first()
        elif word == "status":
            if guest.host == 1:
                self.status = int(rest)
                for other in self.guests[1:]:
                    other.answer("stop")
        elif word == "driver-unloaded":
            self.judge_census(guest, "after the driver's unload", False)
            guest.answer()
        elif word == "core-unloaded":
            self.judge_census(guest, "after mlx5_core's unload", True)
            self.judge_refusals(guest)
            guest.answer()
        elif word == "fail":
            guest.state = "failing"
            self.status = self.status or EXIT_VM
            self.fail(f"host {guest.host}: {rest}")
            if guest.host == 1:
                for other in self.guests[1:]:
                    other.answer("stop")

    def ready(self, guest):
        """The first guest is up, and waits until the others are."""
        guest.state = "waiting for the other hosts"
        seconds = time.monotonic() - self.start_time
        say(f"{self.kernel.release} is up after {seconds:.1f} s ({self.accel}, "
            f"driver {self.args.driver}, log {self.place.shown(self.logs)})")

    def release_first(self):
        """Start the first guest's command once all guests are ready."""
        waiting = [guest.state for guest in self.guests]
        if waiting[0] == "waiting for the other hosts" and all(
                state == "running the command" or state.startswith("unloading")
                for state in waiting[1:]):
            self.guests[0].state = "running the command"
            self.guests[0].answer()

    def judge_census(self, guest, when, everything):
        """Fail the run if an HCA still has objects that should have been destroyed."""
        for control in guest.controls:
            census = control.request("census")
            if census.get("unplugged"):
                continue
            if everything:
                left = {kind: value.get("total")
                        for kind, value in census.get("objects", {}).items() if value.get("total")}
            else:
                left = foreign_objects(census, self.args.link)
            if left:
                text = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
                self.fail(f"the HCA's census of host {guest.host} {when} is not empty: {text}")

    def judge_refusals(self, guest):
        """Fail the run if an HCA refused a command, a doorbell or a UMR request that no test had
        announced."""
        bad = []
        for control in guest.controls:
            answer = control.request("unexpected")
            bad += [f"{it['kind']} {it.get('name', '')} {it.get('status', '')}".strip()
                    + f", {it['count']} times ({it['cause']}: {it['why']})"
                    for it in answer["list"]]
            if answer["unlisted"]:
                bad.append(f"and {answer['unlisted']} more")
        if bad:
            self.fail(f"the HCA of host {guest.host} refused or ignored what no test had announced "
                      "(see 'expect' in Documentation/hca.rst):" + "\n    ".join(["", *bad]))

    def judge_logs(self):
        """Fail the run if a kernel's log has a report."""
        for guest in self.guests:
            if not guest.console.exists():
                continue
            lines = guest.console.read_text(errors="replace").splitlines()
            lines, known = split_known(lines, self.args.driver)
            for line, reason in known:
                say(f"KNOWN of the kernel: {line} ({reason})")
            bad = [index for index, line in enumerate(lines)
                   if REPORT.search(line) and not EXCUSED.search(line)]
            if bad:
                start = max(0, bad[0] - 3)
                shown = "\n    ".join(["", *lines[start:start + 30]])
                self.fail(f"the kernel log of host {guest.host} has {len(bad)} lines of reports "
                          f"({self.place.shown(guest.console)}), the first of them "
                          f"\"{lines[bad[0]].strip()}\":{shown}")

    def stop(self):
        """End the processes that are still running, the guests' first."""
        processes = [proc for guest in self.guests for proc in reversed(guest.processes)]
        if self.hca:
            processes.append(self.hca)
        end = time.monotonic() + (5 if not self.failures else 0.5)
        for proc in processes:
            try:
                proc.wait(max(0.05, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()

    def verdict(self):
        """Print the last line. Returns the exit status."""
        seconds = time.monotonic() - self.start_time
        if self.failures:
            status = self.status or EXIT_REPORT
            if self.status_only and self.status is not None:
                status = self.status
            say(f"FAILED after {seconds:.1f} s: {len(self.failures)} "
                f"reason{'s' if len(self.failures) > 1 else ''} above, "
                + (f"command exited with {self.status}" if self.status is not None
                   else "command did not end"))
            return status
        say(("ok: " if self.status == 0 else "")
            + f"command exited with {self.status}, kernel log clean, "
            + ("census empty, " if self.hca else "") + f"{seconds:.1f} s")
        return self.status


def prune_logs(logs):
    """Remove all but the newest logs."""
    old = sorted(logs.glob("vm-*"), key=modified)
    for path in old[:-KEPT_LOGS]:
        shutil.rmtree(path, ignore_errors=True)


def link_latest(path):
    """Make latest, beside the folder of this run's logs, a link to that folder."""
    temporary = path.parent / f".latest-{path.name}"
    temporary.symlink_to(path.name)
    temporary.rename(path.parent / "latest")


def run_guests(args, place, kernel, root):
    """Run the guests. Returns the exit status."""
    place.cache.mkdir(parents=True, exist_ok=True)
    place.logs.mkdir(parents=True, exist_ok=True)
    prune_logs(place.logs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_VM))
    # QEMU sets the terminal to raw mode for a shell, and may be killed before it restores the mode.
    terminal = termios.tcgetattr(0) if sys.stdin.isatty() else None
    with tempfile.TemporaryDirectory(prefix="bluebell-vm-", dir="/tmp") as directory:
        try:
            run = Run(args, place, kernel, root, Path(directory))
            link_latest(run.logs)
            try:
                run.start()
                run.loop()
            finally:
                run.stop()
            run.judge_logs()
            return run.verdict()
        except VmError as err:
            say(f"error: {err}")
            return EXIT_VM
        except KeyboardInterrupt:
            say("interrupted")
            return 130
        finally:
            if terminal:
                termios.tcsetattr(0, termios.TCSADRAIN, terminal)
