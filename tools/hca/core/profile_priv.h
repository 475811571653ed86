/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the profile share: capability pages and capabilities by their names.
 */
#ifndef BLUEBELL_PROFILE_PRIV_H
#define BLUEBELL_PROFILE_PRIV_H

#include "profile.h"

struct json_object;

/* A page of capabilities, and its name in profiles. */
struct cap_page {
	const char *name;
	unsigned int type;
	const char *strct;	/* structure in mlx5_ifc.h */
	const char *enable;	/* the general capability that announces the page */
};

enum {
	PAGE_GENERAL = 0, PAGE_ODP = 1, PAGE_ATOMIC = 2, PAGE_ROCE = 3, PAGE_DEV_MEM = 4,
	PAGE_GENERAL_2 = 5, PAGE_DEV_EVENT = 6, PAGE_QOS = 7, PAGE_ETH = 8, PAGE_FLOW_TABLE = 9,
	NR_PAGES = 10,
};
extern const struct cap_page cap_pages[NR_PAGES];

#define CARD_MAX_PAGES	4096	/* maximum init_pages of a profile made of a card: 16 MiB */
#define FIRST_UAR	4	/* pages 0 to 3 are for the initialization segment and MSI-X */

const struct cap_page *cap_page_find(const char *name);
uint64_t cap_get(const struct profile *p, bool cur, unsigned int page, const char *field);
uint32_t cap_gen(const struct profile *p, const char *field);
uint64_t cap_memic(const struct profile *p, const char *field);
bool cap_put(struct profile *p, bool cur, const struct cap_page *pg, const char *field, uint64_t v);
int profile_check_page(const struct profile *p, unsigned int page,
		       const char *(*cap)(unsigned int i, unsigned int *page), char *why,
		       size_t len);
bool profile_has_memic(const struct profile *p);
void profile_set_ranges(struct profile *p);
int profile_load_settings(struct profile *p, struct json_object *top, char *why, size_t len);
const char *profile_default_cap(bool eth, unsigned int i, unsigned int *page);
bool profile_bound(const char *field, uint32_t *min, uint32_t *max);
bool profile_eth_set(struct profile *p);
const char *profile_eth_cap(unsigned int i, unsigned int *page);
bool profile_eth_lacks(unsigned int page, const char *field);
const char *profile_roce_cap(unsigned int i, unsigned int *page);
bool profile_roce_set(struct profile *p);
int profile_check_roce(const struct profile *p, char *why, size_t len);
int profile_check_eth(const struct profile *p, char *why, size_t len);
int profile_check_memic(const struct profile *p, char *why, size_t len);
int profile_check_bounds(const struct profile *p, char *why, size_t len);

/* Print the reason to @why. Returns -EINVAL. */
int profile_refuse(char *why, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
