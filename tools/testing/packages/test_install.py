# SPDX-License-Identifier: GPL-2.0
"""bluebell-dkms and bluebell-tools, installed on hosts that cannot have the module, or not yet.
None of these tests compiles the driver."""

import re
import unittest

from host import Host, kernel
from packages import directory, packages

OLD = kernel("6.12")


class Case(unittest.TestCase):
    """A test with a host of its own."""

    def setUp(self):
        self.host = Host(directory() / "host")
        self.addCleanup(self.clean)
        self.package = packages()["bluebell-dkms"]

    def clean(self):
        """Remove the host and its directory."""
        self.host.close()
        self.host.top.parent.rmdir()

    def installed_modules(self):
        """The modules that dkms has installed for any kernel."""
        return list(self.host.path("usr/lib/modules").glob("*/updates/dkms/*"))

    def install(self):
        """Install bluebell-dkms, which must succeed. Returns what was printed."""
        status, said = self.host.install(self.package.path)
        self.assertEqual(status, 0, said)
        return said

    def advice(self, said):
        """The paragraph at the end of what an installation printed, in one line."""
        found = re.findall(r"(?ms)^bluebell-dkms: .*?\n(?! )", said)
        self.assertEqual(len(found), 1, said)
        paragraph = found[0]
        for line in paragraph.splitlines():
            self.assertLess(len(line), 80)
        return " ".join(paragraph.split())

    def assert_skipped(self, release, reason):
        """The kernel is skipped: by the package, by dkms build, and by the hook of kernels."""
        said = self.advice(self.install())
        self.assertEqual(said, f"bluebell-dkms: There is no module for the kernel {release}, which "
                               f"{reason}. mlx5_ib drives the RDMA devices as before.")
        module = f"bluebell/{self.package.version}"
        status, said = self.host.run("dkms", "build", module, "-k", release)
        self.assertEqual(status, 77, said)
        status, said = self.host.run("/etc/kernel/postinst.d/dkms", release)
        self.assertEqual(status, 0, said)
        self.assertIn("skipped", said)
        self.assertEqual(self.installed_modules(), [])


@unittest.skipUnless(OLD, "no kernel 6.12 in the lab: scripts/lab --kernel 6.12")
class Excluded(Case):
    """Kernels for which dkms.conf says no."""

    def test_older_series(self):
        """Linux 6.6 is older than all that are supported."""
        self.host.add_headers("6.6.30-amd64", OLD)
        self.assert_skipped("6.6.30-amd64", "is not of a series that Bluebell has been tested on "
                            "(Linux 6.12 and 7.2)")

    def test_series_between(self):
        """Nobody has built the driver for Linux 6.16, although 6.12 and 7.2 are supported."""
        self.host.add_headers("6.16.3-amd64", OLD)
        self.assert_skipped("6.16.3-amd64", "is not of a series that Bluebell has been tested on "
                            "(Linux 6.12 and 7.2)")

    def test_newer_series(self):
        """Linux 7.3 is newer than all that are supported; 7.20 is not 7.2."""
        self.host.add_headers("7.20.1-amd64", OLD)
        self.host.add_headers("7.3.4+deb13-amd64", OLD)
        self.assert_skipped("7.3.4+deb13-amd64", "is not of a series that Bluebell has been tested "
                            "on (Linux 6.12 and 7.2)")
        status, said = self.host.run("dkms", "build", f"bluebell/{self.package.version}", "-k",
                                     "7.20.1-amd64")
        self.assertEqual(status, 77, said)

    def test_administrator_may_try_another_series(self):
        """A line in /etc/dkms/bluebell.conf has precedence: dkms looks for headers then."""
        self.host.modules("6.16.3-amd64").mkdir()
        self.host.write("etc/uname-r", "6.16.3-amd64")
        self.install()
        build = ("dkms", "build", f"bluebell/{self.package.version}", "-k", "6.16.3-amd64")
        self.assertEqual(self.host.run(*build)[0], 77)
        self.host.write("etc/dkms/bluebell.conf", 'BUILD_EXCLUSIVE_KERNEL="^6\\.16\\."\n')
        self.assertEqual(self.host.run(*build)[0], 21)

    def without(self, option):
        """Install a kernel that was built without an option. Returns its release."""
        release = "6.12.200-amd64"
        build = self.host.add_headers(release, OLD)
        config = build / "include/config/auto.conf"
        text = config.read_text(encoding="utf-8")
        self.assertRegex(text, rf"(?m)^{option}=")
        config.write_text(re.sub(rf"(?m)^{option}=.*\n", "", text), encoding="utf-8")
        return release

    def test_kernel_without_mlx5_core(self):
        """CONFIG_MLX5_CORE is not set."""
        self.assert_skipped(self.without("CONFIG_MLX5_CORE"), "has no CONFIG_MLX5_CORE")

    def test_kernel_without_uverbs(self):
        """CONFIG_INFINIBAND_USER_ACCESS is not set."""
        self.assert_skipped(self.without("CONFIG_INFINIBAND_USER_ACCESS"),
                            "has no CONFIG_INFINIBAND_USER_ACCESS")

    def test_architecture(self):
        """The host is neither x86_64 nor aarch64."""
        self.host.write("etc/uname-m", "ppc64le")
        self.host.add_headers("6.12.201-powerpc64le", OLD)
        self.assert_skipped("6.12.201-powerpc64le",
                            "is for ppc64le, and Bluebell for x86_64 and aarch64")


