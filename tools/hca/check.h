/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that several command handlers share: reserved fields that must be
 * zero, page lists, doorbell records, UARs and PDs that a context names.
 */
#ifndef BLUEBELL_CHECK_H
#define BLUEBELL_CHECK_H

#include "hca.h"
#include "hca_priv.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

/* A field of a context, for tables of fields that must be zero or are copied. */
struct ifc_field {
	uint16_t off, width;	/* bits */
	const char *name;
};

#define IFC_FIELD(typ, fld) { IFC_OFF(typ, fld), IFC_BITS(typ, fld), #fld }

/* Name of the first of @n fields that is not zero in @p, or NULL. */
const char *ifc_first_set(const void *p, const struct ifc_field *f, size_t n);

/*
 * Take over the page list of a queue: @pas big-endian page addresses, of which @avail bytes came
 * with the command; pages of 2^@log_page bytes, the queue starts @offset bytes into the first.
 * Returns a firmware status; refuses short lists, misaligned and unmapped pages.
 */
uint8_t qmem_init(struct hca *hca, struct cmd *cmd, struct queue_mem *m, const uint8_t *pas,
		  size_t avail, unsigned int log_page, uint32_t offset, size_t len);
/* Bytes from a context's page_offset, in 1/64 pages; 0 if the page size is out of range. */
uint32_t qmem_offset(uint32_t page_offset, unsigned int log_page);
void qmem_free(struct queue_mem *m);
/* Host address of @len bytes at @off, NULL if they straddle pages or are not mapped. */
void *qmem_ptr(struct hca *hca, const struct queue_mem *m, size_t off, size_t len, bool write);

/* Bytes of the command's input from @p on; 0 if @p lies behind its end. */
size_t cmd_left(const struct cmd *cmd, const uint8_t *p);

/* A doorbell record of @len bytes: aligned to it and mapped. */
uint8_t check_dbr(struct hca *hca, struct cmd *cmd, uint64_t addr, size_t len);

/* Find an object that the command's uid may use, or fail with ST_BAD_RES; *o is then NULL. */
uint8_t check_obj(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		  struct obj **o);

/* Common ends of DESTROY commands: find by number and uid, refuse when still referred to. */
uint8_t check_destroy(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		      struct obj **o);

#endif
