// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles made of what a card says: the default profile with the capabilities of the card's pages
 * that the HCA models, as far as the HCA's bounds allow. All other differences are listed.
 */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

/* A card, and the profile that is made of it. */
struct card {
	struct profile *p;		/* the result */
	struct profile *def;		/* the default profile of the same link layer */
	struct profile *seen;		/* only the card's pages */
	struct json_object *top;	/* settings of the card other than capabilities */
	FILE *report;			/* gets a list of what differs from the card */
	unsigned int unmodelled, adapted;
};

/*
 * Capabilities that the sources of the HCA read, and which are not in the default profile's table.
 * The HCA models these capabilities and the capabilities in that table.
 */
static const struct {
	unsigned int page;
	const char *field;
} modelled[] = {
	{ PAGE_GENERAL, "apm" },
	{ PAGE_GENERAL, "cq_period_mode_modify" },
	{ PAGE_GENERAL, "cq_period_start_from_cqe" },
	{ PAGE_GENERAL, "disable_local_lb_mc" },
	{ PAGE_GENERAL, "disable_local_lb_uc" },
	{ PAGE_GENERAL, "dp_ordering_ooo_all_dc" },
	{ PAGE_GENERAL, "end_pad" },
	{ PAGE_GENERAL, "log_tag_matching_list_sz" },
	{ PAGE_GENERAL, "qos" },
	{ PAGE_GENERAL, "relaxed_ordering_read" },
	{ PAGE_GENERAL, "relaxed_ordering_read_pci_enabled" },
	{ PAGE_GENERAL, "relaxed_ordering_read_umr" },
	{ PAGE_GENERAL, "relaxed_ordering_write" },
	{ PAGE_GENERAL, "relaxed_ordering_write_umr" },
	{ PAGE_GENERAL, "rq_ts_format" },
	{ PAGE_GENERAL, "rndv_offload_rc" },
	{ PAGE_GENERAL, "sq_ts_format" },
	{ PAGE_GENERAL, "stat_rate_support" },
	{ PAGE_GENERAL, "tag_matching" },
	{ PAGE_GENERAL, "umr_indirect_mkey_disabled" },
	{ PAGE_GENERAL, "umr_modify_atomic_disabled" },
	{ PAGE_GENERAL, "umr_modify_entity_size_disabled" },
	{ PAGE_GENERAL, "umr_ptr_rlky" },
	{ PAGE_GENERAL, "vport_counters" },
	{ PAGE_GENERAL_2, "min_mkey_log_entity_size_fixed_buffer" },
	{ PAGE_GENERAL_2, "min_mkey_log_entity_size_fixed_buffer_valid" },
	{ PAGE_ODP, "mem_page_fault" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.page_prefetch" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.atomic" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.read" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.receive" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.send" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.srq_receive" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.rc_odp_caps.write" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.uc_odp_caps.send" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.ud_odp_caps.send" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.xrc_odp_caps.atomic" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.xrc_odp_caps.read" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.xrc_odp_caps.send" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.xrc_odp_caps.srq_receive" },
	{ PAGE_ODP, "memory_page_fault_scheme_cap.xrc_odp_caps.write" },
	{ PAGE_QOS, "packet_pacing" },
	{ PAGE_QOS, "packet_pacing_burst_bound" },
	{ PAGE_QOS, "packet_pacing_max_rate" },
	{ PAGE_QOS, "packet_pacing_min_rate" },
	{ PAGE_QOS, "packet_pacing_rate_table_size" },
	{ PAGE_QOS, "packet_pacing_typical_size" },
	{ PAGE_QOS, "packet_pacing_uid" },
};

/*
 * Capabilities that the HCA models up to their value in the default profile. Of a bitmap (@bits)
 * the HCA models the bits that are set in that value.
 */
static const struct {
	unsigned int page;
	const char *field;
	bool bits;
} limited[] = {
	{ PAGE_GENERAL, "uctx_cap", true },
	{ PAGE_GENERAL, "max_indirection", false },
	{ PAGE_GENERAL, "native_port_num", false },
	{ PAGE_GENERAL, "num_of_uars_per_page", false },
	{ PAGE_ATOMIC, "atomic_operations", true },
	{ PAGE_ATOMIC, "atomic_size_qp", true },
	{ PAGE_DEV_EVENT, "user_affiliated_events", true },
	{ PAGE_DEV_EVENT, "user_unaffiliated_events", true },
	{ PAGE_DEV_MEM, "memic_operations", true },
	{ PAGE_ROCE, "roce_version", true },
	{ PAGE_ROCE, "l3_type", true },
	{ PAGE_ROCE, "roce_address_table_size", false },
};

/* ---- the card's pages ------------------------------------------------------------------------ */

/* Read hexadecimal digits, with any white space among them. The end of the page may be left out. */
static int card_read_hex(FILE *f, uint8_t *page)
{
	unsigned int digits = 0;
	int c;

	while ((c = getc(f)) != EOF) {
		if (isspace(c))
			continue;
		if (!isxdigit(c) || digits == 2 * HCA_CAP_SIZE)
			return -EINVAL;
		c = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
		page[digits / 2] |= digits % 2 ? c : c << 4;
		digits++;
	}
	return digits && digits % 2 == 0 ? 0 : -EINVAL;
}

/* Read one page from its file. Returns 0, 1 if there is no such file, or -EINVAL. */
static int card_read_file(struct card *c, const char *dir, bool cur, unsigned int type, char *why,
			  size_t len)
{
	char path[4096];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/%02x-%s.hex", dir, type, cur ? "cur" : "max");
	f = fopen(path, "r");
	if (!f)
		return errno == ENOENT ? 1 : profile_refuse(why, len, "cannot read %s", path);
	err = card_read_hex(f, c->seen->cap[cur][type]);
	fclose(f);
	return err ? profile_refuse(why, len, "%s is not a page of up to %u bytes in hexadecimal",
				    path, HCA_CAP_SIZE) : 0;
}

static int card_read_pages(struct card *c, const char *dir, char *why, size_t len)
{
	unsigned int type;

	for (type = 0; type < HCA_CAP_TYPES; type++) {
		int max = card_read_file(c, dir, false, type, why, len);
		int cur = max < 0 ? max : card_read_file(c, dir, true, type, why, len);

		if (max < 0 || cur < 0)
			return -EINVAL;
		if (max != cur)
			return profile_refuse(why, len, "%s has only one of %02x-max.hex and "
					      "%02x-cur.hex", dir, type, type);
		c->seen->cap_valid[type] = !max;
	}
	if (!c->seen->cap_valid[CAP_GENERAL])
		return profile_refuse(why, len, "there is no 00-max.hex in %s", dir);
	return 0;
}

/* ---- capabilities that the profile takes from the card's files ------------------------------- */

static bool card_models(const struct card *c, unsigned int page, const char *field)
{
	const char *name;
	unsigned int i, of;

	for (i = 0; (name = profile_default_cap(c->p->eth, i, &of)); i++)
		if (of == page && !strcmp(name, field))
			return true;
	for (i = 0; i < ARRAY_SIZE(modelled); i++)
		if (modelled[i].page == page && !strcmp(modelled[i].field, field))
			return true;
	return false;
}

/* The value nearest to @v that the HCA can have. */
static uint64_t card_allowed(const struct card *c, unsigned int page, const char *field, uint64_t v)
{
	uint32_t min, max;
	unsigned int i;

	if (c->p->eth && profile_eth_lacks(page, field))
		return 0;
	if (page == PAGE_GENERAL && profile_bound(field, &min, &max))
		v = v < min ? min : v > max ? max : v;
	for (i = 0; i < ARRAY_SIZE(limited); i++) {
		uint64_t most = cap_get(c->def, false, page, field);

		if (limited[i].page != page || strcmp(limited[i].field, field))
			continue;
		if (limited[i].bits)
			v &= most;
		else if (v > most)
			v = most;
	}
	return v;
}

static void card_set(struct card *c, unsigned int page, const char *field, uint64_t max,
		     uint64_t cur)
{
	cap_put(c->p, false, &cap_pages[page], field, max);
	cap_put(c->p, true, &cap_pages[page], field, cur);
}

/*
 * If a driver may set a capability, a card's current value is what its driver has set, and not the
 * value after a reset: take the default profile's current value, as far as the maximum allows.
 */
static void card_take(struct card *c, unsigned int page, const char *field)
{
	uint64_t max, cur;

	if (!c->seen->cap_valid[cap_pages[page].type])
		return;
	max = card_allowed(c, page, field, cap_get(c->seen, false, page, field));
	cur = card_allowed(c, page, field, cap_get(c->seen, true, page, field));
	if (caps_settable(cap_pages[page].type, field))
		cur = cap_get(c->def, true, page, field);
	card_set(c, page, field, max, cur < max ? cur : max);
}

static void card_take_all(struct card *c)
{
	const char *field;
	unsigned int i, page;

	for (i = 0; (field = profile_default_cap(c->p->eth, i, &page)); i++)
		card_take(c, page, field);
	for (i = 0; i < ARRAY_SIZE(modelled); i++)
		card_take(c, modelled[i].page, modelled[i].field);
}

/* ---- changes without which the profile would be refused -------------------------------------- */

/* Change a number of the settings to the nearest number that the HCA can have. */
static void card_fit_number(struct card *c, const char *key, unsigned int *n, unsigned int min,
			    unsigned int max)
{
	unsigned int had = *n;

	*n = had < min ? min : had > max ? max : had;
	if (*n == had)
		return;
	fprintf(c->report, "%s: the card has %u, the profile %u\n", key, had, *n);
	json_object_object_add(c->top, key, json_object_new_int64(*n));
	c->adapted++;
}

/* Replace a part that the HCA does not know, such as a virtual function, by the default part. */
static void card_fit_part(struct card *c)
{
	if (profile_hw_id(c->p))
		return;
	fprintf(c->report, "part: the card has %u, the profile %u\n", c->p->part, c->def->part);
	c->p->part = c->def->part;
	json_object_object_del(c->top, "part");
	c->adapted++;
}

/*
 * If the card's device memory does not fit the BAR, as the HCA lays it out, put device memory of
 * the default profile's size at the end of the BAR. If the card has no device memory, take the
 * default profile's page: the card's page may have any values.
 */
static void card_fit_memic(struct card *c)
{
	uint64_t size = cap_get(c->def, true, PAGE_DEV_MEM, "memic_bar_size");
	uint64_t ops = cap_get(c->p, true, PAGE_DEV_MEM, "memic_operations"), start;
	bool has = profile_has_memic(c->p);
	unsigned int i;
	char why[200];

	if (has && !profile_check_memic(c->p, why, sizeof(why)))
		return;
	for (i = 0; i < 2; i++)
		memcpy(c->p->cap[i][CAP_DEV_MEM], c->def->cap[i][CAP_DEV_MEM], HCA_CAP_SIZE);
	if (!has)
		return;
	fprintf(c->report, "device_memory: the HCA cannot have the card's: %s\n", why);
	c->adapted++;
	start = (1ull << c->p->log_bar_size) - (1 + MEMIC_OPS) * size;
	card_set(c, PAGE_DEV_MEM, "memic_operations", ops, ops);
	card_set(c, PAGE_DEV_MEM, "memic_bar_start_addr", start, start);
}

/*
 * Clear capabilities that the HCA cannot offer because the card lacks another capability, and set
 * capabilities that follow from the link layer and the size of the BAR.
 */
static void card_fit_pairs(struct card *c)
{
	unsigned int i;

	for (i = 1; i < NR_PAGES; i++)
		if (!c->seen->cap_valid[cap_pages[i].type])
			card_set(c, PAGE_GENERAL, cap_pages[i].enable, 0, 0);
	if (!cap_gen(c->p, "eth_net_offloads") || !cap_gen(c->p, "nic_flow_table")) {
		card_set(c, PAGE_GENERAL, "eth_net_offloads", 0, 0);
		card_set(c, PAGE_GENERAL, "nic_flow_table", 0, 0);
	}
	if (!cap_gen(c->p, "log_max_umem"))
		card_set(c, PAGE_GENERAL, "umem_uid_0", 0, 0);
	if (!cap_gen(c->p, "log_max_uctx"))
		card_set(c, PAGE_GENERAL, "event_cap", 0, 0);
	if (!cap_get(c->p, true, PAGE_ATOMIC, "atomic_operations") ||
	    !cap_get(c->p, true, PAGE_ATOMIC, "atomic_size_qp"))
		card_set(c, PAGE_GENERAL, "atomic", 0, 0);
	if (!cap_get(c->p, true, PAGE_DEV_MEM, "memic"))
		card_set(c, PAGE_GENERAL, "device_memory", 0, 0);
	card_set(c, PAGE_GENERAL, "port_type", c->p->eth, c->p->eth);
	card_set(c, PAGE_GENERAL, "uar_sz", c->p->log_bar_size - 20, c->p->log_bar_size - 20);
}

static void card_fit(struct card *c)
{
	card_fit_number(c, "log_bar_size", &c->p->log_bar_size, 20, 32);
	card_fit_number(c, "vectors", &c->p->vectors, 1, HCA_MAX_VECTORS);
	card_fit_number(c, "gids", &c->p->gids, 1, 8u << cap_gen(c->p, "gid_table_size"));
	card_fit_number(c, "init_pages", &c->p->init_pages, 0, CARD_MAX_PAGES);
	card_fit_part(c);
	card_fit_pairs(c);
	card_fit_memic(c);
}

/* ---- the report ------------------------------------------------------------------------------ */

/*
 * Report a capability if its maximum differs from the card's, or if its current value differs and
 * no driver can set it.
 */
static void card_compare(struct card *c, unsigned int page, const char *field)
{
	uint64_t has[2], gets[2];
	unsigned int i;
	bool model = card_models(c, page, field);

	for (i = 0; i < 2; i++) {
		has[i] = cap_get(c->seen, i, page, field);
		gets[i] = cap_get(c->p, i, page, field);
	}
	if (has[0] == gets[0] &&
	    (has[1] == gets[1] || caps_settable(cap_pages[page].type, field)))
		return;
	i = has[0] == gets[0];
	fprintf(c->report, "%s.%s: the card has %llu, the profile %llu%s\n", cap_pages[page].name,
		field, (unsigned long long)has[i], (unsigned long long)gets[i],
		model ? "" : ", as the HCA does not model it");
	if (model)
		c->adapted++;
	else
		c->unmodelled++;
}

static void card_compare_fields(struct card *c, unsigned int page, const struct ifc_struct *s,
				const char *prefix)
{
	const struct ifc_member *m;
	char path[200];

	for (m = s->field; m->name; m++) {
		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", m->name);
		if (m->sub)
			card_compare_fields(c, page, m->sub, path);
		else if (!m->reserved && m->width <= 64)
			card_compare(c, page, path);
	}
}

static const struct cap_page *card_page_of(unsigned int type)
{
	unsigned int i;

	for (i = 0; i < NR_PAGES; i++)
		if (cap_pages[i].type == type)
			return &cap_pages[i];
	return NULL;
}

static void card_compare_pages(struct card *c)
{
	unsigned int type;

	for (type = 0; type < HCA_CAP_TYPES; type++) {
		const struct cap_page *pg = card_page_of(type);
		const struct ifc_struct *s = pg ? ifc_struct_find(pg->strct) : NULL;

		if (!c->seen->cap_valid[type])
			continue;
		if (s) {
			card_compare_fields(c, pg - cap_pages, s, "");
			continue;
		}
		fprintf(c->report, "page %02x: the HCA has no such capabilities\n", type);
		c->unmodelled++;
	}
}

/* ---- the profile as JSON --------------------------------------------------------------------- */

static void card_print_cap(const struct card *c, struct json_object *caps, unsigned int page,
			   const char *field)
{
	struct json_object *to, *v;
	uint64_t max = cap_get(c->p, false, page, field), cur = cap_get(c->p, true, page, field);

	if (max == cap_get(c->def, false, page, field) && cur == cap_get(c->def, true, page, field))
		return;
	if (!json_object_object_get_ex(caps, cap_pages[page].name, &to)) {
		to = json_object_new_object();
		json_object_object_add(caps, cap_pages[page].name, to);
	}
	v = json_object_new_int64(max);
	if (max != cur) {
		struct json_object *both = json_object_new_object();

		json_object_object_add(both, "max", v);
		json_object_object_add(both, "cur", json_object_new_int64(cur));
		v = both;
	}
	json_object_object_add(to, field, v);
}

static void card_print(const struct card *c, FILE *out)
{
	struct json_object *caps = json_object_new_object();
	struct json_object *said;
	const char *field;
	unsigned int i, page;
	char comment[400];

	for (i = 0; (field = profile_default_cap(c->p->eth, i, &page)); i++)
		card_print_cap(c, caps, page, field);
	for (i = 0; i < ARRAY_SIZE(modelled); i++)
		card_print_cap(c, caps, modelled[i].page, modelled[i].field);
	if (!json_object_object_get_ex(c->top, "comment", &said))
		said = NULL;
	snprintf(comment, sizeof(comment),
		 "%.200s%sThe card also has %u capabilities that the HCA does not model; %u others "
		 "have another value here.", said ? json_object_get_string(said) : "",
		 said ? " " : "", c->unmodelled, c->adapted);
	json_object_object_add(c->top, "comment", json_object_new_string(comment));
	json_object_object_add(c->top, "caps", caps);
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(c->top, JSON_C_TO_STRING_PRETTY |
					       JSON_C_TO_STRING_PRETTY_TAB |
					       JSON_C_TO_STRING_NOSLASHESCAPE |
					       JSON_C_TO_STRING_SPACED));
}

