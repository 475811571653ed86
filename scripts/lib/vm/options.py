# SPDX-License-Identifier: GPL-2.0
"""The options that scripts/vm and bluebell-vm have in common."""

import argparse
import sys
from pathlib import Path

from vm.qemu import MAX_HCAS
from vm.run import EXIT_REPORT, EXIT_TIMEOUT, EXIT_USAGE, EXIT_VM

STATUSES = (f"Exit statuses of its own: {EXIT_REPORT} such a failure, {EXIT_TIMEOUT} timeout, "
            f"{EXIT_VM} the guest did not come up, {EXIT_USAGE} usage.")
FAILURES = ("The run fails, whatever COMMAND's status, if a guest's kernel log has a report "
            "(WARN, BUG, Oops, sanitizer, lock, leak), if the HCA's census is not empty once the "
            "driver is unloaded, or if the HCA refused or ignored what no test had announced.")
IN_THE_GUEST = ("In the guest: 'driver NAME' changes the driver, 'on HOST COMMAND' runs COMMAND in "
                "another guest, the user 'tester' is unprivileged, $BLUEBELL_DRIVER, "
                "$BLUEBELL_LINK and $BLUEBELL_KERNEL say what runs.")


def add_guest_options(parser, driver):
    """The options for the guests and what connects them. driver is the default one."""
    parser.add_argument("--driver", choices=["bluebell", "mlx5_ib", "none"], default=driver,
                        help=f"the verbs driver (default: {driver})")
    parser.add_argument("--link", choices=["ib", "eth"], default="ib",
                        help="the port's link layer (default: ib)")
    parser.add_argument("--hosts", type=int, default=1, metavar="N",
                        help="number of guests (default: 1)")
    parser.add_argument("--hcas", type=int, default=1, metavar="N",
                        help="number of each guest's HCAs, all on the same fabric (default: 1)")


def add_hca_options(parser, hca, profiles):
    """The options for the HCA. hca is the default program, profiles says where profiles are."""
    parser.add_argument("--profile", metavar="P",
                        help=f"the HCA's profile: a file, or a name in {profiles}")
    parser.add_argument("--answered-writes", action="store_true",
                        help="the guest waits for the HCA's answer to each register write, as PCI "
                        "never does")
    parser.add_argument("--trace", metavar="FILE", help="where the HCA writes what it saw")
    parser.add_argument("--capture", metavar="FILE",
                        help="where the HCA writes the fabric's packets, for Wireshark")
    parser.add_argument("--impair", metavar="SETTINGS",
                        help="what the fabric does to packets, in percent, such as "
                        "loss=1,dup=0.5,reorder=1,corrupt=0.1,delay=1,seed=3")
    parser.add_argument("--timeout", type=float, metavar="S",
                        help="seconds for the whole run (default: 600 with a COMMAND, 0 = none "
                        "with a shell)")
    parser.add_argument("--hca", default=str(hca[0]), metavar="BINARY|none",
                        help=f"the HCA's program (default: {hca[1]})")


def add_qemu_options(parser):
    """The options for QEMU and the kernel's command line, and COMMAND."""
    parser.add_argument("--accel", choices=["auto", "kvm", "tcg"], default="auto",
                        help="default: auto")
    parser.add_argument("--memory", type=int, metavar="MB",
                        help="a guest's memory (default: 1536, debug 3072)")
    parser.add_argument("--cpus", type=int, default=2, metavar="N",
                        help="a guest's processors (default: 2)")
    parser.add_argument("--in-turn", action="store_true",
                        help="without KVM, one thread of the host runs a guest's processors in "
                        "turn")
    parser.add_argument("--icount", action="store_true",
                        help="one processor, whose clock counts instructions: two nanoseconds each")
    parser.add_argument("--iommu", action="store_true",
                        help="put the HCA behind an IOMMU: it reaches only memory that is mapped "
                        "for DMA")
    parser.add_argument("--swiotlb", action="store_true",
                        help="copy all memory that is mapped for DMA through bounce buffers "
                        "(swiotlb=force)")
    parser.add_argument("--nic", action="append", default=[], metavar="MODEL",
                        help="with --hosts 2: also a NIC of QEMU's in each guest, such as e1000e "
                        "or virtio-net-pci, with a wire between the two; may be given repeatedly")
    parser.add_argument("--peer-nic", metavar="MODEL",
                        help="with --link eth: also a NIC of QEMU's in the last guest, at the "
                        "switch of the HCAs, such as virtio-net-pci")
    parser.add_argument("--append", action="append", default=[], metavar="ARGS",
                        help="more for the kernel command line")
    parser.add_argument("--oops-panic", action="store_true", help="end the guest at its first Oops")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help=argparse.SUPPRESS)


def check_options(parser, args, place):
    """What the options mean together. Ends the program if they contradict each other."""
    if args.command[:1] == ["--"]:
        args.command = args.command[1:]
    if args.icount and args.accel == "kvm":
        parser.error("--icount needs QEMU's emulator, not KVM")
    if args.icount:
        args.accel, args.cpus = "tcg", 1
    if args.timeout is None:
        args.timeout = 600 if args.command else 0
    if not 1 <= args.hosts <= 16:
        parser.error("--hosts is from 1 to 16")
    if not 1 <= args.hcas <= MAX_HCAS:
        parser.error(f"--hcas is from 1 to {MAX_HCAS}")
    if args.hosts * args.hcas > 16:
        parser.error("a fabric has at most 16 HCAs")
    if args.nic and args.hosts != 2:
        parser.error("--nic needs --hosts 2")
    if args.peer_nic and (args.link != "eth" or args.hca == "none"):
        parser.error("--peer-nic needs --link eth, and HCAs")
    if args.hca == "none" and args.driver != "none":
        parser.error("--hca none leaves nothing for a driver: add --driver none")
    if not args.command and not sys.stdin.isatty():
        parser.error("no COMMAND, and no terminal for a shell")
    if args.profile and not Path(args.profile).exists():
        named = [path for path in place.profiles.glob("*")
                 if args.profile in (path.name, path.stem)]
        if not named:
            parser.error(f"cannot find profile {args.profile}")
        args.profile = str(named[0])
