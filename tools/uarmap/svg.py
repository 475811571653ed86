# SPDX-License-Identifier: GPL-2.0
"""uarmap's picture: one SVG without any external resource, for a browser.

From the top: a legend; for each device a bar of who holds how many UARs; for each context its UARs.
A UAR with queues is a card with its registers and queues, a UAR without queues a small square, so
that hundreds of them still fit on a page. What a colour says is also said by a letter or a word:
origin by S, D or O, sharing by a thick broken frame with the words "shared" and "lock". The colours
(Okabe and Ito) differ for colour-blind eyes. Bars, cards and squares have tooltips.
"""

import xml.etree.ElementTree as ET

from model import count, mapped, printable, sharing

WIDTH = 1040
MARGIN = 20
CARD = 238
GAP = 12
LINE = 17
BARS = MARGIN + 240     # where bars begin, behind the names
BAR = 530               # length of the longest bar; behind it there is room for a text
INSIDE = 214            # room for a line of a card's text
SQUARE = 22
MOST_OF_COLUMN = 2      # UARs of a context that shares a row with others
MOST_HOLDERS = 40       # processes that have a bar of their own
MOST_CHIPS = 8          # queues of a register that a card names; the tooltip names all

INK, PALE, PAPER, LINE_INK = "#1a1a1a", "#595959", "#ffffff", "#8c8c8c"
ORIGINS = {"static": ("S", "#0072b2", "#e3eff7"), "dynamic": ("D", "#b36b00", "#fbeed9"),
           "object": ("O", "#007a58", "#e0f3ec")}
OTHER_ORIGIN = ("?", "#595959", "#efefef")      # of a later kernel
SHARED = "#c2410c"

# Widths of the printable ASCII characters of DejaVu Sans, in thousandths of the font's size. The
# other fonts of the style are narrower, or as wide.
WIDTHS = (317, 400, 459, 837, 636, 950, 779, 274, 390, 390, 500, 837, 317, 360, 317, 336,
          636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 336, 336, 837, 837, 837, 530,
          1000, 684, 686, 698, 770, 631, 575, 774, 751, 294, 294, 655, 557, 862, 748, 787,
          603, 787, 694, 634, 610, 731, 684, 988, 685, 610, 685, 390, 336, 390, 837, 500,
          500, 612, 634, 549, 634, 615, 352, 634, 633, 277, 277, 579, 277, 974, 633, 611,
          634, 634, 411, 520, 392, 633, 591, 817, 591, 591, 524, 636, 336, 636, 837)
BOLD_WIDTHS = (348, 456, 520, 837, 695, 1001, 872, 306, 457, 457, 522, 837, 379, 415, 379, 365,
               695, 695, 695, 695, 695, 695, 695, 695, 695, 695, 399, 399, 837, 837, 837, 580,
               1000, 773, 762, 733, 830, 683, 683, 820, 836, 372, 372, 774, 637, 995, 836, 850,
               732, 850, 770, 720, 682, 812, 773, 1103, 770, 724, 725, 457, 365, 457, 837, 500,
               500, 674, 715, 592, 715, 678, 435, 715, 711, 342, 342, 665, 342, 1041, 711, 687,
               715, 715, 493, 595, 478, 711, 651, 923, 645, 651, 582, 711, 365, 711, 837)
MONO_WIDTH = 602
OTHER_WIDTH = 1230      # at most, of a character beyond ASCII

STYLE = f"""
text {{ font-family: system-ui, 'DejaVu Sans', Verdana, sans-serif; font-size: 12px; fill: {INK}; }}
.h1 {{ font-size: 18px; font-weight: bold; }}
.h2 {{ font-size: 14px; font-weight: bold; }}
.pale {{ fill: {PALE}; }}
.h3 {{ font-weight: bold; }}
.small {{ font-size: 11px; }}
.mono {{ font-family: ui-monospace, 'DejaVu Sans Mono', monospace; }}
.light {{ fill: {PAPER}; font-weight: bold; }}
"""


def width_of(text, kind=""):
    """The width of a line of text of these classes of the style."""
    kinds = kind.split()
    size = 18 if "h1" in kinds else 14 if "h2" in kinds else 11 if "small" in kinds else 12
    bold = {"h1", "h2", "h3", "light"} & set(kinds)

    def width(char):
        if not " " <= char <= "~":
            return OTHER_WIDTH
        return MONO_WIDTH if "mono" in kinds else (BOLD_WIDTHS if bold else WIDTHS)[ord(char) - 32]

    return sum(map(width, text)) * size / 1000


