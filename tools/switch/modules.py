# SPDX-License-Identifier: GPL-2.0
"""The kernel modules of the two drivers: whether they are there, and why one cannot be loaded."""

from functions import AUXILIARY, BLUEBELL
from host import NO_MODULE, SwitchError

KEY = "/var/lib/dkms/mok.pub"
ADVICE = "usr/share/bluebell-dkms/advice"      # a program of the package bluebell-dkms
ENROL = (f"do 'mokutil --import {KEY}', reboot, and confirm the key on the console "
         "(Ubuntu: /var/lib/shim-signed/mok/MOK.der)")


def folder_of(host, driver):
    """The folder of a driver on the auxiliary bus, which is there when its module is loaded."""
    return host.sys / AUXILIARY / "drivers" / f"{driver}.rdma"


def loaded(host, driver):
    """Whether the driver is there: its module is loaded, or it is built in."""
    return folder_of(host, driver).is_dir()


def file_of(host, driver):
    """The path of the module for the running kernel, as modprobe finds it; None without one."""
    _, text, _ = host.command("modinfo", "-n", driver)
    return text.strip() or None


def locked_down(host):
    """Whether lockdown is on, which Secure Boot turns on: "none [integrity] confidentiality"."""
    text = host.read(host.sys / "kernel/security/lockdown")
    return bool(text) and "[none]" not in text


def built(host, driver):
    """Why there is no module for this kernel, and what to do."""
    release = host.release()
    if driver != BLUEBELL:
        return f"this kernel ({release}) has no {driver}: install its package of modules"
    status, text, _ = host.command("dkms", "status", BLUEBELL)
    if status == 127:
        return f"there is no bluebell.ko for {release}, and no dkms: install bluebell-dkms"
    lines = "; ".join(text.strip().splitlines())
    if not lines:
        return (f"there is no bluebell.ko for {release}, and dkms does not know bluebell: "
                "install bluebell-dkms")
    return (f"there is no bluebell.ko for {release}; 'dkms status bluebell' says '{lines}': "
            + (advice(host) or f"install linux-headers-{release}, do 'dkms autoinstall', and see "
               "/var/lib/dkms/bluebell/*/build/make.log if that fails"))


def advice(host):
    """What the package bluebell-dkms advises, in one line: it knows which kernels dkms skips, and
    why. None without the program, or if it finds a module."""
    if not (host.root / ADVICE).exists():
        return None
    _, text, _ = host.command(f"/{ADVICE}")
    words = " ".join(text.split()).removeprefix("bluebell-dkms: ")
    return words if words.startswith("There is no module") else None


def why_not(host, driver, words, log):
    """Why modprobe has failed, and what to do. words: what modprobe has said; log: what the kernel
    has said meanwhile."""
    said = "\n".join([words, *log])
    if "not found in directory" in said:
        return built(host, driver)
    if "Key was rejected" in said or "Required key not available" in said \
            or "unavailable key" in said \
            or ("Operation not permitted" in said and locked_down(host)):
        return f"Secure Boot refuses {driver}.ko, whose key is not enrolled: {ENROL}"
    if "Exec format error" in said or "Unknown symbol" in said or "disagrees about" in said:
        return (f"{driver}.ko was built for another kernel, or for another RDMA stack than the one "
                f"that is loaded: do 'dkms build --force {driver}/VERSION' and 'dkms install "
                f"--force {driver}/VERSION'")
    last = (words.strip().splitlines() or ["modprobe has failed"])[-1]
    return f"{last} (see the kernel log: journalctl -k)"


def load(host, driver):
    """Load the module of a driver, unless it is there. Raises an error that says why it cannot be
    loaded."""
    if loaded(host, driver):
        return
    log = host.kernel_log()
    status, _, words = host.command("modprobe", driver)
    if status == 127:
        raise SwitchError("cannot find modprobe: install kmod", NO_MODULE)
    if not loaded(host, driver):
        if not status:
            words = f"modprobe {driver} has loaded no driver (is it blacklisted or aliased in " \
                    "/etc/modprobe.d?)"
        raise SwitchError(f"cannot load {driver}: {why_not(host, driver, words, log())}",
                          NO_MODULE)
