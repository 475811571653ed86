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
    "main.c": '#include "main.h"\n#include "verbs/cq.h"\nint up(void) { return 1; }\n'
              "int main_probe(void) { return cq_create(up); }\n",
    "main.h": "#ifndef M\n#define M\nint main_probe(void);\n#endif\n",
    "verbs/cq.c": '#include "verbs/cq.h"\n#include "fw/fw.h"\n'
            "int cq_create(int (*f)(void)) { return fw_exec(f); }\n",
    "verbs/cq.h": "#ifndef C\n#define C\nint cq_create(int (*f)(void));\n#endif\n",
    "verbs/qp.c": '#include "fw/fw.h"\nint qp_create(void) { return fw_exec(0); }\n',
    "fw/fw.c": '#include "fw/fw.h"\nint fw_exec(int (*f)(void)) { return f ? f() : 0; }\n',
    "fw/fw.h": "#ifndef F\n#define F\nint fw_exec(int (*f)(void));\n#endif\n",
}


def write_file(directory, name, text):
    """Write a file, in a folder of its own if its name has one."""
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / name).write_text(text, encoding="utf-8")


def compile_file(directory, name, objects):
    """Compile a file of a directory into the directory of objects."""
    target = (objects / name).with_suffix(".o")
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-w", "-I", directory, "-c", directory / name, "-o", target],
                   check=True)


