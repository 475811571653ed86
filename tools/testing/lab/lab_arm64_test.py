#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/lab with an archive of small packages: what arm64 guests need is added to a lab,
and when."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import SCRIPTS

OWN = "7.2.3+deb13"
NEW = "7.3.4+deb13"

# apt-get and apt-cache. The file "archive" beside them has a line "ARCHITECTURE PACKAGE" for each
# package; a package is made when it is fetched.
APT = r"""#!/bin/sh
here=$(dirname "$0")
arch=amd64 to=. words= only=
for word; do
	case $word in
	APT::Architecture=*) arch=${word#*=} ;;
	Dir::Cache::archives=*) to=${word#*=} ;;
	-s) only=replaced ;;
	--print-uris) only=uris ;;
	-* | *::*=*) ;;
	*) words="$words $word" ;;
	esac
done
set -- $words
echo "$(basename "$0") $arch $only $*" >>"$here/calls"
has() {
	grep -qx "$arch ${1%=*}" "$here/archive"
}
case $(basename "$0")-$1 in
apt-get-indextargets) echo "file:/mirror|Debian|Debian" ;;
apt-cache-pkgnames) sed -n "s/^$arch \($2.*\)/\1/p" "$here/archive" ;;
apt-cache-show)
	has "$2" || exit 100
	printf 'Package: %s\nVersion: 1\n' "$2"
	;;
apt-get-install | apt-get-download)
	shift
	for package; do
		has "$package" || { echo "E: no $package" >&2; exit 100; }
	done
	case $only in
	replaced) cat "$here/replaced" ;;
	uris) for package; do echo "'file:/$package' $package 1000000"; done ;;
	*) for package; do "$here/make-deb" "$arch" "${package%=*}" "$to"; done ;;
	esac
	;;
esac
"""

# Puts the package $2 for $1 into the directory $3. It is made once for all tests, in $PACKAGES.
MAKE_DEB = r"""#!/bin/sh
set -e
made=$PACKAGES/$1-$2.deb
if [ -e "$made" ]; then
	exec cp "$made" "$3/$2_1.deb"
fi
tree=$(mktemp -d)
mkdir -p "$tree/DEBIAN"
printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n' \
	>"$tree/DEBIAN/control"
mkdir -p "$tree/usr/bin"
echo "$1" >"$tree/usr/bin/of-$2"
modules=$tree/usr/lib/modules/$(echo "$2" | sed 's/^linux-[a-z]*-//')
case $2 in
linux-headers-*-common) mkdir -p "$tree/usr/src/$2" ;;
linux-headers-*)
	mkdir -p "$modules" "$tree/usr/src/$2"
	ln -s "../../../src/$2" "$modules/build"
	;;
linux-binary-*) mkdir -p "$modules"; touch "$modules/vmlinuz" ;;
linux-modules-*) mkdir -p "$modules/kernel" ;;
linux-base-*) mkdir -p "$modules/dtb"; touch "$modules/modules.builtin" "$modules/dtb/board" ;;
linux-image-*) mkdir -p "$tree/boot"; touch "$tree/boot/vmlinuz-${2#linux-image-}" ;;
base-files) mkdir -p "$tree/etc/pam.d" "$tree/root"; chmod 700 "$tree/root" ;;
esac
dpkg-deb --root-owner-group -Znone -b "$tree" "$made" >/dev/null
rm -rf "$tree"
exec cp "$made" "$3/$2_1.deb"
"""

# Runs depmod, which the tree of the test does not have, or the command of scripts/lab.
BWRAP = r"""#!/bin/sh
while [ "$1" != -- ]; do
	case $1 in
	--bind) case $3 in /mnt | /) mnt=$2 ;; esac ;;
	--setenv) export "$2=$3" ;;
	esac
	shift
done
shift
case $1 in
*/depmod)
	for release; do :; done
	[ ! -e "$(dirname "$0")/no-depmod" ] && touch "$mnt/usr/lib/modules/$release/modules.dep"
	;;
*) exec "$@" ;;
esac
"""

MMDEBSTRAP = r"""#!/bin/sh
tar -C "$(dirname "$0")/../new-lab" -cf - .
"""


def kernel(release, *more):
    """The packages of a kernel."""
    return [f"linux-{part}-{release}" for part in ("headers", "binary", "modules", "base")] \
        + list(more)


