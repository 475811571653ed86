# SPDX-License-Identifier: GPL-2.0
"""Replaces what tells whose machine it is: addresses, GUIDs, serial numbers, names.

A word such as mac-1 takes the place of each value, the same word in all notations of the value and
in all files of an archive. Values of a kind are numbered as they are met.
"""

import ipaddress
import re

# Keys of JSON whose values are replaced, whatever the values look like. The value is replaced in
# texts, too.
SERIAL_KEYS = ("serial_number", "board.serial_number", "function.uid")
# Keys of JSON that are left out, because their values protect memory and connections.
SECRET_KEYS = ("rkey", "lkey", "iova", "sq-psn", "rq-psn", "unsafe_global_rkey", "local_dma_lkey")

HEX = "[0-9a-fA-F]"
# The order matters: no shorter pattern matches the word with which a longer one has replaced a
# value.
PATTERNS = [
    ("uuid", re.compile(rf"(?<![\w-]){HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}(?![\w-])")),
    ("gid", re.compile(rf"(?<![\w:])(?:{HEX}{{4}}:){{7}}{HEX}{{4}}(?![\w:])")),
    ("guid", re.compile(rf"(?<![\w:])(?:{HEX}{{4}}:){{3}}{HEX}{{4}}(?![\w:])")),
    ("guid", re.compile(rf"(?<![\w-])(?:{HEX}{{2}}-){{7}}{HEX}{{2}}(?![\w-])")),
    ("mac", re.compile(rf"(?<![\w:])(?:{HEX}{{2}}:){{5,19}}{HEX}{{2}}(?![\w:])")),
    # Not a version such as 24.10-1.2.3.4 or 1.2.3.4.5.
    ("ip", re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w|-)")),
]
IPV6 = re.compile(rf"(?<![\w:.])(?:[0-9a-fA-F.]*:){{2,}}[0-9a-fA-F.]*(?![\w:])")
# A line of lspci or ethtool: a serial number, or what a vendor keeps in the vital product data.
SERIAL_LINE = re.compile(
    r"^(\s*(?:Serial number|Vendor SN|\[(?:SN|V\w|Y\w)\][^:]*)\s*:\s*)(\S.*)$")
# Addresses and GUIDs that every machine has.
COMMON = re.compile(r"[0:]+|fe80(?::0000){3}|ff:ff:ff:ff:ff:ff|127\.0\.0\.1|0\.0\.0\.0|[0-]+")
REPLACED = re.compile(r"(?:uuid|gid|guid|mac|ip|serial|host|user|node|process)-\d+")


def canonical(kind, value):
    """A value in a notation that its other notations share."""
    if kind in ("guid", "gid", "mac", "uuid"):
        return re.sub(r"[^0-9a-f]", "", value.lower().removeprefix("0x"))
    return value


class Scrubber:
    """The values that were met, and the words that replace them."""

    def __init__(self):
        self.words = {}     # {(kind, canonical value): word}
        self.count = {}     # {kind: values}
        self.known = {}     # {value as it may stand in a text: word}

    def word(self, kind, value):
        """The word for a value of a kind."""
        key = kind, canonical(kind, value)
        if key not in self.words:
            self.count[kind] = self.count.get(kind, 0) + 1
            self.words[key] = f"{kind}-{self.count[kind]}"
        return self.words[key]

    def learn(self, kind, value):
        """Replace a value, such as a name, wherever it stands as a word of its own."""
        value = value.strip()
        if not value or COMMON.fullmatch(value):
            return
        word = self.word(kind, value)
        self.known[value] = word
        digits = canonical(kind, value)
        if kind == "guid" and len(digits) == 16:
            for form in (digits, "0x" + digits):
                self.known[form] = word

    def text(self, text):
        """A text with all values replaced."""
        for value in sorted(self.known, key=lambda value: (-len(value), value)):
            text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self.known[value], text,
                          flags=re.IGNORECASE)
        text = "\n".join(self.serial(line) for line in text.split("\n"))
        for kind, pattern in PATTERNS:
            text = pattern.sub(lambda match, kind=kind: self.found(kind, match[0]), text)
        return IPV6.sub(lambda match: self.address(match[0]), text)

    def serial(self, line):
        """A line, whose value is replaced if its name says that it is a serial number."""
        match = SERIAL_LINE.match(line)
        if not match or REPLACED.fullmatch(match[2].strip()):
            return line
        return match[1] + self.word("serial", match[2].strip())

    def found(self, kind, value):
        """What replaces a value that a pattern has found."""
        if COMMON.fullmatch(value):
            return value
        if kind == "ip" and any(int(part) > 255 for part in value.split(".")):
            return value
        return self.word(kind, value)

    def address(self, value):
        """What replaces a word with colons, if it is an address of IPv6."""
        try:
            address = ipaddress.IPv6Address(value.rstrip("."))
        except ValueError:
            return value
        if address.is_loopback or address.is_unspecified:
            return value
        return self.word("gid", address.exploded)

    def learn_json(self, data):
        """Learn the serial numbers in data that was JSON."""
        if isinstance(data, list):
            for item in data:
                self.learn_json(item)
        elif isinstance(data, dict):
            for key, value in data.items():
                if key in SERIAL_KEYS and isinstance(value, str):
                    self.learn("serial", value)
                else:
                    self.learn_json(value)

    def json(self, data):
        """The same data with all values replaced, also names and numbers of processes, and without
        the members in SECRET_KEYS, such as lkeys and rkeys."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, list):
            return [self.json(item) for item in data]
        if not isinstance(data, dict):
            return data
        kept = {key: value for key, value in data.items() if key not in SECRET_KEYS}
        if "pid" in kept:
            kept["pid"] = int(self.word("pid", str(kept["pid"])).partition("-")[2])
            if "comm" in kept:
                kept["comm"] = self.word("process", str(kept["comm"]))
                return {key: value if key == "comm" else self.json(value)
                        for key, value in kept.items()}
        return {key: self.json(value) for key, value in kept.items()}
