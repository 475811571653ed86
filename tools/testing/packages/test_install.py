# SPDX-License-Identifier: GPL-2.0
"""bluebell-dkms and bluebell-tools, installed on hosts that cannot have the module, or not yet.
None of these tests compiles the driver."""

import re
import shutil
import unittest

from host import Host, kernel
from packages import directory, packages

OLD = kernel("6.12")
NEW = kernel("7.2")
USE = ("'bluebell-switch on --all' lets Bluebell drive the RDMA devices; until then mlx5_ib drives "
       "the RDMA devices as before.")
REFUSED = 'the kernel refuses the module ("Key was rejected by service")'
CONSOLE = "restart the host and, on its console, choose 'Enroll MOK' and give the password."
ENROL = (f"{REFUSED} until the key by which dkms has signed it is enrolled: mokutil --import "
         f"/var/lib/dkms/mok.pub (choose a password), then {CONSOLE} Once is enough for this host.")


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
                            "(Linux 6.12, 7.2 and 7.3)")

    def test_series_between(self):
        """Nobody has built the driver for Linux 6.16, although 6.12 and 7.2 are supported."""
        self.host.add_headers("6.16.3-amd64", OLD)
        self.assert_skipped("6.16.3-amd64", "is not of a series that Bluebell has been tested on "
                            "(Linux 6.12, 7.2 and 7.3)")

    def test_newer_series(self):
        """Linux 7.4 is newer than all that are supported; 7.20 is not 7.2."""
        self.host.add_headers("7.20.1-amd64", OLD)
        self.host.add_headers("7.4.1+deb13-amd64", OLD)
        self.assert_skipped("7.4.1+deb13-amd64", "is not of a series that Bluebell has been tested "
                            "on (Linux 6.12, 7.2 and 7.3)")
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
        module = f"bluebell/{self.package.version}"
        self.assertEqual(self.advice(self.install()),
                         f"bluebell-dkms: There is no module for the kernel {release}: its layouts "
                         "of commands and registers are not those that the driver knows, see "
                         f"/var/lib/dkms/{module}/build/make.log. mlx5_ib drives the RDMA devices "
                         "as before.")
        status, said = self.host.run("dkms", "build", module, "-k", release)
        self.assertEqual(status, 77, said)
        log = self.host.path(f"var/lib/dkms/{module}/build/make.log").read_text(encoding="utf-8")
        self.assertIn("struct mlx5_ifc_pcam_reg_bits more", log)
        status, said = self.host.run("/etc/kernel/postinst.d/dkms", release)
        self.assertEqual(status, 0, said)


class Advice(Case):
    """What the package says on a host that has the module, and each state of Secure Boot. A module
    of the kernel, which is signed, plays that of the driver."""

    def setUp(self):
        super().setUp()
        self.host.modules("6.12.90-none").mkdir()
        self.host.write("etc/uname-r", "6.12.90-none")
        self.install()
        self.host.add_kernel(NEW)
        stock = next(self.host.modules(NEW).glob("kernel/**/mlx5_ib.ko*"))
        self.module = self.host.modules(NEW) / f"updates/dkms/bluebell{''.join(stock.suffixes)}"
        self.module.parent.mkdir(parents=True)
        shutil.copy(stock, self.module)

    def secure_boot(self, state, key=""):
        """Let mokutil say something."""
        self.host.path("sys/firmware/efi").mkdir(parents=True, exist_ok=True)
        self.host.write("etc/mokutil-state", state + "\n")
        self.host.write("etc/mokutil-key", key + "\n")

    def says(self, text, tools=False):
        """The program of the package says this."""
        status, said = self.host.run("/usr/share/bluebell-dkms/advice")
        self.assertEqual(status, 0, said)
        expected = f"bluebell-dkms: The module for the kernel {NEW} is built. {text} {USE}"
        if not tools:
            expected += " The package bluebell-tools has the program bluebell-switch."
        self.assertEqual(self.advice(said), expected)

    def test_secure_boot_is_off(self):
        """The host has no EFI, or Secure Boot is off there, or off for the shim."""
        off = "Secure Boot is off, so the kernel loads it."
        self.says(off)
        for state in ("SecureBoot disabled", "SecureBoot disabled\nPlatform is in Setup Mode",
                      "SecureBoot enabled\nSecureBoot validation is disabled in shim"):
            self.secure_boot(state)
            self.says(off)
        self.host.write("usr/sbin/bluebell-switch", "")
        self.says(off, tools=True)

    def test_secure_boot_is_on(self):
        """The key is enrolled, is to be enrolled at the next start, or is unknown to the host."""
        self.secure_boot("SecureBoot enabled", "is already enrolled")
        self.says("Secure Boot is on, and the key by which dkms has signed the module is enrolled, "
                  "so the kernel loads it.")
        self.secure_boot("SecureBoot enabled", "is already in the enrollment request")
        self.says(f"Secure Boot is on, and {REFUSED} until the key is enrolled. It has been "
                  f"requested: {CONSOLE}")
        self.secure_boot("SecureBoot enabled", "is not enrolled")
        self.says(f"Secure Boot is on, and {ENROL}")

    def test_key_of_the_administrator(self):
        """dkms signs with the key that its configuration names."""
        self.host.write("etc/dkms/framework.conf.d/key.conf",
                        "mok_certificate=/etc/keys/$kernelver.der\nfalse $nothing\n")
        self.secure_boot("SecureBoot enabled", "is not enrolled")
        self.says("Secure Boot is on, and "
                  + ENROL.replace("/var/lib/dkms/mok.pub", f"/etc/keys/{NEW}.der"))

    def test_secure_boot_is_unknown(self):
        """mokutil cannot read the state."""
        self.secure_boot("Failed to read SecureBoot")
        self.says("mokutil cannot tell, or is not installed, whether Secure Boot is on. If it is, "
                  + ENROL)

    def test_module_is_not_signed(self):
        """Without openssl dkms does not sign."""
        self.secure_boot("SecureBoot enabled", "is not enrolled")
        self.module.unlink()
        self.module.with_name("bluebell.ko").write_bytes(b"\x7fELF")
        self.says(f"It is not signed. If Secure Boot is on, {REFUSED}. To sign it, do 'apt-get "
                  "install openssl' and 'dpkg-reconfigure bluebell-dkms'.")


