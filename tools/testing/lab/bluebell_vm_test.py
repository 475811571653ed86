#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of bluebell-vm without a guest: its options, where it looks for kernels, modules, roots and
QEMU, and what it says if one of them is missing."""

import contextlib
import io
import struct
import subprocess
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from program import SCRIPTS, load
from vm import Place, VmError, fetch, image, kernel, qemu, root

bluebell_vm = load("bluebell-vm")


def bzimage(release):
    """The beginning of a kernel's image, of the parts that are read."""
    data = bytearray(0x400)
    data[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", data, 0x20e, 0x100)
    text = f"{release} (who@where) #1 SMP".encode() + b"\0"
    data[0x300:0x300 + len(text)] = text
    return bytes(data)


def module(release, *needs):
    """What a module's file says of itself."""
    return (f"ELF\0license=GPL\0depends={','.join(needs)}\0name=x\0"
            f"vermagic={release} SMP mod_unload \0").encode()


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name).resolve()

    def write(self, name, data=b""):
        """Write a file, and make its folder."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def fails(self, pattern, function, *args, **kwargs):
        """Check that a call raises VmError with a text that matches the pattern."""
        with self.assertRaisesRegex(VmError, pattern):
            function(*args, **kwargs)


class Options(Case):
    """The command line."""

    def parse(self, *words):
        """The arguments that the program understands; or the error that it prints."""
        with mock.patch.object(bluebell_vm.sys, "argv", ["bluebell-vm", *words]), \
                contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                return bluebell_vm.parse_arguments()[0]
            except SystemExit as end:
                self.assertEqual(end.code, 2)
                return err.getvalue().splitlines()[-1]

    def test_defaults(self):
        """The kernel's own driver, this machine's root, one guest, ten minutes."""
        args = self.parse("--", "ibv_devinfo", "--hosts")
        self.assertEqual((args.driver, args.root, args.hosts, args.timeout, args.command),
                         ("mlx5_ib", "/", 1, 600, ["ibv_devinfo", "--hosts"]))

    def test_options_that_contradict_each_other(self):
        """Each is refused with the reason."""
        for words, reason in (
                (["--module", "x.ko", "--", "true"], "--module is for --driver bluebell"),
                (["--modules", "/m", "--", "true"], "--modules is for the image"),
                (["--modules", "/m", "--kernel", "6.12", "--", "true"], "--modules is for"),
                (["--fetch", "--", "true"], "--fetch fetches, and runs no COMMAND"),
                (["--fetch", "--offline"], "--fetch fetches"),
                (["--hosts", "17", "--", "true"], "--hosts is from 1 to 16"),
                (["--hcas", "5", "--", "true"], "--hcas is from 1 to 4"),
                (["--hosts", "6", "--hcas", "3", "--", "true"], "at most 16 HCAs"),
                (["--link", "token-ring", "--", "true"], "invalid choice"),
                (["--profile", "none-such", "--", "true"], "cannot find profile none-such"),
                (["--hca", "none", "--", "true"], "add --driver none")):
            said = self.parse(*words)
            self.assertIsInstance(said, str, words)
            self.assertIn(reason, said)

    def test_profile_is_found_by_its_name(self):
        """A file of this name in the current directory would come first."""
        self.assertEqual(self.parse("--profile", "no-odp", "--", "true").profile,
                         str(SCRIPTS.parent / "tools/hca/profiles/no-odp.json"))

    def test_error_ends_the_program_with_125(self):
        """git bisect run skips a commit with this status."""
        done = subprocess.run([SCRIPTS / "bluebell-vm", "--root", "/none", "--", "true"],
                              check=False, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (125, "bluebell-vm: error: cannot find the root /none\n"))


class OwnKernel(Case):
    """A kernel that the user names by its image."""

    def setUp(self):
        super().setUp()
        self.image = self.write("tree/arch/x86/boot/bzImage", bzimage("7.2.0-mine+"))

    def find(self, modules=None, path=None):
        """The kernel of the image."""
        return kernel.own_kernel(path or self.image, modules)

    def test_release(self):
        """It is in the image; a folder is a build tree."""
        self.assertEqual(self.find().release, "7.2.0-mine+")
        self.assertEqual(self.find(path=self.path / "tree").image, self.image)
        self.fails("cannot find .*/arch/x86/boot/bzImage", self.find, path=self.path)

    def test_file_that_is_no_image(self):
        """vmlinux, for example; and a file that is not there."""
        self.fails("is no kernel image for x86: --kernel takes a bzImage", self.find,
                   path=self.write("vmlinux", b"\x7fELF" + bytes(0x400)))
        self.fails("is no kernel image", self.find, path=self.write("short", b"x"))
        self.fails("cannot read the kernel .*/none: No such file", self.find,
                   path=self.path / "none")

    def test_modules_of_a_folder(self):
        """Three ways to name the folder of modules_install; and the build tree itself."""
        for place in ("lib/modules/7.2.0-mine+", "usr/lib/modules/7.2.0-mine+", "7.2.0-mine+", ""):
            folder = self.path / f"m{len(place)}"
            listed = self.write(folder / place / "modules.dep")
            self.assertEqual(self.find(folder).modules, listed.parent)

    def test_modules_of_another_kernel(self):
        """The message says which kernel they are of."""
        self.write("m/lib/modules/7.1.0/modules.dep")
        self.fails("no modules of kernel 7.2.0-mine\\+.* but those of 7.1.0: --modules takes",
                   self.find, self.path / "m")

    def test_modules_of_the_build_tree(self):
        """They are found without --modules, and only if they were built."""
        self.assertIsNone(self.find().modules)
        self.write("tree/modules.order", "fs/a.o\n")
        self.assertEqual(self.find().modules, self.path / "tree")

    def test_everything_built_in(self):
        """No module is loaded, and none is missed."""
        self.assertEqual(kernel.module_files(self.find(), kernel.RDMA_MODULES), [])

    def build(self, release="7.2.0-mine+"):
        """A build tree with modules."""
        self.write("tree/modules.order", "drivers/core-a.o\ndrivers/b.o\nfs/c.o\n")
        self.write("tree/modules.builtin", "kernel/lib/d.ko\n")
        self.write("tree/drivers/core-a.ko", module(release))
        self.write("tree/drivers/b.ko", module(release, "core-a"))
        self.write("tree/fs/c.ko", module(release, "b", "core-a"))
        return self.find()

    def test_dependencies_in_a_build_tree(self):
        """depmod has not been there: the modules say themselves what they need."""
        files = kernel.module_files(self.build(), ["c", "d"])
        self.assertEqual([path.name for path in files], ["core-a.ko", "b.ko", "c.ko"])
        self.fails("has no module virtiofs", kernel.module_files, self.find(), ["virtiofs"])

    def test_modules_of_an_earlier_build(self):
        """As they are when only bzImage was made after a change."""
        self.fails("modules in .* are of kernel 7.1.0, the image is 7.2.0-mine\\+: build both",
                   kernel.module_files, self.build("7.1.0"), ["c"])


class Configuration(Case):
    """The check of a kernel's configuration."""

    def setUp(self):
        super().setUp()
        self.kernel = kernel.own_kernel(
            self.write("tree/arch/x86/boot/bzImage", bzimage("7.2.0")), None)

    def check(self, text, **needed):
        """Check a configuration."""
        self.write("tree/.config", text)
        kernel.check_configuration(self.kernel, needed)

    def test_missing_options_are_all_named(self):
        """With what each is for. An option that is not set has a comment of its own."""
        text = "CONFIG_A=y\n# CONFIG_VIRTIO_FS is not set\nCONFIG_B_LONGER=y\n"
        self.check(text, A="x")
        self.fails("lacks CONFIG_VIRTIO_FS \\(the root\\), CONFIG_B \\(x\\)$", self.check, text,
                   A="x", VIRTIO_FS="the root", B="x")

    def test_module_without_modules(self):
        """An option that is a module needs the module."""
        self.fails("has CONFIG_A=m, CONFIG_B=m, and there are no modules: add --modules",
                   self.check, "CONFIG_A=m\nCONFIG_B=m\nCONFIG_C=y\n", A="x", B="x", C="x")
        self.kernel.modules = self.path
        self.check("CONFIG_A=m\n", A="x")

    def test_where_no_configuration_is_at_hand(self):
        """The guest finds out."""
        kernel.check_configuration(self.kernel, {"A": "x"})

    def test_what_a_run_needs(self):
        """Ethernet, several hosts and a disk image need more."""
        for changes, image_file, option in (({}, None, "VIRTIO_FS"), ({"hosts": 2}, None,
                                                                      "VIRTIO_NET"),
                                            ({"link": "eth"}, None, "MLX5_CORE_EN"),
                                            ({}, Path("x.img"), "VIRTIO_BLK"),
                                            ({"driver": "mlx5_ib"}, None, "MLX5_INFINIBAND")):
            base = {"hosts": 1, "link": "ib", "driver": "none"}
            args = types.SimpleNamespace(**{**base, **changes})
            self.assertIn(option, bluebell_vm.needed_options(args, root.Root(image=image_file)))
            if option == "VIRTIO_BLK":
                self.assertNotIn("VIRTIO_FS", bluebell_vm.needed_options(
                    args, root.Root(image=image_file, copied=[self.path])))
            if option != "VIRTIO_FS":
                self.assertNotIn(option, bluebell_vm.needed_options(
                    types.SimpleNamespace(**base), root.Root()))


