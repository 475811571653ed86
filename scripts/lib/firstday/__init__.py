# SPDX-License-Identifier: GPL-2.0
"""What scripts/first-day is made of.

  scrub      replaces what tells whose machine it is
  device     the device: its files in sysfs, its firmware by DEVX
  record     the files of an archive, and the archive
  selftests  whether the port is free for the selftests, and the run

A module imports those before it in this list, never those after it.
"""
