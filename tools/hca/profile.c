// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: what this HCA can do. A built-in default, JSON files that change it, and
 * the check that what it claims fits together.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>

#include "fields.h"
#include "hca_priv.h"
#include "memic.h"

enum {
	CAP_GENERAL = 0x00, CAP_ODP = 0x02, CAP_ATOMIC = 0x03, CAP_ROCE = 0x04, CAP_DEV_MEM = 0x0f,
	CAP_GENERAL_2 = 0x20,
};

/* Capability pages by the name that a profile calls them. */
static const struct cap_page {
	const char *name;
	unsigned int type;
	const char *strct;
	const char *enable;	/* the general capability that says the page is there */
} pages[] = {
	{ "general", CAP_GENERAL, "cmd_hca_cap", NULL },
	{ "odp", CAP_ODP, "odp_cap", "pg" },
	{ "atomic", CAP_ATOMIC, "atomic_caps", "atomic" },
	{ "roce", CAP_ROCE, "roce_cap", "roce" },
	{ "device_memory", CAP_DEV_MEM, "device_mem_cap", "device_memory" },
	{ "general_2", CAP_GENERAL_2, "cmd_hca_cap_2", "hca_cap_2" },
};

#define NR_PAGES (sizeof(pages) / sizeof(*pages))
#define PAGE_DEV_MEM	4	/* of them */

