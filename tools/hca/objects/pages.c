// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that the driver gives to the HCA: QUERY_PAGES returns how many the HCA needs to boot and to
 * initialize; by MANAGE_PAGES the driver gives pages, and gets them back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "eq.h"
#include "expect.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "pages.h"
#include "profile.h"

enum { PAGES_CANT_GIVE = 0, PAGES_GIVE = 1 };
enum { PAGES_BOOT = 1, PAGES_INIT = 2 };

#define PAGES_BATCH	8	/* pages to ask for, or to keep, beyond those that are needed */
#define PAGES_FILL	0xb1	/* what the HCA writes to the pages that it gets */

/* struct mlx5_eqe_page_req */
enum { PAGE_REQ_NUM = 4 };

struct pages {
	uint64_t *pa;		/* sorted */
	uint32_t nr;
	int32_t asked;		/* pages that the driver was asked for; negative: to take back */
	/*
	 * obj_total() when the driver last reported that it cannot give pages; 0: no such report.
	 * The HCA asks for pages again only when it has more objects.
	 */
	uint32_t refused;
};

static int pages_init(struct hca *hca)
{
	hca->pages = calloc(1, sizeof(*hca->pages));
	return hca->pages ? 0 : -ENOMEM;
}

/* After a reset the HCA has no pages: the driver frees them itself. */
static void pages_reset(struct hca *hca)
{
	hca->pages->asked = 0;
	hca->pages->refused = 0;
	if (hca->life == LIFE_RESET)
		hca->pages->nr = 0;
}

static void pages_exit(struct hca *hca)
{
	free(hca->pages->pa);
	free(hca->pages);
	hca->pages = NULL;
}

const struct hca_module pages_module = {
	.name = "pages", .init = pages_init, .reset = pages_reset, .exit = pages_exit,
};

/**
 * pages_missing() - count the pages that the HCA still needs to be initialized
 * @hca: the HCA
 *
 * Return: their number, 0 if the driver has given enough.
 */
unsigned int pages_missing(struct hca *hca)
{
	unsigned int want = hca->profile->boot_pages + hca->profile->init_pages;

	return want > hca->pages->nr ? want - hca->pages->nr : 0;
}

static void pages_ask(struct hca *hca, int32_t n)
{
	uint8_t data[EQE_DATA_BYTES] = {};

	put_be32(data + PAGE_REQ_NUM, n);
	hca->pages->asked = n;
	hca_trace(hca, "page_request", "\"pages\":%d", n);
	eq_post_async(hca, EV_PAGE_REQUEST, 0, data);
}

/**
 * pages_balance() - ask the driver to give or to take back pages, by the number of objects
 * @hca: the HCA
 *
 * There is one request at a time. After the driver could give no pages, the HCA asks again only
 * when there are more objects.
 */
void pages_balance(struct hca *hca)
{
	uint32_t per_page = hca->profile->objects_per_page, objects, want;
	struct pages *p = hca->pages;

	if (!per_page || hca->life != LIFE_INIT || p->asked ||
	    !eq_subscribed(hca, EV_PAGE_REQUEST))
		return;
	objects = obj_total(hca);
	want = hca->profile->boot_pages + hca->profile->init_pages +
	       (objects + per_page - 1) / per_page;
	if (p->nr < want && objects > p->refused)
		pages_ask(hca, want - p->nr + PAGES_BATCH);
	else if (p->nr > want + 2 * PAGES_BATCH)
		pages_ask(hca, -(int32_t)(p->nr - want - PAGES_BATCH));
}

static uint8_t query_pages(struct hca *hca, struct cmd *cmd)
{
	unsigned int want;

	if (IFC_GET(query_pages_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_UNKNOWN,
				"function %u does not exist",
				IFC_GET(query_pages_in, cmd->in, function_id));
	switch (cmd->op_mod) {
	case PAGES_BOOT:
		want = hca->profile->boot_pages;
		break;
	case PAGES_INIT:
		want = hca->profile->boot_pages + hca->profile->init_pages;
		break;
	default:
		want = hca->pages->nr;
		break;
	}
	want = want > hca->pages->nr ? want - hca->pages->nr : 0;
	IFC_SET(query_pages_out, cmd->out, num_pages, want);
	return ST_OK;
}

static uint8_t pages_check(struct hca *hca, struct cmd *cmd, uint64_t pa)
{
	if (!pa || pa % HCA_PAGE_SIZE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PAGE_ADDRESS,
				"page address 0x%llx is not valid", (unsigned long long)pa);
	if (!mem_ptr(hca, pa, HCA_PAGE_SIZE, true))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PAGE_NOT_MAPPED, "page 0x%llx is not mapped",
				(unsigned long long)pa);
	return ST_OK;
}

