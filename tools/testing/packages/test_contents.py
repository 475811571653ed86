# SPDX-License-Identifier: GPL-2.0
"""What is in the packages."""

import filecmp
import fnmatch
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from packages import REPO, directory, make, packages

WIRE = {"compat/wire/linux/mlx5/mlx5_ifc.h", "compat/wire/linux/mlx5/mlx5_ifc_fpga.h",
        "compat/wire/uapi/rdma/mlx5-abi.h"}


def tracked(*paths):
    """The files of the work tree below some paths."""
    return set(subprocess.run(["git", "ls-files", *paths], cwd=REPO, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines())


def documents(name):
    """The files of any package in /usr/share/doc."""
    return {f"usr/share/doc/{name}/{file}" for file in ("changelog.gz", "copyright")}


class Contents(unittest.TestCase):
    """Lists of files."""

    def test_dkms_has_the_whole_source_of_the_driver(self):
        """The files that git tracks of the driver and of compat/, the wire headers, and nothing
        else."""
        package = packages()["bluebell-dkms"]
        source = tracked("Kbuild", "compat", "drivers", "include") | WIRE
        source |= {"build", "dkms.conf", "initramfs"}
        self.assertGreater(len(source), 150)
        expected = {f"{package.source}/{file}" for file in source}
        expected |= documents(package.name) | {"usr/share/bluebell-dkms/advice"}
        self.assertEqual(package.files(), expected)

    def test_tools_has_the_programs(self):
        """uarmap and bluebell-switch: the program, its modules, its man page, its completion, and
        for bluebell-switch the check after boot."""
        package = packages()["bluebell-tools"]
        expected = documents(package.name) | {
            "usr/bin/uarmap", "usr/share/man/man1/uarmap.1.gz",
            "usr/share/bash-completion/completions/uarmap",
            "usr/share/python3/runtime.d/bluebell-tools.rtupdate"}
        if (REPO / "tools/switch").exists():
            expected |= {"usr/sbin/bluebell-switch", "usr/share/man/man8/bluebell-switch.8.gz",
                         "usr/share/bash-completion/completions/bluebell-switch",
                         "usr/lib/systemd/system/bluebell-check.service"}
        for name in ("uarmap", "switch"):
            expected |= {f"usr/share/bluebell-tools/{name}/{Path(file).name}"
                         for file in tracked(f"tools/{name}")
                         if re.fullmatch(rf"tools/{name}/([^/]*\.py|[^/.]*)", file)}
        self.assertEqual(package.files(), expected)

    def test_dkms_can_skip_a_kernel(self):
        """An older dkms ignores the status by which the script build skips a kernel."""
        needs = subprocess.run(["dpkg-deb", "--field", packages()["bluebell-dkms"].path, "Depends"],
                               check=True, text=True, stdout=subprocess.PIPE).stdout
        self.assertIn("dkms (>= 3.1.5)", needs)

    def test_no_placeholder_is_left(self):
        """dkms.conf has the version of the package, which names the directory."""
        package = packages()["bluebell-dkms"]
        top = directory()
        conf = package.unpack(top) / package.source / "dkms.conf"
        text = conf.read_text(encoding="utf-8")
        shutil.rmtree(top)
        self.assertIn(f'PACKAGE_VERSION="{package.version}"', text)
        self.assertIsNone(re.search(r"#[A-Z_]+#", text))

    def test_the_same_commit_gives_the_same_packages(self):
        """Whatever the time zone, the language, the number of jobs and the directory."""
        top = directory()
        umask = os.umask(0o077)
        try:
            again = make(top / "deb", TZ="Asia/Tokyo", LC_ALL="C", JOBS="1",
                         DEB_BUILD_OPTIONS="")
            self.assertEqual(set(again), set(packages()))
            for name, package in packages().items():
                self.assertTrue(filecmp.cmp(again[name].path, package.path, shallow=False), name)
        finally:
            os.umask(umask)
            shutil.rmtree(top)


class Copyright(unittest.TestCase):
    """debian/copyright against the SPDX lines."""

    @classmethod
    def setUpClass(cls):
        cls.top = directory()
        cls.text = None
        for package in packages().values():
            package.unpack(cls.top)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def paragraphs(self):
        """(patterns, licence) of each paragraph with Files, in their order."""
        text = (REPO / "tools/packages/debian/copyright").read_text(encoding="utf-8")
        for paragraph in text.split("\n\n"):
            fields = dict(re.findall(r"^([A-Z][A-Za-z-]+): *(.*(?:\n .*)*)", paragraph, re.M))
            if "Files" in fields:
                yield fields["Files"].split(), fields["License"].splitlines()[0]

    def licence(self, name):
        """The licence that debian/copyright gives a file: the last paragraph that matches."""
        return [licence for patterns, licence in self.paragraphs()
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)][-1]

    @staticmethod
    def spdx(path):
        """The licence that the file names itself, in the words of debian/copyright; None if it
        names none."""
        text = path.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"SPDX-License-Identifier: *(.*)", text)
        if not found:
            return None
        name = re.sub(r"\s*(\*/|-->)?$", "", found[1])
        name = re.sub(r"^\((.*)\)$", r"\1", name)
        return name.replace("GPL-2.0-only", "GPL-2.0")

    def names(self):
        """(path in the repository, installed file) of each file of the packages."""
        source = packages()["bluebell-dkms"].source
        for path in sorted((self.top / source).rglob("*")):
            if path.is_file():
                yield str(path.relative_to(self.top / source)), path
        tools = self.top / "usr/share/bluebell-tools"
        for path in sorted(tools.rglob("*")):
            if path.is_file():
                yield f"tools/{path.relative_to(tools)}", path

    def test_licences_are_those_of_the_spdx_lines(self):
        """Each file that names its licence has it in debian/copyright, too."""
        checked = 0
        for name, path in self.names():
            spdx = self.spdx(path)
            if spdx:
                self.assertEqual(self.licence(name), spdx, name)
                checked += 1
        self.assertGreater(checked, 150)

    def test_files_without_spdx_lines_are_known(self):
        """compat/features, and the wire headers that state their licence in words."""
        without = {name for name, path in self.names() if not self.spdx(path)}
        self.assertEqual(without, {"compat/features", "compat/wire/linux/mlx5/mlx5_ifc.h",
                                   "compat/wire/linux/mlx5/mlx5_ifc_fpga.h"})
        for name in without - {"compat/features"}:
            text = (self.top / packages()["bluebell-dkms"].source / name).read_text()
            self.assertIn("OpenIB.org BSD license", text)
            self.assertEqual(self.licence(name), "GPL-2.0 OR Linux-OpenIB")