/* Maximum and current value of the default profile's capabilities; what isn't here is 0. */
static const struct def {
	const char *page, *field;
	uint32_t max, cur;
} defaults[] = {
	{ "general", "log_max_srq_sz", 15, 15 },
	{ "general", "log_max_qp_sz", 15, 15 },
	{ "general", "log_max_qp", 18, 18 },
	{ "general", "log_max_srq", 16, 16 },
	{ "general", "log_max_cq_sz", 22, 22 },
	{ "general", "log_max_cq", 18, 18 },
	{ "general", "log_max_eq_sz", 22, 22 },
	{ "general", "log_max_eq", 7, 7 },
	{ "general", "log_max_mkey", 22, 22 },
	{ "general", "dump_fill_mkey", 1, 1 },
	{ "general", "max_indirection", 4, 4 },
	{ "general", "fixed_buffer_size", 1, 1 },
	{ "general", "log_max_mrw_sz", 64, 64 },
	{ "general", "log_max_klm_list_size", 16, 16 },
	{ "general", "umr_extended_translation_offset", 1, 1 },
	{ "general", "log_max_ra_req_qp", 4, 4 },
	{ "general", "log_max_ra_res_qp", 4, 4 },
	{ "general", "gid_table_size", 0, 0 },		/* 8 */
	{ "general", "pkey_table_size", 0, 0 },		/* 128 */
	{ "general", "max_qp_cnt", 8, 8 },
	{ "general", "rts2rts_qp_counters_set_id", 1, 1 },
	{ "general", "ib_virt", 1, 1 },
	{ "general", "vport_group_manager", 1, 1 },
	{ "general", "local_ca_ack_delay", 16, 16 },
	{ "general", "port_type", 0, 0 },
	{ "general", "num_ports", 1, 1 },
	{ "general", "log_max_msg", 30, 30 },
	{ "general", "cqe_version", 1, 1 },
	{ "general", "compact_address_vector", 1, 1 },
	{ "general", "drain_sigerr", 1, 1 },
	{ "general", "umr_fence", 2, 2 },
	{ "general", "wq_signature", 1, 1 },
	{ "general", "sctr_data_cqe", 1, 1 },
	{ "general", "atomic", 1, 1 },
	{ "general", "cq_oi", 1, 1 },
	{ "general", "cq_resize", 1, 1 },
	{ "general", "cq_moderation", 1, 1 },
	{ "general", "cq_eq_remap", 1, 1 },
	{ "general", "block_lb_mc", 1, 1 },
	{ "general", "imaicl", 1, 1 },
	{ "general", "qkv", 1, 1 },
	{ "general", "pkv", 1, 1 },
	{ "general", "set_deth_sqpn", 1, 1 },
	{ "general", "xrc", 1, 1 },
	{ "general", "ud", 1, 1 },
	{ "general", "uc", 1, 1 },
	{ "general", "rc", 1, 1 },
	{ "general", "uar_4k", 1, 0 },
	{ "general", "uar_sz", 5, 5 },
	{ "general", "log_pg_sz", 12, 12 },
	{ "general", "bf", 1, 1 },
	{ "general", "driver_version", 1, 1 },
	{ "general", "log_bf_reg_size", 9, 9 },
	{ "general", "max_wqe_sz_sq", 1024, 1024 },
	{ "general", "max_wqe_sz_rq", 512, 512 },
	{ "general", "max_wqe_sz_sq_dc", 512, 512 },
	{ "general", "log_max_mcg", 10, 10 },
	{ "general", "max_qp_mcg", 240, 240 },
	{ "general", "log_max_transport_domain", 16, 16 },
	{ "general", "log_max_pd", 18, 18 },
	{ "general", "log_max_xrcd", 16, 16 },
	{ "general", "log_max_wq_sz", 15, 15 },
	{ "general", "log_max_sq", 10, 10 },
	{ "general", "log_uar_page_sz", 4, 0 },
	{ "general", "device_frequency_mhz", 156, 156 },
	{ "general", "device_frequency_khz", 156250, 156250 },
	{ "general", "num_of_uars_per_page", 1, 1 },
	{ "general", "cqe_128_always", 0, 0 },
	{ "general", "native_port_num", 1, 1 },
	{ "general", "pg", 1, 1 },
	{ "general", "null_mkey", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.send", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.receive", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.write", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.read", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.atomic", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.uc_odp_caps.send", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.ud_odp_caps.send", 1, 1 },
	/* What the driver has to ask for. */
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.srq_receive", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.send", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.write", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.read", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.atomic", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.srq_receive", 1, 0 },
	{ "atomic", "supported_atomic_req_8B_endianness_mode_1", 1, 1 },
	{ "atomic", "atomic_req_8B_endianness_mode", 1, 0 },
	{ "atomic", "atomic_operations", 0x3, 0x3 },	/* compare & swap, fetch & add */
	{ "atomic", "atomic_size_qp", 0x8, 0x8 },	/* 8 bytes */
	{ "general", "device_memory", 1, 1 },
	{ "device_memory", "memic", 1, 1 },
	{ "device_memory", "log_min_memic_alloc_size", 6, 6 },
	{ "device_memory", "log_max_memic_addr_alignment", 6, 6 },	/* of 64 bytes: 4 KiB */
	/* The end of BAR0: the memory, and as much for each of two operations. */
	{ "device_memory", "memic_bar_start_addr", 0x1fa0000, 0x1fa0000 },
	{ "device_memory", "memic_bar_size", 0x20000, 0x20000 },
	{ "device_memory", "max_memic_size", 0x20000, 0x20000 },
	{ "device_memory", "memic_operations", 0x3, 0x3 },	/* increment, test & set */
};

/* A doorbell names QPs and SQs by one number: SQs have the upper half of them. */
#define FIRST_SQ	0x800000

/* Numbers handed out: first, and limit as the capability that bounds it (or a plain limit). */
static const struct {
	enum obj_kind kind;
	uint32_t first;
	const char *log_cap;
	uint32_t limit;
} ranges[] = {
	{ OBJ_EQ, 1, "log_max_eq", 0 },
	{ OBJ_PD, 1, "log_max_pd", 0 },
	{ OBJ_TD, 1, "log_max_transport_domain", 0 },
	{ OBJ_XRCD, 1, "log_max_xrcd", 0 },
	{ OBJ_QCOUNTER, 1, NULL, 256 },
	{ OBJ_MKEY, 0x10, "log_max_mkey", 0 },
	{ OBJ_CQ, 1, "log_max_cq", 0 },
	{ OBJ_SRQ, 1, "log_max_srq", 0 },
	{ OBJ_QP, 0x40, "log_max_qp", 0 },
	{ OBJ_SQ, FIRST_SQ, "log_max_sq", 0 },
	{ OBJ_MEMIC, 0, NULL, 1 << 16 },
	{ OBJ_RESERVED_LKEY, 1, NULL, 2 },
	{ OBJ_OTHER, 1, NULL, 1 << 16 },
};