class Roots(Case):
    """The guests' root."""

    def tree(self, *names):
        """A root with these files, where /bin is a link as in Debian."""
        for name in ("usr/bin/sh", *names):
            self.write("root/" + name)
        (self.path / "root/bin").symlink_to("usr/bin")
        return root.own_root(str(self.path / "root"), [], self.path)

    def said(self, tree, hosts=1):
        """What the check of a root prints."""
        with contextlib.redirect_stderr(io.StringIO()) as err:
            tree.check(hosts)
        return err.getvalue()

    def test_what_is_missing(self):
        """No system at all, no programs for several hosts, no libmlx5."""
        self.fails("/empty has no /bin/sh: --root takes the folder",
                   root.Root(folder=self.path / "empty").check, 1)
        tree = self.tree("usr/bin/perl")
        self.assertIn("has no libmlx5, so programs will find no RDMA device", self.said(tree))
        self.fails("has no python3, which 'on HOST COMMAND' needs with --hosts", self.said, tree,
                   2)
        self.write("root/usr/bin/python3")
        self.write("root/etc/libibverbs.d/mlx5.driver")
        self.assertEqual(self.said(tree, 2), "")

    def test_links_lead_into_the_root(self):
        """An absolute link is one of the root's, not of this machine's."""
        tree = self.tree("usr/local/x")
        (self.path / "root/sbin").symlink_to("/usr/local")
        (self.path / "root/loop").symlink_to("loop")
        self.assertTrue(tree.has("sbin/x"))
        self.assertTrue(tree.has("bin/sh"))
        self.assertFalse(tree.has("loop"))

    def test_current_directory(self):
        """It is copied where the root does not have it: in another root, and in /tmp, in whose
        place a guest has its own."""
        (self.path / "a").mkdir()
        for name, cwd, copied in (("/", "/srv/work", []), ("/", "/tmp/work", ["/tmp/work"]),
                                  (str(self.path), "/srv/work", ["/srv/work"]),
                                  (str(self.path), "/", [])):
            found = root.own_root(name, [], Path(cwd))
            self.assertEqual((found.copied, found.cwd), ([Path(path) for path in copied],
                                                         Path(cwd)))

    def test_writable_folders(self):
        """They come after the copied folders, so that they can be inside of those."""
        inside = self.path / "cwd/results"
        inside.mkdir(parents=True)
        found = root.own_root(str(self.path), [str(inside)], self.path / "cwd")
        self.assertEqual(found.mounts(), f"copy {self.path}/cwd\nwrite0 {inside}\n")
        self.fails("cannot find the folder /none of --writable", root.own_root, "/", ["/none"],
                   self.path)
        self.fails("--writable / is not possible", root.own_root, "/", ["/"], self.path)

    def test_disk_image(self):
        """Its format is seen from its first bytes, and QEMU does not change it."""
        raw, qcow = self.write("a.img", b"x" * 600), self.write("b,c.img", b"QFI\xfb...")
        self.assertEqual((root.image_format(raw), root.image_format(qcow)), ("raw", "qcow2"))
        found = root.own_root(str(qcow), [], self.path)
        found.check(2)
        self.assertEqual(found.image, qcow)
        guest = types.SimpleNamespace(hcas=[], run=types.SimpleNamespace(
            root=found, args=types.SimpleNamespace(iommu=False, hosts=1, nic=[],
                                                  peer_nic=None)))
        options = " ".join(qemu.Guest.device_options(guest))
        self.assertIn("b,,c.img,format=qcow2,if=none,id=disk,snapshot=on", options)


