// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: the pages of capabilities, capabilities by name, and the refusal of a profile.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "ifc.h"
#include "profile.h"
#include "profile_priv.h"

const struct cap_page cap_pages[NR_PAGES] = {
	{ "general", CAP_GENERAL, "cmd_hca_cap", NULL },
	{ "odp", CAP_ODP, "odp_cap", "pg" },
	{ "atomic", CAP_ATOMIC, "atomic_caps", "atomic" },
	{ "roce", CAP_ROCE, "roce_cap", "roce" },
	{ "device_memory", CAP_DEV_MEM, "device_mem_cap", "device_memory" },
	{ "general_2", CAP_GENERAL_2, "cmd_hca_cap_2", "hca_cap_2" },
	{ "device_event", CAP_DEV_EVENT, "device_event_cap", "event_cap" },
	{ "qos", CAP_QOS, "qos_cap", "qos" },
	{ "ethernet", CAP_ETH, "per_protocol_networking_offload_caps", "eth_net_offloads" },
	{ "flow_table", CAP_FLOW_TABLE, "flow_table_nic_cap", "nic_flow_table" },
};

/**
 * cap_page_find() - find a capability page by name
 * @name: as in profiles
 *
 * Return: the page or NULL.
 */
const struct cap_page *cap_page_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_PAGES; i++)
		if (!strcmp(cap_pages[i].name, name))
			return &cap_pages[i];
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
 * profile_find_cap() - find a capability by name
 * @page: name of the page, as in profiles
 * @field: name of the field in the page's structure
 * @type: set to the page's number
 * @off: set to the first bit of the field in the page
 * @width: set to the number of bits
 *
 * Return: false if there is no capability of that name.
 */
bool profile_find_cap(const char *page, const char *field, unsigned int *type, uint32_t *off,
		      uint32_t *width)
{
	const struct cap_page *pg = cap_page_find(page);
	const struct ifc_member *m = pg ? cap_find(pg, field, off) : NULL;

	if (!m)
		return false;
	*type = pg->type;
	*width = m->width;
	return true;
}

/**
 * cap_get() - read a capability of a profile
 * @p: the profile
 * @cur: true for the current value, false for the maximum
 * @page: PAGE_*
 * @field: name of the field
 *
 * Return: its value, 0 if there is no such field.
 */
uint64_t cap_get(const struct profile *p, bool cur, unsigned int page, const char *field)
{
	const struct ifc_member *m;
	uint32_t off;

	m = cap_find(&cap_pages[page], field, &off);
	return m ? ifc_get_bits(p->cap[cur][cap_pages[page].type], off, m->width) : 0;
}

/**
 * cap_gen() - read a current general capability of a profile
 * @p: the profile
 * @field: name of the field
 *
 * Return: its value.
 */
uint32_t cap_gen(const struct profile *p, const char *field)
{
	return cap_get(p, true, PAGE_GENERAL, field);
}

/**
 * cap_put() - set a capability of a profile
 * @p: the profile
 * @cur: true for the current value, false for the maximum
 * @pg: the page
 * @field: name of the field
 * @v: the value
 *
 * Return: false if there is no such field, or if the value does not fit.
 */
bool cap_put(struct profile *p, bool cur, const struct cap_page *pg, const char *field,
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

/**
 * profile_refuse() - refuse a profile
 * @why: set to the reason
 * @len: bytes of @why
 * @fmt: the reason
 *
 * Return: -EINVAL.
 */
int profile_refuse(char *why, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/**
 * profile_check_page() - refuse a bit of a page that is in no capability of a list
 * @p: the profile
 * @page: PAGE_*
 * @cap: lists what the HCA models: returns the @i-th capability and sets its page; NULL at the end
 * @why: set to the reason
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check_page(const struct profile *p, unsigned int page,
		       const char *(*cap)(unsigned int i, unsigned int *page), char *why,
		       size_t len)
{
	static uint8_t rest[HCA_CAP_SIZE];
	const struct cap_page *pg = &cap_pages[page];
	const struct ifc_member *m;
	unsigned int i, cur, at;
	const char *field;
	uint32_t off;

	for (cur = 0; cur < 2; cur++) {
		memcpy(rest, p->cap[cur][pg->type], sizeof(rest));
		for (i = 0; (field = cap(i, &at)); i++) {
			m = at == page ? cap_find(pg, field, &off) : NULL;
			if (m)
				ifc_set_bits(rest, off, m->width, 0);
		}
		for (i = 0; i < sizeof(rest); i++)
			if (rest[i])
				return profile_refuse(why, len,
						      "%s: bits 0x%02x of byte 0x%x are set, which "
						      "the HCA does not model", pg->name, rest[i],
						      i);
	}
	return 0;
}
