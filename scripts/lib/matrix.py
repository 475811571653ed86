# SPDX-License-Identifier: GPL-2.0
"""The matrix of kernels: which suites run on which kernel with which driver, what has been run of
it, and the page that says so.

A part of the matrix is one suite on one kernel with one driver. scripts/check runs the parts and
keeps the result of each in a file of its own; of these files scripts/matrix makes the record,
Documentation/matrix.json, and the page, Documentation/matrix.rst.
"""

import json
import subprocess
import textwrap
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
RESULTS = REPO / "build/matrix"
RECORD = REPO / "Documentation/matrix.json"
PAGE = REPO / "Documentation/matrix.rst"

DRIVERS = ("bluebell", "mlx5_ib")
# The suites, in the order of the page's columns, and their headings. Those in ONCE do not depend on
# the driver that is loaded, so they have one result for a kernel, in the row of Bluebell.
SUITES = {"module": "module", "selftests": "selftests", "rdma-core": "rdma-core's tests",
          "ulp": "two hosts", "kunit": "KUnit"}
ONCE = ("module", "kunit")
FAILURES = 20       # names of failed tests that a result keeps


@dataclass(frozen=True)
class Kernel:
    """A row of the matrix. @boots is what --kernel of scripts/vm calls the kernel, empty if Debian
    has none that boots. @kunit are the options of scripts/kunit, None if the KUnit suites cannot be
    built for the kernel."""

    name: str
    title: str
    arch: str
    boots: str
    kunit: tuple | None

    def lacks(self, suite):
        """Why the suite cannot run on this kernel; empty if it can."""
        if suite == "kunit":
            return "" if self.kunit is not None else "the series applies to 7.2 and newer kernels"
        if not self.boots:
            return "Debian has no such kernel"
        if suite == "ulp" and self.arch != "amd64":
            return "the tree of arm64 guests has not the programs"
        return ""


KERNELS = (
    Kernel("6.12", "6.12 (Debian 13)", "amd64", "6.12", None),
    Kernel("7.2", "7.2 (backports)", "amd64", "stock", ()),
    Kernel("7.3", "7.3 (backports)", "amd64", "7.3", ("--kernel", "7.3")),
    Kernel("arm64", "7.2 for arm64, 4 KiB pages", "arm64", "stock", ("--arch", "arm64")),
    Kernel("arm64-16k", "7.2 for arm64, 16 KiB pages", "arm64", "stock-16k",
           ("--arch", "arm64", "--page-size", "16k")),
    Kernel("arm64-64k", "7.2 for arm64, 64 KiB pages", "arm64", "",
           ("--arch", "arm64", "--page-size", "64k")),
)


@dataclass(frozen=True)
class Part:
    """A part of the matrix. The driver of a suite that is in ONCE is Bluebell."""

    kernel: Kernel
    suite: str
    driver: str

    @property
    def words(self):
        """What names the part, on the command line and in names of files."""
        return [self.kernel.name, self.suite, *([self.driver] if self.suite not in ONCE else [])]

    @property
    def key(self):
        """What tells its result from those of other parts."""
        return self.kernel.name, self.suite, self.driver


def parts(kernels=KERNELS):
    """All parts that can run, in the order in which they should."""
    return [Part(kernel, suite, driver) for kernel in kernels for suite in SUITES
            for driver in (DRIVERS[:1] if suite in ONCE else DRIVERS) if not kernel.lacks(suite)]


def choose(words):
    """The parts that words such as "6.12 ulp" mean: words of a kind (kernels, suites, drivers) are
    alternatives, and no word of a kind means all of that kind. The module of a kernel whose guests
    use it is always among them. Raises ValueError for another word."""
    kinds = ({kernel.name for kernel in KERNELS}, set(SUITES), set(DRIVERS))
    for word in words:
        if not any(word in kind for kind in kinds):
            names = [kernel.name for kernel in KERNELS] + [*SUITES, *DRIVERS]
            raise ValueError(f"the matrix has no {word}; there are: {', '.join(names)}")
    wanted = [kind & set(words) or kind for kind in kinds]
    chosen = [part for part in parts()
              if all(name in kind for name, kind in zip(part.key, wanted))]
    built = {part.kernel for part in chosen if part.suite != "kunit"}
    return [part for part in parts()
            if part in chosen or (part.suite == "module" and part.kernel in built)]