def fit(text, room, kind=""):
    """Text, cut to @room; the tooltip has all of it."""
    text = printable(text)
    if width_of(text, kind) <= room:
        return text
    while text and width_of(text + "…", kind) > room:
        text = text[:-1]
    return text + "…"


def number(value):
    """A length in the document; f"{value:g}" would have six digits only."""
    return f"{value:.10g}"


class Picture:
    """Elements, drawn from the top to the bottom."""

    def __init__(self):
        self.body = ET.Element("g")
        self.y = MARGIN

    def group(self, title, parent=None):
        """Add a group with a tooltip, and return it."""
        group = ET.SubElement(self.body if parent is None else parent, "g")
        ET.SubElement(group, "title").text = "\n".join(printable(line)
                                                       for line in title.split("\n"))
        return group

    def rect(self, parent, x, y, width, height, **attributes):
        """Add a rectangle to a group."""
        return ET.SubElement(parent, "rect", {
            "x": number(x), "y": number(y), "width": number(width), "height": number(height),
            **{name.replace("_", "-"): str(value) for name, value in attributes.items()}})

    def text(self, parent, x, y, text, kind="", **attributes):
        """Add a line of text to a group."""
        element = ET.SubElement(parent, "text", {
            "x": number(x), "y": number(y), **({"class": kind} if kind else {}),
            **{name.replace("_", "-"): str(value) for name, value in attributes.items()}})
        element.text = printable(text)
        return element

    def line(self, text, kind="", height=LINE):
        """Draw a line of text below everything drawn so far."""
        self.y += height
        self.text(self.body, MARGIN, self.y - 4, fit(text, WIDTH - 2 * MARGIN, kind), kind)

    def finish(self, title):
        """Return the SVG document, as text in ASCII, so that no locale changes it."""
        height = number(self.y + MARGIN)
        root = ET.Element("svg", {
            "xmlns": "http://www.w3.org/2000/svg", "width": str(WIDTH), "height": height,
            "viewBox": f"0 0 {WIDTH} {height}", "role": "img", "aria-label": title})
        ET.SubElement(root, "title").text = title
        ET.SubElement(root, "style").text = STYLE
        ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": PAPER})
        root.append(self.body)
        return ET.tostring(root, encoding="us-ascii").decode("ascii") + "\n"


def badge(picture, parent, x, y, origin):
    """The letter of a UAR's origin on its colour."""
    letter, colour, _ = ORIGINS.get(origin, OTHER_ORIGIN)
    picture.rect(parent, x, y, 16, 16, rx=3, fill=colour)
    picture.text(parent, x + 8, y + 12, letter, "light small", text_anchor="middle")


def draw_legend(picture):
    """What letters, frames and squares mean."""
    x = MARGIN
    picture.y += 8
    for origin, words in (("static", "static UAR"), ("dynamic", "dynamic UAR"),
                          ("object", "UAR object")):
        badge(picture, picture.body, x, picture.y, origin)
        picture.text(picture.body, x + 22, picture.y + 12, words)
        x += 130
    picture.rect(picture.body, x, picture.y, 34, 16, fill=PAPER, stroke=SHARED, stroke_width=2,
                 stroke_dasharray="5 3", rx=3)
    picture.text(picture.body, x + 42, picture.y + 12, "several QPs share this doorbell")
    x += 250
    picture.rect(picture.body, x, picture.y, 16, 16, fill=PAPER, stroke=LINE_INK, rx=3)
    picture.text(picture.body, x + 22, picture.y + 12, "hollow: not mapped")
    picture.text(picture.body, x + 155, picture.y + 12, "✕  freed, but still kept")
    picture.y += 26


def draw_holders(picture, device):
    """A bar for each process, the one with the most UARs first."""
    holders = device.holders()
    most = max((uars for _, uars, _ in holders), default=0) or 1
    total = device.num_uars() or 1
    others = holders[MOST_HOLDERS:]
    holders = holders[:MOST_HOLDERS]
    if others:
        holders.append((count(len(others), "other process"), sum(uars for _, uars, _ in others),
                        sum(contexts for _, _, contexts in others)))
        most = max(most, holders[-1][1])
    for name, uars, contexts in holders:
        group = picture.group(f"{name}: {count(uars, 'UAR')} in {count(contexts, 'context')}, "
                              f"{100 * uars / total:.1f} % of those that processes hold")
        picture.text(group, MARGIN, picture.y + 13, fit(name, BARS - MARGIN - 8))
        length = max(BAR * uars / most, 1 if uars else 0)
        picture.rect(group, BARS, picture.y + 1, length, 15, fill="#56677a", rx=2)
        many = f", {contexts} contexts" if contexts > 1 else ""
        picture.text(group, BARS + 8 + length, picture.y + 13,
                     fit(f"{count(uars, 'UAR')}, {100 * uars / total:.0f} %{many}",
                         WIDTH - MARGIN - BARS - 8 - length))
        picture.y += 20


