# SPDX-License-Identifier: GPL-2.0
"""A host for packages that needs no guest: the lab's tree as a root directory into which dpkg and
dkms write, with the kernels that a test wants. What they write goes to a directory of its own."""

import os
import shutil
import subprocess
from pathlib import Path

LAB = Path(os.environ.get("BLUEBELL_LAB", "/"))
MODULES = LAB / "usr/lib/modules"

# What uname says on the host.
UNAME = """#!/bin/sh
case $1 in
-r) cat /etc/uname-r ;;
-m) cat /etc/uname-m ;;
*) exec /usr/bin/uname "$@" ;;
esac
"""

# A mokutil that says what the test has written; without the file it is the lab's own.
MOKUTIL = """#!/bin/sh
case $1 in
--sb-state) cat /etc/mokutil-state ;;
--test-key) echo "$2 $(cat /etc/mokutil-key)" ;;
*) exit 2 ;;
esac
"""


def mount(*arguments):
    """mount(8) in this process's own namespace."""
    subprocess.run(["mount", *map(str, arguments)], check=True)


def kernel(series):
    """The release of the lab's kernel of a series."""
    names = [path.name for path in MODULES.glob(f"{series}.*") if (path / "build").exists()]
    return max(names) if names else None


class Host:
    """A root directory in @top. Ends with close(), or as a context."""

    def __init__(self, top):
        self.top = Path(top)
        self.root = self.top / "root"
        self.overlays = 0
        self.mounted = []
        self.root.mkdir(parents=True)
        self._overlay(LAB, self.root)
        for name in ("proc", "dev"):
            self._mount("--rbind", f"/{name}", self.root / name)
        # The compiler's results stay in the lab's cache, whatever version of the driver is in the
        # path of a file.
        self.ccache = os.environ.get("CCACHE_DIR")
        if self.ccache:
            self.path("ccache").mkdir()
            self._mount("--bind", self.ccache, self.root / "ccache")
        # The kernels of the lab are not those of the host.
        for name in ("boot", "usr/lib/modules"):
            self._mount("-t", "tmpfs", "tmpfs", self.root / name)
        for name, text in (("uname", UNAME), ("mokutil", MOKUTIL)):
            self.write(f"usr/local/bin/{name}", text).chmod(0o755)
        # Debian's own awk, which knows less than that of the lab.
        self.path("usr/local/bin/awk").symlink_to("/usr/bin/mawk")
        self.write("etc/uname-m", os.uname().machine)
        self.write("etc/dkms/framework.conf.d/test.conf", "parallel_jobs=%s\n" %
                   os.environ.get("JOBS", os.cpu_count()))

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def _mount(self, *arguments):
        mount(*arguments)
        self.mounted.append(arguments[-1])

    def _overlay(self, lower, where):
        upper = self.top / f"overlay{self.overlays}"
        self.overlays += 1
        for name in ("upper", "work"):
            (upper / name).mkdir(parents=True)
        options = f"userxattr,lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work"
        self._mount("-t", "overlay", "overlay", "-o", options, where)

    def close(self):
        """Unmount all of it, and remove what was written."""
        for where in reversed(self.mounted):
            subprocess.run(["umount", "-l", where], check=True)
        shutil.rmtree(self.top)

    def path(self, name):
        """The path of a file of the host."""
        return self.root / name

    def write(self, name, text):
        """Write a file of the host. Returns its path."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def modules(self, release):
        """The directory of a kernel's modules."""
        return self.path("usr/lib/modules") / release

    def add_kernel(self, release, running=True):
        """Install a kernel of the lab, with its headers."""
        where = self.modules(release)
        where.mkdir()
        self._overlay(MODULES / release, where)
        if running:
            self.write("etc/uname-r", release)

    def add_headers(self, release, real):
        """Make a kernel of another name, which has the headers of one of the lab. Returns the
        directory of the headers, which can be changed."""
        headers = Path(os.path.realpath(f"/lib/modules/{real}/build"))
        self.modules(release).mkdir()
        (self.modules(release) / "build").symlink_to(headers)
        self.write("etc/uname-r", release)
        return self.path(str(headers).lstrip("/"))

    def lock_modules(self):
        """Make the kernels' modules read-only."""
        where = self.path("usr/lib/modules")
        self._mount("--rbind", where, where)
        mount("-o", "remount,bind,ro", where)

    def run(self, *command):
        """Run a command on the host. Returns its status and what it printed."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
        if self.ccache:
            environment.update(PATH="/usr/lib/ccache:" + environment["PATH"], CCACHE_DIR="/ccache",
                               CCACHE_BASEDIR="/var/lib/dkms", CCACHE_NOHASHDIR="1")
        done = subprocess.run(["chroot", self.root, *command], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def install(self, *packages):
        """Install packages by dpkg. Returns its status and what it printed. The lab's list of
        packages does not have those that scripts/lab --packaging has added, such as dkms."""
        names = []
        for package in packages:
            shutil.copy(package, self.root)
            names.append("/" + package.name)
        return self.run("dpkg", "--force-depends", "--install", *names)
