# SPDX-License-Identifier: GPL-2.0
"""Give a function to a driver: unbind, bind, see whether the device is back, or else give it back.

Both modules stay loaded. A function that no driver has stays so until a driver is told to take it,
so between unbind and bind nothing else happens to it.
"""

import copy
import errno
import os

import functions
import modules
from functions import AUXILIARY, BLUEBELL, OTHER, STOCK
from host import DONE, GIVEN_BACK, NO_DRIVER, NO_MODULE, SwitchError, say, tell

RENAME_SECONDS = 3      # that udev may take to rename a new RDMA device


class Switch:
    """One way to switch functions: with the host, and the seconds that a device may take to come
    back."""

    def __init__(self, host, wait):
        self.host = host
        self.wait = wait

    # ---- steps ---------------------------------------------------------------------------------

    def control(self, driver, name):
        """The file of sysfs by which a driver is bound or unbound."""
        return modules.folder_of(self.host, driver) / name

    def unbind(self, function, driver):
        """Take a function from a driver. Returns why that is not possible, or None. Raises an error
        if the kernel does not come back: then nothing more can be done."""
        error = self.host.write(self.control(driver, "unbind"), function.auxiliary)
        if error is None:
            raise SwitchError(
                f"{function.address}: the kernel has not taken it from {driver} within "
                f"{self.host.step_seconds():g} s, and may still do so: see 'journalctl -k' for "
                "what it waits for; if it never ends, reboot", NO_DRIVER)
        return os.strerror(error) if error else None

    def bind(self, function, driver):
        """Give a function to a driver. Returns why the driver has not taken it, or None."""
        log = self.host.kernel_log()
        error = self.host.write(self.control(driver, "bind"), function.auxiliary)
        if error is None:
            return f"it has not come up within {self.host.step_seconds():g} s"
        if not error:
            return None
        said = [line for line in log() if function.auxiliary in line or function.address in line]
        # The last line is the driver core's, and the driver's own lines say more.
        own = [line for line in said if "probe with driver" not in line]
        return (own or said or [error_text(error)])[-1]

    def verify(self, function, driver, before):
        """Wait until a driver has brought a function's device up, with its ports as they were
        before. Returns what is missing, or None."""
        end = self.host.now() + self.wait
        while True:
            functions.refresh(self.host, function)
            why = missing(function, driver, before)
            if not why or self.host.now() >= end:
                break
            self.host.sleep(0.1)
        end = min(end, self.host.now() + RENAME_SECONDS * self.host.slow)
        while not why and before.rdma and function.rdma != before.rdma and self.host.now() < end:
            self.host.sleep(0.1)
            functions.refresh(self.host, function)
        return why

    def give(self, function, driver, before):
        """Give a function to a driver, whoever has it now. Returns what has failed, or None."""
        functions.refresh(self.host, function)
        if function.driver not in (None, driver):
            why = self.unbind(function, function.driver)
            if why:
                return f"it cannot be taken from {function.driver}: {why}"
        if function.driver != driver:
            why = self.bind(function, driver)
            if why:
                return why
        return self.verify(function, driver, before)

    # ---- the whole -----------------------------------------------------------------------------

    def switch(self, function, driver):
        """Give a function to a driver, or give it back to the other driver and raise an error."""
        before = copy.deepcopy(function)
        modules.load(self.host, driver)
        why = self.give(function, driver, before)
        if why:
            self.give_back(function, driver, before, why)
        elif before.rdma and function.rdma != before.rdma:
            say(f"{function.address}: the RDMA device is now {', '.join(function.rdma)}, and was "
                f"{', '.join(before.rdma)}")
        self.host.log(f"{function.address} was given to {driver}")

    def give_back(self, function, driver, before, why):
        """A driver has failed: give the function to the other driver. Raises an error."""
        other = OTHER[driver]
        say(f"{function.address}: {driver} has failed ({why}): giving it to {other}")
        try:
            modules.load(self.host, other)
            failed = self.give(function, other, before)
        except SwitchError as err:
            failed = str(err)
        functions.refresh(self.host, function)
        if not failed:
            error = SwitchError(f"{function.address}: {other} has it, because {driver} has failed: "
                                f"{why}", GIVEN_BACK)
        elif function.driver:
            error = SwitchError(f"{function.address}: {function.driver} has it, but {failed}; "
                                f"{driver} has failed: {why}", NO_DRIVER)
        else:
            error = SwitchError(f"{function.address}: no driver has it, because {driver} has "
                                f"failed ({why}) and so has {other} ({failed}): see 'journalctl "
                                f"-k', and try 'devlink dev reload pci/{function.address}'",
                                NO_DRIVER)
        self.host.log(str(error))
        raise error


