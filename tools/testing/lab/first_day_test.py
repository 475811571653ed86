#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/first-day and of from-archive without a device: which words are replaced, when
the selftests may run, what is in an archive, and which capabilities a profile takes from it."""

import contextlib
import ctypes
import io
import json
import re
import tarfile
import tempfile
import types
import unittest
from unittest import mock

from program import SCRIPTS, load
from firstday import device, record, selftests
from firstday.device import msix_vectors, page_text
from firstday.scrub import Scrubber

REPO = SCRIPTS.parent
HCA = REPO / "tools/hca"
SELFTESTS = REPO / "tools/testing/selftests/bluebell"
from_archive = load("../tools/hca/profiles/from-archive")

LSPCI = """\
03:00.0 Infiniband controller [0207]: Mellanox Technologies MT27800 [15b3:1017]
\t\tProduct Name: ConnectX-5 VPI adapter card, rev. 2.0
\t\t\t[PN] Part number: MCX555A-ECAT
\t\t\t[SN] Serial number: MT1234X56789
\t\t\t[V2] Vendor specific: MCX555A-ECAT
\t\t\t[V3] Vendor specific: 5a7b0000000000000800248a07a1b2c3
\tRegion 0: Memory at f8000000 (64-bit, prefetchable) [size=32M]
\tCapabilities: [100 v1] Device Serial Number 24-8a-07-03-00-a1-b2-c3
"""


class Replacements(unittest.TestCase):
    """What Scrubber replaces, and what it leaves."""

    def setUp(self):
        self.scrub = Scrubber()

    def same(self, *texts):
        """All of the texts are replaced by the same word."""
        words = {self.scrub.text(text) for text in texts}
        self.assertEqual(len(words), 1, words)
        self.assertNotIn(words.pop(), texts)

    def test_a_guid_is_the_same_in_all_notations(self):
        self.scrub.learn("guid", "248a:0703:00a1:b2c3")
        self.same("248a:0703:00a1:b2c3", "248a070300a1b2c3", "0x248a070300a1b2c3",
                  "0x248A070300A1B2C3", "24-8a-07-03-00-a1-b2-c3")

    def test_addresses_are_replaced(self):
        self.assertEqual(self.scrub.text("link/ether 24:8a:07:a1:b2:c3 brd ff:ff:ff:ff:ff:ff"),
                         "link/ether mac-1 brd ff:ff:ff:ff:ff:ff")
        self.assertEqual(self.scrub.text("inet 192.168.7.9/24 to 10.0.0.1:4791"),
                         "inet ip-1/24 to ip-2:4791")
        self.same("fe80::268a:7ff:fea1:b2c3", "fe80:0:0:0:268a:7ff:fea1:b2c3",
                  "fe80:0000:0000:0000:268a:07ff:fea1:b2c3")
        self.assertEqual(self.scrub.text("20 " + ":".join(["80"] * 20)), "20 mac-2")
        self.assertEqual(self.scrub.text("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427."), "id uuid-1.")

    def test_the_same_value_is_the_same_word_everywhere(self):
        text = self.scrub.text("a 24:8a:07:a1:b2:c3\nb 24:8a:07:a1:b2:c4\nc 24:8A:07:A1:B2:C3")
        self.assertEqual(text, "a mac-1\nb mac-2\nc mac-1")

    def test_numbers_and_versions_stay(self):
        text = ("0000:03:00.0 16.35.4030 7.2.12+deb13-amd64 24.10-1.1.4.0 12:30:45 ::1 :: "
                "127.0.0.1\n"
                "max_mr_size: 0xffffffffffffffff page_size_cap: 0xfffffffffffff000\n"
                "GID 0000:0000:0000:0000:0000:0000:0000:0000 prefix fe80:0000:0000:0000\n"
                "firmware version 1.2.3.4.5, 300.1.1.1, MT_0000000008, psid SM_1071000001000\n")
        self.assertEqual(self.scrub.text(text), text)

    def test_serial_numbers_of_lspci_are_replaced(self):
        text = self.scrub.text(LSPCI)
        self.assertEqual(text, LSPCI.replace("MT1234X56789", "serial-1")
                         .replace("specific: MCX555A-ECAT", "specific: serial-2")
                         .replace("5a7b0000000000000800248a07a1b2c3", "serial-3")
                         .replace("24-8a-07-03-00-a1-b2-c3", "guid-1"))
        self.assertEqual(self.scrub.text("\tVendor SN                                 : MT7"),
                         "\tVendor SN                                 : serial-4")

    def test_serial_numbers_of_devlink_are_replaced_in_texts_too(self):
        data = {"info": {"pci/0000:03:00.0": {
            "driver": "mlx5_core", "serial_number": "MT1", "board.serial_number": "MT2",
            "versions": {"fixed": {"fw.psid": "MT_0000000008"}}}}}
        self.scrub.learn_json(data)
        info = self.scrub.json(data)["info"]["pci/0000:03:00.0"]
        self.assertEqual(info, {"driver": "mlx5_core", "serial_number": "serial-1",
                                "board.serial_number": "serial-2",
                                "versions": {"fixed": {"fw.psid": "MT_0000000008"}}})
        self.assertEqual(self.scrub.text("card MT2, not MT20"), "card serial-2, not MT20")

    def test_names_are_replaced_as_words(self):
        for kind, name in (("host", "rack7.example.org"), ("host", "rack7"), ("user", "ann")):
            self.scrub.learn(kind, name)
        self.assertEqual(self.scrub.text("rack7 Rack7.example.org mlx5 ann's channel rack77"),
                         "host-2 host-1 mlx5 user-1's channel rack77")

    def test_processes_have_neither_names_nor_numbers(self):
        rows = [{"lqpn": 5, "comm": "ib_core"},
                {"lqpn": 6, "pid": 4711, "comm": "payroll", "rq-psn": 77, "sq-psn": 78},
                {"lqpn": 7, "pid": 4711, "comm": "payroll", "src-addr": "10.1.2.3"}]
        self.assertEqual(self.scrub.json(rows), [
            {"lqpn": 5, "comm": "ib_core"}, {"lqpn": 6, "pid": 1, "comm": "process-1"},
            {"lqpn": 7, "pid": 1, "comm": "process-1", "src-addr": "ip-1"}])

    def test_keys_of_memory_are_left_out(self):
        self.assertEqual(self.scrub.json([{"mrn": 1, "rkey": 2, "lkey": 3, "iova": 4}]),
                         [{"mrn": 1}])


class Records(unittest.TestCase):
    """The files of an archive."""

    def recording(self):
        """A recording of a device that says nothing."""
        silent = mock.Mock(**{"attribute.return_value": "", "netdevs.return_value": []})
        return record.Recording(silent)

    def test_a_tool_that_is_missing_or_fails_is_listed(self):
        recording = self.recording()
        recording.tool("a", "no-such-tool", "-v")
        recording.tool("b", "sh", "-c", "echo why 10.9.8.7 >&2; exit 3")
        recording.json_tool("c", "echo", "not json")
        recording.tool("d", "echo", "fine")
        with mock.patch.object(record, "users", return_value=[]):
            files = recording.files()
        self.assertEqual(files["MISSING"].decode().splitlines(), [
            "a: no-such-tool -v: not installed",
            "b: sh -c echo why ip-1 >&2; exit 3: status 3: why ip-1",
            "c: echo not json: it printed no JSON"])
        self.assertEqual(sorted(files), ["ABOUT", "MISSING", "d"])

    def test_names_are_replaced_in_files_and_pages_stay(self):
        recording = self.recording()
        recording.texts = {"x.txt": "box of ann, box.lan, rack.lan\n",
                           "caps/00-max.hex": "0a" * 32 + "\n"}
        recording.trees = {"y.json": {"node_guid": "0002:c903:0001:0002"}}
        with mock.patch.object(record, "users", return_value=["ann"]), \
                mock.patch.object(record, "read", return_value="rack.lan"), \
                mock.patch.object(record.socket, "gethostname", return_value="box.lan"):
            files = recording.files()
        self.assertEqual(files["x.txt"], b"host-2 of user-1, host-1, host-3\n")
        self.assertEqual(files["caps/00-max.hex"], b"0a" * 32 + b"\n")
        self.assertEqual(json.loads(files["y.json"]), {"node_guid": "guid-1"})

    def test_an_archive_is_the_same_for_the_same_files(self):
        files = {"b": b"2", "a/c": b"1"}
        data = record.pack(files)
        self.assertEqual(data, record.pack(dict(sorted(files.items()))))
        self.assertEqual(data[4:8], bytes(4), "no time in the header of gzip")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            members = archive.getmembers()
        self.assertEqual([(member.name, member.mtime, member.uid, member.uname)
                          for member in members],
                         [("first-day/a/c", 0, 0, ""), ("first-day/b", 0, 0, "")])

    def test_the_only_device_is_chosen(self):
        for names, wanted, chosen in ((["a"], None, "a"), (["a", "b"], "b", "b"),
                                      (["a", "b"], None, "which device"), (["a"], "b", "no mlx5"),
                                      ([], None, "verbs driver"), ([], "a", "verbs driver")):
            with mock.patch.object(device, "mlx5_devices", return_value=names):
                if chosen in names:
                    self.assertEqual(device.choose(wanted), chosen)
                else:
                    self.assertRaisesRegex(device.DeviceError, chosen, device.choose, wanted)

    def test_vectors_are_those_of_config_space(self):
        config = bytearray(256)
        config[0x34] = 0x60
        config[0x60:0x64] = b"\x10\x9c\x02\x00"
        config[0x9c:0xa0] = b"\x11\x00\x3f\x80"
        self.assertEqual(msix_vectors(bytes(config)), 64)
        self.assertIsNone(msix_vectors(bytes(config[:64])))
        config[0x61] = 0x60
        self.assertIsNone(msix_vectors(bytes(config)))

    def test_a_page_ends_at_its_last_byte(self):
        self.assertEqual(page_text(bytes(4096)), "00" * 32 + "\n")
        self.assertEqual(page_text(b"\1" * 33 + bytes(4063)), "01" * 32 + "\n01" + "00" * 31 + "\n")


class Lists(unittest.TestCase):
    """Lists of devices of libibverbs, each of which the caller has to free."""

    def setUp(self):
        self.libs = mock.MagicMock()
        self.array = (ctypes.c_void_p * 2)(8, 9)

        def get(count):
            count._obj.value = 2    # pylint: disable=protected-access
            return self.array
        self.libs.ibv_get_device_list.side_effect = get
        self.libs.ibv_get_device_name.side_effect = {8: b"a", 9: b"b"}.get
        patched = mock.patch.object(device.ctypes, "CDLL", return_value=self.libs)
        patched.start()
        self.addCleanup(patched.stop)

    def freed(self):
        """Whether as many lists were freed as were asked for."""
        return (self.libs.ibv_free_device_list.call_args_list
                == [mock.call(self.array)] * self.libs.ibv_get_device_list.call_count)

    def test_the_list_is_freed_after_a_device_is_opened(self):
        firmware = device.Firmware("b")
        self.assertEqual(self.libs.mlx5dv_open_device.call_args[0][0], 9)
        self.assertTrue(self.freed())
        self.assertEqual(firmware.first(), "a")
        self.assertTrue(self.freed())

    def test_the_list_is_freed_if_the_device_is_not_listed(self):
        self.assertRaisesRegex(device.DeviceError, "does not list c", device.Firmware, "c")
        self.assertTrue(self.freed())


class Selftests(unittest.TestCase):
    """When the selftests may run."""

    def reasons(self, rows=(), first="mlx5_0", flags=None):
        """Why a device is in use. flags: flags of its network interface."""
        card = mock.Mock(**{"netdevs.return_value": ["ib0"] if flags else []})
        card.name = "mlx5_0"
        with mock.patch.object(selftests, "read", return_value=flags):
            return selftests.in_use(card, first, list(rows))

    def test_a_device_with_queue_pairs_of_the_kernel_s_own_is_free(self):
        self.assertEqual(self.reasons([{"comm": "ib_core"}, {"comm": "mlx5_ib"}]), [])
        self.assertEqual(self.reasons(flags="0x1002"), [])

    def test_a_device_that_is_used_is_not(self):
        self.assertEqual(self.reasons([{"comm": "db", "pid": 7}, {"comm": "db", "pid": 7}]),
                         ["db (process 7) uses the device"])
        self.assertEqual(self.reasons([{"comm": "nvme_rdma"}]),
                         ["the kernel's nvme_rdma uses the device"])
        self.assertEqual(self.reasons(flags="0x1003"), ["the network interface ib0 is up"])
        self.assertEqual(self.reasons(first="mlx5_1"),
                         ["the selftests take the first device, which is mlx5_1"])

    def test_no_test_that_runs_by_default_resets_the_device_or_unbinds_the_driver(self):
        for name in selftests.SAFE:
            text = (SELFTESTS / f"{name}.c").read_text()
            self.assertNotRegex(text, r"binding_do|binding_find|/reset\"|SIGKILL_|insmod|modprobe",
                                name)

    def test_without_a_yes_nothing_runs(self):
        first_day = load("first-day")
        firmware = types.SimpleNamespace(first=lambda: "mlx5_0", close=lambda: None)
        card = mock.Mock(**{"netdevs.return_value": [], "ports.return_value": []})
        card.name = "mlx5_0"
        recording = mock.Mock(trees={}, texts={})
        for answer, ran in (("", False), ("n\n", False), ("x\n", False), ("y\n", True)):
            with mock.patch.object(first_day, "Firmware", return_value=firmware), \
                    mock.patch.object(selftests, "build", return_value=True), \
                    mock.patch.object(selftests, "run", return_value="1 passed") as run, \
                    mock.patch("sys.stdin", io.StringIO(answer)), \
                    contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(first_day.run_selftests(card, recording, []), ran, answer)
                self.assertEqual(run.called, ran, answer)


FACTS = {"format": 1, "hca_type": "MT4119", "fw_version": "16.31.1014", "psid": "MT_0000000008",
         "link_layer": "InfiniBand", "max_mtu": 4096, "gids": 2,
         "pkeys": ["0xffff", None, "0x8001"], "bars": [1 << 25, 0], "vectors": 64,
         "firmware_pages": 5008, "pci": {"device": "0x1017"}, "rate": "100 Gb/sec (4X EDR)",
         "cap_mask": "0x2659e84a", "cap_mask_2": 0, "max_qp": 262144, "lowest_qpn": 0x3f}


class Profiles(unittest.TestCase):
    """What from-archive says about a card besides capabilities, and which capabilities it takes."""

    def settings(self, link=None, **changes):
        """The settings for these facts, and the lines that are reported."""
        lines = []
        return from_archive.settings({**FACTS, **changes}, None, link, lines.append), lines

    def test_settings_of_an_infiniband_port(self):
        made, lines = self.settings()
        del made["comment"]
        self.assertEqual(made, {
            "name": "MT4119-16.31.1014", "link": "ib", "fw_version": "16.31.1014",
            "psid": "MT_0000000008", "part": 4119, "log_bar_size": 25, "one_bar": True,
            "vectors": 64,
            "init_pages": 5000, "link_speed": "edr", "port_caps": "0x2651e848",
            "gids": 2, "mtu": 4096, "pkeys": ["0xffff", "0x0000", "0x8001"]})
        self.assertEqual(lines, [])

    def test_settings_of_a_card_with_a_second_mask_and_high_numbers(self):
        made, lines = self.settings(pci={"device": "0x101b"}, rate="200 Gb/sec (4X HDR)",
                                    cap_mask="0xa651e848", cap_mask_2=0x32, lowest_qpn=262139)
        self.assertEqual((made["part"], made["link_speed"], made["port_caps"], made["port_caps_2"],
                          made["highest_numbers"], lines),
                         (4123, "hdr", "0xa651e848", "0x0032", True, []))

    def test_a_link_that_is_down_has_no_speed(self):
        made, lines = self.settings(rate="10 Gb/sec (4X SDR)")
        self.assertNotIn("link_speed", made)
        self.assertEqual(lines, ["link_speed: the card's rate is 10 Gb/sec (4X SDR), the profile "
                                 "keeps that of the default"])

    def test_what_could_not_be_recorded_stays_as_it_is(self):
        made, _ = self.settings(vectors=None, firmware_pages=None, max_mtu=None, bars=[], gids=0,
                                pci=None, rate=None, cap_mask=None, cap_mask_2=None, max_qp=None,
                                lowest_qpn=None)
        self.assertEqual(sorted(made),
                         ["comment", "fw_version", "link", "name", "pkeys", "psid"])

    def test_a_second_bar_has_the_vectors(self):
        made, _ = self.settings(bars=[1 << 25, 0, 1 << 13, 0, 0, 0])
        self.assertEqual((made["log_bar_size"], made["one_bar"]), (25, False))

    def test_an_ethernet_port_can_become_an_infiniband_port(self):
        made, lines = self.settings(link_layer="Ethernet")
        self.assertEqual((made["link"], "gids" in made, lines), ("eth", False, []))
        made, lines = self.settings(link_layer="Ethernet", link="ib")
        self.assertEqual((made["link"], "gids" in made), ("ib", False))
        self.assertEqual(lines, ["link: the card has eth, the profile ib"])

    def test_partitions_without_the_default_one_are_not_taken(self):
        made, lines = self.settings(pkeys=["0x8001"])
        self.assertNotIn("pkeys", made)
        self.assertEqual(lines, ["pkeys: the card's begin with 0x8001, the profile's with 0xffff"])
        made, lines = self.settings(pkeys=["0x7fff"] * 40)
        self.assertEqual((len(made["pkeys"]), len(lines)), (32, 1))

    def read(self, files):
        """What from-archive reads of an archive with these files."""
        with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
            archive.write(record.pack(files))
            archive.flush()
            return from_archive.contents(archive.name)

    def test_only_pages_and_facts_are_read(self):
        facts, pages = self.read({"device.json": json.dumps(FACTS).encode(), "../x": b"1",
                                  "caps/00-max.hex": b"00", "caps/00-max.hex.x": b"00",
                                  "caps/../../00-cur.hex": b"00"})
        self.assertEqual(facts, FACTS)
        self.assertEqual(pages, {"00-max.hex": "00"})

    def test_other_archives_are_refused(self):
        facts = json.dumps(FACTS).encode()
        for files in ({}, {"device.json": b"{}", "caps/00-max.hex": b"00"}, {"device.json": facts},
                      {"device.json": b"[]"}, {"device.json": b"{"},
                      {"device.json": facts, "caps/00-max.hex": b"\xff"}):
            with self.assertRaises(from_archive.ArchiveError, msg=files):
                self.read(files)
        with self.assertRaises(from_archive.ArchiveError):
            from_archive.contents("/nonexistent")

    # Without these capabilities the HCA refuses a request; they have no other effect.
    ONLY_REFUSED = {("gen", "ats"), ("gen", "cqe_compression")}

    def test_what_the_hca_asks_for_is_taken_from_a_card(self):
        tables = self.tables()
        pages = {"gen": ("general", "GENERAL"), "gen_2": ("general_2", "GENERAL_2"),
                 "atomic": ("atomic", "ATOMIC"), "qos": ("qos", "QOS"),
                 "mem": ("device_memory", "DEV_MEM"), "eth": ("ethernet", "ETH"),
                 "nic_rx": ("flow_table", "FLOW_TABLE"), "roce": ("roce", "ROCE")}
        asked = set()
        for path in HCA.glob("*/*.c"):
            asked |= set(re.findall(rf"hca_cap_({'|'.join(pages)})\([\w>-]+, (\w+)\)",
                                    path.read_text()))
        self.assertGreater(len(asked), 80)
        for kind, field in asked - self.ONLY_REFUSED:
            self.assertRegex(tables, self.row(*pages[kind], field), f"{kind} {field}")

    @staticmethod
    def tables():
        """The files that have the HCA's tables of capabilities.

        All rows of profile_roce.c are of one page, which they do not name.
        """
        files = [(HCA / "core" / name).read_text()
                 for name in ("profile.c", "profile_card.c", "profile_eth.c")]
        roce = (HCA / "core" / "profile_roce.c").read_text()
        return "".join(files) + re.sub(r'^\t\{ "', '\t{ PAGE_ROCE, "', roce, flags=re.M)

    @staticmethod
    def row(name, page, field):
        """The pattern that finds a capability in the HCA's tables."""
        return rf'\{{ ("{name}"|PAGE_{page}), ((RX|FIELD|FIELD_2|type) )?"{re.escape(field)}"'

    def test_what_profiles_set_is_taken_from_a_card(self):
        tables = self.tables()
        pages = {"device_memory": "DEV_MEM", "device_event": "DEV_EVENT", "ethernet": "ETH",
                 "roce": "ROCE"}
        for path in (HCA / "profiles").glob("*.json"):
            for name, fields in json.loads(path.read_text()).get("caps", {}).items():
                for field in fields:
                    # The tables have the prefix of the properties of a kind of flow tables as RX,
                    # or as the argument of OTHER_TABLES().
                    kind, dot, rest = field.partition(".")
                    if f'OTHER_TABLES("{kind}{dot}")' in tables:
                        field = rest
                    else:
                        field = field.removeprefix("flow_table_properties_nic_receive.")
                        field = field.removeprefix("ft_field_support.")
                        field = field.removeprefix("ft_field_support_2_nic_receive.")
                    self.assertRegex(tables, self.row(name, pages.get(name, name.upper()), field),
                                     f"{path.name}: {name}.{field}")


if __name__ == "__main__":
    unittest.main()