def chips(queues):
    """The lines of a register: its queues, two in each line that has room for them."""
    names = [queue.label() for queue in queues]
    if len(names) > MOST_CHIPS:
        names = names[:MOST_CHIPS - 1] + [f"+{len(names) - MOST_CHIPS + 1} more"]
    lines = []
    while names:
        fitting = 2 if width_of(" · ".join(names[:2]), "small mono") <= INSIDE else 1
        lines.append(" · ".join(names[:fitting]))
        names = names[fitting:]
    return lines


def sections(context, uar):
    """[(heading, tooltip, queues, shared)] of a card."""
    groups = context.queues_of(uar)
    found = []
    for bfreg in context.bfregs:
        if bfreg.uar == uar.index and bfreg.number in groups:
            queues = groups.pop(bfreg.number)
            whose, lock = sharing(bfreg.bfreg_class)
            shared = len(queues) > 1
            words = f"shared, {lock}" if shared and bfreg.bfreg_class != "dynamic" else \
                "shared" if shared else lock if bfreg.bfreg_class == "low" else ""
            found.append((f"register {bfreg.number} {bfreg.bfreg_class}"
                          + (f": {words}" if words else ""),
                          f"register {bfreg.number}, {bfreg.bfreg_class} latency class: "
                          f"{', '.join(dict.fromkeys((whose, lock)))}", queues, shared))
    rest = [queue for queues in groups.values() for queue in queues]
    for kind, words in (("qp", "rung on this UAR"), ("cq", "armed on this UAR")):
        queues = [queue for queue in rest if queue.kind == kind]
        shared = kind == "qp" and len(queues) > 1
        if queues:
            found.append((words + (": UAR shared" if shared else ""),
                          words + ("; which register, and whether there is a lock, is up to the "
                                   "library"
                                   if kind == "qp" else ""), queues, shared))
    return found


def card_height(parts):
    """Height of a card with these sections."""
    return 30 + sum(LINE * (1 + len(chips(queues))) + 8 for _, _, queues, _ in parts) + 4


def draw_card(picture, x, uar, parts, top=None):
    """Draw a UAR with queues, or, in the column of its process, a UAR without queues. Returns the y
    of its end."""
    top = picture.y if top is None else top
    _, colour, pale = ORIGINS.get(uar.origin, OTHER_ORIGIN)
    state = f"{uar.origin} UAR {uar.index:#x}, {uar.kind.upper()}, {mapped(uar)}" + \
        (", freed but still kept" if uar.freed else "")
    group = picture.group(state)
    picture.rect(group, x, top, CARD, card_height(parts), rx=5, stroke=colour, stroke_width=1.5,
                 fill=pale if uar.mappings else PAPER)
    badge(picture, group, x + 7, top + 7, uar.origin)
    name = f"UAR {uar.index:#x}" + (" ✕" if uar.freed else "")
    picture.text(group, x + 29, top + 19, name, "h3")
    times = f"mapped {uar.mappings}×" if uar.mappings > 1 else mapped(uar)
    picture.text(group, x + CARD - 8, top + 19,
                 fit(f"{uar.kind.upper()}, {times}", CARD - 29 - 8 - 8 - width_of(name, "h3"),
                     "pale small"), "pale small", text_anchor="end")
    y = top + 30
    for heading, tip, queues, shared in parts:
        height = LINE * (1 + len(chips(queues))) + 4
        part = picture.group(f"{state}\n{tip}\n" + ", ".join(queue.label() for queue in queues),
                             group)
        frame = {"stroke": SHARED, "stroke_width": 2, "stroke_dasharray": "5 3"} if shared else \
            {"stroke": LINE_INK, "stroke_width": 0.7}
        picture.rect(part, x + 6, y, CARD - 12, height, rx=3, fill=PAPER, **frame)
        kind = "small h3" if shared else "small"
        picture.text(part, x + 12, y + 13, fit(heading, INSIDE, kind), kind)
        for row, line in enumerate(chips(queues), 1):
            picture.text(part, x + 12, y + 13 + LINE * row, line, "small mono")
        y += height + 4
    return top + card_height(parts)


