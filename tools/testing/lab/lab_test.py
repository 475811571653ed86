#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how scripts/lab adds a kernel, with packages of a mirror that is a folder."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import SCRIPTS

RELEASE = "6.12.5+deb13-amd64"
# What the packages of a kernel of Debian 13 have.
PACKAGES = {
    f"linux-headers-{RELEASE}": [f"usr/lib/modules/{RELEASE}/build/Makefile"],
    "linux-headers-6.12.5+deb13-common": ["usr/src/linux-headers-6.12.5+deb13-common/Makefile"],
    "linux-kbuild-6.12.5+deb13": ["usr/lib/linux-kbuild-6.12.5+deb13/scripts/basic/fixdep"],
    f"linux-image-{RELEASE}": [f"boot/vmlinuz-{RELEASE}",
                               f"usr/lib/modules/{RELEASE}/kernel/mlx5_core.ko"],
}
# bwrap notes its arguments, and what it was asked to run does what depmod would do.
BWRAP = """#!/bin/sh
printf '%s\\n' "$@" >"$BWRAP_ARGUMENTS"
for release; do :; done
[ ! -d "$FAKE_LAB/usr/lib/modules/$release" ] ||
	touch "$FAKE_LAB/usr/lib/modules/$release/modules.dep"
"""


class Mirror:
    """A folder that apt takes for a mirror with these packages in the stable suite."""

    def __init__(self, folder, packages):
        self.folder = folder
        (folder / "pool").mkdir(parents=True)
        self.write_index("trixie", "".join(self.package(*item) for item in packages.items()))
        self.write_index("trixie-backports", "")

    @property
    def address(self):
        """What BLUEBELL_MIRROR is to be. Nobody has signed the index."""
        return f"[trusted=yes] file://{self.folder}"

    def package(self, name, files):
        """Make a package, and return its paragraph of the index."""
        root = self.folder / "root" / name
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(name, encoding="utf-8")
        control = (f"Package: {name}\nVersion: 6.12.5-1\nArchitecture: amd64\n"
                   "Maintainer: A Test <test@example.org>\nDescription: a package\n")
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(control, encoding="utf-8")
        deb = self.folder / "pool" / f"{name}.deb"
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", root, deb], check=True,
                       stdout=subprocess.DEVNULL)
        digest = hashlib.sha256(deb.read_bytes()).hexdigest()
        return (f"{control}Filename: pool/{deb.name}\nSize: {deb.stat().st_size}\n"
                f"SHA256: {digest}\n\n")

    def write_index(self, suite, packages):
        """Write the index of a suite."""
        folder = self.folder / "dists" / suite
        index = folder / "main/binary-amd64/Packages"
        index.parent.mkdir(parents=True)
        index.write_text(packages, encoding="utf-8")
        digest = hashlib.sha256(packages.encode()).hexdigest()
        (folder / "Release").write_text(
            f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
            f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n"
            f" {digest} {len(packages)} main/binary-amd64/Packages\n", encoding="utf-8")


