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
USE = f"'bluebell-switch on --all' lets Bluebell drive the RDMA devices; until then {BEFORE}"
REFUSED = 'the kernel refuses the module ("Key was rejected by service")'
ENROL = ("mokutil --import /var/lib/dkms/mok.pub (choose a password), then restart the host and, "
         "on its console, choose 'Enroll MOK' and give the password. Once is enough for this host.")


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

    def advice(self):
        """What the program of the package says about the running kernel, in one line."""
        status, said = self.host.run("/usr/share/bluebell-dkms/advice")
        self.assertEqual(status, 0, said)
        text = " ".join(said.split())
        start = f"bluebell-dkms: The module for the kernel {OLD} is built. "
        self.assertTrue(text.startswith(start), text)
        return text.removeprefix(start).removesuffix(
            " The package bluebell-tools has the program bluebell-switch.")

    def secure_boot(self, state, key=""):
        """Let mokutil say something."""
        self.host.path("sys/firmware/efi").mkdir(parents=True, exist_ok=True)
        self.host.write("etc/mokutil-state", state + "\n")
        self.host.write("etc/mokutil-key", key + "\n")

    def test_5_advice_with_secure_boot_off(self):
        """The host has no EFI, or Secure Boot is off there, or off for the shim."""
        off = f"Secure Boot is off, so the kernel loads it. {USE}"
        self.assertIn(off, " ".join(self.installed[1].split()))
        self.assertEqual(self.advice(), off)
        for state in ("SecureBoot disabled", "SecureBoot disabled\nPlatform is in Setup Mode",
                      "SecureBoot enabled\nSecureBoot validation is disabled in shim"):
            self.secure_boot(state)
            self.assertEqual(self.advice(), off)

    def test_6_advice_with_secure_boot_on(self):
        """The key is enrolled, is to be enrolled at the next start, or is unknown to the host."""
        self.secure_boot("SecureBoot enabled", "is already enrolled")
        self.assertEqual(self.advice(), "Secure Boot is on, and the key by which dkms has signed "
                         f"the module is enrolled, so the kernel loads it. {USE}")
        self.secure_boot("SecureBoot enabled", "is already in the enrollment request")
        self.assertEqual(self.advice(), f"Secure Boot is on, and {REFUSED} until the key is "
                         "enrolled. It has been requested: restart the host and, on its console, "
                         f"choose 'Enroll MOK' and give the password. {USE}")
        self.secure_boot("SecureBoot enabled", "is not enrolled")
        self.assertEqual(self.advice(), f"Secure Boot is on, and {REFUSED} until the key by which "
                         f"dkms has signed it is enrolled: {ENROL} {USE}")

    def test_7_advice_with_secure_boot_unknown(self):
        """mokutil cannot read the state."""
        self.secure_boot("Failed to read SecureBoot")
        self.assertEqual(self.advice(), "mokutil cannot tell, or is not installed, whether Secure "
                         f"Boot is on. If it is, {REFUSED} until the key by which dkms has signed "
                         f"it is enrolled: {ENROL} {USE}")

    def test_8_advice_without_signature(self):
        """Without openssl dkms does not sign."""
        self.secure_boot("SecureBoot enabled", "is not enrolled")
        module = self.module(OLD)
        kept = module.read_bytes()
        self.host.write("unsigned.ko", "")
        unsigned = module.with_name("bluebell.ko")
        module.unlink()
        unsigned.write_bytes(b"\x7fELF")
        self.assertEqual(self.advice(), f"It is not signed. If Secure Boot is on, {REFUSED}. To "
                         "sign it, do 'apt-get install openssl' and 'dpkg-reconfigure "
                         f"bluebell-dkms'. {USE}")
        unsigned.unlink()
        module.write_bytes(kept)

    def test_9_removal(self):
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
        """The hook of kernel packages fails, and the kernel has no module of the driver."""
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
            self.assertNotEqual(status, 0, said)
            log = host.path(f"var/lib/dkms/bluebell/{package.version}/build/make.log")
            self.assertIn("broken by a test", log.read_text(encoding="utf-8"))
            self.assertFalse((host.modules(NEW) / "updates").exists())
            status, said = host.run("/usr/share/bluebell-dkms/advice")
            self.assertEqual(" ".join(said.split()), f"bluebell-dkms: There is no module for the "
                             f"kernel {NEW}. {BEFORE} To build the module, or to see why dkms "
                             f"cannot: dkms autoinstall -k {NEW}")