def error_text(error):
    """What an errno of a bind means."""
    if error == errno.ENODEV:
        return "it does not drive such a device: see 'journalctl -k'"
    return f"{os.strerror(error)}: see 'journalctl -k'"


def missing(function, driver, before):
    """What a device lacks that had a driver before, or None."""
    if function.driver != driver:
        return f"{driver} is not bound"
    if not function.rdma:
        return "no RDMA device has come up"
    ports = {port.number: port for port in function.ports}
    for number in sorted({port.number for port in before.ports} | set(ports)):
        if number not in ports or not ports[number].state:
            return f"port {number} does not answer"
    for port in before.ports:
        if ports[port.number].rank < port.rank:
            return f"port {port.number} is {ports[port.number].state}, and was {port.state}"
    if before.uverbs and not function.uverbs:
        return f"{function.rdma[0]} has no uverbs device"
    return None


def show_steps(host, function, driver, wait):
    """Print what switch() would do. Raises its error if there is no module."""
    if not modules.loaded(host, driver):
        if not modules.file_of(host, driver):
            raise SwitchError(f"cannot load {driver}: {modules.built(host, driver)}", NO_MODULE)
        tell(f"would load the module: modprobe {driver}")
    folder = host.sys / AUXILIARY / "drivers"
    if function.driver:
        tell(f"would write '{function.auxiliary}' to {folder}/{function.driver}.rdma/unbind")
    tell(f"would write '{function.auxiliary}' to {folder}/{driver}.rdma/bind")
    tell(f"would wait up to {wait:g} s for the RDMA device of {function.address} and its ports, "
         f"and otherwise give it to {OTHER[driver]}")


def at_boot(host, wait):
    """After boot, if Bluebell is to have the devices: see that each device that it can drive has a
    driver, and otherwise load mlx5_ib and give the device to it. Returns (exit status, one
    line)."""
    found = [function for function in functions.find(host) if not function.obstacle()]
    if not found:
        return DONE, "there is no device that Bluebell can drive"
    way = Switch(host, wait)
    worst, lines = DONE, []
    for function in found:
        status, line = one_at_boot(way, function)
        worst = max(worst, status)
        lines.append(f"{function.address}: {line}")
    return worst, "; ".join(lines)


def one_at_boot(way, function):
    """As at_boot(), of one function."""
    nothing = functions.Function(function.address, function.folder)
    if function.driver in (None, BLUEBELL):
        why = way.verify(function, BLUEBELL, nothing)
        if not why:
            return DONE, f"bluebell has it ({', '.join(function.rdma)})"
    why = why_not_bluebell(way.host, function)
    if function.driver not in (None, BLUEBELL):
        return GIVEN_BACK, f"{function.driver} has it: {why}"
    try:
        modules.load(way.host, STOCK)
        failed = way.give(function, STOCK, nothing)
    except SwitchError as err:
        failed = str(err)
    if failed:
        return NO_DRIVER, f"no driver has it: {why}; {STOCK}: {failed}"
    return GIVEN_BACK, f"given to {STOCK}: {why}"


def why_not_bluebell(host, function):
    """Why Bluebell has not got a function at boot."""
    if function.driver == BLUEBELL:
        return f"bluebell has not brought it up ({missing(function, BLUEBELL, function)})"
    if modules.loaded(host, BLUEBELL):
        return ("mlx5_ib got it first, perhaps in the initramfs ('update-initramfs -u' takes "
                "bluebell in), or bluebell has refused it (see 'journalctl -k')") \
            if function.driver else "bluebell has refused it: see 'journalctl -k'"
    if modules.file_of(host, BLUEBELL):
        return "bluebell.ko could not be loaded: 'modprobe bluebell' says why"
    return modules.built(host, BLUEBELL)
