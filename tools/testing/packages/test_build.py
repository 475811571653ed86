# SPDX-License-Identifier: GPL-2.0
"""bluebell-dkms on a host with kernels that the driver supports: DKMS compiles the driver, as it is
and with compat/, and signs the module."""

import re
import unittest

from host import Host, kernel
from packages import directory, packages

OLD = kernel("6.12")
NEW = kernel("7.2")
BEFORE = "mlx5_ib drives the RDMA devices as before."


@unittest.skipUnless(OLD and NEW, "no kernel 6.12 in the lab: scripts/lab --kernel 6.12")
class Build(unittest.TestCase):
    """A host that runs 6.12 when the package is installed, and gets 7.2 afterwards. The tests run
    in the order of their names; the last one removes the package."""

    @classmethod
    def setUpClass(cls):
        cls.package = packages()["bluebell-dkms"]
        cls.host = Host(directory() / "host")
        cls.addClassCleanup(cls.clean)
        cls.host.add_kernel(OLD)
        cls.installed = cls.host.install(cls.package.path)
        cls.host.add_kernel(NEW, running=False)
        cls.hook = cls.host.run("/etc/kernel/postinst.d/dkms", NEW)

    @classmethod
    def clean(cls):
        """Remove the host and its directory."""
        cls.host.close()
        cls.host.top.parent.rmdir()

    def module(self, release):
        """The module that dkms has installed for a kernel."""
        found = list((self.host.modules(release) / "updates/dkms").glob("bluebell.ko*"))
        self.assertEqual(len(found), 1)
        return found[0]

    def modinfo(self, release, field):
        """A field of the module for a kernel."""
        name = "/" + str(self.module(release).relative_to(self.host.root))
        return self.host.run("modinfo", "-F", field, name)[1].strip()

    def log(self, release):
        """What the build for a kernel printed."""
        where = f"var/lib/dkms/bluebell/{self.package.version}/{release}"
        return self.host.path(where).glob("*/log/make.log").__next__().read_text(encoding="utf-8")

    def test_1_both_kernels_get_a_module(self):
        """The running kernel when the package is installed, the other one by the hook of kernel
        packages."""
        self.assertEqual(self.installed[0], 0, self.installed[1])
        self.assertEqual(self.hook[0], 0, self.hook[1])
        for release in (OLD, NEW):
            self.assertEqual(self.modinfo(release, "vermagic").split()[0], release)
            self.assertIn("auxiliary:mlx5_core.rdma", self.modinfo(release, "alias"))
            self.assertEqual(self.modinfo(release, "signer"), "DKMS module signing key")

    def test_2_only_the_old_kernel_needs_compat(self):
        """compat/prepare says what it stands in for."""
        self.assertIn("compat: stands in for", self.log(OLD))
        self.assertNotIn("compat: stands in for", self.log(NEW))

    def test_3_all_symbols_are_in_the_kernel(self):
        """depmod knows no symbol of the module that is missing, and modprobe finds what the module
        depends on."""
        for release in (OLD, NEW):
            status, said = self.host.run("depmod", "-n", "-e", "-E",
                                         f"/lib/modules/{release}/build/Module.symvers", release)
            self.assertEqual(status, 0, said)
            self.assertEqual([line for line in said.splitlines()
                              if "WARNING" in line and "bluebell" in line], [])
            status, said = self.host.run("modprobe", "-S", release, "--show-depends", "bluebell")
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"mlx5_core\.ko")
            self.assertRegex(said.splitlines()[-1], r"/updates/dkms/bluebell\.ko")

    def test_4_stock_driver_stays(self):
        """mlx5_ib of both kernels is still there, and is what modprobe loads by this name."""
        for release in (OLD, NEW):
            status, said = self.host.run("modprobe", "-S", release, "--show-depends", "mlx5_ib")
            self.assertEqual(status, 0, said)
            self.assertRegex(said.splitlines()[-1], r"/mlx5_ib\.ko")

    def test_5_the_package_says_that_the_kernel_is_ready(self):
        """The host has no EFI, so the kernel loads any module."""
        self.assertIn(f"bluebell-dkms: The module for the kernel {OLD} is built. Secure Boot is "
                      "off, so the kernel loads it. ", " ".join(self.installed[1].split()))

    def test_6_removal(self):
        """Nothing of the package is left for any kernel, and mlx5_ib is."""
        status, said = self.host.run("dpkg", "--purge", "bluebell-dkms")
        self.assertEqual(status, 0, said)
        for release in (OLD, NEW):
            self.assertFalse((self.host.modules(release) / "updates").exists())
            aliases = (self.host.modules(release) / "modules.alias").read_text(encoding="utf-8")
            self.assertEqual(re.findall(r"alias auxiliary:mlx5_core.rdma (\S+)", aliases),
                             ["mlx5_ib"])
        self.assertFalse(self.host.path(self.package.source).exists())
        self.assertFalse(self.host.path("var/lib/dkms/bluebell").exists())


@unittest.skipUnless(NEW, "no kernel 7.2 in the lab")
class BrokenBuild(unittest.TestCase):
    """A kernel for which the build fails, although it should not."""

    def test_nothing_is_installed(self):
        """The hook of kernel packages succeeds, so that the kernel gets its initramfs. It has no
        module of the driver, and the advice says why."""
        package = packages()["bluebell-dkms"]
        top = directory()
        self.addCleanup(top.rmdir)
        with Host(top / "host") as host:
            host.modules("7.2.0-none").mkdir()
            host.write("etc/uname-r", "7.2.0-none")
            self.assertEqual(host.install(package.path)[0], 0)
            main = host.path(package.source) / "drivers/infiniband/hw/bluebell/counters.c"
            main.write_text("#error broken by a test\n", encoding="utf-8")
            host.add_kernel(NEW)
            status, said = host.run("/etc/kernel/postinst.d/dkms", NEW)
            self.assertEqual(status, 0, said)
            self.assertIn("skipped", said)
            log = f"var/lib/dkms/bluebell/{package.version}/build/make.log"
            self.assertIn("broken by a test", host.path(log).read_text(encoding="utf-8"))
            self.assertFalse((host.modules(NEW) / "updates").exists())
            status, said = host.run("/usr/share/bluebell-dkms/advice")
            self.assertEqual(" ".join(said.split()), f"bluebell-dkms: There is no module for the "
                             f"kernel {NEW}: the build failed, see /{log}. {BEFORE}")