class Initramfs(Case):
    """The initramfs of a kernel for which dkms installs a module: mlx5_ib is in there, and gets the
    devices first. In place of the build, a module of the kernel plays that of the driver."""

    UPDATE = """#!/bin/sh
        echo "$*: $(modprobe -S "$3" --show-depends bluebell | sed -n '$s:.*/::p')" >>/updated
        """
    BUILD = """#!/bin/sh
        mkdir module && xz -dc %s >module/bluebell.ko
        """

    def setUp(self):
        super().setUp()
        self.host.modules("6.12.90-none").mkdir()
        self.host.write("etc/uname-r", "6.12.90-none")
        self.install()
        self.host.add_kernel(NEW)
        stock = next(self.host.modules(NEW).glob("kernel/**/mlx5_ib.ko.xz"))
        self.host.write(f"{self.package.source}/build",
                        self.BUILD % f"/{stock.relative_to(self.host.root)}")
        self.host.write("usr/local/sbin/update-initramfs", self.UPDATE).chmod(0o755)
        self.host.write("boot/initrd.img-" + NEW, "")
        self.host.write("etc/modprobe.d/bluebell.conf",
                        "# Written by bluebell-switch\nsoftdep mlx5_ib pre: bluebell\n")

    def hook(self, **environment):
        """Let dkms build for the kernel, as when its headers are installed. Returns the lines of
        the calls of update-initramfs."""
        variables = [f"{name}={value}" for name, value in environment.items()]
        status, said = self.host.run("env", *variables, "/etc/kernel/header_postinst.d/dkms", NEW)
        self.assertEqual(status, 0, said)
        self.assertEqual([path.name for path in self.installed_modules()], ["bluebell.ko.xz"], said)
        return self.updated()

    def updated(self):
        """The lines of the calls of update-initramfs so far."""
        path = self.host.path("updated")
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_is_made_again_with_the_module(self):
        """depmod has been called before, so that the initramfs gets the module. When the package
        is removed, the module leaves the initramfs."""
        self.assertEqual(self.hook(), [f"-u -k {NEW}: bluebell.ko.xz "])
        status, said = self.host.run("dpkg", "--remove", "bluebell-dkms")
        self.assertEqual(status, 0, said)
        self.assertEqual(self.updated()[1:], [f"-u -k {NEW}: "])

    def test_is_left_alone_if_bluebell_is_not_for_boot(self):
        """Without the line of bluebell-switch, mlx5_ib is to have the devices at boot."""
        self.host.path("etc/modprobe.d/bluebell.conf").unlink()
        self.assertEqual(self.hook(), [])

    def test_is_left_to_the_package_of_the_kernel(self):
        """That package makes the initramfs after dkms."""
        self.assertEqual(self.hook(DPKG_MAINTSCRIPT_PACKAGE=f"linux-image-{NEW}"), [])

    def test_is_not_made_for_a_kernel_that_has_none(self):
        """As before the first initramfs, and on hosts that boot without."""
        self.host.path("boot/initrd.img-" + NEW).unlink()
        self.assertEqual(self.hook(), [])

    def test_that_cannot_be_made_is_no_error(self):
        """The package is installed, and says what the initramfs has."""
        self.host.write("usr/local/sbin/update-initramfs", "#!/bin/sh\nexit 1\n")
        status, said = self.host.run("/etc/kernel/header_postinst.d/dkms", NEW)
        self.assertEqual(status, 0, said)
        self.assertIn(f"bluebell: the initramfs of {NEW} could not be made again, and still has the"
                      " modules of before", said)


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