def draw_cards(picture, context, busy):
    """The UARs with queues, as many in a row as fit."""
    columns = (WIDTH - 2 * MARGIN + GAP) // (CARD + GAP)
    for first in range(0, len(busy), columns):
        row = [(uar, sections(context, uar)) for uar in busy[first:first + columns]]
        for column, (uar, parts) in enumerate(row):
            draw_card(picture, MARGIN + column * (CARD + GAP), uar, parts)
        picture.y += max(card_height(parts) for _, parts in row) + GAP


def draw_squares(picture, idle):
    """The UARs without queues."""
    columns = (WIDTH - 2 * MARGIN) // (SQUARE + 3)
    for place, uar in enumerate(idle):
        letter, colour, _ = ORIGINS.get(uar.origin, OTHER_ORIGIN)
        x = MARGIN + place % columns * (SQUARE + 3)
        y = picture.y + place // columns * (SQUARE + 3)
        group = picture.group(f"{uar.origin} UAR {uar.index:#x}, {uar.kind.upper()}, "
                              f"{mapped(uar)}, without a queue"
                              + (", freed but still kept" if uar.freed else ""))
        picture.rect(group, x, y, SQUARE, SQUARE, rx=3, stroke=colour, stroke_width=1.5,
                     fill=colour if uar.mappings else PAPER)
        picture.text(group, x + SQUARE / 2, y + 15, "✕" if uar.freed else letter,
                     "small light" if uar.mappings else "small", text_anchor="middle")
    picture.y += (len(idle) + columns - 1) // columns * (SQUARE + 3) + 6


def draw_ruler(picture):
    """Draw a line across the picture."""
    picture.y += 10
    ET.SubElement(picture.body, "line", {
        "x1": str(MARGIN), "x2": str(WIDTH - MARGIN), "y1": number(picture.y),
        "y2": number(picture.y), "stroke": LINE_INK, "stroke-width": "0.7"})


def draw_context(picture, context):
    """A context: its name, its cards, its squares."""
    user_id = f", user id {context.uid}" if context.uid else ""
    draw_ruler(picture)
    picture.line(f"{context.process()}{user_id}: {count(len(context.uars), 'UAR')}, "
                 f"{count(len(context.queues), 'queue')}", "h2", 24)
    picture.y += 8
    used = {queue.uar for queue in context.queues}
    busy = [uar for uar in context.uars if uar.index in used]
    idle = [uar for uar in context.uars if uar.index not in used]
    draw_cards(picture, context, busy)
    if idle:
        picture.line(f"{count(len(idle), 'UAR')} without a queue", "pale small", 12)
        picture.y += 4
        draw_squares(picture, idle)


def draw_column(picture, x, context):
    """A context with few UARs. Returns the y of its end."""
    group = picture.group(context.process()
                          + (f", user id {context.uid}" if context.uid else ""))
    picture.text(group, x, picture.y + 14, fit(context.process(), CARD, "h3"), "h3")
    bottom = picture.y + 22
    for uar in context.uars:
        bottom = draw_card(picture, x, uar, sections(context, uar), bottom) + 6
    return bottom


def draw_small(picture, contexts):
    """Contexts with few UARs, as many in a row as fit."""
    draw_ruler(picture)
    picture.line(f"{count(len(contexts), 'context')} with {MOST_OF_COLUMN} UARs or fewer", "h2", 24)
    picture.y += 4
    columns = (WIDTH - 2 * MARGIN + GAP) // (CARD + GAP)
    for first in range(0, len(contexts), columns):
        picture.y = max(draw_column(picture, MARGIN + column * (CARD + GAP), context)
                        for column, context in enumerate(contexts[first:first + columns])) + 8


def draw_contexts(picture, contexts):
    """Draw contexts with many UARs first. Contexts with few UARs share rows, if there are
    several."""
    small = [context for context in contexts if len(context.uars) <= MOST_OF_COLUMN]
    if len(small) < 3:
        small = []
    for context in sorted(contexts, key=lambda context: -len(context.uars)):
        if not any(context is other for other in small):
            draw_context(picture, context)
    if small:
        draw_small(picture, small)


def render(devices):
    """The SVG document."""
    picture = Picture()
    picture.line("Who holds which doorbell", "h1", 24)
    draw_legend(picture)
    for device in devices:
        limit = f" of at most {device.max_uars}" if device.max_uars else ""
        bus = f" ({device.bus})" if device.bus else ""
        picture.line(f"{device.name}{bus}: {device.num_uars()}{limit} UARs are held by processes",
                     "h2", 30)
        picture.y += 6
        draw_holders(picture, device)
        draw_contexts(picture, device.contexts)
        picture.y += 10
    return picture.finish("UARs, doorbell registers and queues of " +
                          ", ".join(printable(device.name) for device in devices))
