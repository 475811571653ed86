# SPDX-License-Identifier: GPL-2.0
"""What `bluebell-switch status` prints, as text and as JSON."""

import modules
import persist
import users
from functions import BLUEBELL, STOCK


def port_line(port):
    """A port in words."""
    if not port.state:
        return f"port {port.number} does not answer"
    return f"port {port.number} {port.state} ({port.physical or 'no physical state'})"


def device_lines(function, using):
    """The lines of a function."""
    words = [function.driver or "no driver", ", ".join(function.rdma) or "no RDMA device",
             function.link_layer or "link layer not known"]
    yield f"{function.address}: {', '.join(words)}"
    for port in function.ports:
        yield f"    {port_line(port)}"
    obstacle = function.obstacle()
    if obstacle:
        yield f"    not for Bluebell: {obstacle}"
    for user in using:
        yield f"    used by {user}"


def driver_lines(host):
    """The lines about the modules, and about the next boot."""
    for name in (BLUEBELL, STOCK):
        file = modules.file_of(host, name)
        yield (f"{name}: {'loaded' if modules.loaded(host, name) else 'not loaded'}, "
               f"{file or 'no module for ' + host.release()}")
    first = persist.enabled(host)
    yield f"at boot: {'bluebell, where it can, else mlx5_ib' if first else 'mlx5_ib'}"


def text(host, devices):
    """The report. devices: [(function, users)]."""
    lines = [line for function, using in devices for line in device_lines(function, using)]
    return "\n".join(lines + list(driver_lines(host)))


def port_json(port):
    """A port as JSON has it."""
    return {"port": port.number, "state": port.state, "physical_state": port.physical,
            "link_layer": port.link_layer}


def to_json(host, devices):
    """The report for programs."""
    return {
        "devices": [{
            "address": function.address, "auxiliary": function.auxiliary,
            "driver": function.driver, "rdma": function.rdma, "uverbs": function.uverbs,
            "netdevs": function.netdevs, "link_layer": function.link_layer,
            "ports": [port_json(port) for port in function.ports],
            "obstacle": function.obstacle(),
            "users": [users.to_json(user) for user in using],
        } for function, using in devices],
        "modules": {name: {"loaded": modules.loaded(host, name),
                           "file": modules.file_of(host, name)} for name in (BLUEBELL, STOCK)},
        "kernel": host.release(),
        "at_boot": BLUEBELL if persist.enabled(host) else STOCK,
        "file": str(persist.file_of(host)) if persist.state(host) == "ours" else None,
    }
