# SPDX-License-Identifier: GPL-2.0
"""A host of the trials: a guest with an emulated HCA that boots from a disk of its own.

From power-on to power-off it is one Host. The guest that is rebooted is a new Host with the same
disk. Commands are run in the guest by an agent (tools/testing/host-trials/agent).
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path

from vm import VmError
from vm.arch import AMD64
from vm.qemu import ROOT_PORT, wait_for_socket
from vm.run import EXCUSED, REPORT, Control

REPO = Path(__file__).resolve().parents[3]

# Seconds, on a machine that does nothing else: BLUEBELL_TRIALS_SLOW multiplies them.
BOOT = 240
COMMAND = 120
POWER_OFF = 120
SLOW = float(os.environ.get("BLUEBELL_TRIALS_SLOW", "1"))

# All that uses RDMA, in an order in which it can be unloaded, the drivers last.
UNLOAD = ("nvme_rdma nvmet_rdma rpcrdma ib_iser ib_isert ib_srp ib_srpt rdma_ucm ib_umad "
          "ib_ipoib mlx5_ib bluebell mlx5_core")


class Failure(Exception):
    """A trial has failed. Its text says why."""


def expect(condition, text):
    """A trial fails unless the condition holds."""
    if not condition:
        raise Failure(text)


class Result:
    """What a command has printed, and its exit status."""

    def __init__(self, command, status, output):
        self.command = command
        self.status = status
        self.output = output

    def ok(self):
        """The output of a command that must succeed."""
        expect(self.status == 0, f"'{self.command}' has failed with status {self.status}:\n"
               f"{self.output}")
        return self.output.strip()

    def refused(self, status, *patterns):
        """The output of a command that must fail with a status, and must say in one line what the
        patterns match."""
        expect(self.status == status, f"'{self.command}' has ended with status {self.status}, not "
               f"{status}:\n{self.output}")
        lines = self.output.strip().splitlines()
        expect(len(lines) == 1, f"'{self.command}' must say in one line why it fails:\n"
               f"{self.output}")
        for pattern in patterns:
            expect(re.search(pattern, lines[0]), f"'{self.command}' does not say '{pattern}':\n"
                   f"{self.output}")
        return self.output.strip()


class Host:
    """A guest, from power-on to power-off."""

    def __init__(self, name, sockets, logs, disk):
        self.name = name
        self.directory = Path(sockets) / name
        self.directory.mkdir()
        self.disk = disk
        self.console = logs / f"{name}-console.log"
        self.log = open(logs / f"{name}.log", "a", encoding="utf-8")    # pylint: disable=R1732
        self.logs = logs
        self.hca = self.qemu = self.agent = self.control = None
        # What the guest writes here, as a tar file, is its /boot.
        self.boot_disk = Path(disk).with_suffix(".boot")
        with open(self.boot_disk, "wb") as file:
            file.truncate(1 << 30)
        self.data = b""
        self.lost = False       # the agent no longer answers

    # ---- power -----------------------------------------------------------------------------------

    def spawn(self, program, command):
        """Start a process of this host."""
        with open(self.logs / f"{self.name}-{program}.log", "wb") as log:
            return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    def boot(self, folder, release, append=""):
        """Boot a kernel of a folder. Returns when systemd has started everything."""
        vfio, control = self.directory / "vfio-user", self.directory / "control"
        self.hca = self.spawn("hca", [REPO / "build/hca/bluebell-hca", "--link", "ib",
                                      "--socket", vfio, "--control", control])
        for path in (vfio, control):
            wait_for_socket(path, self.hca, f"{self.name}-hca", self.logs)
        self.control = Control(control)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.directory / "agent"))
        listener.listen(1)
        self.qemu = self.spawn("qemu", self.qemu_command(folder, release, append))
        listener.settimeout(20)
        try:
            self.agent, _ = listener.accept()
        except TimeoutError:
            raise VmError(f"QEMU does not start, see {self.logs}/{self.name}-qemu.log") from None
        finally:
            listener.close()
        self.answer(BOOT)
        # systemd says "degraded" if a unit has failed, which a trial judges.
        self.sh("systemctl is-system-running --wait; udevadm settle", BOOT)

    def qemu_command(self, folder, release, append):
        """The command line of QEMU."""
        words = ["root=/dev/vda", "ro", "console=ttyS0", "loglevel=7", "panic=-1", "nokaslr",
                 "mitigations=off", "no_timer_check", *AMD64.clock,
                 # For bluebell-check.service, and for what the agent runs.
                 f"systemd.setenv=BLUEBELL_SWITCH_SLOW={max(SLOW, 1):g}", append]
        hca = {"driver": "vfio-user-pci", "bus": "hca-slot",
               "socket": {"type": "unix", "path": str(self.directory / "vfio-user")}}
        return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-accel", "tcg,thread=multi,tb-size=512",
                "-cpu", "Nehalem-v1,+rdrand,+rdtscp,+x2apic", "-smp", 2, "-m", "1536M",
                "-object", "memory-backend-memfd,id=ram,size=1536M,share=on",
                "-machine", "q35,memory-backend=ram,smbus=off,sata=off,usb=off",
                "-serial", f"file:{self.console}",
                "-kernel", folder / f"vmlinuz-{release}",
                "-initrd", folder / f"initrd.img-{release}",
                "-append", " ".join(filter(None, words)),
                "-drive", f"file={self.disk},if=virtio,format=qcow2,cache=unsafe",
                "-drive", f"file={self.boot_disk},if=virtio,format=raw,cache=unsafe",
                "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,path={self.directory / 'agent'}",
                "-device", "virtserialport,chardev=agent,name=bluebell.agent",
                "-device", ROOT_PORT, "-device", json.dumps(hca)]

    def save_boot(self, folder):
        """Copy the guest's /boot to a folder, for the next boot."""
        self.sh("tar -C /boot -cf /dev/vdb . && sync", BOOT).ok()
        folder.mkdir()
        subprocess.run(["tar", "-C", folder, "-xf", self.boot_disk], check=True)

    def power_off(self):
        """Shut the guest down. Judges the kernel's log, and what the HCA has refused."""
        self.request("systemctl poweroff --no-block", COMMAND)
        end = time.monotonic() + POWER_OFF * SLOW
        refused = []
        while self.qemu.poll() is None:
            expect(time.monotonic() < end, f"the guest has not shut down within "
                   f"{POWER_OFF * SLOW:.0f} s:" + self.console_tail())
            # The HCA ends with QEMU, so the last answer counts.
            with contextlib.suppress(VmError):
                refused = self.control.request("unexpected")["list"]
            time.sleep(0.2)
        self.close()
        expect(not refused, "the HCA has refused or ignored what no test had announced:\n"
               + "\n".join(map(str, refused)))
        self.judge_log()

    def close(self):
        """End the processes that are still running."""
        for proc in (self.qemu, self.hca):
            if proc and proc.poll() is None:
                proc.kill()
            if proc:
                proc.wait()
        self.log.close()

    # ---- commands --------------------------------------------------------------------------------

    def answer(self, timeout):
        """The next line of the agent."""
        self.agent.settimeout(timeout * SLOW)
        try:
            while b"\n" not in self.data:
                more = self.agent.recv(65536)
                if not more:
                    self.lost = True
                    raise Failure("the guest has died:" + self.console_tail())
                self.data += more
        except TimeoutError:
            self.lost = True
            raise Failure("the guest does not answer:" + self.console_tail()) from None
        line, self.data = self.data.split(b"\n", 1)
        return json.loads(line)

    def request(self, command, timeout):
        """Send a command to the agent."""
        expect(self.agent and not self.lost, "the guest does not answer any more")
        self.agent.sendall(json.dumps({"command": command, "timeout": timeout * SLOW}).encode()
                           + b"\n")

    def sh(self, command, timeout=COMMAND):
        """Run a shell command in the guest. Returns its result."""
        start = time.monotonic()
        self.request(command, timeout)
        answer = self.answer(timeout + 60)
        seconds = time.monotonic() - start
        self.log.write(f"$ {command}\n{answer['output']}[{answer['status']}, {seconds:.1f} s]\n")
        self.log.flush()
        return Result(command, answer["status"], answer["output"])

    # ---- the HCA and its driver ------------------------------------------------------------------

    def driver(self):
        """The driver of the HCA's RDMA device: bluebell, mlx5_ib or nothing."""
        path = self.sh("readlink -e /sys/bus/auxiliary/devices/mlx5_core.rdma.0/driver").output
        return Path(path.strip()).name.removesuffix(".rdma")

    def expect_driver(self, name):
        """A trial fails unless the HCA has this driver, and a port that is active."""
        found = self.driver()
        expect(found == name, f"the HCA's driver is {found or 'none'}, not {name}; "
               "journalctl -u bluebell-check says:\n"
               + self.sh("journalctl -b -o cat -u bluebell-check").output)
        self.wait_until("grep -q ACTIVE /sys/class/infiniband/*/ports/1/state",
                        "the port is not active")

    def wait_until(self, command, text, seconds=60):
        """Wait until a command succeeds."""
        result = self.sh(f"for i in $(seq {seconds * 2}); do {command} && exit; sleep 0.5; done; "
                         "exit 1", seconds + 30)
        expect(result.status == 0, f"{text} ('{command}')")

    def device(self):
        """The name of the RDMA device."""
        return self.sh("ls /sys/class/infiniband").ok()

    def unload(self):
        """Unload all drivers of the HCA. Judges the HCA's census: nothing may be left."""
        modules = set(self.sh("cut -d ' ' -f 1 /proc/modules").ok().split())
        self.sh("systemctl stop systemd-udevd-kernel.socket systemd-udevd-control.socket "
                "systemd-udevd.service 2>&1").ok()
        for name in UNLOAD.split():
            if name in modules:
                self.sh(f"rmmod {name} 2>&1").ok()
        census = self.control.request("census")
        left = {kind: value["total"] for kind, value in census.get("objects", {}).items()
                if value.get("total")}
        expect(not left, f"the HCA's census is not empty: {left}")

    # ---- logs ------------------------------------------------------------------------------------

    def console_tail(self):
        """The last lines of the console."""
        lines = self.console.read_text(errors="replace").splitlines() if self.console.exists() \
            else []
        return "\n".join(["", *lines[-12:]])

    def judge_log(self):
        """A trial fails if the kernel's log has a report."""
        lines = self.console.read_text(errors="replace").splitlines()
        bad = [line for line in lines if REPORT.search(line) and not EXCUSED.search(line)]
        expect(not bad, f"the kernel's log ({self.console}) has reports:\n" + "\n".join(bad[:20]))
