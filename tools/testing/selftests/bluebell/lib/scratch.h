/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Block devices in memory, which a test swaps to or makes a file system on.
 */
#ifndef BLUEBELL_SCRATCH_H
#define BLUEBELL_SCRATCH_H

#include <stddef.h>

#define NO_SWAP "the kernel has no swap, or no module zram"
#define NO_SCRATCH "the kernel has no ext4, or no module brd; or busybox has no mke2fs"
#define NO_PMEM "no persistent memory: boot with scripts/vm --append 'memmap=16M!1G'"

/* Where scratch_mount() mounts the file system. */
#define SCRATCH "/tmp/bluebell-scratch"

int scratch_swap_on(size_t size);
void scratch_swap_off(void);
int scratch_ram_device(void);
int scratch_pmem_device(void);
int scratch_format(const char *device);
int scratch_mount(const char *device, const char *options);
int scratch_unmount(void);

#endif
