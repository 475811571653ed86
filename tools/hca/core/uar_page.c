// SPDX-License-Identifier: GPL-2.0
/*
 * UARs and the pages of the driver's machine. A driver maps whole pages of BAR0 into processes, so
 * a page must not have UARs of two owners. SET_HCA_CAP tells the HCA how large a page is, 4 KiB <<
 * log_uar_page_sz, and by uar_4k which of two layouts the driver expects:
 *
 *  uar_4k clear: a UAR is a whole page. UAR n is at n pages from the start of BAR0.
 *  uar_4k set: a UAR is 4 KiB, and a page has several UARs. UAR n is at n * 4 KiB. ALLOC_UAR
 *              allocates all UARs of a page, and returns the number of the first.
 *
 * With pages of 4 KiB both layouts are the same. The registers of a UAR are in its first 4 KiB.
 *
 * All UARs that ALLOC_UAR allocates at a time are one object, which has the number of the first.
 */
#include "caps.h"
#include "hca.h"
#include "object.h"
#include "profile.h"
#include "uar_page.h"

/**
 * uar_shift() - tell how large a UAR is in BAR0
 * @hca: the HCA
 *
 * Return: log2 of the bytes.
 */
unsigned int uar_shift(const struct hca *hca)
{
	return UAR_LOG_SIZE + (hca_cap_gen(hca, uar_4k) ? 0 : hca_cap_gen(hca, log_uar_page_sz));
}

/**
 * uars_per_page() - tell how many UARs a page has
 * @hca: the HCA
 *
 * Return: the number of UARs, a power of two.
 */
uint32_t uars_per_page(const struct hca *hca)
{
	return hca_cap_gen(hca, uar_4k) ? 1u << hca_cap_gen(hca, log_uar_page_sz) : 1;
}

/**
 * uar_first() - find the first UAR of a page
 * @hca: the HCA
 * @num: number of a UAR of the page
 *
 * Return: its number.
 */
uint32_t uar_first(const struct hca *hca, uint32_t num)
{
	return num & ~(uars_per_page(hca) - 1);
}

/**
 * uar_numbers() - tell which numbers ALLOC_UAR can return
 * @hca: the HCA
 *
 * Return: the numbers. There are as many as the profile allows, unless BAR0 has fewer pages.
 */
struct obj_numbers uar_numbers(const struct hca *hca)
{
	const struct obj_range *r = &hca->profile->range[OBJ_UAR];
	unsigned int log = hca_cap_gen(hca, log_uar_page_sz);
	uint32_t step = uars_per_page(hca), first, limit, end;

	if (!log)
		return (struct obj_numbers){ r->first, r->limit, 1 };
	/* In pages. The registers before the first UAR take part of a page, or several pages. */
	first = (r->first + (1u << log) - 1) >> log;
	limit = first + (r->limit - r->first);
	end = profile_uar_end(hca->profile) >> log;
	if (limit > end)
		limit = end > first ? end : first;
	return (struct obj_numbers){ first * step, limit * step, step };
}

/**
 * uar_find() - find the object that a UAR belongs to
 * @hca: the HCA
 * @num: number of the UAR, any of its page
 *
 * Return: the object or NULL.
 */
struct obj *uar_find(struct hca *hca, uint32_t num)
{
	return obj_find(hca, OBJ_UAR, uar_first(hca, num));
}
