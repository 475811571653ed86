#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/layers: small drivers with a planted mistake each, compiled and checked."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import SCRIPTS

# A driver without a mistake. The bottom calls the top by a pointer that it was given.
GOOD = {
    "main.c": '#include "main.h"\n#include "cq.h"\nint up(void) { return 1; }\n'
              "int main_probe(void) { return cq_create(up); }\n",
    "main.h": "#ifndef M\n#define M\nint main_probe(void);\n#endif\n",
    "cq.c": '#include "cq.h"\n#include "fw.h"\n'
            "int cq_create(int (*f)(void)) { return fw_exec(f); }\n",
    "cq.h": "#ifndef C\n#define C\nint cq_create(int (*f)(void));\n#endif\n",
    "qp.c": '#include "fw.h"\nint qp_create(void) { return fw_exec(0); }\n',
    "fw.c": '#include "fw.h"\nint fw_exec(int (*f)(void)) { return f ? f() : 0; }\n',
    "fw.h": "#ifndef F\n#define F\nint fw_exec(int (*f)(void));\n#endif\n",
}
TABLE = "entry: main\nobjects: cq qp.c\nfirmware: fw  # a comment\n"


def compile_file(source, objects):
    """Compile a file into the directory of objects."""
    subprocess.run(["gcc", "-w", "-c", source, "-o", objects / f"{source.stem}.o"], check=True)


class Layers(unittest.TestCase):
    """What is refused, and how it is told."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.good = Path(directory.name)
        for name, text in GOOD.items():
            (cls.good / name).write_text(text, encoding="utf-8")
        for path in cls.good.glob("*.c"):
            compile_file(path, cls.good)

    def check(self, changes=None, table=TABLE, without=(), options=()):
        """(exit status, complaints) for GOOD with these changes, without the objects named."""
        with tempfile.TemporaryDirectory() as directory:
            source, objects = Path(directory, "source"), Path(directory, "objects")
            shutil.copytree(self.good, source, ignore=shutil.ignore_patterns("*.o"))
            shutil.copytree(self.good, objects, ignore=shutil.ignore_patterns("*.[ch]"))
            for name, text in (changes or {}).items():
                (source / name).write_text(text, encoding="utf-8")
                if name.endswith(".c"):
                    compile_file(source / name, objects)
            for name in without:
                (objects / name).with_suffix(".o").unlink()
            Path(directory, "table").write_text(table, encoding="utf-8")
            done = subprocess.run(
                [SCRIPTS / "layers", objects, "--source", source,
                 "--table", Path(directory, "table"), *options], check=False,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        return done.returncode, [line.removeprefix("layers: error: ") for line in lines]

    def refused(self, pattern, *arguments, **options):
        """Check that there is this complaint, and no other."""
        status, complaints = self.check(*arguments, **options)
        self.assertEqual((status, len(complaints)), (1, 1), complaints)
        self.assertRegex(complaints[0], pattern)

    def test_driver_without_a_mistake(self):
        """A call through a pointer is no reference to a higher layer."""
        self.assertEqual(self.check(), (0, []))

    def test_upward_call(self):
        """The bottom calls a function of the layer above."""
        self.refused(r"^upward: fw\.c \(firmware\) refers to qp\.c \(objects\): qp_create$", {
            "fw.c": "int qp_create(void);\nint fw_exec(int (*f)(void)) { return qp_create(); }\n",
            "qp.c": "int qp_create(void) { return 0; }\n"})

    def test_upward_variable(self):
        """Data of a higher layer is a reference as a function is."""
        self.refused(r"^upward: fw\.c .* refers to main\.c \(entry\): up_data$", {
            "fw.c": "extern int up_data;\nint fw_exec(int (*f)(void)) { return up_data; }\n",
            "main.c": "int up_data;\n"})

    def test_upward_include(self):
        """The bottom includes a header of the entry, without calling anything of it."""
        self.refused(r"^upward: fw\.c \(firmware\) includes main\.h \(entry\)$",
                     {"fw.c": '#include "main.h"\n' + GOOD["fw.c"]})

    def test_circle_of_two_files(self):
        """Both are in the same layer."""
        self.refused(r"^circle of calls among 2 files \(cq\.c qp\.c\): cq\.c -> qp\.c \(qp_create\)"
                     r"; qp\.c -> cq\.c \(cq_destroy\)$", {
                         "cq.c": "int qp_create(void);\nint cq_destroy(void) { return 0; }\n"
                                 "int cq_create(int (*f)(void)) { return qp_create(); }\n",
                         "qp.c": "int cq_destroy(void);\n"
                                 "int qp_create(void) { return cq_destroy(); }\n"})

    def test_circle_of_three_files(self):
        """No two of them refer to each other."""
        changes = {f"{one}.c": f"int {two}_f(void);\nint {one}_f(void) {{ return {two}_f(); }}\n"
                   for one, two in (("a", "b"), ("b", "c"), ("c", "a"))}
        self.refused(r"^circle of calls among 3 files \(a\.c b\.c c\.c\): a\.c -> b\.c ", changes,
                     table=TABLE + "objects: a b c\n")

    def test_circle_of_headers(self):
        """Each includes the other."""
        self.refused(r"^circle of includes among 2 files \(a\.h b\.h\): a\.h -> b\.h; b\.h -> a\.h",
                     {"a.h": '#include "b.h"\n', "b.h": '#include "a.h"\n'},
                     table=TABLE + "objects: a b\n")

    def test_folder_without_a_table(self):
        """With --circles a call may go anywhere, as long as it comes back on no way."""
        upward = {"fw.c": "int qp_create(void);\nint fw_exec(int (*f)(void)) { return 0; }\n"
                          "int fw_up(void) { return qp_create(); }\n",
                  "qp.c": "int qp_create(void) { return 0; }\n"}
        self.assertEqual(self.check(upward, table="", options=["--circles"]), (0, []))
        upward["qp.c"] = "int fw_up(void);\nint qp_create(void) { return fw_up(); }\n"
        self.refused(r"^circle of calls among 2 files \(fw\.c qp\.c\)", upward, table="",
                     options=["--circles"])

    def test_tracepoint_is_no_reference(self):
        """It is defined where trace.h says CREATE_TRACE_POINTS, and belongs to trace.h."""
        self.assertEqual(self.check({
            "main.c": "int __tracepoint_fw_exec;\n",
            "fw.c": "extern int __tracepoint_fw_exec;\n"
                    "int fw_exec(int (*f)(void)) { return __tracepoint_fw_exec; }\n"}), (0, []))

    def test_file_in_no_layer(self):
        """A new file has to be entered in the table."""
        self.refused(r"^new\.c is in no layer", {"new.c": "int new_f(void) { return 0; }\n"})

    def test_name_without_a_file(self):
        """A file that is gone has to be removed from the table."""
        self.refused(r"^gone is in the table, but the driver has no such file$",
                     table=TABLE + "objects: gone\n")

    def test_file_in_two_layers(self):
        """Its layer would be a matter of chance."""
        self.refused(r"^qp\.c is in the table twice$", table=TABLE + "objects: qp.c\n")

    def test_file_without_an_object(self):
        """What it calls is not known."""
        self.refused(r"^qp\.c has no object file in ", without=["qp.c"])

    def test_driver_without_files(self):
        """Nothing was checked, so nothing was found in order."""
        with tempfile.TemporaryDirectory() as directory:
            table = Path(directory, "table")
            table.touch()
            done = subprocess.run(
                [SCRIPTS / "layers", directory, "--source", directory, "--table", table],
                check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
