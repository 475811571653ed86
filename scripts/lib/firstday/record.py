# SPDX-License-Identifier: GPL-2.0
"""What a device says, as the files of an archive. Nothing is written to the device."""

import gzip
import io
import json
import os
import platform
import re
import socket
import subprocess
import tarfile
from pathlib import Path

from firstday.device import (
    CAP_BYTES, CAP_CURRENT, CAP_MAX, CAP_TYPES, DeviceError, Firmware, page_text, read)
from firstday.scrub import Scrubber

FORMAT = 1
FOLDER = "first-day"        # the folder in the archive
SECONDS = 120               # the longest that a tool may take
# The lines of the kernel log that are about the card, and what differs in such a line from boot to
# boot.
LOG_WORDS = re.compile(r"mlx5|bluebell: |infiniband", re.IGNORECASE)
LOG_TIME = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\] ?|(?<=\(pid )\d+(?=\))")
PACKAGES = ["rdma-core", "libibverbs1", "ibverbs-providers", "libibverbs", "iproute2", "iproute",
            "pciutils", "ethtool", "mlnx-ofed-kernel-utils"]
# The files in the class directory of a device, and of each of its ports; the tables are not here.
DEVICE_FILES = ["fw_ver", "board_id", "hca_type", "hw_rev", "node_type", "node_desc", "node_guid",
                "sys_image_guid"]
PORT_FILES = ["state", "phys_state", "rate", "link_layer", "lid", "lid_mask_count", "sm_lid",
              "sm_sl", "cap_mask", "has_smi"]
# The files of the PCI function that decide what a profile says or how fast the device is.
PCI_FILES = ["vendor", "device", "subsystem_vendor", "subsystem_device", "revision", "class",
             "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
             "sriov_totalvfs", "sriov_numvfs", "numa_node"]

ABOUT = """\
Recorded by scripts/first-day of Bluebell. What tells whose machine this is has been replaced by
words such as mac-1: GUIDs, GIDs, addresses, names of hosts, users and processes, serial numbers.
Read the files all the same before you give them away. MISSING lists what could not be recorded.

device.json     what a profile of the emulated HCA is made of
caps/           answers to QUERY_HCA_CAP: TYPE-max.hex, TYPE-cur.hex; what firmware refuses to tell
                is left out
counters/       counters, which change all the time
kernel.txt      lines of the kernel log, without times and numbers of processes
others          the texts of the tools after which they are called
"""


