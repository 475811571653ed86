# SPDX-License-Identifier: GPL-2.0
"""The packages of this work tree, made once for all tests."""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]


class Package:
    """A .deb and the files that it installs."""

    def __init__(self, path):
        self.path = path
        self.name, self.version, _ = path.name.split("_")

    def files(self):
        """The paths of its files and symbolic links."""
        lines = subprocess.run(["dpkg-deb", "--contents", self.path], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        return {line.split(None, 5)[5].removeprefix("./").split(" -> ")[0]
                for line in lines if not line.startswith("d")}

    def unpack(self, where):
        """Unpack its files to a directory."""
        subprocess.run(["dpkg-deb", "--extract", self.path, where], check=True)
        return Path(where)

    @property
    def source(self):
        """Where it has the source of the driver, if it is bluebell-dkms."""
        return f"usr/src/bluebell-{self.version}"


def make(where, **environment):
    """Make the packages by scripts/make-deb in a directory. Returns them by name."""
    done = subprocess.run(["scripts/make-deb", "--indep", where], cwd=REPO, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"scripts/make-deb failed:\n{done.stdout}")
    return {package.name: package
            for package in map(Package, sorted(Path(where).glob("*.deb")))}


def directory():
    """A directory for a test. It is not in /tmp, where another file system may be that an overlay
    cannot use."""
    top = REPO / "build/packages"
    top.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=top))


@functools.cache
def packages():
    """The packages of this work tree by name. The directory stays for the next run."""
    where = REPO / "build/packages/deb"
    shutil.rmtree(where, ignore_errors=True)
    return make(where)