#define FIRST_UAR	4	/* the pages before belong to the initialization segment */

static const struct cap_page *page_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_PAGES; i++)
		if (!strcmp(pages[i].name, name))
			return &pages[i];
	return NULL;
}

static const struct ifc_member *cap_find(const struct cap_page *pg, const char *field,
					 uint32_t *off)
{
	const struct ifc_struct *s = ifc_struct_find(pg->strct);
	const struct ifc_member *m = s ? ifc_member_find(s, field, off) : NULL;

	return m && !m->reserved && m->width <= 64 ? m : NULL;
}

/**
 * profile_find_cap() - where a capability is
 * @page: as profiles name it
 * @field: name of the field in the page's structure
 * @type: the page's number
 * @off: first bit in the page
 * @width: bits
 *
 * Return: whether there is one of that name.
 */
bool profile_find_cap(const char *page, const char *field, unsigned int *type, uint32_t *off,
		      uint32_t *width)
{
	const struct cap_page *pg = page_find(page);
	const struct ifc_member *m = pg ? cap_find(pg, field, off) : NULL;

	if (!m)
		return false;
	*type = pg->type;
	*width = m->width;
	return true;
}

static uint64_t cap_get(const struct profile *p, bool cur, unsigned int page, const char *field)
{
	const struct ifc_member *m;
	uint32_t off;

	m = cap_find(&pages[page], field, &off);
	return m ? ifc_get_bits(p->cap[cur][pages[page].type], off, m->width) : 0;
}

static uint32_t cap_gen(const struct profile *p, const char *field)
{
	return cap_get(p, true, 0, field);
}

static bool cap_put(struct profile *p, bool cur, const struct cap_page *pg, const char *field,
		    uint64_t v)
{
	const struct ifc_member *m;
	uint32_t off;

	m = cap_find(pg, field, &off);
	if (!m || (m->width < 64 && v >> m->width))
		return false;
	ifc_set_bits(p->cap[cur][pg->type], off, m->width, v);
	p->cap_valid[pg->type] = true;
	return true;
}

static uint64_t memic_cap(const struct profile *p, const char *field)
{
	return cap_get(p, true, PAGE_DEV_MEM, field);
}

static bool has_memic(const struct profile *p)
{
	return cap_gen(p, "device_memory") && memic_cap(p, "memic");
}

/*
 * Bitmaps of log2 widths that an operation on device memory takes, in bytes that mlx5_ifc.h has no
 * name for; rdma-core's tests read them. Ours take single bytes.
 */
static void memic_op_sizes(struct profile *p)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		uint32_t ops = cap_get(p, i, PAGE_DEV_MEM, "memic_operations");

		p->cap[i][CAP_DEV_MEM][4] = ops >> MEMIC_INCREMENT & 1;
		p->cap[i][CAP_DEV_MEM][6] = ops >> MEMIC_TEST_AND_SET & 1;
	}
}

/* Ranges follow the capabilities, unless the profile says less. */
static void ranges_from_caps(struct profile *p)
{
	unsigned int i;

	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct obj_range *r = &p->range[ranges[i].kind];

		r->first = ranges[i].first;
		r->limit = ranges[i].log_cap ? 1u << cap_gen(p, ranges[i].log_cap) :
					       ranges[i].limit;
		if (ranges[i].kind == OBJ_SQ)
			r->limit += FIRST_SQ;
	}
	p->range[OBJ_UAR].first = FIRST_UAR;
	p->range[OBJ_UAR].limit = 1u << (p->log_bar_size - 12);
	if (has_memic(p) && memic_cap(p, "memic_bar_start_addr") >> p->log_bar_size == 0)
		p->range[OBJ_UAR].limit = memic_cap(p, "memic_bar_start_addr") / HCA_PAGE_SIZE;
	memic_op_sizes(p);
}

