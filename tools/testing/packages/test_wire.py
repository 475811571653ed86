# SPDX-License-Identifier: GPL-2.0
"""compat/check-wire: which differences between a kernel's wire headers and those of 7.2 it accepts.
The headers of 7.2 are changed here, and compared with those of the kernel."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from host import kernel
from packages import REPO, directory

OLD = kernel("6.12")
IFC = "linux/mlx5/mlx5_ifc.h"
ABI = "uapi/rdma/mlx5-abi.h"


def include():
    """The folder include/ of the headers of 7.2."""
    headers = Path(f"/lib/modules/{kernel('7.2')}/build").resolve()
    common = Path(str(headers).removesuffix("-amd64") + "-common")
    return (common if common.exists() else headers) / "include"


@unittest.skipUnless(OLD, "no kernel 6.12 in the lab: scripts/lab --kernel 6.12")
class CheckWire(unittest.TestCase):
    """Each test changes one thing."""

    def setUp(self):
        self.top = directory()
        self.addCleanup(shutil.rmtree, self.top)
        # Debian's own awk, which knows less than that of the lab.
        (self.top / "awk").symlink_to("/usr/bin/mawk")
        for name in (IFC, ABI, "linux/mlx5/mlx5_ifc_fpga.h"):
            path = self.top / "wire" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(include() / name, path)

    def change(self, name, old, new):
        """Replace a text of a header, which has to be in there once."""
        path = self.top / "wire" / name
        text = path.read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def check(self):
        """Returns the status of compat/check-wire and what it printed."""
        done = subprocess.run([REPO / "compat/check-wire", f"/lib/modules/{OLD}/build",
                               self.top / "wire", self.top / "out"], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PATH": f"{self.top}:{os.environ['PATH']}"})
        return done.returncode, done.stdout

    def refuses(self, *texts):
        """The check fails, and says all of this."""
        status, said = self.check()
        self.assertEqual(status, 1, said)
        for text in texts:
            self.assertIn(text, said)

    def test_accepts_what_is_as_it_was(self):
        """The headers of 7.2 fit 6.12."""
        self.assertEqual(self.check(), (0, ""))

    def test_accepts_a_longer_request(self):
        """Structs grow at their end."""
        self.change(ABI, "struct mlx5_ib_create_srq_resp {\n\t__u32\tsrqn;\n",
                    "struct mlx5_ib_create_srq_resp {\n\t__u32\tsrqn;\n\t__u32\tmore[4];\n")
        # The reserved word that follows does not count, and nothing else does.
        self.assertEqual(self.check(), (0, ""))

    def test_says_that_it_cannot_tell(self):
        """Headers that cannot be compiled are another error than layouts that differ."""
        (self.top / "wire" / IFC).write_text("#error broken by a test\n", encoding="utf-8")
        status, said = self.check()
        self.assertEqual(status, 2, said)
        self.assertIn("broken by a test", said)

    def test_refuses_a_moved_field(self):
        """A field of a command's answer has another place."""
        self.change(IFC, "struct mlx5_ifc_create_mkey_out_bits {\n",
                    "struct mlx5_ifc_create_mkey_out_bits {\n\tu8 more[0x8];\n")
        self.refuses("mlx5_ifc_create_mkey_out_bits.mkey_index.offset: 72 in the kernel, 80 in "
                     "Linux 7.2")

    def test_refuses_another_opcode(self):
        """A command has another number."""
        self.change(IFC, "MLX5_CMD_OP_CREATE_MKEY                   = 0x200,",
                    "MLX5_CMD_OP_CREATE_MKEY                   = 0x20f,")
        self.refuses("MLX5_CMD_OP_CREATE_MKEY: 512 in the kernel, 527 in Linux 7.2")

    def test_refuses_a_longer_register_of_mlx5_core(self):
        """struct mlx5_core_dev has a copy of the register PCAM, so its other members move."""
        text = (self.top / "wire" / IFC).read_text(encoding="utf-8")
        start = text.index("struct mlx5_ifc_pcam_reg_bits {")
        end = text.index("\n};", start)
        (self.top / "wire" / IFC).write_text(text[:end] + "\n\tu8 more[0x20];" + text[end:],
                                             encoding="utf-8")
        self.refuses("mlx5_ifc_pcam_reg_bits.within: 640 in the kernel, 672 in Linux 7.2")

    def test_refuses_a_name_that_is_missing(self):
        """What the kernel names, 7.2 has to name, too."""
        self.change(IFC, "struct mlx5_ifc_create_mkey_out_bits {", "struct mlx5_ifc_gone_bits {")
        self.refuses("struct mlx5_ifc_create_mkey_out_bits mkey_index",
                     "which the driver does not know")

    def test_refuses_a_longer_number_at_its_lower_end(self):
        """A number is big-endian: with more bits at its lower end the old ones have moved."""
        text = (self.top / "wire" / IFC).read_text(encoding="utf-8")
        start = text.index("struct mlx5_ifc_create_mkey_out_bits {")
        end = text.index("};", start)
        body = text[start:end]
        self.assertRegex(body, r"mkey_index\[0x18\];")
        body = body.replace("mkey_index[0x18];", "mkey_index[0x20];")
        (self.top / "wire" / IFC).write_text(text[:start] + body + text[end:], encoding="utf-8")
        self.refuses("mlx5_ifc_create_mkey_out_bits.mkey_index.size: 24 in the kernel, 32 in "
                     "Linux 7.2")