class Layers(unittest.TestCase):
    """What is refused, and how it is told."""

    summary = None

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.good = Path(directory.name)
        for name, text in GOOD.items():
            write_file(cls.good, name, text)
        for name in GOOD:
            if name.endswith(".c"):
                compile_file(cls.good, name, cls.good)

    def check(self, changes=None, without=(), options=()):
        """(exit status, complaints) for GOOD with changes, without the objects of some sources;
        self.summary is set to what is said beside the complaints."""
        with tempfile.TemporaryDirectory() as directory:
            source, objects = Path(directory, "source"), Path(directory, "objects")
            shutil.copytree(self.good, source, ignore=shutil.ignore_patterns("*.o"))
            shutil.copytree(self.good, objects, ignore=shutil.ignore_patterns("*.[ch]"))
            for name, text in (changes or {}).items():
                write_file(source, name, text)
                if name.endswith(".c"):
                    compile_file(source, name, objects)
            for name in without:
                (objects / name).with_suffix(".o").unlink()
            done = subprocess.run(
                [SCRIPTS / "layers", objects, "--source", source, *options], check=False,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        self.summary = done.stderr
        return done.returncode, [line.removeprefix("layers: error: ") for line in lines]

    def refused(self, pattern, *arguments, **options):
        """Check that there is this complaint, and no other."""
        status, complaints = self.check(*arguments, **options)
        self.assertEqual((status, len(complaints)), (1, 1), complaints)
        self.assertRegex(complaints[0], pattern)

    def test_driver_without_a_mistake(self):
        """A call through a pointer is no reference to a higher layer."""
        self.assertEqual(self.check(), (0, []))
        self.assertEqual(self.summary, "layers: 4 object files, 3 references between files, "
                         "0 complaints\n")

    def test_upward_call(self):
        """The bottom calls a function of the layer above."""
        self.refused(r"^upward: fw/fw\.c refers to verbs/qp\.c: qp_create$", {
            "fw/fw.c": "int qp_create(void);\n"
                       "int fw_exec(int (*f)(void)) { return qp_create(); }\n",
            "verbs/qp.c": "int qp_create(void) { return 0; }\n"})

    def test_upward_variable(self):
        """Access to data of a higher layer is refused like a call."""
        self.refused(r"^upward: fw/fw\.c refers to main\.c: up_data$", {
            "fw/fw.c": "extern int up_data;\nint fw_exec(int (*f)(void)) { return up_data; }\n",
            "main.c": "int up_data;\n"})

    def test_upward_include(self):
        """The bottom includes a header of the entry, without calling anything of it."""
        self.refused(r"^upward: fw/fw\.c includes main\.h$",
                     {"fw/fw.c": '#include "main.h"\n' + GOOD["fw/fw.c"]})

    def test_circle_of_two_files(self):
        """Both are in the same layer."""
        self.refused(r"^circle of calls among 2 files \(verbs/cq\.c verbs/qp\.c\): "
                     r"verbs/cq\.c -> verbs/qp\.c \(qp_create\); "
                     r"verbs/qp\.c -> verbs/cq\.c \(cq_destroy\)$", {
                         "verbs/cq.c": "int qp_create(void);\nint cq_destroy(void) { return 0; }\n"
                                 "int cq_create(int (*f)(void)) { return qp_create(); }\n",
                         "verbs/qp.c": "int cq_destroy(void);\n"
                                 "int qp_create(void) { return cq_destroy(); }\n"})

    def test_circle_of_three_files(self):
        """No two of them refer to each other."""
        changes = {f"lib/{one}.c": f"int {two}_f(void);\n"
                   f"int {one}_f(void) {{ return {two}_f(); }}\n"
                   for one, two in (("a", "b"), ("b", "c"), ("c", "a"))}
        self.refused(r"^circle of calls among 3 files \(lib/a\.c lib/b\.c lib/c\.c\): "
                     r"lib/a\.c -> lib/b\.c ", changes)

    def test_circle_of_headers(self):
        """Each includes the other."""
        self.refused(r"^circle of includes among 2 files \(lib/a\.h lib/b\.h\): "
                     r"lib/a\.h -> lib/b\.h; lib/b\.h -> lib/a\.h",
                     {"lib/a.h": '#include "lib/b.h"\n', "lib/b.h": '#include "lib/a.h"\n'})

    def test_circles_alone(self):
        """With --circles a call may go to any layer, as long as no calls lead back."""
        upward = {"fw/fw.c": "int qp_create(void);\nint fw_exec(int (*f)(void)) { return 0; }\n"
                             "int fw_up(void) { return qp_create(); }\n",
                  "verbs/qp.c": "int qp_create(void) { return 0; }\n"}
        self.assertEqual(self.check(upward, options=["--circles"]), (0, []))
        self.assertEqual(self.summary, "")      # a build calls it for each folder
        upward["verbs/qp.c"] = "int fw_up(void);\nint qp_create(void) { return fw_up(); }\n"
        self.refused(r"^circle of calls among 2 files \(fw/fw\.c verbs/qp\.c\)", upward,
                     options=["--circles"])

    def test_tracepoint_is_no_reference(self):
        """A tracepoint belongs to trace.h, not to the file that defines its symbol."""
        self.assertEqual(self.check({
            "main.c": "int __tracepoint_fw_exec;\n",
            "fw/fw.c": "extern int __tracepoint_fw_exec;\n"
                       "int fw_exec(int (*f)(void)) { return __tracepoint_fw_exec; }\n"}), (0, []))

    def test_file_in_another_folder(self):
        """The layer of a file in an unknown folder is not known."""
        self.refused(r"^new/new\.c is in no layer: the folders are devx ",
                     {"new/new.c": "int new_f(void) { return 0; }\n"})

    def test_two_files_of_one_name(self):
        """A line of the log that names such a file could mean either file."""
        self.refused(r"^lib/fw\.h has the name of fw/fw\.h$", {"lib/fw.h": ""})

    def test_file_without_an_object(self):
        """Without an object file, nobody knows what a source calls, so that is an error."""
        self.refused(r"^verbs/qp\.c has no object file in ", without=["verbs/qp.c"])
        self.assertEqual(self.summary, "layers: 3 object files, 2 references between files, "
                         "1 complaints\n")

    def test_driver_without_files(self):
        """The check must not pass if it has checked nothing."""
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [SCRIPTS / "layers", directory, "--source", directory],
                check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
