# SPDX-License-Identifier: GPL-2.0
"""What checks of the driver's sources read out of C text."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
DRIVER = "drivers/infiniband/hw/bluebell"

# The first line of a function, not indented: its name is the last word before a bracket.
FUNCTION = re.compile(r"^[A-Za-z_].*?(\w+)\(", re.M)


def blank(text):
    """The text without comments and the contents of strings, line by line the same."""
    def replace(found):
        return re.sub(r"[^\n]", " ", found.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', replace, text, flags=re.S)


def functions(text):
    """[(offset, name)] of the lines that begin a function or a macro, in order."""
    found = []
    for match in FUNCTION.finditer(text):
        line = match.group()
        handler = re.search(r"UVERBS_HANDLER\((\w+)\)", text[match.start():match.end() + 80])
        found.append((match.start(), handler.group(1) if handler and "UVERBS_HANDLER(" in line
                      else match.group(1)))
    return found


def function_at(starts, offset):
    """The name of the function, of those that functions() has found, at an offset of the text."""
    return next((name for start, name in reversed(starts) if start < offset), "")


def sources(driver):
    """{name: text} of the files below a folder of the driver."""
    return {str(path.relative_to(driver)): path.read_text()
            for path in driver.rglob("*.[ch]") if not path.name.endswith(".mod.c")}