static int pages_compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Read the @n page addresses of the command to @pa, sorted. */
static uint8_t pages_read(struct hca *hca, struct cmd *cmd, uint32_t n, uint64_t *pa)
{
	const struct pages *p = hca->pages;
	uint32_t i;
	uint8_t st;

	for (i = 0; i < n; i++) {
		pa[i] = get_be64(cmd->in + IFC_SZ(manage_pages_in) + 8ULL * i);
		st = pages_check(hca, cmd, pa[i]);
		if (st)
			return st;
	}
	qsort(pa, n, sizeof(*pa), pages_compare_addresses);
	for (i = 0; i < n; i++)
		if ((i && pa[i] == pa[i - 1]) ||
		    bsearch(&pa[i], p->pa, p->nr, sizeof(*pa), pages_compare_addresses))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_PAGE_TWICE,
					"the HCA has page 0x%llx already",
					(unsigned long long)pa[i]);
	return ST_OK;
}

/* Merge sorted pages with those that the HCA has. */
static void pages_add(struct hca *hca, uint32_t n, const uint64_t *new)
{
	struct pages *p = hca->pages;
	uint32_t have = p->nr, i;

	p->nr += n;
	for (i = p->nr; n; i--)
		p->pa[i - 1] = have && p->pa[have - 1] > new[n - 1] ? p->pa[--have] : new[--n];
	if (p->asked > 0)
		p->asked = 0;
	p->refused = 0;
}

static uint8_t pages_give(struct hca *hca, struct cmd *cmd, uint32_t n)
{
	struct pages *p = hca->pages;
	uint64_t *new, *pa;
	uint32_t i;
	uint8_t st;

	if (cmd->in_len < IFC_SZ(manage_pages_in) + 8ULL * n)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%zu bytes are too few for %u pages", cmd->in_len, n);
	pa = realloc(p->pa, (p->nr + n + 1) * sizeof(*pa));
	if (pa)
		p->pa = pa;
	new = pa ? malloc((n + 1) * sizeof(*new)) : NULL;
	if (!new)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory");
	st = pages_read(hca, cmd, n, new);
	/* The pages are the HCA's now. Overwrite them, in case the driver still uses one. */
	for (i = 0; !st && i < n; i++)
		memset(mem_ptr(hca, new[i], HCA_PAGE_SIZE, true), PAGES_FILL, HCA_PAGE_SIZE);
	if (!st)
		pages_add(hca, n, new);
	free(new);
	return st;
}

/* Record whether the driver has written to a page that it has given. */
static void pages_compare(struct hca *hca, uint64_t pa)
{
	const uint8_t *page = mem_ptr(hca, pa, HCA_PAGE_SIZE, false);
	unsigned int i;
	char why[80];

	for (i = 0; page && i < HCA_PAGE_SIZE; i++) {
		if (page[i] == PAGES_FILL)
			continue;
		snprintf(why, sizeof(why), "byte 0x%x of the HCA's page 0x%llx was written", i,
			 (unsigned long long)pa);
		expect_incident(hca->expect, INCIDENT_PAGE, 0, 0, "page", why);
		return;
	}
}

/*
 * Return pages to the driver. Between INIT_HCA and TEARDOWN_HCA, the HCA returns only as many pages
 * as it has asked the driver to take back.
 */
static uint8_t pages_take(struct hca *hca, struct cmd *cmd, uint32_t n)
{
	struct pages *p = hca->pages;
	uint32_t i;

	if (cmd->out_len < IFC_SZ(manage_pages_out) + 8ULL * n)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%zu bytes are too few for %u pages", cmd->out_len, n);
	if (hca->life == LIFE_INIT && n > (p->asked < 0 ? (uint32_t)-p->asked : 0))
		n = p->asked < 0 ? -p->asked : 0;
	if (p->asked < 0)
		p->asked = 0;
	if (n > p->nr)
		n = p->nr;
	for (i = 0; i < n; i++) {
		pages_compare(hca, p->pa[--p->nr]);
		put_be64(cmd->out + IFC_SZ(manage_pages_out) + 8ULL * i, p->pa[p->nr]);
	}
	IFC_SET(manage_pages_out, cmd->out, output_num_entries, n);
	return ST_OK;
}

static uint8_t manage_pages(struct hca *hca, struct cmd *cmd)
{
	uint32_t n = IFC_GET(manage_pages_in, cmd->in, input_num_entries);

	if (IFC_GET(manage_pages_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_UNKNOWN,
				"function %u does not exist",
				IFC_GET(manage_pages_in, cmd->in, function_id));
	switch (cmd->op_mod) {
	case PAGES_CANT_GIVE:
		hca->pages->asked = 0;
		hca->pages->refused = obj_total(hca);
		return ST_OK;
	case PAGES_GIVE:
		return pages_give(hca, cmd, n);
	default:
		return pages_take(hca, cmd, n);
	}
}

const struct cmd_desc pages_cmds[] = {
	CMD(QUERY_PAGES, query_pages, query_pages, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(MLX5_QUERY_PAGES_IN_OP_MOD_BOOT_PAGES,
		    MLX5_QUERY_PAGES_IN_OP_MOD_REGULAR_PAGES)),
	CMD(MANAGE_PAGES, manage_pages, manage_pages, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(MLX5_MANAGE_PAGES_IN_OP_MOD_ALLOCATION_FAIL,
		    MLX5_MANAGE_PAGES_IN_OP_MOD_HCA_RETURN_PAGES)),
	{}
};
