# SPDX-License-Identifier: GPL-2.0
"""Which driver gets the devices at boot: the file bluebell.conf of modprobe.

Both modules match the same devices, and the module that is loaded first gets them. With the line
below, modprobe loads bluebell before mlx5_ib, however mlx5_ib is loaded (by its alias, or by name
as udev's rules of rdma-core do). mlx5_ib is loaded, too, and gets the devices that Bluebell
refuses. If there is no bluebell.ko, mlx5_ib gets all devices.

mlx5_ib is in most initramfs, and loaded from there before the root file system is mounted. So the
initramfs of each kernel that has bluebell.ko is made again when the line comes or goes: the tools
that make it then take bluebell.ko along with mlx5_ib, or leave it out.
"""

import os
import stat
import tempfile

from host import NO_PERMISSION, NOT_PERSISTENT, REFUSED, SwitchError, say

INITRAMFS_SECONDS = 900
NAME = "bluebell.conf"
LINE = "softdep mlx5_ib pre: bluebell"
MARK = "# Written by bluebell-switch"
TEXT = f"""\
{MARK}: 'bluebell-switch off --all --persist' removes this file.
# modprobe loads bluebell before mlx5_ib, so that Bluebell gets the devices that it can drive.
# mlx5_ib gets the others, and all devices if there is no bluebell.ko for the kernel.
{LINE}
"""


def file_of(host):
    """The path of the file."""
    return host.modprobe_d / NAME


def state(host):
    """What is there: "absent", "ours", or "foreign" if bluebell-switch has not written it, or not
    as it is now."""
    path = file_of(host)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return "absent"
    except OSError:
        return "foreign"
    text = host.read(path) or ""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    ours = stat.S_ISREG(mode) and text.startswith(MARK) and lines == [LINE]
    return "ours" if ours else "foreign"


def enabled(host):
    """Whether Bluebell is to get the devices at boot: by the file, or by a line that the
    administrator has written."""
    for name in host.names(host.modprobe_d):
        text = host.read(host.modprobe_d / name) if name.endswith(".conf") else None
        if any(line.split() == LINE.split() for line in (text or "").splitlines()):
            return True
    return False


def check(host, driver_is_bluebell):
    """Raise an error if the file cannot be written or removed. To be called before anything is
    changed."""
    found = state(host)
    if found == "foreign":
        raise SwitchError(f"{file_of(host)} was not written by bluebell-switch, or was changed "
                          "since: move it away, or do without --persist", REFUSED)
    if (found == "ours") == driver_is_bluebell:
        return
    why = host.writable(host.modprobe_d)
    if why:
        raise SwitchError(f"{host.modprobe_d} {why}: make it writable, or do without --persist",
                          NO_PERMISSION)


def write(host):
    """Write the file. It is complete or absent at any time, and modprobe does not read the
    temporary file, whose name does not end in .conf."""
    path = file_of(host)
    try:
        number, temporary = tempfile.mkstemp(prefix=f".{NAME}.", dir=host.modprobe_d)
        try:
            with os.fdopen(number, "wb", buffering=0) as file:
                file.write(TEXT.encode())
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        sync(host.modprobe_d)
    except OSError as err:
        raise failed(path, "written", err) from None


def remove(host):
    """Remove the file."""
    path = file_of(host)
    try:
        path.unlink()
        sync(host.modprobe_d)
    except OSError as err:
        raise failed(path, "removed", err) from None


def initramfs_commands(host):
    """The commands that make the initramfs of each kernel with bluebell.ko again, as (kernel,
    command), with the tool that the host has."""
    for release in host.names(host.lib_modules):
        file = host.boot / f"initrd.img-{release}"
        if not file.exists() \
                or not any((host.lib_modules / release / "updates").rglob("bluebell.ko*")):
            continue
        if not host.installed("update-initramfs") and host.installed("dracut"):
            yield release, ("dracut", "--force", "--kver", release, str(file))
        else:
            yield release, ("update-initramfs", "-u", "-k", release)


def make_initramfs(host):
    """Make the initramfs of these kernels again."""
    for release, command in initramfs_commands(host):
        say(f"making the initramfs of {release} again, which takes up to some minutes")
        status, _, words = host.command(*command, seconds=INITRAMFS_SECONDS)
        if status:
            last = (words.strip().splitlines() or [f"status {status}"])[-1]
            raise SwitchError(f"the initramfs of {release} could not be made again ({last}), and "
                              f"mlx5_ib may be loaded from it first: do '{' '.join(command)}'",
                              NOT_PERSISTENT)


def sync(folder):
    """Let the disk have what has changed in a folder."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def failed(path, what, err):
    """The error when the devices have been switched, but the file has not."""
    return SwitchError(f"{path} could not be {what} ({err.strerror}): the devices are switched "
                       "until the next boot only; do the same command again", NOT_PERSISTENT)
