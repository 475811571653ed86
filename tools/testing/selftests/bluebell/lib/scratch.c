// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Block devices in memory, which a test swaps to or makes a file system on. Functions return 0 or a
 * negative errno. What a test that failed has left behind is removed by the next test.
 */
#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_file.h"
#include "recovery.h"
#include "scratch.h"

#define QUIET " >/dev/null 2>&1"
#define DISK_KIB 4096
#define WAIT_STEPS 100	/* of 20 ms, for a device */

static int wait_for_device(const char *path)
{
	int i;

	for (i = 0; i < WAIT_STEPS && access(path, R_OK | W_OK); i++)
		usleep(20000);
	return i < WAIT_STEPS ? 0 : -ENODEV;
}

/* Swap to compressed memory, of at most @size bytes before compression. */
int scratch_swap_on(size_t size)
{
	int ret;

	if (run_program("modprobe zram" QUIET) || wait_for_device("/dev/zram0"))
		return -ENODEV;
	scratch_swap_off();
	ret = write_file("/sys/block/zram0/disksize", "%zu", size);
	if (!ret && run_program("{ mkswap /dev/zram0 && swapon /dev/zram0; }" QUIET))
		ret = -EIO;
	return ret;
}

void scratch_swap_off(void)
{
	run_program("swapoff /dev/zram0" QUIET);
	write_file("/sys/block/zram0/reset", "1");
}

/* Make /dev/ram0. */
int scratch_ram_device(void)
{
	if (run_program("modprobe brd rd_nr=1 rd_size=%u" QUIET, DISK_KIB))
		return -ENODEV;
	return wait_for_device("/dev/ram0");
}

/* Make /dev/pmem0 of the memory that the kernel's command line sets aside. */
int scratch_pmem_device(void)
{
	if (access("/sys/bus/platform/devices/e820_pmem", F_OK) ||
	    run_program("modprobe -a nd_e820 nd_pmem" QUIET))
		return -ENODEV;
	return wait_for_device("/dev/pmem0");
}

/* Make a file system of DISK_KIB on a device, with blocks of a page. */
int scratch_format(const char *device)
{
	umount2(SCRATCH, MNT_DETACH);
	return run_program("{ modprobe ext4 && busybox mke2fs -b 4096 -m 0 %s %u; }" QUIET, device,
			   DISK_KIB) ? -ENODEV : 0;
}

/* Mount the file system of a device on SCRATCH, with these options of mount(). */
int scratch_mount(const char *device, const char *options)
{
	mkdir(SCRATCH, 0755);
	return mount(device, SCRATCH, "ext4", 0, options) ? -errno : 0;
}

int scratch_unmount(void)
{
	return umount(SCRATCH) ? -errno : 0;
}
