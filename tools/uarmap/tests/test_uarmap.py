#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of uarmap on reports that were written down."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree as ET
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# pylint: disable=wrong-import-position
import canned  # noqa: E402
import model  # noqa: E402
import sources  # noqa: E402
import svg  # noqa: E402
import text  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("uarmap", str(HERE.parent / "uarmap"))
uarmap = importlib.util.module_from_spec(importlib.util.spec_from_loader("uarmap", LOADER))
LOADER.exec_module(uarmap)

SVG = "{http://www.w3.org/2000/svg}"


def device(report):
    """The device of a canned report."""
    return model.parse(report.splitlines())


def run(*arguments, stdin=""):
    """(exit status, standard output, standard error) of the program."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = uarmap.main(list(arguments))
            except SystemExit as end:
                status = end.code
    finally:
        sys.stdin = before
    return status, out.getvalue(), err.getvalue()


class Parsing(unittest.TestCase):
    """The kernel's text."""

    def test_all_lines_are_read(self):
        """A report with each kind of line is read."""
        found = device(canned.SEVERAL)
        self.assertEqual((found.name, found.bus, found.max_uars), ("mlx5_0", "0000:00:03.0", 8192))
        self.assertEqual([context.pid for context in found.contexts], [100, 200, 200])
        first = found.contexts[0]
        self.assertEqual((len(first.uars), len(first.bfregs), len(first.queues)), (4, 8, 7))
        self.assertEqual(first.queues[0], model.Queue("cq", 4, 8))
        self.assertEqual(first.queues[1], model.Queue("qp", 64, 9, 2, "rc"))
        self.assertTrue(found.contexts[1].uars[0].freed)

    def test_escapes_are_undone(self):
        """A process's name may have any bytes."""
        self.assertEqual(device(canned.SEVERAL).contexts[1].comm, "a b&<\1")

    def test_words_of_later_kernels_are_skipped(self):
        """A report of a later kernel may have more words and more kinds of lines."""
        report = canned.ONE.replace("kind=bf", "kind=bf colour=blue") + "eq number=3\n"
        self.assertEqual(device(report), device(canned.ONE))

    def test_values_of_later_kernels_are_shown(self):
        """A later kernel may have UARs of another origin, and registers of another class."""
        for old, new in (("origin=static", "origin=lent"), ("origin=dynamic", "origin=lent"),
                         ("class=medium", "class=fast"), ("kind=bf", "kind=wc")):
            found = device(canned.SEVERAL.replace(old, new))
            self.assertIn(new.split("=")[1], text.render([found]).lower())
            self.assertIn(new.split("=")[1], svg.render([found]).lower())
        self.assertEqual([sources.word(sources.ORIGINS, number) for number in (2, 3)],
                         ["object", "kind 3"])

    def test_many_queues_take_seconds(self):
        """A process with as many queue pairs as the driver allows is shown in time."""
        lines = ["device name=mlx5_0", "context pid=1 comm=many"]
        lines += [f"uar index={index} origin=dynamic kind=bf mappings=1" for index in range(2000)]
        lines += [f"qp number={number} uar={number % 2000}" for number in range(100000)]
        found = model.parse(lines)
        before = time.process_time()
        text.render([found])
        svg.render([found])
        self.assertLess(time.process_time() - before, 10)

    def test_what_is_no_report_is_an_error(self):
        """Reports without a device, with a context before its device, without a number."""
        for report in ("", "hello\n", "context pid=1 comm=a\n", "uar index=1\n",
                       canned.ONE.replace("index=5", "index=five"),
                       canned.ONE.replace("uar=6", "")):
            with self.subTest(report=report), self.assertRaises(model.FormatError):
                device(report)