class Fetch(Case):
    """QEMU and kernels that are on this machine, or are fetched."""

    def setUp(self):
        super().setUp()
        self.place = Place(scripts=SCRIPTS, profiles=self.path, cache=self.path, logs=self.path,
                           base=self.path)
        self.store = fetch.Store(self.place, offline=True)

    def program(self, name, devices):
        """A program that lists devices as QEMU does."""
        path = self.write(name, "#!/bin/sh\n[ \"$1\" != --version ] || echo QEMU emulator version "
                          f"10.0.8\necho 'name \"{devices}\", bus PCI'\n")
        path.chmod(0o755)
        return str(path)

    def find(self, kernel=None, qemu=None, version="stock"):
        """The command of QEMU, and the kernel."""
        return fetch.find_qemu_and_kernel(types.SimpleNamespace(qemu=qemu, kernel=version),
                                          self.store, kernel)

    def test_qemu_without_vfio_user(self):
        """The one given is refused; this machine's is passed over."""
        old = self.program("qemu-system-x86_64", "vfio-pci")
        self.fails(f"{old} \\(10.0.8\\) has no device vfio-user-pci", self.find, qemu=old)
        self.fails("cannot run /none: No such file", self.find, qemu="/none")
        with mock.patch.object(fetch.shutil, "which", return_value=old):
            self.fails("has no qemu and no kernel yet, and --offline forbids to fetch: name a QEMU",
                       self.find)
            self.fails("has no qemu yet", self.find, kernel="x")

    def test_qemu_with_vfio_user(self):
        """The one given, or else this machine's, or else the one that was fetched."""
        new = self.program("new", "vfio-user-pci")
        self.assertEqual(self.find(qemu=new, kernel="x"), ([new], "x"))
        with mock.patch.object(fetch.shutil, "which", return_value=new):
            self.assertEqual(self.find(kernel="x"), ([new], "x"))
        (self.path / "fetched/qemu").mkdir(parents=True)
        with mock.patch.object(fetch.shutil, "which", return_value=None):
            found = " ".join(self.find(kernel="x")[0])
        self.assertIn("/ld-linux-x86-64.so.2 --inhibit-cache --library-path", found)
        self.assertIn("fetched/qemu/usr/bin/qemu-system-x86_64 -L", found)

    def test_what_is_missing_is_fetched_at_once(self):
        """And what is there is not fetched again."""
        self.store.offline = False
        self.write("fetched/kernel/usr/lib/modules/7.2.1/vmlinuz")
        for version, names in (("stock", ("qemu",)), ("5.15", ("qemu", "kernel-5.15"))):
            with mock.patch.object(fetch.shutil, "which", return_value=None), \
                    mock.patch.object(self.store, "fetch", side_effect=VmError) as called:
                with contextlib.suppress(VmError):
                    self.find(version=version)
            called.assert_called_once_with(*names)

    def kernel(self, version):
        """The kernel of a version, with a QEMU that is there."""
        return self.find(qemu=self.program("new", "vfio-user-pci"), version=version)[1]

    def test_fetched_kernel(self):
        """The image is in the folder of the modules, or, in older packages, in /boot."""
        self.write("fetched/kernel/usr/lib/modules/7.2.1/vmlinuz")
        self.write("fetched/kernel-6.12/usr/lib/modules/6.12.9/modules.dep")
        with mock.patch.object(fetch, "INSTALLED", self.path / "none"):
            for name, release, path in (("stock", "7.2.1", "7.2.1/vmlinuz"),
                                        ("6.12", "6.12.9", "boot/vmlinuz-6.12.9")):
                found = self.kernel(name)
                self.assertEqual(found.release, release)
                self.assertTrue(str(found.image).endswith(path), found.image)

    def test_installed_kernel(self):
        """It is taken before one is fetched. Its name is a version, not a word."""
        self.write("modules/6.12.9/vmlinuz")
        with mock.patch.object(fetch, "INSTALLED", self.path / "modules"):
            self.assertEqual(self.kernel("6.12").modules, self.path / "modules/6.12.9")
            self.fails("has no kernel 6.12.8. --kernel takes an image", self.kernel, "6.12.8")

    def test_failure_of_vm_fetch(self):
        """The message says where the rest is."""
        with mock.patch.object(fetch.subprocess, "run",
                               return_value=types.SimpleNamespace(returncode=1)):
            self.fails("cannot fetch qemu: see the messages above, and .*/fetched/fetch.log",
                       fetch.Store(self.place, offline=False).need, ["qemu"])

    def test_vm_fetch_refuses_other_names(self):
        """Before it makes a folder."""
        for words in ([], ["bogus"], ["qemu", "kernel-7"], ["kernel-../x"]):
            done = subprocess.run([SCRIPTS / "lib/vm-fetch", self.path / "f", *words], check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2)
        self.assertFalse((self.path / "f").exists())