/**
 * profile_default() - the built-in profile
 * @p: where to
 * @eth: an Ethernet port instead of InfiniBand
 *
 * Return: 0, or -EINVAL if the headers lack a field that the table names.
 */
int profile_default(struct profile *p, bool eth)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	strcpy(p->name, "default");
	p->eth = eth;
	p->log_bar_size = 25;
	p->vectors = 32;
	p->boot_pages = 8;
	p->init_pages = 120;
	strcpy(p->fw_version, "16.35.4030");
	strcpy(p->psid, "BBL0000000001");
	p->max_pkeys = 1;
	p->max_gids = 1;
	for (i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		const struct def *d = &defaults[i];

		if (!cap_put(p, false, page_find(d->page), d->field, d->max) ||
		    !cap_put(p, true, page_find(d->page), d->field, d->cur)) {
			fprintf(stderr, "bluebell-hca: no field %s.%s\n", d->page, d->field);
			return -EINVAL;
		}
	}
	if (eth) {
		cap_put(p, false, &pages[0], "port_type", 1);
		cap_put(p, true, &pages[0], "port_type", 1);
	}
	p->core_clock_khz = cap_gen(p, "device_frequency_khz");
	ranges_from_caps(p);
	return 0;
}

/* ---- consistency -------------------------------------------------------------------------- */

static int refuse(char *why, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *why, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* General capabilities and the least and greatest value that makes sense. */
static const struct {
	const char *field;
	uint32_t min, max;
} bounds[] = {
	{ "num_ports", 1, 1 },
	{ "port_type", 0, 1 },
	{ "log_max_qp", 7, 23 },
	{ "log_max_sq", 0, 20 },
	{ "log_max_cq", 2, 24 },
	{ "log_max_eq", 2, 8 },
	{ "log_max_srq", 0, 24 },
	{ "log_max_mkey", 6, 24 },
	{ "log_max_pd", 1, 24 },
	{ "log_max_qp_sz", 1, 15 },
	{ "log_max_srq_sz", 1, 16 },
	{ "log_max_cq_sz", 1, 22 },
	{ "log_max_eq_sz", 8, 22 },
	{ "log_max_msg", 1, 30 },
	{ "cqe_version", 0, 1 },
	{ "log_bf_reg_size", 9, 9 },
	{ "max_wqe_sz_sq", 64, 1024 },
	{ "max_wqe_sz_rq", 16, 512 },
	{ "log_max_ra_req_qp", 0, 7 },
	{ "log_max_ra_res_qp", 0, 7 },
	{ "device_frequency_khz", 1000, 4000000 },
	{ "gid_table_size", 0, 4 },
	{ "pkey_table_size", 0, 5 },
	{ "log_max_transport_domain", 1, 24 },
	{ "log_max_xrcd", 1, 24 },
};

static int check_bounds(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		uint32_t v = cap_gen(p, bounds[i].field);

		if (v < bounds[i].min || v > bounds[i].max)
			return refuse(why, len, "%s is %u, has to be from %u to %u",
				      bounds[i].field, v, bounds[i].min, bounds[i].max);
	}
	return 0;
}

/* No capability may be set higher than what it can be set to. */
static int check_max(const struct profile *p, char *why, size_t len)
{
	const struct ifc_member *m;
	unsigned int i;

	for (i = 0; i < NR_PAGES; i++) {
		const struct ifc_struct *s = ifc_struct_find(pages[i].strct);

		for (m = s ? s->field : NULL; m && m->name; m++) {
			uint64_t cur, max;

			if (m->reserved || m->width > 64 || m->sub)
				continue;
			cur = ifc_get_bits(p->cap[1][pages[i].type], m->off, m->width);
			max = ifc_get_bits(p->cap[0][pages[i].type], m->off, m->width);
			if (cur > max)
				return refuse(why, len, "%s.%s is %llu, its maximum %llu",
					      pages[i].name, m->name, (unsigned long long)cur,
					      (unsigned long long)max);
		}
	}
	return 0;
}

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