class NotYet(Case):
    """Hosts that can have the module as soon as the administrator does something."""

    def test_headers_are_missing(self):
        """The package is installed and says which package to install."""
        self.host.modules("6.12.90-amd64").mkdir()
        self.host.write("etc/uname-r", "6.12.90-amd64")
        self.assertEqual(self.advice(self.install()),
                         "bluebell-dkms: There is no module for the kernel 6.12.90-amd64, whose "
                         "headers are not installed. mlx5_ib drives the RDMA devices as before. To "
                         "build the module: apt-get install linux-headers-6.12.90-amd64")
        status, said = self.host.run("dkms", "build", f"bluebell/{self.package.version}", "-k",
                                     "6.12.90-amd64")
        self.assertEqual(status, 21, said)
        self.assertEqual(self.installed_modules(), [])

    def test_modules_are_read_only(self):
        """Nothing is installed, and one line says why."""
        self.host.modules("6.12.90-amd64").mkdir()
        self.host.write("etc/uname-r", "6.12.90-amd64")
        self.host.lock_modules()
        status, said = self.host.install(self.package.path)
        self.assertNotEqual(status, 0)
        lines = [line for line in said.splitlines() if line.startswith("bluebell-dkms: ")]
        self.assertEqual(lines, ["bluebell-dkms: error: /lib/modules is read-only, so no module can"
                                 " be installed: nothing has been changed"], said)
        self.assertFalse(self.host.path(self.package.source).exists())
        self.assertFalse(self.host.path("usr/share/bluebell-dkms").exists())
        self.assertFalse(self.host.path("var/lib/dkms/bluebell").exists())

    @unittest.skipUnless(OLD, "no kernel 6.12 in the lab: scripts/lab --kernel 6.12")
    def test_layouts_differ(self):
        """A kernel whose mlx5_core has another layout of a register is skipped before the build,
        although its version is supported."""
        release = "6.12.202-amd64"
        build = self.host.add_headers(release, OLD)
        makefile = build / "Makefile"
        common = re.search(r"(?m)^include (.*)/Makefile$", makefile.read_text(encoding="utf-8"))[1]
        header = self.host.path(f"{common}/include/linux/mlx5/mlx5_ifc.h".lstrip("/"))
        text = header.read_text(encoding="utf-8")
        header.write_text(text.replace("struct mlx5_ifc_pcam_reg_bits {",
                                       "struct mlx5_ifc_pcam_reg_bits {\n\tu8 more[0x20];", 1),
                          encoding="utf-8")
        self.assertNotEqual(header.read_text(encoding="utf-8"), text)
        said = self.advice(self.install())
        self.assertIn(f"There is no module for the kernel {release}. mlx5_ib drives", said)
        module = f"bluebell/{self.package.version}"
        status, said = self.host.run("dkms", "build", module, "-k", release)
        self.assertEqual(status, 77, said)
        log = self.host.path(f"var/lib/dkms/{module}/build/make.log").read_text(encoding="utf-8")
        self.assertIn("struct mlx5_ifc_pcam_reg_bits more", log)
        status, said = self.host.run("/etc/kernel/postinst.d/dkms", release)
        self.assertEqual(status, 0, said)


class Tools(unittest.TestCase):
    """bluebell-tools."""

    def test_purge_removes_the_line_of_bluebell_switch(self):
        """A file of the same name that the administrator has written stays."""
        top = directory()
        self.addCleanup(top.rmdir)
        line = "softdep mlx5_ib pre: bluebell\n"
        with Host(top / "host") as host:
            for text, stays in ((f"# Written by bluebell-switch\n{line}", False), (line, True)):
                status, said = host.install(packages()["bluebell-tools"].path)
                self.assertEqual(status, 0, said)
                path = host.write("etc/modprobe.d/bluebell.conf", text)
                status, said = host.run("dpkg", "--remove", "bluebell-tools")
                self.assertEqual(status, 0, said)
                self.assertTrue(path.exists())
                status, said = host.run("dpkg", "--purge", "bluebell-tools")
                self.assertEqual(status, 0, said)
                self.assertEqual(path.exists(), stays)

    def test_uarmap_runs_and_completes(self):
        """The installed program reads a report; its completion offers all of its options."""
        top = directory()
        self.addCleanup(top.rmdir)
        with Host(top / "host") as host:
            status, said = host.install(packages()["bluebell-tools"].path)
            self.assertEqual(status, 0, said)
            host.write("report", "device name=mlx5_7 bus=0000:00:03.0 max_uars=8192\n"
                       "context pid=327 uid=1 comm=ibv_rc_pingpong\n")
            status, said = host.run("uarmap", "--from", "/report")
            self.assertEqual(status, 0, said)
            self.assertRegex(said, "(?s)mlx5_7.*ibv_rc_pingpong")
            status, said = host.run("uarmap", "--help")
            options = set(re.findall(r"(?m)^  (?:-h, )?(--[a-z]+)", said))
            self.assertGreater(len(options), 6)
            status, said = host.run("bash", "-c", """
                . /usr/share/bash-completion/bash_completion
                . /usr/share/bash-completion/completions/uarmap
                COMP_WORDS=(uarmap --) COMP_CWORD=1 COMP_LINE='uarmap --' COMP_POINT=9
                _uarmap uarmap -- uarmap
                printf '%s\\n' "${COMPREPLY[@]}"
                """)
            self.assertEqual(status, 0, said)
            self.assertEqual(set(said.split()), options)
