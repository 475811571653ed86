# SPDX-License-Identifier: GPL-2.0
"""The host: its files, its commands, its clock, and the kernel's log.

Everything that bluebell-switch reads or changes goes through a Host. The root of the files is a
parameter, so that tests run on a tree of their own.
"""

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import syslog
import time
from pathlib import Path

# Exit statuses.
DONE = 0            # done, or nothing to do
REFUSED = 1         # in use, or not possible; nothing was changed
USAGE = 2
GIVEN_BACK = 3      # failed, and the other driver has the device
NO_DRIVER = 4       # failed, and no driver has the device
NO_PERMISSION = 5   # not root, or /etc cannot be written; nothing was changed
NO_MODULE = 6       # the module of the driver cannot be loaded; nothing was changed
NOT_PERSISTENT = 7  # switched, but not what the next boot does

SECONDS = 120       # the longest that one step of the kernel may take
SLOW = 5            # after as many seconds the user is told that the step takes long


SLOW_VARIABLE = "BLUEBELL_SWITCH_SLOW"


class SwitchError(Exception):
    """An error that ends the command: one line for the user, and the exit status."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def tell(text, file=None):
    """Print a line on stdout. The terminal may be gone, if the user has come in by the device."""
    file = file or sys.stdout
    try:
        print(text, file=file, flush=True)
    except OSError:
        # The rest of the output goes nowhere. Python would end with a status of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def say(text):
    """Print a line about what happens, or an error, on stderr."""
    tell(f"bluebell-switch: {text}", sys.stderr)


class Uninterrupted:
    """While a device is between two drivers, a hangup or an interrupt must not end the program."""

    SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)

    def __enter__(self):
        self.before = {number: signal.signal(number, signal.SIG_IGN) for number in self.SIGNALS}

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)


def in_child(function):
    """Call a function in a child process, which ends with the errno of its OSError. Returns the
    child's number. A step of the kernel may block for ever, and then the child hangs in place of
    this program."""
    child = os.fork()
    if child:
        return child
    code = 0
    try:
        function()
    except OSError as err:
        code = err.errno or errno.EIO
    finally:
        os._exit(code)  # pylint: disable=protected-access


class Host:
    """This host, or a tree that looks like one."""

    def __init__(self, root="/"):
        self.root = Path(root)
        self.sys = self.root / "sys"
        self.proc = self.root / "proc"
        self.modprobe_d = self.root / "etc/modprobe.d"
        self.boot = self.root / "boot"
        self.lib_modules = self.root / "lib/modules"
        self.lock_file = self.root / "run/bluebell-switch.lock"
        self.slow = 1.0     # how many times longer than on other hosts everything may take

    def set_slow(self, text):
        """Set how many times longer everything may take, by the value of BLUEBELL_SWITCH_SLOW."""
        try:
            self.slow = float(text)
        except ValueError:
            self.slow = 0.0
        if not 1 <= self.slow <= 1000:
            raise SwitchError(f"{SLOW_VARIABLE} is '{text}', not a number from 1 to 1000", USAGE)

    # ---- files ---------------------------------------------------------------------------------

    @staticmethod
    def read(path):
        """The text of a file without white space around it; None if it cannot be read."""
        try:
            return path.read_text(errors="replace").strip()
        except OSError:
            return None

    @staticmethod
    def names(path):
        """The sorted names in a folder; none if it cannot be read."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    @staticmethod
    def character_device(path):
        """(major, minor) of an open file that is a character device, else None. The link is read
        first, because to ask for the status of a file on a server that does not answer may block.
        """
        try:
            if "/dev/" not in os.readlink(path) and "infiniband" not in os.readlink(path):
                return None
            status = os.stat(path)
        except OSError:
            return None
        if not stat.S_ISCHR(status.st_mode):
            return None
        return os.major(status.st_rdev), os.minor(status.st_rdev)

    def write(self, path, text):
        """Write to a file of sysfs. Returns the errno, 0, or None if the kernel has not ended."""
        def child():
            os.write(os.open(path, os.O_WRONLY), text.encode())

        return self.wait_for_child(in_child(child), f"'{text}' was written to {path}")

    def step_seconds(self):
        """The longest that one step of the kernel may take."""
        return SECONDS * self.slow

    def wait_for_child(self, child, what):
        """Wait until a child ends. Returns its exit status, None after self.step_seconds()."""
        begin, told = self.now(), False
        while True:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if self.now() - begin > self.step_seconds():
                return None
            if self.now() - begin > SLOW and not told:
                told = True
                say(f"still waiting for the kernel: {what}")
            self.sleep(0.02)

    def writable(self, folder):
        """Why a file cannot be made in a folder; None if it can."""
        if not folder.is_dir():
            return "does not exist"
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return "is on a file system that is mounted read-only"
        return None if os.access(folder, os.W_OK) else "cannot be written"

    # ---- commands, clock, log ------------------------------------------------------------------

    def command(self, *words, seconds=SECONDS):
        """(status, stdout, stderr) of a command; status 127 if the command is not installed, 124
        if it has not ended after as many seconds, times self.slow. The PATH of an ordinary user may
        lack the folders of modinfo and dkms."""
        seconds *= self.slow
        path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        try:
            done = subprocess.run(words, check=False, capture_output=True, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, timeout=seconds,
                                  env={**os.environ, "LC_ALL": "C", "PATH": path})
        except FileNotFoundError:
            return 127, "", f"{words[0]}: not installed"
        except subprocess.TimeoutExpired:
            return 124, "", f"{words[0]} has not ended after {seconds:g} s"
        return done.returncode, done.stdout, done.stderr

    def installed(self, name):
        """Whether a command of the administrator is there."""
        return any((self.root / folder / name).exists() for folder in ("usr/sbin", "usr/bin"))

    def json_command(self, *words):
        """What a command prints as JSON; None if the command fails."""
        status, text, _ = self.command(*words)
        if status:
            return None
        try:
            return json.loads(text or "[]")
        except ValueError:
            return None

    @staticmethod
    def now():
        """A clock, in seconds."""
        return time.monotonic()

    @staticmethod
    def sleep(seconds):
        """Wait."""
        time.sleep(seconds)

    @staticmethod
    def is_root():
        """Whether this process may change anything."""
        return os.geteuid() == 0

    @staticmethod
    def release():
        """The release of the running kernel."""
        return os.uname().release

    @staticmethod
    def log(text):
        """Write a line to the system's log."""
        syslog.openlog("bluebell-switch", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(text)

    def kernel_log(self):
        """The kernel's log from now on: a function that returns the lines since this call."""
        try:
            log = os.open(self.root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return list
        os.lseek(log, 0, os.SEEK_END)

        def lines():
            found = []
            while True:
                try:
                    record = os.read(log, 8192).decode(errors="replace")
                except BrokenPipeError:     # the oldest records have been overwritten
                    continue
                except OSError:
                    record = ""
                if not record:
                    os.close(log)
                    return found
                found.append(record.split(";", 1)[-1].split("\n")[0])

        return lines

    @contextlib.contextmanager
    def locked(self):
        """While one bluebell-switch changes the host, no other one does."""
        try:
            lock = open(self.lock_file, "w", encoding="ascii")
        except OSError as err:
            raise SwitchError(f"{self.lock_file}: {err.strerror}", NO_PERMISSION) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SwitchError("another bluebell-switch is at work: wait for it",
                                  REFUSED) from None
            yield