/* Capabilities that make sense only with others. */
static int check_pairs(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 1; i < NR_PAGES; i++) {
		bool on = cap_get(p, false, 0, pages[i].enable);

		if (on && !p->cap_valid[pages[i].type])
			return refuse(why, len, "%s is set, but no %s capabilities are given",
				      pages[i].enable, pages[i].name);
	}
	if ((cap_gen(p, "uar_4k") || cap_get(p, false, 0, "uar_4k")) &&
	    !cap_gen(p, "num_of_uars_per_page"))
		return refuse(why, len, "uar_4k without num_of_uars_per_page: a UAR would have no "
			      "registers");
	if (!is_pow2(cap_gen(p, "max_wqe_sz_sq")) || !is_pow2(cap_gen(p, "max_wqe_sz_rq")))
		return refuse(why, len, "max_wqe_sz_sq and max_wqe_sz_rq are powers of two");
	if (cap_gen(p, "atomic") && !cap_get(p, true, 2, "atomic_operations"))
		return refuse(why, len, "atomic is set, but atomic_operations is 0");
	if (cap_gen(p, "atomic") && !cap_get(p, true, 2, "atomic_size_qp"))
		return refuse(why, len, "atomic is set, but atomic_size_qp is 0");
	if (!cap_gen(p, "rc") && !cap_gen(p, "uc") && !cap_gen(p, "ud"))
		return refuse(why, len, "none of rc, uc, ud is set");
	if (cap_gen(p, "port_type") != p->eth)
		return refuse(why, len, "port_type is %u, the link %s", cap_gen(p, "port_type"),
			      p->eth ? "eth" : "ib");
	if (p->core_clock_khz != cap_gen(p, "device_frequency_khz"))
		return refuse(why, len, "the clock runs at %u kHz, device_frequency_khz is %u",
			      p->core_clock_khz, cap_gen(p, "device_frequency_khz"));
	return 0;
}

static int check_memic(const struct profile *p, char *why, size_t len)
{
	uint64_t start = memic_cap(p, "memic_bar_start_addr"), size = memic_cap(p, "memic_bar_size");
	uint64_t max = memic_cap(p, "max_memic_size"), min = memic_cap(p, "log_min_memic_alloc_size");
	uint64_t align = memic_cap(p, "log_max_memic_addr_alignment");
	uint64_t bar = 1ull << p->log_bar_size, end = start + (1 + MEMIC_OPS) * size;

	if (!cap_gen(p, "device_memory"))
		return 0;
	if (!has_memic(p))
		return refuse(why, len, "device_memory is set, but memic, which is all there is, "
			      "is not");
	if (!size || size % HCA_PAGE_SIZE || start % HCA_PAGE_SIZE)
		return refuse(why, len, "memic_bar_start_addr 0x%llx, memic_bar_size 0x%llx: "
			      "not whole pages", (unsigned long long)start,
			      (unsigned long long)size);
	if (start < (uint64_t)HCA_PAGE_SIZE * (FIRST_UAR + 1) || start > bar || end > bar)
		return refuse(why, len, "memic_bar_start_addr 0x%llx: memory and operations end at "
			      "0x%llx, the BAR at 0x%llx", (unsigned long long)start,
			      (unsigned long long)end, (unsigned long long)bar);
	if (!max || max > size)
		return refuse(why, len, "max_memic_size is 0x%llx, memic_bar_size 0x%llx",
			      (unsigned long long)max, (unsigned long long)size);
	if (1ull << min < MEMIC_UNIT || 1ull << min > max)
		return refuse(why, len, "log_min_memic_alloc_size is %llu, has to be from 6 to what "
			      "max_memic_size allows", (unsigned long long)min);
	if (align > 25 || (uint64_t)MEMIC_UNIT << align > size || start % (MEMIC_UNIT << align))
		return refuse(why, len, "log_max_memic_addr_alignment is %llu: the memory is not "
			      "aligned so itself", (unsigned long long)align);
	if (memic_cap(p, "memic_operations") >> MEMIC_OPS)
		return refuse(why, len, "memic_operations is 0x%llx, there are %u",
			      (unsigned long long)memic_cap(p, "memic_operations"), MEMIC_OPS);
	return 0;
}