class Analysis(unittest.TestCase):
    """Which process holds UARs, and which queue pairs share a doorbell."""

    def test_holder_of_most_comes_first(self):
        """Contexts of one process are added up."""
        self.assertEqual(device(canned.SEVERAL).holders(),
                         [("old_app (100)", 4, 1), ("a b&<\ufffd (200)", 2, 2)])

    def test_shared_doorbells_and_locks(self):
        """A medium register has a lock; for dynamic registers and UAR objects only the library
        knows."""
        shared = [(bell.uar, bell.bfreg, bell.lock(), [queue.number for queue in bell.queues])
                  for context in device(canned.SEVERAL).contexts for bell in context.doorbells()
                  if bell.shared()]
        self.assertEqual(shared,
                         [(8, 1, "lock", [65, 66, 67]), (30, 6, "up to the library", [68, 69]),
                                  (41, None, "up to the library", [70, 71])])

    def test_completion_queue_shares_no_doorbell(self):
        """CQs are armed on a UAR, at another place than QPs are rung."""
        self.assertFalse(any(bell.shared() for context in device(canned.ONE).contexts
                             for bell in context.doorbells()))

    def test_changes_are_told(self):
        """A queue that goes has a line with -, a UAR that changes ~, a queue that comes +."""
        before, after = device(canned.ONE), device(canned.ONE.replace("mappings=1", "mappings=2", 1)
                                                   .replace("number=67", "number=68"))
        self.assertEqual(model.changes([before], [before]), [])
        self.assertEqual([line[:2] for line in model.changes([before], [after])],
                         ["- ", "~ ", "+ "])
        self.assertIn("mapped 2 times", model.changes([before], [after])[1])
        self.assertEqual(len(model.changes([], [before])), 4)


class Json(unittest.TestCase):
    """JSON."""

    def test_round_trip(self):
        """JSON that was printed can be read again."""
        for report in (canned.ONE, canned.SEVERAL, canned.many()):
            devices = [device(report)]
            self.assertEqual(model.from_json(json.loads(json.dumps(model.to_json(devices)))),
                             devices)

    def test_answers_are_in_it(self):
        """The JSON also lists holders and shared doorbells, so that no reader computes them."""
        data = model.to_json([device(canned.SEVERAL)])["devices"][0]
        self.assertEqual(data["holders"][0], {"process": "old_app (100)", "uars": 4, "contexts": 1})
        self.assertEqual(data["shared"][0], {"pid": 100, "uar": 8, "bfreg": 1, "lock": "lock",
                                             "qps": [65, 66, 67]})

    def test_values_of_other_types_are_an_error(self):
        """What is no number cannot be shown as one."""
        for old, new in (('"index": 5', '"index": "5"'), ('"pid": 327', '"pid": "327"'),
                         ('"bfreg": null', '"bfreg": 1.5'), ('"uars": [', '"uars": 1, "x": ['),
                         ('"max_uars": 8192', '"max_uars": "8"'), ('"mlx5_0"', '0')):
            data = json.dumps(model.to_json([device(canned.ONE)]))
            self.assertIn(old, data)
            with self.subTest(new=new), self.assertRaises(model.FormatError):
                model.from_json(json.loads(data.replace(old, new)))

    def test_other_json_is_an_error(self):
        """JSON of another form raises FormatError, and no other exception."""
        for data in ({}, {"devices": [{}]}, {"devices": [{"name": "a"}]}):
            with self.subTest(data=data), self.assertRaises(model.FormatError):
                model.from_json(data)


class Text(unittest.TestCase):
    """The text."""

    def test_questions_are_answered(self):
        """The text says which process holds the most UARs, and which queue pairs share what."""
        shown = text.render([device(canned.SEVERAL)])
        self.assertIn("6 of at most 8192 UARs are held by 2 processes", shown)
        self.assertRegex(shown, r"4 UARs +67 % +#+ +old_app \(100\)")
        self.assertIn("3 QPs share register 1 (medium) of UAR 0x8, and a lock: "
                      "QP 0x41 RC, QP 0x42 UD, QP 0x43 RC",
                      shown)
        self.assertIn("2 QPs share UAR 0x29, register and lock are up to the library", shown)
        self.assertIn("1 UAR without a queue: 0xa", shown)

    def test_who_holds_user_ids(self):
        """Contexts with and without an id, and a report that does not say how many ids there
        are."""
        self.assertIn("1 of at most 1024 user ids (DEVX) are held by 1 process\n",
                      text.render([device(canned.ONE)]))
        self.assertIn("2 user ids (DEVX) are held by 1 process\n",
                      text.render([device(canned.SEVERAL)]))
        self.assertNotIn("user ids", text.render([model.Device("mlx5_0", max_uids=1024)]))
        again = model.from_json(model.to_json([device(canned.ONE)]))
        self.assertEqual(again[0].max_uids, 1024)

    def test_name_of_a_process_does_not_control_the_terminal(self):
        """A process may call itself anything."""
        shown = text.render([device(canned.ONE.replace("ibv_rc_pingpong", "a\\033[2J\\012b"))])
        self.assertTrue(all(char == "\n" or char.isprintable() for char in shown))

    def test_nobody_has_the_device_open(self):
        """If no process holds a UAR, no share is computed by a division by 0."""
        self.assertIn("0 UARs are held by 0 processes", text.render([model.Device("mlx5_0")]))

    def test_many_uars_take_few_lines(self):
        """UARs without a queue are printed as ranges on one line."""
        self.assertLess(len(text.render([device(canned.many())]).splitlines()), 200)

    def test_ranges(self):
        """Numbers that follow each other are printed as FIRST-LAST."""
        self.assertEqual(text.ranges([5, 1, 2, 3, 9]), "0x1-0x3, 0x5, 0x9")