class Recording:
    """The files of an archive, before and after the replacements."""

    def __init__(self, device):
        self.device = device
        self.scrubber = Scrubber()
        self.texts = {}         # {name: text}
        self.trees = {}         # {name: data that will be JSON}
        self.missing = []

    # ---- tools ---------------------------------------------------------------------------------

    def call(self, name, *command):
        """The output of a tool; None, with a line in MISSING, if the tool fails."""
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True,
                                  errors="replace", timeout=SECONDS, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "LC_ALL": "C"})
            return done.stdout
        except FileNotFoundError:
            why = "not installed"
        except subprocess.TimeoutExpired:
            why = f"no end after {SECONDS} s"
        except subprocess.CalledProcessError as err:
            last = (err.stderr.strip().splitlines() or ["no message"])[-1]
            why = f"status {err.returncode}: {last}"
        self.missing.append(f"{name}: {' '.join(command)}: {why}")
        return None

    def tool(self, name, *command):
        """Record the text that a tool prints."""
        text = self.call(name, *command)
        if text is not None:
            self.texts[name] = text

    def json_tool(self, name, *command):
        """Record the JSON that a tool prints. Returns it."""
        text = self.call(name, *command)
        if text is None:
            return None
        try:
            self.trees[name] = json.loads(text or "[]")
        except ValueError:
            self.missing.append(f"{name}: {' '.join(command)}: it printed no JSON")
        return self.trees.get(name)

    # ---- what is recorded ----------------------------------------------------------------------

    def tools(self):
        """Record what the tools say about the device."""
        name, handle = self.device.name, f"pci/{self.device.address}"
        self.tool("ibv_devinfo.txt", "ibv_devinfo", "-v", "-d", name)
        self.tool("lspci.txt", "lspci", "-vvv", "-nn", "-s", self.device.address)
        self.json_tool("devlink-info.json", "devlink", "-j", "dev", "info", handle)
        self.json_tool("devlink-param.json", "devlink", "-j", "dev", "param", "show", handle)
        self.json_tool("rdma-dev.json", "rdma", "-j", "-d", "dev", "show", name)
        for port in self.device.ports():
            self.json_tool(f"rdma-link-{port}.json", "rdma", "-j", "-d", "link", "show",
                           f"{name}/{port}")
        self.json_tool("rdma-resource.json", "rdma", "-j", "resource", "show", name)
        for kind in ("qp", "cm_id"):
            self.json_tool(f"rdma-{kind}.json", "rdma", "-j", "-d", "resource", "show", kind,
                           "link", name + "/")
        self.json_tool("counters/rdma-statistic.json", "rdma", "-j", "statistic", "show", "link",
                       name + "/")
        for netdev in self.device.netdevs():
            self.tool(f"ethtool-{netdev}.txt", "ethtool", "-i", netdev)
            self.tool(f"ethtool-module-{netdev}.txt", "ethtool", "-m", netdev)

    def capabilities(self):
        """Record the pages of capabilities that firmware has."""
        try:
            firmware = Firmware(self.device.name)
        except DeviceError as err:
            self.missing.append(f"caps: {err}")
            return
        for kind in range(CAP_TYPES):
            pages = [firmware.capabilities(kind, which) for which in (CAP_MAX, CAP_CURRENT)]
            if None in pages:
                continue
            for page, which in zip(pages, ("max", "cur")):
                assert len(page) == CAP_BYTES
                self.texts[f"caps/{kind:02x}-{which}.hex"] = page_text(page)
        firmware.close()

    def sysfs(self):
        """Record the files of the class, one line each."""
        lines = attributes("", self.device.path, DEVICE_FILES)
        counters = []
        for port in self.device.ports():
            place = self.device.path / "ports" / str(port)
            lines += attributes(f"ports/{port}/", place, PORT_FILES)
            for table in ("gids", "pkeys", "gid_attrs/types", "gid_attrs/ndevs"):
                values = self.device.port_table(port, table)
                lines += [f"ports/{port}/{table}/{number}: {value}"
                          for number, value in enumerate(values)
                          if value and not re.fullmatch("(0x)?[0:]*", value)]
            for folder in ("counters", "hw_counters"):
                counters += [f"ports/{port}/{folder}/{path.name}: {read(path)}"
                             for path in sorted((place / folder).glob("*"))]
        self.texts["sysfs.txt"] = "\n".join(lines) + "\n"
        self.texts["counters/sysfs.txt"] = "\n".join(counters) + "\n"

    def facts(self):
        """Record what a profile of the emulated HCA is made of, and what the device is."""
        device = self.device
        number = device.ports()[0]
        port = device.path / "ports" / str(number)
        gids = device.port_table(number, "gids")
        pages = Path("/sys/kernel/debug/mlx5") / device.address / "pages/fw_pages_total"
        printed = self.texts.get("ibv_devinfo.txt", "")
        pkeys = device.port_table(number, "pkeys")
        while pkeys and pkeys[-1] in (None, "0x0000"):
            pkeys.pop()
        firmware_pages = read(pages)
        if firmware_pages is None:
            self.missing.append(f"device.json: firmware_pages: cannot read {pages}")
        self.trees["device.json"] = {
            "format": FORMAT, "device": device.name, "driver": device.driver(),
            "hca_type": device.attribute("hca_type"), "fw_version": device.attribute("fw_ver"),
            "psid": device.attribute("board_id"), "ports": len(device.ports()),
            "link_layer": read(port / "link_layer"), "rate": read(port / "rate"),
            "cap_mask": read(port / "cap_mask"),
            "cap_mask_2": printed_number(printed, "port_cap_flags2"),
            "max_mtu": printed_number(printed, "max_mtu"),
            "max_qp": printed_number(printed, "max_qp"),
            "lowest_qpn": min((row["lqpn"] for row in self.trees.get("rdma-qp.json") or []
                               if row.get("lqpn", 0) > 1), default=None),
            "gids": sum(1 for gid in gids if gid and not re.fullmatch("[0:]*", gid)),
            "pkeys": pkeys, "bars": device.bars(), "vectors": device.vectors(),
            "firmware_pages": int(firmware_pages) if firmware_pages else None,
            "pci": {name: read(device.pci / name) for name in PCI_FILES},
        }

    def system(self):
        """Record the kernel, the packages, and the lines of the kernel log about the device."""
        lines = [f"kernel: {platform.release()} {platform.machine()}"]
        for module in ("mlx5_core", self.device.driver(), "ib_core"):
            version = read(Path("/sys/module") / str(module) / "version")
            lines.append(f"module {module}: {version or 'no version of its own'}")
        system = re.search(r'^PRETTY_NAME="?([^"\n]*)', read(Path("/etc/os-release")) or "", re.M)
        lines.append(f"system: {system[1] if system else 'unknown'}")
        lines += sorted(installed())
        self.texts["versions.txt"] = "\n".join(lines) + "\n"
        log = self.call("kernel.txt", "dmesg")
        if log is not None:
            about = [LOG_TIME.sub("", line) for line in log.splitlines() if LOG_WORDS.search(line)]
            self.texts["kernel.txt"] = "\n".join(about) + "\n"

    def all(self):
        """Record everything. The tools make lines in the kernel log, so the log comes before them.
        The context of DEVX is closed before the tools list resources."""
        self.system()
        self.capabilities()
        self.tools()
        self.sysfs()
        self.facts()

    # ---- replacements --------------------------------------------------------------------------

    def learn(self):
        """Learn, from the files that have them, the values that tell whose machine this is."""
        scrub = self.scrubber
        for name in names():
            scrub.learn("host", name)
        for user in users():
            scrub.learn("user", user)
        scrub.learn("node", self.device.attribute("node_desc") or "")
        for name in ("node_guid", "sys_image_guid"):
            scrub.learn("guid", self.device.attribute(name) or "")
        for netdev in self.device.netdevs():
            scrub.learn("mac", read(Path("/sys/class/net") / netdev / "address") or "")
        for _, tree in sorted(self.trees.items()):
            scrub.learn_json(tree)

    def files(self):
        """{name: bytes} of the archive, with everything replaced."""
        self.learn()
        files = {"ABOUT": ABOUT}
        for name in sorted([*self.texts, *self.trees]):
            if name in self.texts:
                files[name] = self.scrubber.text(self.texts[name])
            else:
                files[name] = json.dumps(self.scrubber.json(self.trees[name]), indent=1) + "\n"
        missing = self.scrubber.text("\n".join(self.missing))
        files["MISSING"] = missing + "\n" if missing else ""
        return {name: text.encode() for name, text in files.items()}


