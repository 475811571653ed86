#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/refusals: which errnos it takes for refusals without a reason."""

import tempfile
import unittest
from pathlib import Path

from program import load, run

refusals = load("refusals")

# A function of the driver with one errno, which the tests put where %s is.
FUNCTION = """\
/* Returns -EINVAL or refuse(-EPERM). */
static int planted_check(u32 entries,
			 u32 max)
{
	pr_err("-EINVAL\\n"); // -EBUSY
	if (entries > max)
		%s;
	return 0;
}
"""


class Refusals(unittest.TestCase):
    """What is found in the text of a function."""

    def found(self, statement, text=FUNCTION):
        """What the check finds in a function that contains a statement."""
        return list(refusals.errnos(text % statement))

    def test_an_errno_without_a_reason_is_found(self):
        for statement in ("return -EINVAL", "return ERR_PTR(-EINVAL)", "err = -EINVAL",
                          "return x ? -EINVAL : 0", "return x == -EIO ? -EINVAL : x"):
            self.assertEqual(self.found(statement), [(7, "planted_check", "EINVAL")], statement)

    def test_every_errno_that_is_not_listed_is_a_refusal(self):
        for errno in ("EPERM", "EOPNOTSUPP", "ENOSPC", "EBUSY", "E2BIG", "EOVERFLOW", "ETXTBSY"):
            self.assertEqual(self.found(f"return -{errno}"), [(7, "planted_check", errno)])
        for errno in ("ENOMEM", "EFAULT", "EAGAIN", "EIO"):
            self.assertEqual(self.found(f"return -{errno}"), [])

    def test_a_refusal_with_a_reason_is_not_found(self):
        for statement in ('return refuse(dev->mdev, -EINVAL, "%u", x)',
                          'return ERR_PTR(refuse(NULL, -EINVAL,\n"x"))',
                          'return x ? refuse(mdev, -EBUSY, "a -EINVAL") : 0',
                          'return refuse(to_mdev(to_a(b, c)->d)->mdev, -EBUSY, "x")',
                          'return refuse(mdev,\n\t-EPERM, "x")'):
            self.assertEqual(self.found(statement), [], statement)

    def test_only_the_second_argument_has_a_reason(self):
        for statement in ('refuse(-EINVAL, "x")', 'refuse(mdev, err, "%d", -EINVAL)',
                          'f(refuse(mdev, -EIO, "x"), -EINVAL)'):
            self.assertEqual(self.found(statement), [(7, "planted_check", "EINVAL")], statement)

    def test_a_comparison_is_not_found(self):
        for statement in ("if (err == -EINVAL)", "while (err != -EBUSY)",
                          "if (p == ERR_PTR(-EINVAL))"):
            self.assertEqual(self.found(statement), [], statement)

    def test_an_ioctl_method_has_the_name_of_its_handler(self):
        text = "static int UVERBS_HANDLER(PLANTED)(struct uverbs_attr_bundle *attrs)\n{\n\t%s;\n}\n"
        self.assertEqual(self.found("return -EINVAL", text), [(3, "PLANTED", "EINVAL")])

    def test_a_function_may_be_listed_for_one_errno(self):
        complaints = list(refusals.check({"a.c": FUNCTION % "return -EINVAL"},
                                         {("planted_check", "EINVAL"): 3}, "list"))
        self.assertEqual(complaints, [])
        complaints = list(refusals.check({"a.c": FUNCTION % "return -EPERM"},
                                         {("planted_check", "EINVAL"): 3}, "list"))
        self.assertEqual([text.partition(": ")[0] for text in complaints], ["a.c:7", "list:3"])

    def test_the_program_complains(self):
        """By its status, too; also if it finds no refusal at all, because it looks at no driver."""
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            source = Path(directory) / "a.c"
            (Path(directory) / "list").touch()
            args = ["--source", directory, "--list", Path(directory) / "list"]
            source.write_text(FUNCTION % 'return refuse(mdev, -EINVAL, "x")')
            self.assertEqual(run("refusals", *args), (0, []))
            source.write_text(FUNCTION % 'return refuse(mdev, -EINVAL, "x") ?: -EPERM')
            status, lines = run("refusals", *args)
            self.assertEqual(status, 1)
            self.assertRegex("\n".join(lines), "^refusals: error: a.c:7: [^\n]*$")
            source.write_text(FUNCTION % "return 1")
            self.assertEqual(run("refusals", *args), (1, []))


if __name__ == "__main__":
    unittest.main()