class Kernel(unittest.TestCase):
    """The option --kernel, with a cache whose path has characters that the shell interprets."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)
        self.cache = self.folder / "it's [a] cache" / "bluebell"
        tools = self.folder / "bin"
        tools.mkdir()
        for name, text in (("bwrap", BWRAP), ("mmdebstrap", "#!/bin/sh\nexit 1\n")):
            (tools / name).write_text(text, encoding="utf-8")
            (tools / name).chmod(0o755)
        self.env = {name: value for name, value in os.environ.items()
                    if name not in ("BLUEBELL_LAB", "LAB", "APT_CONFIG")}
        self.env |= {"PATH": f"{tools}:{self.env['PATH']}", "LC_ALL": "C",
                     "XDG_CACHE_HOME": str(self.cache.parent),
                     "BLUEBELL_MIRROR": f"file://{self.folder}/none",
                     "BWRAP_ARGUMENTS": str(self.folder / "arguments")}
        # Without a lab and without a mirror, the program says where the lab would be.
        said = self.run_lab("--path", status=1)
        self.lab = Path(re.search("making the lab in (.*); this", said)[1])
        self.modules = self.lab / "usr/lib/modules" / RELEASE
        self.modules.parent.mkdir(parents=True)
        self.env["FAKE_LAB"] = str(self.lab)

    def run_lab(self, *arguments, status=0, program="lab"):
        """Run scripts/lab, or another program. Returns what it has said."""
        ended = subprocess.run([SCRIPTS / program, *arguments], env=self.env, check=False,
                               text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.printed = ended.stdout.strip()
        return ended.stderr

    def add(self, packages, status=0):
        """Add a kernel 6.12 from a mirror with these packages."""
        mirror = Mirror(self.folder / f"mirror-{len(list(self.folder.glob('mirror-*')))}", packages)
        self.env["BLUEBELL_MIRROR"] = mirror.address
        return self.run_lab("--kernel", "6.12", "--path", status=status)

    def left(self):
        """What is in the cache beside the lab, its log and the lock."""
        return sorted(path.name for path in self.cache.iterdir()
                      if path.suffix not in (".log", ".lock") and path != self.lab)

    def test_packages_are_unpacked_into_the_lab(self):
        """The kernel counts as added when all packages are there. The second time, nothing is
        fetched."""
        self.add(PACKAGES)
        self.assertEqual(self.printed, str(self.lab))
        for files in PACKAGES.values():
            for file in files:
                self.assertTrue((self.lab / file).exists(), file)
        self.assertEqual((self.modules / "added-to-lab").read_text(encoding="utf-8"), "complete\n")
        self.assertEqual(self.left(), [])
        self.assertEqual(self.run_lab("--kernel", "6.12", "--path"), "")

    def test_progress(self):
        """The download is reported by tenths, and each package that is unpacked by its name."""
        said = self.add(PACKAGES).splitlines()
        tenths = [int(line.split()[2]) for line in said if line.startswith("lab: fetched ")]
        self.assertEqual(tenths[-1], 100)
        self.assertEqual(tenths, sorted(set(tenths)))
        self.assertGreater(len(tenths), 1)
        unpacked = [line.split()[2].split("_")[0] for line in said if "lab: unpacking " in line]
        self.assertEqual(unpacked, sorted(PACKAGES))

    def test_what_a_killed_process_has_left_is_removed(self):
        """A process that is killed cannot remove what it has fetched."""
        for name in ("kernel-tmp.abc123", "lab-tmp.def456"):
            (self.cache / name / "root").mkdir(parents=True)
        (self.cache / "initramfs").mkdir()
        self.add(PACKAGES)
        self.assertEqual(self.left(), ["initramfs"])

    def test_nothing_is_left_when_it_fails(self):
        """The mirror does not have all packages of the kernel."""
        packages = {name: files for name, files in PACKAGES.items() if "kbuild" not in name}
        self.assertIn("cannot fetch", self.add(packages, status=1))
        self.assertEqual(self.left(), [])
        self.assertFalse(self.modules.exists())

    def test_kernel_without_modules_is_not_added(self):
        """The packages of the kernel have other contents than expected. The kernel does not count
        as added, and the next run tries again."""
        for missing in ("boot/vmlinuz", f"usr/lib/modules/{RELEASE}/kernel"):
            packages = {name: [file for file in files if not file.startswith(missing)]
                        for name, files in PACKAGES.items()}
            self.assertIn("lack the modules", self.add(packages, status=1))
            shutil.rmtree(self.modules)
        self.add(PACKAGES)
        self.assertTrue((self.modules / "modules.dep").exists())

    def test_depmod_runs_as_commands_in_the_lab_do(self):
        """A container that refuses a new devpts can run the lab, so depmod has the machine's /dev.
        Variables that name libraries of the machine are not passed on."""
        self.add(PACKAGES)
        arguments = (self.folder / "arguments").read_text(encoding="utf-8").split("\n")
        self.assertIn("--dev-bind", arguments)
        self.assertIn("--clearenv", arguments)
        self.assertNotIn("--dev", arguments)
        self.assertEqual(arguments[-3:-1], ["/usr/sbin/depmod", RELEASE])

    def vm(self, *arguments):
        """Run scripts/vm up to where it runs itself in the lab. Returns the series that it has the
        lab add, if any."""
        said = self.run_lab(*arguments, program="vm")
        noted = (self.folder / "arguments").read_text(encoding="utf-8")
        self.assertIn("\n".join(["--", str(SCRIPTS / "vm"), *arguments]), noted)
        series = re.search("newest kernel (.*)", said)
        return series and series[1]

    def test_vm_adds_the_kernel_that_it_runs(self):
        """The last --kernel counts. Words of the command and of other options do not, and a command
        with -h runs in a guest."""
        self.env["BLUEBELL_MIRROR"] = Mirror(self.folder / "mirror", PACKAGES).address
        for words in (["true"], ["--", "true", "--kernel", "6.12"], ["true", "--kernel=6.12"],
                      ["--append", "x --kernel 6.12", "true"], ["true", "-h"],
                      ["--kernel", "6.12", "--kernel", "stock", "true"]):
            self.assertIsNone(self.vm(*words), words)
        self.assertEqual(self.vm("--kernel", "7.2", "--kern", "6.12.5", "true"), "6.12")

    def test_series(self):
        """A series has two numbers. It can also be given as one word."""
        for words in (["--kernel", "6"], ["--kernel", "6.12.5"], ["--kernel", ""], ["--kernel"],
                      ["--kernel=stock"], ["--kernel="]):
            self.assertIn("--kernel takes a series", self.run_lab(*words, status=1))
        self.add(PACKAGES)
        self.assertEqual(self.run_lab("--kernel=6.12", "--path"), "")
        self.assertEqual(self.printed, str(self.lab))

    def test_kernel_that_cannot_be_added(self):
        """In the lab, and on the machine itself, no kernel is added. The command runs only if the
        kernel is there already."""
        for name, value in (("LAB", "host"), ("BLUEBELL_LAB", str(self.lab))):
            self.env[name] = value
            said = self.run_lab("--kernel", "1.0", "echo", "ran", status=1)
            self.assertIn("there are no headers of a kernel 1.0;", said)
            self.assertEqual(self.printed, "")
            self.run_lab("echo", "ran")
            self.assertEqual(self.printed, "ran")
            del self.env[name]

    def test_the_labs_own_kernel_is_not_added(self):
        """The kernel of the lab stays the stock kernel when its series is asked for."""
        own = self.lab / "usr/lib/modules/6.12.4+deb13-amd64"
        own.mkdir()
        (own / "modules.dep").touch()
        self.assertEqual(self.add(PACKAGES), "")
        self.assertEqual([path.name for path in own.parent.glob("*/*")], ["modules.dep"])

    def test_kernel_that_was_not_added_completely(self):
        """An older kernel of the series is complete: it is enough. Otherwise one is added."""
        older = self.lab / "usr/lib/modules/6.12.4+deb13-amd64"
        for folder, state in ((older, "complete"), (self.modules, "begun")):
            folder.mkdir()
            (folder / "added-to-lab").write_text(f"{state}\n", encoding="utf-8")
        self.assertEqual(self.add(PACKAGES), "")
        (older / "added-to-lab").write_text("begun\n", encoding="utf-8")
        self.add(PACKAGES)
        self.assertEqual((self.modules / "added-to-lab").read_text(encoding="utf-8"), "complete\n")


class Headers(unittest.TestCase):
    """The headers of which the tools are built (scripts/lib/stock-headers.mk)."""

    def headers(self, kernels):
        """The folder of the stock kernel's headers, if these kernels are installed."""
        text = "include $(TOP)/scripts/lib/stock-headers.mk\nall: ; @echo $(STOCK_HEADERS)\n"
        # The test itself may run below make, whose options would be those of this make, too.
        around = {name: value for name, value in os.environ.items()
                  if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        return subprocess.run(["make", "-f-", f"TOP={SCRIPTS.parent}", f"KERNELS={kernels}"],
                              input=text, check=True, stdout=subprocess.PIPE, text=True,
                              env=around).stdout.strip()

    def test_kernel_that_was_added_changes_nothing(self):
        """Neither a kernel that has been added to the lab, nor one that is being unpacked."""
        with tempfile.TemporaryDirectory() as name:
            kernels = Path(name)
            for release, added in (("7.2.3", None), ("7.3.1", "complete"), ("10.1.1", "begun")):
                (kernels / release / "build").mkdir(parents=True)
                (kernels / release / "build/Makefile").write_text(
                    f"include /common/{release}/Makefile\n", encoding="utf-8")
                if added:
                    (kernels / release / "added-to-lab").write_text(added, encoding="utf-8")
            self.assertEqual(self.headers(kernels), "/common/7.2.3")
            # The build directory of a kernel that was not packaged is its source.
            (kernels / "7.2.3/build/Makefile").write_text(
                "include $(srctree)/arch/$(SRCARCH)/Makefile\n", encoding="utf-8")
            self.assertEqual(self.headers(kernels), str(kernels / "7.2.3/build"))

    def test_makefiles_of_the_tools_use_them(self):
        """No Makefile looks for headers by itself."""
        makefiles = [path for path in SCRIPTS.parent.glob("tools/**/Makefile")
                     if "linux/mlx5" in path.read_text(encoding="utf-8")]
        self.assertEqual(len(makefiles), 2)
        for path in makefiles:
            text = path.read_text(encoding="utf-8")
            self.assertIn("stock-headers.mk", text)
            self.assertNotIn("/usr/src", text)


if __name__ == "__main__":
    unittest.main()
