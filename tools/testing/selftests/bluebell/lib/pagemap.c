// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where the kernel has the pages of this process (/proc/self/pagemap).
 */
#include <fcntl.h>
#include <unistd.h>

#include "pagemap.h"
#include "uv.h"

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FRAME ((1ull << 55) - 1)

/* Read the entries of @n pages from @addr on; returns how many were read. */
static size_t read_entries(const void *addr, size_t n, uint64_t *entries)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (fd >= 0)
		got = pread(fd, entries, n * sizeof(*entries),
			    (uintptr_t)addr / UV_PAGE * sizeof(*entries));
	close(fd);
	return got < 0 ? 0 : got / sizeof(*entries);
}

/**
 * page_frame - find the page frame that an address is mapped to
 * @addr: the address
 *
 * Return: the number of the frame; 0 if there is none, or this process may not see it.
 */
uint64_t page_frame(const void *addr)
{
	uint64_t entry;

	if (!read_entries(addr, 1, &entry) || !(entry & ENTRY_PRESENT))
		return 0;
	return entry & ENTRY_FRAME;
}

static size_t count_entries(const uint8_t *addr, size_t len, uint64_t flag)
{
	uint64_t entries[64];
	size_t left = len / UV_PAGE, found = 0, got, i;

	while (left) {
		got = read_entries(addr, left < 64 ? left : 64, entries);
		if (!got)
			break;
		for (i = 0; i < got; i++)
			found += !!(entries[i] & flag);
		addr += got * UV_PAGE;
		left -= got;
	}
	return found;
}

/* How many of these pages are in memory and mapped. */
size_t pages_present(const void *addr, size_t len)
{
	return count_entries(addr, len, ENTRY_PRESENT);
}

/* How many of these pages are on a swap device. */
size_t pages_swapped(const void *addr, size_t len)
{
	return count_entries(addr, len, ENTRY_SWAPPED);
}