# --- Results --------------------------------------------------------------------------------------


@dataclass
class Result:
    """What a run of a part gave, as the files have it."""

    kernel: str
    suite: str
    driver: str
    release: str        # of the kernel that ran, as uname -r prints it; of KUnit the row's name
    passed: int
    failed: int
    skipped: int
    commit: str
    date: str
    failures: list = field(default_factory=list)

    @property
    def key(self):
        """The part's."""
        return self.kernel, self.suite, self.driver

    @property
    def recorded(self):
        """Whether it can be recorded: everybody can check out what was run."""
        return not self.commit.endswith("-dirty")


def commit():
    """The commit that is checked out, followed by -dirty if a file differs from it, other than
    those that a run of the matrix writes."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=REPO, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    dirty = git("status", "--porcelain", "--untracked-files=no", "--", ".",
                *(f":(exclude){path.relative_to(REPO)}" for path in (RECORD, PAGE)))
    return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if dirty else "")


def release(kernel):
    """The release of the lab's kernel."""
    lab = ["scripts/lab", "--arch", kernel.arch]
    if kernel.boots[0].isdigit():
        lab += ["--kernel", kernel.boots]
    tree = subprocess.run([*lab, "--path"], cwd=REPO, check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    return subprocess.run(["scripts/lib/kernel-release", kernel.boots, "image",
                           f"{tree.rstrip('/')}/lib/modules"], cwd=REPO, check=False, text=True,
                          stdout=subprocess.PIPE).stdout.strip() or kernel.name


def read(path):
    """The results in a file, by the keys of their parts."""
    if not path.exists():
        return {}
    results = [Result(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    return {result.key: result for result in results}


def write(path, results):
    """Write results to a file, one a line, in the order of the matrix."""
    order = [part.key for part in parts()]
    lines = [json.dumps(asdict(result)) for result in
             sorted(results, key=lambda one: order.index(one.key))]
    path.write_text("\n".join(["[", *([",\n".join(lines)] if lines else []), "]\n"]),
                    encoding="utf-8")


class Keeper:
    """Keeps the results of a run in a folder. What the checkout was when the run began counts: the
    modules and programs were built of it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.commit = commit()

    def keep(self, part, results):
        """Keep what a part gave."""
        now = commit()
        changed = "" if now == self.commit or self.commit.endswith("-dirty") else "-dirty"
        # The KUnit suites boot a kernel that is built for them.
        ran = part.kernel.name if part.suite == "kunit" else release(part.kernel)
        result = Result(*part.key, ran, results.passed, results.failed, results.skipped,
                        self.commit + changed,
                        datetime.now(timezone.utc).strftime("%Y-%m-%d"),
                        results.failures[:FAILURES])
        write(self.folder / f"{'-'.join(part.words)}.json", [result])


def record(folder, recorded=RECORD, page=PAGE):
    """Add the results of a folder to the record, and write the page. Returns the keys of the
    results that were not added, because the checkout had changes."""
    known, left = read(recorded), []
    for path in sorted(Path(folder).glob("*.json")):
        for key, result in read(path).items():
            if result.recorded:
                known[key] = result
            else:
                left.append(key)
    write(recorded, known.values())
    page.write_text(page_of(known), encoding="utf-8")
    return left


# --- The page -------------------------------------------------------------------------------------

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
.. Written by ``scripts/matrix --page`` of matrix.json, to which ``make check-matrix`` adds the
   results of its runs. Change neither by hand.

=====================
The matrix of kernels
=====================

What ``make check-matrix`` has found on each of the kernels of :doc:`kernels`. All runs used the
emulated HCA with its default profile, or no device (KUnit). A run also fails if the guest's kernel
reports a bug, or if an object is left in the device. A part of the matrix that has not been run, or
cannot run, is shown as such. The tests that a kernel or the HCA has no means for are skipped.

The columns:

* module: whether the driver is built for the kernel;
* selftests: ``tools/testing/selftests/bluebell``, all but ``neighbours``;
* rdma-core's tests: the test suite of rdma-core, as Debian ships it;
* two hosts: ``tools/testing/ulp/run``, users of verbs between two guests;
* KUnit: the driver's KUnit suites, which need no device, on a kernel that is built for them.

"""
COMMANDS = """
To run parts of the matrix, and to add their results to this page::

   make check-matrix                           # all, which takes hours
   make check-matrix MATRIX=6.12               # a kernel
   make check-matrix MATRIX="7.3 ulp mlx5_ib"  # one part

"""
WORDS = """The words of ``MATRIX`` are names of kernels ({}), of suites ({}) and of drivers. Each
result is kept in ``build/matrix``, with the commit and the date. Results of a checkout with changes
that are not committed are kept there only."""


def paragraph(text, first=""):
    """A paragraph in lines of 100 columns."""
    return textwrap.fill(text, 100, initial_indent=first, subsequent_indent=" " * len(first),
                         break_on_hyphens=False, break_long_words=False)


def heading(text, line):
    """A heading of RST."""
    return f"{text}\n{line * len(text)}\n\n"


def table(widths, rows):
    """A list-table of RST, whose first row is the header."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}",
             ""]
    for row in rows:
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if number == 0 else ' '} - {cell}".rstrip())
    return "\n".join(lines) + "\n"


def cell_of(kernel, suite, driver, results):
    """The table's entry for a part."""
    if suite in ONCE and driver != DRIVERS[0]:
        return ""
    if kernel.lacks(suite):
        return "cannot run"
    result = results.get((kernel.name, suite, driver))
    if not result:
        return "*not run*"
    if suite == "module":
        return "**fails**" if result.failed else "yes"
    counts = [f"{result.passed:,} passed"]
    counts += [f"**{result.failed:,} failed**"] if result.failed else []
    counts += [f"{result.skipped:,} skipped"] if result.skipped else []
    return ", ".join(counts)


def page_of(results):
    """The text of the page."""
    rows = [["Kernel", "Driver", *SUITES.values()]]
    rows += [[kernel.title if driver == DRIVERS[0] else "", f"``{driver}``",
              *(cell_of(kernel, suite, driver, results) for suite in SUITES)]
             for kernel in KERNELS for driver in (DRIVERS if kernel.boots else DRIVERS[:1])]
    text = HEAD + table((18, 12, 10, 16, 16, 14, 14), rows)
    text += COMMANDS + paragraph(WORDS.format(
        ", ".join(f"``{kernel.name}``" for kernel in KERNELS),
        ", ".join(f"``{suite}``" for suite in SUITES))) + "\n\n"
    ordered = [results[part.key] for part in parts() if part.key in results]
    text += heading("What cannot run", "=") + "".join(map(lacks_of, KERNELS))
    text += "\n" + heading("What failed", "=")
    failed = [result for result in ordered if result.failed]
    text += "".join(map(failures_of, failed)) or "Of what has been run, nothing.\n"
    text += "\n" + heading("The runs", "=")
    if not ordered:
        return text + "None is recorded.\n"
    return text + table((24, 14, 12, 24, 14), [
        ["Kernel", "Suite", "Driver", "Commit", "Date"],
        *([f"``{result.release}``", f"``{result.suite}``",
           "" if result.suite in ONCE else f"``{result.driver}``", f"``{result.commit}``",
           result.date] for result in ordered)])


def lacks_of(kernel):
    """What cannot run on a kernel, as items of a list."""
    why = {}
    for suite in SUITES:
        if kernel.lacks(suite):
            why.setdefault(kernel.lacks(suite), []).append(f"``{suite}``")
    return "".join(paragraph(f"{kernel.title}, {', '.join(suites)}: {reason}.", "* ") + "\n"
                   for reason, suites in why.items())


def failures_of(result):
    """The failed tests of a result, as an item of a list."""
    names = [f"  * ``{name}``\n" for name in result.failures]
    more = result.failed - len(result.failures)
    names += [f"  * and {more:,} more\n"] if more > 0 else []
    driver = "" if result.suite in ONCE else f", ``{result.driver}``"
    return f"* ``{result.kernel}``, ``{result.suite}``{driver}:\n\n{''.join(names)}"