class Picture(unittest.TestCase):
    """The SVG."""

    def pictures(self):
        """The root elements of pictures of any size."""
        for report in (canned.ONE, canned.SEVERAL, canned.many(1), canned.many(200),
                       canned.many(2000), canned.wide(),
                       "device name=mlx5_0\n"):
            yield ET.fromstring(svg.render([device(report)]))

    def test_is_well_formed_and_has_a_size(self):
        """A picture is well-formed XML, whatever the names of the processes are."""
        for root in self.pictures():
            self.assertEqual(root.tag, SVG + "svg")
            self.assertEqual(root.get("viewBox"), f"0 0 {root.get('width')} {root.get('height')}")

    def test_needs_nothing_from_elsewhere(self):
        """The picture has no script, image or link, and its style loads nothing."""
        for root in self.pictures():
            for element in root.iter():
                self.assertNotIn(element.tag, {
                    SVG + name for name in ("script", "image", "use", "a", "foreignObject")})
                self.assertFalse([name for name in element.keys() if name.endswith("href")
                                  or name.startswith("on")])
            style = root.find(SVG + "style").text
            self.assertNotIn("url(", style)
            self.assertNotIn("@import", style)

    def test_nothing_is_outside(self):
        """Every rectangle is in the picture."""
        for root in self.pictures():
            width, height = float(root.get("width")), float(root.get("height"))
            for rect in root.iter(SVG + "rect"):
                if rect.get("x") is None:
                    continue    # the background
                self.assertGreaterEqual(float(rect.get("x")), 0)
                self.assertLessEqual(float(rect.get("x")) + float(rect.get("width")), width)
                self.assertLessEqual(float(rect.get("y")) + float(rect.get("height")), height)

    def test_large_numbers_are_exact(self):
        """A picture may be higher than a million."""
        picture = svg.Picture()
        picture.y = 1234567.5
        svg.draw_ruler(picture)
        root = ET.fromstring(picture.finish("high"))
        self.assertEqual(root.find(f"{SVG}g/{SVG}line").get("y1"), "1234577.5")
        self.assertEqual(root.get("height"), "1234597.5")

    def test_width_of_text(self):
        """The width is that in DejaVu Sans, which has wide letters."""
        self.assertAlmostEqual(svg.width_of("0000000000"), 76.3, 1)
        self.assertAlmostEqual(svg.width_of("0000000000", "h2"), 97.3, 1)
        self.assertAlmostEqual(svg.width_of("0000000000", "small mono"), 66.2, 1)
        self.assertEqual(svg.fit("QP 0x1", 50), "QP 0x1")
        self.assertEqual(svg.fit("QP 0x1 RC", 50), "QP 0x…")

    def extent(self, element):
        """(left end, right end, y) of a text."""
        x, y = float(element.get("x")), float(element.get("y"))
        width = svg.width_of(element.text, element.get("class", ""))
        x -= {None: 0, "middle": width / 2, "end": width}[element.get("text-anchor")]
        return x, x + width, y

    def test_text_is_in_its_box(self):
        """Text is within its card, its square and the picture."""
        for root in self.pictures():
            for element in root.iter(SVG + "text"):
                left, right, _ = self.extent(element)
                self.assertGreaterEqual(left, 0, element.text)
                self.assertLessEqual(right, float(root.get("width")), element.text)
            for group in root.iter(SVG + "g"):
                title = group.findtext(SVG + "title") or ""
                if " UAR 0x" not in title:
                    continue
                box = group.find(SVG + "rect")
                left, width = float(box.get("x")), float(box.get("width"))
                for element in group.iter(SVG + "text"):
                    self.assertGreaterEqual(self.extent(element)[0], left, element.text)
                    self.assertLessEqual(self.extent(element)[1], left + width, element.text)

    def test_texts_do_not_overlap(self):
        """No two texts of a line overlap, and no text is on a bar."""
        for root in self.pictures():
            lines = collections.defaultdict(list)
            for element in root.iter(SVG + "text"):
                lines[element.get("y")].append((*self.extent(element)[:2], element.text))
            for line in lines.values():
                line.sort()
                for one, two in itertools.pairwise(line):
                    self.assertLess(one[1], two[0], f"{one} {two}")
            for group in root.iter(SVG + "g"):
                if " of those that processes hold" in (group.findtext(SVG + "title") or ""):
                    bar = group.find(SVG + "rect")
                    name, number = (self.extent(text) for text in group.iter(SVG + "text"))
                    self.assertLess(name[1], float(bar.get("x")))
                    self.assertIn("UAR", group.findall(SVG + "text")[1].text)
                    self.assertNotIn("…", group.findall(SVG + "text")[1].text)
                    self.assertGreater(number[0], float(bar.get("x")) + float(bar.get("width")))

    def test_cards_and_squares_do_not_overlap(self):
        """The rectangles of two UARs, cards or squares, do not overlap."""
        for report in (canned.ONE, canned.SEVERAL, canned.many(60)):
            boxes = []
            for group in ET.fromstring(svg.render([device(report)])).iter(SVG + "g"):
                title = group.findtext(SVG + "title") or ""
                if " UAR 0x" in title and "\n" not in title:
                    rect = group.find(SVG + "rect")
                    x, y, width, height = (float(rect.get(name))
                                           for name in ("x", "y", "width", "height"))
                    boxes.append((x, y, x + width, y + height))
            self.assertEqual(len(boxes), report.count("uar index="))
            for one, two in itertools.combinations(boxes, 2):
                self.assertTrue(one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1]
                                or two[3] <= one[1],
                                f"{one} {two}")

    def test_every_uar_has_a_tooltip(self):
        """Some tooltip names the UAR, and some tooltip names each queue."""
        found = device(canned.SEVERAL)
        titles = [title.text for title in ET.fromstring(svg.render([found])).iter(SVG + "title")]
        for context in found.contexts:
            for uar in context.uars:
                self.assertTrue(any(f"UAR {uar.index:#x}," in title for title in titles),
                                hex(uar.index))
            for queue in context.queues:
                self.assertTrue(any(queue.label() in title for title in titles), queue.label())

    def test_sharing_is_said_without_colour(self):
        """A shared doorbell has a broken frame and the word "shared"."""
        root = ET.fromstring(svg.render([device(canned.SEVERAL)]))
        frames = [rect for rect in root.iter(SVG + "rect") if rect.get("stroke-dasharray")]
        words = [element.text for element in root.iter(SVG + "text")]
        self.assertEqual(len(frames), 1 + 3)    # the legend's, and three shared doorbells
        self.assertIn("register 1 medium: shared, lock", words)
        self.assertIn("rung on this UAR: UAR shared", words)

    def test_number_of_lines_of_a_card_is_limited(self):
        """A card with 30 queue pairs is not 30 lines high; its tooltip names all of them."""
        root = ET.fromstring(svg.render([device(canned.many())]))
        titles = [title.text for title in root.iter(SVG + "title")]
        self.assertTrue(any("QP 0x7d0 RC" in title and "QP 0x7ed RC" in title for title in titles))
        self.assertLess(float(root.get("height")), 3000)