def attributes(prefix, folder, names):
    """A line "name: contents" for each of the files in a folder that can be read."""
    values = {name: read(folder / name) for name in names}
    return [f"{prefix}{name}: {value}" for name, value in values.items() if value is not None]


def printed_number(text, name):
    """The number behind a name in what ibv_devinfo prints; None if the name is not there."""
    match = re.search(rf"^\s*{name}:\s+(0x[0-9a-f]+|\d+)", text, re.M)
    return int(match[1], 0) if match else None


def names():
    """The names of the host, as the host itself knows them: no name server is asked."""
    host = socket.gethostname()
    domain = read(Path("/proc/sys/kernel/domainname")) or ""
    return [name for name in (host, host.partition(".")[0], domain)
            if name and name != "(none)" and not name.startswith("localhost")]


def users():
    """The names of people: those who are logged in and those of the password file."""
    names = {os.environ.get(name, "") for name in ("SUDO_USER", "LOGNAME", "USER")}
    for line in (read(Path("/etc/passwd")) or "").splitlines():
        name, _, number = (line.split(":") + ["", "", ""])[:3]
        if number.isdigit() and 1000 <= int(number) < 60000:
            names.add(name)
    return sorted(names - {"", "root"})


def installed():
    """The versions of the packages that the tools are from."""
    for query in (["dpkg-query", "-W", "-f", "${Package}: ${Version}\\n"],
                  ["rpm", "-q", "--qf", "%{NAME}: %{VERSION}-%{RELEASE}\\n"]):
        try:
            done = subprocess.run([*query, *PACKAGES], check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            continue
        return [line for line in done.stdout.splitlines() if re.match(r"[\w-]+: \S", line)]
    return []


def pack(files):
    """The archive, the same bytes for the same files."""
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()