static int card_make(struct card *c, const char *dir, FILE *out, char *why, size_t len)
{
	int err = profile_default(c->p, false);

	if (!err)
		err = profile_load_settings(c->p, c->top, why, len);
	if (!err)
		err = profile_default(c->def, c->p->eth);
	if (!err)
		err = card_read_pages(c, dir, why, len);
	if (err)
		return err;
	card_take_all(c);
	card_fit(c);
	card_compare_pages(c);
	c->p->core_clock_khz = cap_gen(c->p, "device_frequency_khz");
	profile_set_ranges(c->p);
	err = profile_check(c->p, why, len);
	if (!err)
		card_print(c, out);
	return err;
}

/**
 * profile_from_card() - make a profile of what a card says, and print it
 * @settings: file of a profile without capabilities: what else is known of the card
 * @dir: has TYPE-max.hex and TYPE-cur.hex, the answers to QUERY_HCA_CAP, TYPE in two digits
 * @out: where to print the profile
 * @report: where to list what differs between the card and the profile
 * @why: set to the reason for a refusal
 * @len: bytes of @why
 *
 * Return: 0, or -EINVAL, also if memory is short.
 */
int profile_from_card(const char *settings, const char *dir, FILE *out, FILE *report, char *why,
		      size_t len)
{
	struct profile *p = calloc(3, sizeof(*p));
	struct card c = { .p = p, .def = p + 1, .seen = p + 2, .report = report };
	int err = -EINVAL;

	if (!p)
		return profile_refuse(why, len, "out of memory");
	c.top = json_object_from_file(settings);
	if (!c.top)
		profile_refuse(why, len, "%s", json_util_get_last_err());
	else
		err = card_make(&c, dir, out, why, len);
	json_object_put(c.top);
	free(p);
	return err;
}