class Lab(unittest.TestCase):
    """What scripts/lab adds to a lab."""

    packages = tempfile.TemporaryDirectory()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = Path(directory.name)
        self.bin = self.top / "bin"
        self.bin.mkdir()
        for name, text in (("apt-get", APT), ("apt-cache", APT), ("make-deb", MAKE_DEB),
                           ("bwrap", BWRAP), ("mmdebstrap", MMDEBSTRAP),
                           ("apt-config", "#!/bin/sh\n"), ("newuidmap", "#!/bin/sh\n")):
            (self.bin / name).write_text(text, encoding="utf-8")
            (self.bin / name).chmod(0o755)
        (self.bin / "replaced").touch()
        lists = subprocess.run(
            ["bash", "-c", 'source <(sed -n "/^arm64_tools=/p; /^arm64_packages=/,/^)/p" "$0"); '
             'echo "${arm64_tools[@]}"; echo "${arm64_packages[@]}"', SCRIPTS / "lib/lab-add.sh"],
            check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        shared = [f"linux-{part}" for part in (f"headers-{NEW}-common", f"kbuild-{NEW}")]
        self.archive = {
            "amd64": [*kernel(f"{OWN}-amd64"), *kernel(f"{NEW}-amd64"), *shared,
                      *lists[0].split()],
            "arm64": [*kernel(f"{OWN}-arm64"), *kernel(f"{OWN}-arm64-16k"),
                      *kernel(f"{OWN}-rt-arm64"), *kernel("7.2.4+deb13-arm64"),
                      *kernel(f"{NEW}-arm64"), *kernel(f"{NEW}-arm64-16k"), *lists[1].split()]}
        self.new_lab()

    def new_lab(self):
        """What mmdebstrap makes a lab of: its own kernel, and what a lab has for the guests."""
        new = self.top / "new-lab"
        for path in (f"usr/src/linux-headers-{OWN}-amd64", f"usr/lib/modules/{OWN}-amd64",
                     "etc/pam.d", "var/lib/dpkg"):
            (new / path).mkdir(parents=True)
        (new / f"usr/lib/modules/{OWN}-amd64/modules.dep").touch()
        (new / f"usr/lib/modules/{OWN}-amd64/vmlinuz").touch()
        (new / f"usr/lib/modules/{OWN}-amd64/build").symlink_to(
            f"../../../src/linux-headers-{OWN}-amd64")
        (new / "var/lib/dpkg/status").write_text(
            "Package: qemu-utils\nVersion: 4\n\nPackage: qemu-system-x86\nVersion: 5\n",
            encoding="utf-8")
        for name in ("passwd", "group", "nsswitch.conf", "pam.d/common-auth"):
            (new / "etc" / name).write_text("of the lab\n", encoding="utf-8")

    def lab(self, *words, status=0, **environment):
        """What scripts/lab prints. self.err is what it says."""
        (self.bin / "archive").write_text(
            "".join(f"{arch} {name}\n" for arch, names in self.archive.items() for name in names),
            encoding="utf-8")
        around = {name: value for name, value in os.environ.items()
                  if not name.startswith("BLUEBELL_")}
        done = subprocess.run(
            [SCRIPTS / "lab", *words], text=True, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**around, "PACKAGES": self.packages.name, "XDG_CACHE_HOME": str(self.top),
                 "PATH": f"{self.bin}:{os.environ['PATH']}", **environment})
        self.err = done.stderr
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(list(self.top.glob("bluebell/*-tmp.*")), [])
        return done.stdout.strip()

    def calls(self):
        """What apt was asked since the last time."""
        path = self.bin / "calls"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        path.unlink(missing_ok=True)
        return text

    def added(self, tree):
        """Which kernels of a tree have been added to it, and how far."""
        return {path.parent.name: path.read_text(encoding="utf-8").strip()
                for path in Path(tree).glob("usr/lib/modules/*/added-to-lab")}

    def test_arm64_tree(self):
        """The tree beside the lab has both kernels, and what the scripts of packages make."""
        tree = Path(self.lab("--arch", "arm64", "--path"))
        lab = Path(self.lab("--path"))
        self.assertEqual(tree.parent, lab.parent)
        modules = tree / "usr/lib/modules"
        self.assertEqual({path.name for path in modules.iterdir()},
                         {f"{OWN}-arm64", f"{OWN}-arm64-16k"})
        for release in (f"{OWN}-arm64", f"{OWN}-arm64-16k"):
            self.assertEqual({path.name for path in (modules / release).iterdir()},
                             {"build", "kernel", "vmlinuz", "modules.builtin", "modules.dep"})
            self.assertEqual(os.readlink(modules / release / "build"),
                             f"/usr/src/linux-headers-{release}")
            self.assertTrue((lab / f"usr/src/linux-headers-{release}").is_dir())
        self.assertFalse((tree / "usr/src").exists())
        self.assertEqual((tree / "usr/bin/of-python3").read_text(encoding="utf-8"), "arm64\n")
        for name in ("passwd", "group", "nsswitch.conf", "pam.d/common-auth"):
            self.assertEqual((tree / "etc" / name).read_text(encoding="utf-8"), "of the lab\n")
        self.assertEqual(os.readlink(tree / "usr/bin/awk"), "gawk")
        self.assertEqual((tree / "root").stat().st_mode & 0o777, 0o755)

    def test_lab_stays_as_it_is(self):
        """The lab gets tools and headers. Its kernels are those for amd64, as before."""
        lab = Path(self.lab("--path"))
        self.lab("--arch", "arm64", "true")
        self.assertEqual({path.name for path in (lab / "usr/lib/modules").iterdir()},
                         {f"{OWN}-amd64"})
        self.assertEqual((lab / "usr/bin/of-qemu-system-arm").read_text(encoding="utf-8"),
                         "amd64\n")
        self.assertIn("qemu-system-arm=5", self.calls())
        self.assertEqual(self.lab("--path"), str(lab))

    def test_nothing_is_fetched_unless_asked_for(self):
        """Without --arch, and when all is there, apt is not called."""
        self.lab("true")
        self.calls()
        self.lab("--arch", "amd64", "true")
        self.assertEqual(self.calls(), "")
        self.lab("--arch", "arm64", "true")
        self.assertIn("arm64", self.calls())
        self.lab("--arch", "arm64", "true")
        self.assertEqual(self.calls(), "")

    def test_commands_find_the_tree(self):
        """Its path is in the environment of commands, and what --path prints; inside the lab,
        too."""
        tree = self.lab("--arch", "arm64", "--path")
        shown = self.lab("--arch", "arm64", "sh", "-c", 'echo "$BLUEBELL_LAB_ARM64"')
        self.assertEqual(shown, tree)
        self.assertEqual(self.lab("--arch", "arm64", "--path", BLUEBELL_LAB="/lab",
                                  BLUEBELL_LAB_ARM64="/tree"), "/tree")
        self.lab("--arch", "arm64", "--path", LAB="host", status=1)

    def test_tree_appears_when_it_is_complete(self):
        """After a failure nothing is taken for the tree, and the next run makes it."""
        missing = f"linux-modules-{OWN}-arm64-16k"
        self.archive["arm64"].remove(missing)
        self.lab("--arch", "arm64", "true", status=1)
        self.assertIn(f"E: no {missing}", self.err)
        self.assertEqual(list(self.top.glob("bluebell/lab-*-arm64-*")), [])
        self.archive["arm64"].append(missing)
        self.calls()
        self.lab("--arch", "arm64", "true")
        self.assertNotIn("qemu-system-arm", self.calls())
        self.assertEqual(len(list(self.top.glob("bluebell/lab-*-arm64-*"))), 1)

    def test_packages_of_the_lab_are_not_replaced(self):
        """If the tools need newer packages than the lab has, the lab has to be made again."""
        (self.bin / "replaced").write_text(
            "Inst gcc-aarch64-linux-gnu (5)\nInst libglib2.0 [1] (2)\n", encoding="utf-8")
        self.lab("--arch", "arm64", "true", status=1)
        self.assertIn("libglib2.0 would be replaced: do 'scripts/lab --rebuild'", self.err)
        self.assertEqual(list(self.top.glob("bluebell/lab-*/usr/bin/of-*")), [])

    def test_rebuild_removes_the_tree(self):
        """Its tools are gone with the old lab."""
        tree = Path(self.lab("--arch", "arm64", "--path"))
        self.lab("--rebuild", "true")
        self.assertFalse(tree.exists())

    def test_newest_kernel_if_the_version_of_the_lab_is_gone(self):
        """With it comes what the headers share, in the version of the kernel."""
        for name in kernel(f"{OWN}-arm64"):
            self.archive["arm64"].remove(name)
        self.archive["amd64"] += ["linux-headers-7.2.4+deb13-common", "linux-kbuild-7.2.4+deb13"]
        self.archive["arm64"] += kernel("7.2.4+deb13-arm64-16k")
        tree = Path(self.lab("--arch", "arm64", "--path"))
        self.assertEqual({path.name for path in (tree / "usr/lib/modules").iterdir()},
                         {"7.2.4+deb13-arm64", f"{OWN}-arm64-16k"})
        self.assertTrue((Path(self.lab("--path"))
                         / "usr/src/linux-headers-7.2.4+deb13-common").is_dir())

    def test_kernel_of_another_series(self):
        """It is noted as added, so that it is not the stock kernel; arm64 has two flavours."""
        lab = self.lab("--kernel", "7.3", "--path")
        self.assertEqual(self.added(lab), {f"{NEW}-amd64": "complete"})
        self.assertTrue((Path(lab) / f"usr/lib/modules/{NEW}-amd64/modules.builtin").exists())
        self.calls()
        tree = self.lab("--arch", "arm64", "--kernel", "7.3", "--path")
        self.assertEqual(self.added(tree), {f"{NEW}-arm64": "complete",
                                            f"{NEW}-arm64-16k": "complete"})
        self.assertEqual(self.added(lab), {f"{NEW}-amd64": "complete"})
        self.assertNotIn("common", self.calls())
        self.lab("--arch", "arm64", "--kernel", "7.3", "true")
        self.assertEqual(self.calls(), "")

    def test_what_headers_share_comes_with_the_first_kernel(self):
        """The lab may not have the kernel of that series for amd64."""
        self.lab("--arch", "arm64", "--kernel", "7.3", "true")
        lab = Path(self.lab("--path"))
        self.assertTrue((lab / f"usr/src/linux-headers-{NEW}-common").is_dir())
        self.assertTrue((lab / f"usr/bin/of-linux-kbuild-{NEW}").exists())

    def test_kernel_of_the_labs_own_series(self):
        """It is there, and stays the stock kernel."""
        lab = self.lab("--kernel", "7.2", "--path")
        tree = self.lab("--arch", "arm64", "--kernel", "7.2", "--path")
        self.assertEqual((self.added(lab), self.added(tree)), ({}, {}))

    def test_kernel_that_is_not_complete(self):
        """It does not count as added, and the next run completes it."""
        lab = self.lab("--path")
        (self.bin / "no-depmod").touch()
        self.lab("--kernel", "7.3", "true", status=1)
        self.assertEqual(self.added(lab), {f"{NEW}-amd64": "begun"})
        (self.bin / "no-depmod").unlink()
        self.lab("--kernel", "7.3", "true")
        self.assertEqual(self.added(lab), {f"{NEW}-amd64": "complete"})

    def test_what_is_refused(self):
        """The error names what would be right."""
        for words, said in ((("--arch", "mips"), "--arch takes amd64 or arm64, not 'mips'"),
                            (("--arch",), "--arch takes amd64 or arm64, not ''"),
                            (("--kernel", "new"), "takes a series, such as 6.12, not 'new'"),
                            (("--kernel", "9.9"), "no kernel 9.9 for amd64 in trixie"),
                            (("--bad",), "unknown option --bad")):
            self.lab(*words, status=1)
            self.assertIn(said, self.err)

    def test_archive_without_a_signature(self):
        """apt itself refuses it."""
        self.lab("--path")
        for name in ("apt-get", "apt-cache", "apt-config"):
            (self.bin / name).unlink()
        for suite in ("trixie", "trixie-backports"):
            index = self.top / "mirror/dists" / suite / "main/binary-amd64"
            index.mkdir(parents=True)
            (index / "Packages").touch()
            (index.parents[1] / "Release").write_text(
                f"Suite: {suite}\nCodename: {suite}\nComponents: main\nArchitectures: amd64\n"
                "Date: Sun, 29 Nov 2026 00:00:00 UTC\nSHA256:\n "
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 "
                "main/binary-amd64/Packages\n", encoding="utf-8")
        self.lab("--arch", "arm64", "true", status=1, BLUEBELL_MIRROR=f"file:{self.top}/mirror")
        self.assertRegex(self.err, "(?s)is not signed.*cannot read the index")
        self.assertEqual(list(self.top.glob("bluebell/lab-*-arm64-*")), [])


if __name__ == "__main__":
    unittest.main()