static int check_device(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	if (p->log_bar_size < 20 || p->log_bar_size > 32)
		return refuse(why, len, "log_bar_size %u, has to be from 20 to 32",
			      p->log_bar_size);
	if (1u << cap_gen(p, "uar_sz") != 1u << (p->log_bar_size - 20))
		return refuse(why, len, "uar_sz says 2^%u MB, the BAR has 2^%u bytes",
			      cap_gen(p, "uar_sz"), p->log_bar_size);
	if (!p->vectors || p->vectors > HCA_MAX_VECTORS)
		return refuse(why, len, "%u vectors, has to be from 1 to %u", p->vectors,
			      HCA_MAX_VECTORS);
	if (p->range[OBJ_UAR].limit > 1u << (p->log_bar_size - 12))
		return refuse(why, len, "%u UAR pages do not fit the BAR", p->range[OBJ_UAR].limit);
	if (has_memic(p) &&
	    p->range[OBJ_UAR].limit > memic_cap(p, "memic_bar_start_addr") / HCA_PAGE_SIZE)
		return refuse(why, len, "%u UAR pages reach into device memory",
			      p->range[OBJ_UAR].limit);
	for (i = 0; i < OBJ_KINDS; i++)
		if (p->range[i].limit <= p->range[i].first)
			return refuse(why, len, "no number is left for a %s", obj_kind_name[i]);
	return 0;
}

/**
 * profile_check() - does the profile fit together?
 * @p: profile
 * @why: the reason when it does not
 * @why_len: bytes there
 *
 * Return: 0 or -EINVAL.
 */
