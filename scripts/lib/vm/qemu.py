# SPDX-License-Identifier: GPL-2.0
"""One guest: its QEMU, its virtiofsd, its ports; and the Ethernet between guests."""

import json
import os
import re
import selectors
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from vm import VmError, say
from vm.image import job_initramfs
from vm.root import image_format

# QEMU's emulator keeps its translation of a page of code until the guest writes to that page. It
# does not notice the writes of virtiofsd, which has mapped the guest's memory: if a page has held
# code and virtiofsd then fills it with other code, the guest would run the old code. A guest that
# zeroes pages when it allocates them writes to them itself. Debian's kernels do so by default,
# other kernels may not.
TCG_CODE = ["init_on_alloc=1"]

# With --icount, the guest's clocks advance by 1 << ICOUNT_SHIFT nanoseconds with each instruction
# of its only processor, and with the host's clock while the processor is idle. So does the TSC,
# which can then be trusted.
ICOUNT_SHIFT = 1

# With --swiotlb, every mapping for DMA is a copy in bounce buffers, of this many slots of 2 KiB
# each.
SWIOTLB_APPEND = ["swiotlb=262144,force"]
SWIOTLB_MEMORY = 1024   # MiB that such a guest has in addition

# The slot that an HCA is in, so that the guest sees the link and the extended capabilities of a PCI
# Express endpoint. It is as fast as the fastest card, because a link has the speed of the slower
# end. The guest does not control the slot's power: the HCA's control socket removes the HCA.
ROOT_PORT = "pcie-root-port,id={0},chassis={1},slot={1},hotplug=off,x-speed=32,x-width=16"

# A guest has at most this many HCAs, whose control sockets are ports of one virtio device.
MAX_HCAS = 4


