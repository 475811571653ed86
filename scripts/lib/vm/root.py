# SPDX-License-Identifier: GPL-2.0
"""What the guests see of this machine's files: their root, and other folders.

virtiofsd shares all files of this machine, read-only. The guest's root is a folder of them, / or
another one, or a disk image, and always below an overlay in memory: what a guest writes is lost
with it. Folders of this machine can be at the same path in the guests: as they are (shared), below
an overlay of their own (copied), or so that the guests write to the folder itself (writable), for
which there is one virtiofsd for each."""

from dataclasses import dataclass, field
from pathlib import Path

from vm import VmError, say

# Where distributions have what libibverbs knows of libmlx5.
PROVIDER = "etc/libibverbs.d/mlx5.driver"
PROGRAMS = ("usr/bin", "bin", "usr/local/bin", "usr/sbin", "sbin")


@dataclass
class Root:
    """The guests' root, and folders of this machine that they have, too."""

    cwd: Path = Path("/")       # where the command runs
    folder: Path = Path("/")    # the folder that is the root
    image: Path = None          # or a disk image
    shared: list = field(default_factory=list)
    copied: list = field(default_factory=list)
    writable: list = field(default_factory=list)

    def mounts(self):
        """What vm-init mounts besides the root: lines of a kind and a path. The folders of a kind
        are ordered so that one inside another is mounted after it."""
        lines = [f"copy {path}" for path in sorted(self.copied)]
        lines += [f"share {path}" for path in self.shared]
        lines += [f"write{index} {path}" for index, path in enumerate(self.writable)]
        return "".join(f"{line}\n" for line in lines)

    def has(self, path):
        """Whether the root has a file. The links of its folders may be absolute, so look where
        they lead in the root."""
        here = self.folder
        for part in Path(path).parts:
            here = here / part
            for _ in range(10):
                if not here.is_symlink():
                    break
                target = here.readlink()
                here = (self.folder / str(target).lstrip("/") if target.is_absolute()
                        else here.parent / target)
        return here.exists()

    def has_program(self, name):
        """Whether the root has a program of this name, where programs are."""
        return any(self.has(f"{folder}/{name}") for folder in PROGRAMS)

    def check(self, hosts):
        """Raise VmError if the guests cannot use this root. A disk image is not looked into."""
        if self.image:
            return
        if not self.has_program("sh"):
            raise VmError(f"{self.folder} has no /bin/sh: --root takes the folder in which a "
                          "system's root is, such as one that mmdebstrap has made, or a disk image")
        for name, package in (("perl", "perl-base"), ("python3", "python3")):
            if hosts > 1 and not self.has_program(name):
                raise VmError(f"the root {self.folder} has no {name}, which 'on HOST COMMAND' "
                              f"needs with --hosts (Debian: {package})")
        if not self.has(PROVIDER):
            say(f"the root {self.folder} has no libmlx5, so programs will find no RDMA device "
                "(Debian: apt install ibverbs-providers)")


def own_root(name, writable, cwd):
    """The root that --root of bluebell-vm names, a folder or a disk image, with the current
    directory."""
    path = Path(name).resolve()
    if not path.exists():
        raise VmError(f"cannot find the root {name}")
    root = Root(cwd=cwd)
    for item in writable:
        folder = Path(item).resolve()
        if not folder.is_dir():
            raise VmError(f"cannot find the folder {item} of --writable")
        if folder == Path("/"):
            raise VmError("--writable / is not possible: name the folders that guests write to")
        root.writable.append(folder)
    if path.is_dir():
        root.folder = path
    else:
        root.image = path
    # A guest has its own /tmp, /run and so on, and files of another root at the path of the
    # current directory, if any.
    private = any(cwd.is_relative_to(f"/{part}") for part in ("tmp", "run", "dev"))
    if cwd != Path("/") and cwd not in root.writable and (root.image or path != Path("/")
                                                          or private):
        root.copied.append(cwd)
    return root


def image_format(path):
    """The format of a disk image, as QEMU names it."""
    with open(path, "rb") as image:
        return "qcow2" if image.read(4) == b"QFI\xfb" else "raw"