int profile_check(const struct profile *p, char *why, size_t why_len)
{
	static int (*const checks[])(const struct profile *p, char *why, size_t len) = {
		check_bounds, check_max, check_pairs, check_device, check_memic,
	};
	unsigned int i;

	for (i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (checks[i](p, why, why_len))
			return -EINVAL;
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------ */

static int get_uint(struct json_object *v, const char *key, uint64_t *out, char *why, size_t len)
{
	if (!json_object_is_type(v, json_type_int) || json_object_get_int64(v) < 0)
		return refuse(why, len, "%s is not a number", key);
	*out = json_object_get_int64(v);
	return 0;
}

/* "field": 5, or "field": { "max": 5, "cur": 3 }. */
static int load_cap(struct profile *p, const struct cap_page *pg, const char *field,
		    struct json_object *v, char *why, size_t len)
{
	struct json_object *o;
	uint64_t val[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		o = v;
		if (json_object_is_type(v, json_type_object) &&
		    !json_object_object_get_ex(v, i ? "cur" : "max", &o))
			return refuse(why, len, "%s.%s needs max and cur", pg->name, field);
		if (get_uint(o, field, &val[i], why, len))
			return -EINVAL;
		if (!cap_put(p, i, pg, field, val[i]))
			return refuse(why, len, "%s.%s: no such capability, or %llu does not fit",
				      pg->name, field, (unsigned long long)val[i]);
	}
	return 0;
}

static int load_caps(struct profile *p, struct json_object *caps, char *why, size_t len)
{
	if (!json_object_is_type(caps, json_type_object))
		return refuse(why, len, "caps is not an object");
	json_object_object_foreach(caps, name, fields) {
		const struct cap_page *pg = page_find(name);

		if (!pg || !json_object_is_type(fields, json_type_object))
			return refuse(why, len, "caps.%s: no such page of capabilities", name);
		json_object_object_foreach(fields, field, v) {
			if (load_cap(p, pg, field, v, why, len))
				return -EINVAL;
		}
	}
	return 0;
}

static int load_limits(struct profile *p, struct json_object *limits, char *why, size_t len)
{
	if (!json_object_is_type(limits, json_type_object))
		return refuse(why, len, "limits is not an object");
	json_object_object_foreach(limits, name, v) {
		unsigned int k;
		uint64_t n;

		for (k = 0; k < OBJ_KINDS && strcmp(obj_kind_name[k], name); k++)
			;
		if (k == OBJ_KINDS)
			return refuse(why, len, "limits.%s: no such kind of object", name);
		if (get_uint(v, name, &n, why, len))
			return -EINVAL;
		if (n > p->range[k].limit - p->range[k].first)
			return refuse(why, len, "limits.%s is %llu, the capabilities allow %u", name,
				      (unsigned long long)n, p->range[k].limit - p->range[k].first);
		p->range[k].limit = p->range[k].first + n;
	}
	return 0;
}

static int load_top(struct profile *p, const char *key, struct json_object *v, char *why,
		    size_t len)
{
	const struct { const char *name; unsigned int *to; } nums[] = {
		{ "log_bar_size", &p->log_bar_size }, { "vectors", &p->vectors },
		{ "boot_pages", &p->boot_pages }, { "init_pages", &p->init_pages },
		{ "max_pkeys", &p->max_pkeys }, { "max_gids", &p->max_gids },
	};
	const struct { const char *name; char *to; size_t size; } strs[] = {
		{ "name", p->name, sizeof(p->name) }, { "psid", p->psid, sizeof(p->psid) },
		{ "fw_version", p->fw_version, sizeof(p->fw_version) },
	};
	unsigned int i;
	uint64_t n;

	for (i = 0; i < sizeof(nums) / sizeof(*nums); i++) {
		if (strcmp(nums[i].name, key))
			continue;
		if (get_uint(v, key, &n, why, len))
			return -EINVAL;
		*nums[i].to = n;
		return 0;
	}
	for (i = 0; i < sizeof(strs) / sizeof(*strs); i++) {
		if (strcmp(strs[i].name, key))
			continue;
		snprintf(strs[i].to, strs[i].size, "%s", json_object_get_string(v));
		return 0;
	}
	/* caps, limits and link have their turn; comment is for people. */
	if (!strcmp(key, "caps") || !strcmp(key, "limits") || !strcmp(key, "comment") ||
	    !strcmp(key, "link"))
		return 0;
	return refuse(why, len, "%s: no such setting", key);
}

static int load_json(struct profile *p, struct json_object *top, char *why, size_t len)
{
	struct json_object *v;

	if (!json_object_is_type(top, json_type_object))
		return refuse(why, len, "not a JSON object");
	if (json_object_object_get_ex(top, "link", &v)) {
		const char *s = json_object_get_string(v);

		if (!s || (strcmp(s, "ib") && strcmp(s, "eth")))
			return refuse(why, len, "link is ib or eth");
		profile_default(p, !strcmp(s, "eth"));
	}
	json_object_object_foreach(top, key, val) {
		if (load_top(p, key, val, why, len))
			return -EINVAL;
	}
	if (json_object_object_get_ex(top, "caps", &v) && load_caps(p, v, why, len))
		return -EINVAL;
	if (p->log_bar_size < 20 || p->log_bar_size > 32)
		return refuse(why, len, "log_bar_size %u, has to be from 20 to 32",
			      p->log_bar_size);
	p->core_clock_khz = cap_gen(p, "device_frequency_khz");
	if (check_bounds(p, why, len))
		return -EINVAL;
	ranges_from_caps(p);
	if (json_object_object_get_ex(top, "limits", &v) && load_limits(p, v, why, len))
		return -EINVAL;
	return profile_check(p, why, len);
}

int profile_load(struct profile *p, const char *path, char *why, size_t why_len)
{
	struct json_object *top = json_object_from_file(path);
	int err;

	if (!top)
		return refuse(why, why_len, "%s", json_util_get_last_err());
	err = load_json(p, top, why, why_len);
	json_object_put(top);
	return err;
}