class Program(unittest.TestCase):
    """The command line."""

    def test_file_is_shown(self):
        """A report on standard input is shown as text, as JSON and as a picture."""
        status, out, _ = run("--from", "-", stdin=canned.ONE)
        self.assertEqual(status, 0)
        self.assertIn("QP 0x43 RC", out)
        status, out, _ = run("--from", "-", "--json", stdin=canned.SEVERAL)
        self.assertEqual((status, run("--from", "-", stdin=out)[1]),
                         (0, run("--from", "-", stdin=canned.SEVERAL)[1]))
        status, out, _ = run("--from", "-", "--svg", "-", stdin=canned.ONE)
        self.assertEqual(ET.fromstring(out).tag, SVG + "svg")

    def test_one_process_or_device(self):
        """Other processes and other devices are left out."""
        _, out, _ = run("--from", "-", "--pid", "200", stdin=canned.SEVERAL)
        self.assertNotIn("old_app", out)
        self.assertEqual(run("--from", "-", "--device", "mlx5_7", stdin=canned.ONE)[0], 1)

    def test_picture_is_written_to_a_file(self):
        """The program leaves no other file beside the picture."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "uars.svg")
            self.assertEqual(run("--from", "-", "--svg", str(path), stdin=canned.ONE)[:2], (0, ""))
            ET.parse(path)
            self.assertEqual(os.listdir(directory), ["uars.svg"])

    def test_errors_are_a_line(self):
        """An input that cannot be read ends with status 1 and one line on stderr, no traceback."""
        for arguments, stdin in ((("--from", "-"), "nonsense"), (("--from", "-"), "{"),
                                 (("--from", "-"), "{}"),
                                 (("--from", "/nonexistent"), "")):
            with self.subTest(arguments=arguments):
                status, out, err = run(*arguments, stdin=stdin)
                self.assertEqual((status, out, err.count("\n")), (1, "", 1))

    def test_locale_without_the_characters(self):
        """Text has question marks in their place. A picture and JSON are in ASCII anyway."""
        report = canned.ONE.replace("ibv_rc_pingpong", "\u00e4\u0416").encode()
        for option, words in (((), "?? (327)"), (("--svg", "-"), "&#228;&#1046; (327)"),
                              (("--json",), "\\u00e4\\u0416 (327)")):
            ended = subprocess.run([HERE.parent / "uarmap", "--from", "-", *option], check=True,
                                   input=report, stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONIOENCODING": "ascii"})
            self.assertIn(words, ended.stdout.decode("ascii"))

    def test_wrong_arguments(self):
        """Wrong arguments end the program with exit status 2."""
        for arguments in (("--pid", "0"), ("--watch", "0"), ("--watch", "1", "--from", "-"),
                          ("--json", "--watch")):
            with self.subTest(arguments=arguments):
                self.assertEqual(run(*arguments)[0], 2)


class Sources(unittest.TestCase):
    """Where reports come from."""

    def test_files_of_all_devices_are_read(self):
        """Each device has a file "uars"; a device without one is left out."""
        with tempfile.TemporaryDirectory() as directory:
            for bus in ("0000:00:03.0", "0000:00:04.0"):
                Path(directory, bus).mkdir()
                Path(directory, bus, "uars").write_text(canned.ONE.replace("0000:00:03.0", bus),
                                                        encoding="utf-8")
            Path(directory, "0000:00:05.0").mkdir()
            devices = sources.read_debugfs(Path(directory))
            self.assertEqual([found.bus for found in devices], ["0000:00:03.0", "0000:00:04.0"])
            self.assertIsNone(sources.read_debugfs(Path(directory, "none")))

    def test_host_without_a_device(self):
        """If Bluebell drives no device, the program ends with status 1 and one line, for each
        user; a device that no process has open is no error, and its report is shown."""
        note = "uarmap: processes of other users are not shown: only root sees them\n"
        unused = "uarmap: no process has a device open\n"
        for uid, bound, expected in ((0, False, (1, "uarmap: no device is driven by Bluebell\n")),
                                     (7, False, (1, "uarmap: no device is driven by Bluebell\n")),
                                     (0, True, (0, unused)), (7, True, (0, note + unused))):
            with self.subTest(uid=uid, bound=bound), \
                    unittest.mock.patch.multiple(
                        sources, read_debugfs=lambda: None, read_own=lambda pid: [],
                        drives_a_device=lambda bound=bound: bound), \
                    unittest.mock.patch("os.geteuid", lambda uid=uid: uid):
                status, _, err = run()
                self.assertEqual((status, err), expected)

    def test_bound_devices_are_found_in_sysfs(self):
        """The driver's directory has other files, too, and no directory if it is not loaded."""
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "bind").touch()
            self.assertFalse(sources.drives_a_device(Path(directory)))
            Path(directory, "mlx5_core.rdma.0").touch()
            self.assertTrue(sources.drives_a_device(Path(directory)))
            self.assertFalse(sources.drives_a_device(Path(directory, "none")))

    def test_layouts_are_those_of_the_header(self):
        """The structures have the sizes of those in bluebell-abi.h."""
        sizes = {sources.Attr: 16, sources.Command: 24 + 32, sources.Request: 40,
                 sources.Response: 16,
                 sources.UarEntry: 32, sources.BfregEntry: 16, sources.QueueEntry: 16}
        for structure, size in sizes.items():
            self.assertEqual(sources.ctypes.sizeof(structure), size, structure.__name__)

    def test_context_of_two_processes_is_one(self):
        """After a fork two processes have the same context, which must be counted once."""
        first, other = device(canned.ONE).contexts[0], device(canned.SEVERAL).contexts[0]
        self.assertTrue(sources.is_same(first, first))
        self.assertFalse(sources.is_same(first, other))


if __name__ == "__main__":
    unittest.main()