def kvm_works(kernel, place):
    """Whether KVM runs this kernel. On some machines /dev/kvm opens but no guest makes progress, so
    the first use after the machine's boot starts a guest without an init and waits for its
    panic."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = place.cache / f"kvm-{boot_id}"
    if verdict.exists():
        return verdict.read_text() == "yes"
    say("testing whether KVM works (once after each boot of this machine)")
    try:
        proc = subprocess.run(
            [*place.qemu, "-accel", "kvm", "-machine", "q35", "-m", "256M", "-nodefaults",
             "-display", "none",
             "-no-reboot", "-serial", "stdio", "-kernel", str(kernel.image),
             "-append", "console=ttyS0 panic=-1 quiet"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=8, check=False)
        works = b"Kernel panic" in proc.stdout
    except subprocess.TimeoutExpired:
        works = False
    for old in place.cache.glob("kvm-*"):
        old.unlink(missing_ok=True)
    verdict.write_text("yes" if works else "no")
    return works


class Switch(threading.Thread):
    """The Ethernet between the guests: sends each frame of a QEMU stream netdev to all other
    guests."""

    def __init__(self, path, ports):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(ports)

    def run(self):
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ, None)
        buffers = {}
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.listener:
                    conn, _ = self.listener.accept()
                    buffers[conn] = b""
                    selector.register(conn, selectors.EVENT_READ, conn)
                    continue
                conn = key.fileobj
                try:
                    data = conn.recv(1 << 18)
                except OSError:
                    data = b""
                if not data:
                    selector.unregister(conn)
                    del buffers[conn]
                    continue
                buffers[conn] = self.forward(conn, buffers[conn] + data, buffers)

    @staticmethod
    def forward(source, data, ports):
        """Send each complete frame (four bytes of length, the frame) to the other ports. Returns
        the rest of the data."""
        while len(data) >= 4:
            end = 4 + struct.unpack("!I", data[:4])[0]
            if len(data) < end:
                break
            for port in ports:
                if port is not source:
                    try:
                        port.sendall(data[:end])
                    except OSError:
                        pass
            data = data[end:]
        return data


def virtiofsd():
    """The program virtiofsd, which distributions do not have in PATH."""
    found = next((path for path in ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd",
                                    shutil.which("virtiofsd")) if path and os.path.exists(path)),
                 None)
    if not found:
        raise VmError("cannot find virtiofsd: do 'apt install virtiofsd'")
    return found


def wait_for_socket(path, proc, name, logs):
    """Wait until a server has made its socket. Raises VmError if the server exits."""
    end = time.monotonic() + 10
    while not path.exists():
        if proc.poll() is not None or time.monotonic() > end:
            log = next(logs.glob(f"{name}*.log"), None)
            said = log.read_text(errors="replace").strip() if log else ""
            raise VmError(f"{name} does not start: {said}")
        time.sleep(0.01)


class Guest:
    """One guest: its QEMU, its virtiofsd, its ports."""

    def __init__(self, run, host):
        self.run = run
        self.host = host
        self.console = run.logs / f"console-{host}.log"
        self.ports = {}
        self.buffer = b""
        self.state = "booting"      # later a step of the guest's init
        self.processes = []
        self.qemu = None
        self.controls = []          # connections to the control sockets of its HCAs

    def path(self, name):
        """The path of a socket."""
        return self.run.directory / f"{name}-{self.host}"

    @property
    def hcas(self):
        """What the names that belong to its HCAs end with: nothing, 2, 3 and so on."""
        args = self.run.args
        return [] if args.hca == "none" else ["", *range(2, args.hcas + 1)]

    def listen(self, name):
        """Make a socket to which QEMU connects a character device."""
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(self.path(name)))
        sock.listen(1)
        self.ports[name] = sock

    def spawn(self, name, command, **kwargs):
        """Start a process of this guest, with a log of its own."""
        with open(self.run.logs / f"{name}-{self.host}.log", "wb") as log:
            proc = subprocess.Popen([str(word) for word in [*self.run.place.wrapper, *command]],
                                    stdin=kwargs.pop("stdin", subprocess.DEVNULL),
                                    stdout=kwargs.pop("stdout", log), stderr=log, **kwargs)
        self.processes.append(proc)
        return proc

    def share(self, name, folder, *options):
        """Start a virtiofsd for a folder."""
        self.spawn(f"virtiofsd-{name}" if name != "fs" else "virtiofsd",
                   [virtiofsd(), "--shared-dir", folder, "--socket-path", self.path(name),
                    "--sandbox", "none", "--seccomp", "none", "--no-announce-submounts",
                    "--log-level", "warn", *options])
        wait_for_socket(self.path(name), self.processes[-1], "virtiofsd", self.run.logs)

    def start(self):
        """Start virtiofsd and QEMU."""
        args, kernel = self.run.args, self.run.kernel
        self.share("fs", "/", "--readonly", "--cache", "always" if args.command else "auto")
        for index, folder in enumerate(self.run.root.writable):
            self.share(f"write{index}", folder, "--cache", "auto")
        initramfs = self.run.directory / f"initramfs-{self.host}"
        initramfs.write_bytes(self.run.base + job_initramfs(args, self.run.place, kernel,
                                                            self.run.root, self.host))
        for name in ("ctl", "out", "err"):
            self.listen(name)
        self.qemu = self.spawn("qemu", self.qemu_command(initramfs),
                               **({"stdin": None, "stdout": None} if self.has_shell else {}))
        for name, listener in list(self.ports.items()):
            listener.settimeout(20)
            try:
                self.ports[name], _ = listener.accept()
            except TimeoutError:
                raise VmError("QEMU does not start: " + self.log_tail("qemu")) from None
            listener.close()

    @property
    def has_shell(self):
        """Whether this guest's shell uses the terminal."""
        return self.host == 1 and not self.run.args.command

    def log_tail(self, name):
        """The last lines of a log of this guest."""
        path = self.console if name == "console" else self.run.logs / f"{name}-{self.host}.log"
        lines = path.read_text(errors="replace").strip().splitlines()[-8:] if path.exists() else []
        return "\n    ".join(["", *lines]) if lines else f"(nothing in {path})"

    def early_failure(self):
        """Why the guest's init could not go on before it could report, or was not started. None if
        that is not known."""
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        reasons = re.findall(r"bluebell-vm: fail: (.*)", text)
        if reasons:
            return reasons[-1].strip()
        if self.state == "booting" and re.search("Unable to mount root fs|No working init", text):
            return ("the kernel does not start init: it needs CONFIG_BLK_DEV_INITRD, "
                    "CONFIG_BINFMT_ELF and CONFIG_BINFMT_SCRIPT")
        if self.state == "booting" and not text and self.qemu and self.qemu.poll() == 0:
            return ("the kernel ends without a word on the serial port: it needs "
                    "CONFIG_SERIAL_8250_CONSOLE=y to say why")
        return None

    @property
    def emulated(self):
        """Whether QEMU's emulator runs the guest, not KVM."""
        return self.run.accel != "kvm"

    def kernel_line(self):
        """The kernel's command line."""
        args, arch = self.run.args, self.run.kernel.arch
        words = [f"console={arch.console}", "loglevel=7", "panic=-1"]
        if args.oops_panic:
            words.append("oops=panic")
        words += ["nokaslr", "mitigations=off", "no_timer_check"]
        if self.emulated:
            words += TCG_CODE
        if self.emulated and not args.icount:
            words += arch.clock
        words += ["random.trust_cpu=on", "log_buf_len=4M", "net.ifnames=0", "cryptomgr.notests"]
        if args.iommu:
            words += arch.iommu
        if args.swiotlb:
            words += SWIOTLB_APPEND
        return " ".join([*words, *filter(None, args.append)])

    def processor_options(self):
        """QEMU's options for the accelerator and the processors."""
        args = self.run.args
        if not self.emulated:
            return ["-accel", "kvm", "-cpu", "host", "-smp", args.cpus]
        thread = "single" if args.icount or args.in_turn else "multi"
        icount = ["-icount", f"shift={ICOUNT_SHIFT},sleep=on"] if args.icount else []
        return ["-accel", f"tcg,thread={thread},tb-size=512", *icount,
                "-cpu", self.run.kernel.arch.cpu, "-smp", args.cpus]

    def memory_options(self):
        """QEMU's options for the memory and the machine."""
        args = self.run.args
        size = args.memory or (3072 if self.run.kernel.debug else 1536) \
            + (SWIOTLB_MEMORY if args.swiotlb else 0)
        irqchip = "" if self.emulated or not args.iommu else ",kernel-irqchip=split"
        return ["-m", f"{size}M",
                "-object", f"memory-backend-memfd,id=ram,size={size}M,share=on",
                "-machine", f"{self.run.kernel.arch.board},memory-backend=ram{irqchip}"]

    def port_options(self):
        """QEMU's options for what the guest reaches outside: its root file system (virtiofsd), the
        terminal, the ports of this program, and the control socket of its HCA."""
        options = []
        shares = {"fs": "root", **{f"write{index}": f"write{index}"
                                   for index in range(len(self.run.root.writable))}}
        for name, tag in shares.items():
            options += ["-chardev", f"socket,id={name},path={self.path(name)}",
                        "-device", f"vhost-user-fs-pci,chardev={name},tag={tag},queue-size=512"]
        options += ["-device", "virtio-serial-pci,max_ports=8"]
        if self.has_shell:
            options += ["-chardev", "stdio,id=shell,signal=off",
                        "-device", "virtconsole,chardev=shell,nr=0"]
        sockets = {name: name for name in self.ports}
        sockets.update({f"hca{hca}": f"control{hca}" for hca in self.hcas})
        for number, (name, path) in enumerate(sockets.items(), 1):
            options += ["-chardev", f"socket,id={name},path={self.path(path)}", "-device",
                        f"virtserialport,chardev={name},name=bluebell.{name},nr={number}"]
        return options

    def nic_options(self, name, role, path, model, mac):
        """QEMU's options for a NIC at a stream socket. Two bytes of its MAC tell what it is for."""
        return ["-netdev", f"stream,id={name},{role},addr.type=unix,addr.path={path}", "-device",
                f"{model},netdev={name},romfile=,mac=52:54:00:{mac}:{self.host:02x}"]

    def device_options(self):
        """QEMU's options for the HCAs, the IOMMU and the Ethernet."""
        args, options, disk = self.run.args, [], self.run.root.image
        if disk:
            # What the guest writes, to replay a journal, for example, is lost with it.
            name = str(disk).replace(",", ",,")
            options += ["-drive", f"file={name},format={image_format(disk)},if=none,id=disk,"
                        "snapshot=on", "-device", "virtio-blk-pci,drive=disk"]
        if args.iommu:
            # The IOMMU comes before the HCA, which is behind it. The virtio devices bypass the
            # IOMMU.
            options += ["-device", self.run.kernel.arch.iommu_device]
        for number, name in enumerate(self.hcas, 1):
            hca = {"driver": "vfio-user-pci", "bus": f"hca-slot{name}",
                   "socket": {"type": "unix", "path": str(self.path(f"vfio-user{name}"))}}
            if args.answered_writes:
                hca["x-no-posted-writes"] = True
            options += ["-device", ROOT_PORT.format(hca["bus"], number), "-device",
                        json.dumps(hca)]
        if args.hosts > 1:
            path = self.run.directory / "net"
            options += self.nic_options("net", "server=off", path, "virtio-net-pci", "66:00")
        for number, model in enumerate(args.nic, 1):
            # The first guest's QEMU may not listen yet when the second one's connects.
            role = "server=on" if self.host == 1 else "server=off,reconnect-ms=100"
            path = self.run.directory / f"nic{number}"
            options += self.nic_options(f"nic{number}", role, path, model, f"67:{number:02x}")
        if args.peer_nic and self.host == args.hosts:
            path = self.run.directory / "peer"
            options += self.nic_options("peer", "server=off", path, args.peer_nic, "68:00")
        return options

    def qemu_command(self, initramfs):
        """The command line of QEMU."""
        return [*self.run.qemu, "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", *self.processor_options(), *self.memory_options(),
                "-serial", f"file:{self.console}", "-kernel", self.run.image,
                "-initrd", initramfs, "-append", self.kernel_line(), *self.port_options(),
                *self.device_options()]

    def answer(self, text="ok"):
        """Answer the guest's init, which then continues."""
        try:
            self.ports["ctl"].sendall(text.encode() + b"\n")
        except OSError:
            pass
