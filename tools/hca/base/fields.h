/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures of mlx5_ifc.h as data, generated at build time by gen-fields.py. The trace decodes
 * commands with them, profiles set capabilities by name, and reserved fields are checked with them.
 */
#ifndef BLUEBELL_FIELDS_H
#define BLUEBELL_FIELDS_H

#include <stdbool.h>
#include "ifc.h"

struct ifc_struct;

struct ifc_member {
	const char *name;		/* members of inner structures have dots */
	uint32_t off;			/* bits from the start of the structure */
	uint32_t width;			/* bits of one element */
	uint16_t count;			/* elements; 0: as many as the buffer holds */
	bool reserved;
	const struct ifc_struct *sub;	/* structure of an element; NULL: the element is a number */
};

struct ifc_struct {
	const char *name;		/* create_cq_in for struct mlx5_ifc_create_cq_in_bits */
	uint32_t bits;
	const struct ifc_member *field;	/* ended by a NULL name */
};

extern const struct ifc_struct *const ifc_structs[];	/* sorted by name */
extern const unsigned int ifc_nr_structs;

const struct ifc_struct *ifc_struct_find(const char *name);
/*
 * Find a field by its path through nested structures, as "qpc.primary_address_path.sl"; *off is its
 * bit offset.
 */
const struct ifc_member *ifc_member_find(const struct ifc_struct *s, const char *path,
					 uint32_t *off);

#endif
