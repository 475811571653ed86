/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that firmware commands make: tables by kind and number, owners and references.
 */
#ifndef BLUEBELL_OBJECT_H
#define BLUEBELL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ifc.h"

struct hca;

enum obj_kind {
	OBJ_UAR, OBJ_EQ, OBJ_PD, OBJ_TD, OBJ_XRCD, OBJ_QCOUNTER, OBJ_MKEY, OBJ_CQ, OBJ_SRQ, OBJ_QP,
	OBJ_SQ, OBJ_MEMIC, OBJ_RESERVED_LKEY, OBJ_UCTX, OBJ_UMEM, OBJ_RATE, OBJ_TIS, OBJ_RQ,
	OBJ_RQT, OBJ_TIR, OBJ_DCT, OBJ_FLOW_TABLE, OBJ_FLOW_GROUP, OBJ_FLOW_ENTRY, OBJ_FLOW_COUNTER,
	OBJ_OTHER,
	OBJ_KINDS
};

/* Owner of objects that every user may refer to, for example completion EQs. */
#define SHARED_UID	MLX5_SHARED_RESOURCE_UID

/* First member of every object. DESTROY is refused with BAD_RES_STATE while refs > 0. */
struct obj {
	enum obj_kind kind;
	uint32_t num;
	uint16_t uid;		/* user id of the owner, 0: the kernel */
	unsigned int refs;	/* objects that refer to this one */
	size_t size;		/* of the structure whose first member this is */
	bool gone;		/* freed by a command; the number stays in use while refs > 0 */
	uint64_t born_ns;
};

/* The numbers that a new object can get: @first and, up to before @limit, each @step further on. */
struct obj_numbers {
	uint32_t first, limit;
	uint32_t step;		/* a power of two, of which @first is a multiple */
};

/* Return false to stop. May free the object that it is called for, and no other. */
typedef bool (*obj_fn)(struct hca *hca, struct obj *obj, void *arg);

extern const char *const obj_kind_name[OBJ_KINDS];

int objs_init(struct hca *hca);
void objs_exit(struct hca *hca);
struct obj *obj_new(struct hca *hca, enum obj_kind kind, uint16_t uid, size_t size);
struct obj *obj_new_of(struct hca *hca, enum obj_kind kind, const struct obj_numbers *n,
		       uint16_t uid, size_t size);
struct obj *obj_new_at(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid,
		       size_t size);
struct obj *obj_find(struct hca *hca, enum obj_kind kind, uint32_t num);
struct obj *obj_find_own(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid);
struct obj *obj_find_shared(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid);
void obj_set_owner(struct hca *hca, struct obj *obj, uint16_t uid);
void obj_put(struct hca *hca, struct obj *obj);
void obj_free(struct hca *hca, struct obj *obj);
void obj_free_all(struct hca *hca, enum obj_kind kind);
void obj_for_each(struct hca *hca, enum obj_kind kind, obj_fn fn, void *arg);
unsigned int obj_total(struct hca *hca);
unsigned int obj_count(struct hca *hca, enum obj_kind kind);
unsigned int obj_count_uid(struct hca *hca, uint16_t uid);

#endif
