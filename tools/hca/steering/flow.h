/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow tables, their groups and entries, and the root: what the commands of steering build, and
 * what steer.c looks up.
 */
#ifndef BLUEBELL_FLOW_H
#define BLUEBELL_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "caps.h"
#include "match.h"
#include "object.h"

struct hca;
struct hca_module;

/*
 * table_type, as enum fs_flow_table_type in linux/mlx5/fs.h: tables that frames pass which the NIC
 * receives or sends, tables for copies of all frames that the port receives or sends, and tables
 * for the frames of RoCE. Each type has a root of its own, and no frame goes from a table to one of
 * another type.
 */
enum flow_type {
	FLOW_NIC_RX = 0, FLOW_NIC_TX = 1, FLOW_SNIFFER_RX = 5, FLOW_SNIFFER_TX = 6, FLOW_RDMA_RX = 7,
	FLOW_RDMA_TX = 8, FLOW_TYPES = 9,
};

/* Bits of action, as MLX5_FLOW_CONTEXT_ACTION_* in mlx5_ifc.h. */
enum flow_action { FLOW_ALLOW = 1, FLOW_DROP = 2, FLOW_FWD = 4, FLOW_COUNT = 8 };

/* destination_type, as enum mlx5_ifc_flow_destination_type in mlx5_ifc.h. */
enum flow_dest_type { FLOW_TO_TABLE = 1, FLOW_TO_TIR = 2 };

struct flow_dest {
	enum flow_dest_type type;
	uint32_t id;		/* of a table or TIR; a reference */
};

struct flow_table {
	struct obj obj;		/* obj.num is the table id */
	enum flow_type type;
	uint8_t level;
	uint8_t log_size;	/* entries */
	uint32_t miss_id;	/* where frames go that no entry matches; a reference. 0: nowhere */
	TAILQ_HEAD(, flow_group) groups;	/* in the order of their indices */
};

struct flow_group {
	struct obj obj;		/* obj.num is the group id */
	TAILQ_ENTRY(flow_group) link;
	struct flow_table *table;	/* a reference */
	uint32_t start, end;	/* first and last index of its entries */
	uint8_t enable;		/* match_criteria_enable */
	uint8_t criteria[MATCH_BYTES];	/* as given */
	uint8_t mask[MATCH_BYTES];	/* bits of a frame's image that the group looks at */
	unsigned int entries;
	/* Entries by index and by value: as many lists of each, a power of two. */
	unsigned int buckets;
	LIST_HEAD(flow_bucket, flow_entry) *by_index, *by_value;
};

struct flow_entry {
	struct obj obj;		/* obj.num is for the census only */
	LIST_ENTRY(flow_entry) index_link, value_link;
	struct flow_group *group;	/* a reference */
	uint32_t index;		/* in the table */
	uint8_t value[MATCH_BYTES];
	uint32_t tag;
	uint16_t action;	/* enum flow_action */
	unsigned int dests;	/* at most one of them is a table */
	struct flow_dest *dest;
	unsigned int counters;
	uint32_t *counter;	/* ids of flow counters; each a reference */
};

/* A capability of the tables of a type that the HCA has; 0 for other types. */
#define flow_cap(hca, type, fld)						\
	(flow_cap_page(type) < 0 ? 0 :						\
	 (uint32_t)ifc_get_bits((hca)->cap[CAP_FLOW_TABLE],			\
				flow_cap_page(type) + IFC_OFF(flow_table_prop_layout, fld), \
				IFC_BITS(flow_table_prop_layout, fld)))

int flow_cap_page(enum flow_type type);
struct flow_table *flow_root(struct hca *hca, enum flow_type type);
void flow_set_root(struct hca *hca, enum flow_type type, struct flow_table *t);
bool flow_is_last(struct hca *hca, const struct flow_table *t);
struct flow_table *flow_table_find(struct hca *hca, uint32_t id);
void flow_table_set_miss(struct hca *hca, struct flow_table *t, uint32_t id);
void flow_table_free(struct hca *hca, struct flow_table *t);
struct flow_group *flow_group_at(struct flow_table *t, uint32_t first, uint32_t last);
bool flow_group_add(struct flow_table *t, struct flow_group *g);
void flow_group_free(struct hca *hca, struct flow_group *g);
struct flow_entry *flow_entry_at(struct flow_table *t, uint32_t index);
struct flow_entry *flow_entry_match(struct flow_table *t, const uint8_t image[MATCH_BYTES]);
void flow_entry_add(struct flow_group *g, struct flow_entry *e);
void flow_entry_set_dests(struct hca *hca, struct flow_entry *e, struct flow_dest *dest,
			  unsigned int n);
void flow_entry_set_counters(struct hca *hca, struct flow_entry *e, uint32_t *counter,
			     unsigned int n);
void flow_entry_free(struct hca *hca, struct flow_entry *e);

extern const struct hca_module flow_module;

#endif
