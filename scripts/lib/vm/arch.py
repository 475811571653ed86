# SPDX-License-Identifier: GPL-2.0
"""The architectures that guests have: what QEMU emulates, and where a guest's root file system is.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from vm import VmError


@dataclass(frozen=True)
class Arch:
    """An architecture of guests. Its name is Debian's."""

    name: str
    qemu: str           # QEMU's program
    tools: str          # what the names of its binutils begin with
    board: str          # QEMU's machine
    cpu: str            # what QEMU emulates where KVM does not run the guest
    console: str        # the serial port
    clock: tuple        # words for the kernel's command line of an emulated guest
    iommu: tuple        # words for the kernel's command line with an IOMMU
    iommu_device: str   # None if guests of this architecture have no IOMMU here

    @property
    def root(self):
        """The guest's root file system, as a folder of the lab, in which this program runs."""
        if self is AMD64:
            return Path("/")
        root = os.environ.get("BLUEBELL_LAB_ARM64")
        if not root or not Path(root).is_dir():
            raise VmError(f"there is no tree for {self.name} guests: only the lab has it, and "
                          f"'scripts/lab --arch {self.name}' adds it")
        return Path(root)


# Under emulation the guest reads the host's TSC, and its calibration of the TSC may be wrong by any
# factor when the host is busy. The HPET counts the host's nanoseconds. With --iommu, each mapping
# for DMA is removed from the IOMMU at once when the driver unmaps it, not in batches, so that an
# access of the HCA that comes after the driver's unmap fails.
AMD64 = Arch("amd64", "qemu-system-x86_64", "", "q35,smbus=off,sata=off,usb=off",
             "Nehalem-v1,+rdrand,+rdtscp,+x2apic", "ttyS0",
             ("tsc=unstable", "clocksource=hpet"),
             ("intel_iommu=on", "iommu.passthrough=0", "iommu.strict=1"),
             "intel-iommu,caching-mode=on,intremap=on")

# The processor is one of servers that have HCAs, and has pages of 16 KiB, unlike older ones. It has
# no pointer authentication, which is slow to emulate. Its clock counts the host's nanoseconds.
ARM64 = Arch("arm64", "qemu-system-aarch64", "aarch64-linux-gnu-", "virt,gic-version=3",
             "neoverse-n1", "ttyAMA0", (), (), None)

ARCHES = {arch.name: arch for arch in (AMD64, ARM64)}
