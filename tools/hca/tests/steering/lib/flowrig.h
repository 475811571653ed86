/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of steering: the NIC of nicrig.h with all capabilities of flow tables of the
 * default profile, and commands that build tables, groups and entries.
 */
#ifndef BLUEBELL_TESTS_FLOWRIG_H
#define BLUEBELL_TESTS_FLOWRIG_H

#include "flow.h"
#include "nicrig.h"
#include "objrig.h"

#define FLOW_LOG_SIZE	8	/* entries of a table of the rig */
#define FLOW_TAG	0x123
#define LYR_SET(match, fld, v)	IFC_SET(fte_match_set_lyr_2_4, match, fld, v)

extern uint32_t flow_tir[2];	/* TIRs that rules can name */

int flowrig_setup(void **state);

/* Build in nic.in[] a command that succeeds. */
void flowrig_table(unsigned int level, uint32_t miss);
uint8_t *flowrig_group(uint32_t table, uint32_t start, uint32_t end);	/* its criteria */
uint8_t *flowrig_entry(uint32_t table, uint32_t group, uint32_t index);	/* its value */
void flowrig_dest(enum flow_dest_type type, uint32_t id);	/* one more destination */
void flowrig_index(uint32_t table, uint32_t index);		/* of DELETE, QUERY */
void flowrig_in_table(uint32_t table, uint32_t group);		/* of DESTROY, QUERY */
void flowrig_root(uint32_t table);

/* Run the command in nic.in[], and check that it succeeds. */
uint32_t flowrig_new(uint16_t op);
void flowrig_ok(uint16_t op);

#endif
