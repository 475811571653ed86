/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that the handlers of several commands share: reserved fields, and objects that a context
 * names.
 */
#ifndef BLUEBELL_CHECK_H
#define BLUEBELL_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "ifc.h"
#include "object.h"
#include "refusal.h"

struct cmd;
struct hca;

/* A field of a context, for tables of fields that must be zero or are copied. */
struct ifc_field {
	uint16_t off, width;	/* bits */
	const char *name;
};

#define IFC_FIELD(typ, fld) { IFC_OFF(typ, fld), IFC_BITS(typ, fld), #fld }

const char *ifc_first_set(const void *p, const struct ifc_field *f, size_t n);
uint8_t check_offered(struct cmd *cmd, enum cmd_refusal why, const char *prefix, const void *p,
		      const struct ifc_field *f, size_t n);
uint8_t check_obj(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		  struct obj **o);
uint8_t check_shared(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		     struct obj **o);
uint8_t check_uar(struct hca *hca, struct cmd *cmd, uint32_t num, struct obj **o);
uint8_t check_destroy(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		      struct obj **o);

#endif
