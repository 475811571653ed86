# SPDX-License-Identifier: GPL-2.0
"""Check whether a device is free for the selftests, and run them."""

import os
import subprocess
from pathlib import Path

from firstday.device import read

REPO = Path(__file__).resolve().parents[3]
RUN = REPO / "tools/testing/selftests/bluebell/run"

# The selftests that neither unbind the driver nor reset the device, and that use no more resources
# than an ordinary program does.
SAFE = ["address", "devx", "devx_mlx5dv", "devx_obj", "devx_umem", "doorbell", "mkey", "mlx5dv",
        "mmap", "mr", "null_mr", "odp", "odp_advice", "odp_region", "pd_ah", "qp", "srq",
        "traffic", "uar", "ucontext", "xrc", "xrc_path"]


def in_use(device, first, rows):
    """Why the device is not free, one reason a line. first: the device that libibverbs lists first;
    rows: what `rdma resource show` lists of queue pairs and connections."""
    reasons = []
    if first != device.name:
        reasons.append(f"the selftests take the first device, which is {first}")
    for netdev in device.netdevs():
        if int(read(Path("/sys/class/net") / netdev / "flags") or "0", 0) & 1:
            reasons.append(f"the network interface {netdev} is up")
    owners = {f"{row.get('comm', '?')} (process {row['pid']})" if "pid" in row
              else f"the kernel's {row.get('comm', '?')}"
              for row in rows if "pid" in row or row.get("comm") != "ib_core"}
    # The verbs driver has queue pairs of its own.
    own = {f"the kernel's {name}" for name in ("mlx5_ib", "bluebell")}
    return reasons + [f"{owner} uses the device" for owner in sorted(owners - own)]


def rows_of(trees):
    """The queue pairs and connections in what rdma has printed."""
    return [row for name in ("rdma-qp.json", "rdma-cm_id.json") for row in trees.get(name) or []
            if isinstance(row, dict)]


def question(device):
    """What the user is asked."""
    states = [f"port {port} is {read(device.path / 'ports' / str(port) / 'state')}"
              for port in device.ports()]
    return (f"The selftests create and destroy thousands of objects on {device.name}, now driven "
            f"by {device.driver()}, and send to themselves; {', '.join(states)}. Should the device "
            "or the kernel fail, everything that uses this card stops. Run them? [y/N] ")


def build():
    """Build the selftests, unless SELFTESTS in the environment says where they are. Returns whether
    they are there."""
    if os.environ.get("SELFTESTS"):
        return True
    return subprocess.run(["make", "selftests", "LAB=host"], cwd=REPO, check=False).returncode == 0


def run(names):
    """Run the selftests, with their output on the terminal. Returns the output."""
    lines = []
    with subprocess.Popen([RUN, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace") as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines)