class Driver(Case):
    """The module of Bluebell."""

    def find(self, module=None):
        """The kernel of an image, with the module that it has or that is named."""
        self.write("t/arch/x86/boot/bzImage", bzimage("7.2.0"))
        self.write("t/modules.order")
        found = kernel.own_kernel(self.path / "t", None)
        bluebell_vm.find_driver(types.SimpleNamespace(module=module), found)
        return found

    def test_module_that_is_named_or_installed(self):
        """The one that DKMS has installed is found without a name."""
        self.assertIsNone(self.find().driver)
        installed = self.write("t/updates/dkms/bluebell.ko.xz")
        self.assertEqual(self.find().driver, installed)
        self.assertEqual(self.find(module="/m/bluebell.ko").driver, Path("/m/bluebell.ko"))

    def test_module_that_is_missing(self):
        """The message says how to get one."""
        args = types.SimpleNamespace(driver="bluebell", link="ib", kernel="x", hosts=1,
                                     capture=None, command=["true"])
        place = Place(scripts=SCRIPTS, profiles=self.path, cache=self.path, logs=self.path,
                      base=self.path)
        for changes, text in (({}, "no module bluebell for kernel 7.2.0: name one by --module"),
                              ({"module": "/none.ko"}, "cannot find /none.ko")):
            self.fails(text, image.job_initramfs, args, place, self.find(**changes), root.Root(),
                       1)


class EarlyFailure(Case):
    """What a guest's kernel log says of a guest that did not get far."""

    def reason(self, text, state="booting"):
        """The reason that is found."""
        guest = qemu.Guest.__new__(qemu.Guest)
        guest.console, guest.state = self.write("console", text), state
        guest.qemu = types.SimpleNamespace(poll=lambda: 0)
        return guest.early_failure()

    def test_reasons(self):
        """What vm-init has written, or that there was no init, or nothing at all."""
        for text, reason in (
                ("[ 1.0] bluebell-vm: fail: the kernel has no file system virtiofs\r\n",
                 "the kernel has no file system virtiofs"),
                ("Kernel panic - not syncing: VFS: Unable to mount root fs on x", "start init"),
                ("", "ends without a word on the serial port")):
            found = self.reason(text)
            self.assertTrue(found.endswith(reason) if text.startswith("[") else reason in found,
                            found)
        self.assertIsNone(self.reason("[ 1.0] mlx5_core: up"))
        self.assertIsNone(self.reason("", "loading modules"))


if __name__ == "__main__":
    unittest.main()
