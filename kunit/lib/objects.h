/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects that a process creates by verbs: what must exist before each of them, and what a verb
 * that fails could leave behind.
 */

#ifndef BLUEBELL_KUNIT_OBJECTS_H
#define BLUEBELL_KUNIT_OBJECTS_H

#include <kunit/test.h>
#include <linux/types.h>

#include "fw/bluebell.h"
#include "mock.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/rwq.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

/**
 * enum object_id - objects, in no particular order
 * @OBJ_NONE: no object
 * @OBJ_CONTEXT: a context of 16 bfregs
 * @OBJ_OLD_CONTEXT: the same, by the request of an old library
 * @OBJ_DEVX_CONTEXT: the same, with a user id
 * @OBJ_LARGE_CONTEXT: a context of 512 bfregs
 * @OBJ_PD: a protection domain
 * @OBJ_MR: a memory region of MR_PAGES pages
 * @OBJ_CQ: a completion queue
 * @OBJ_RC_QP: a queue pair with queues of its own
 * @OBJ_UC_QP: the same
 * @OBJ_UD_QP: the same
 * @OBJ_SRQ: a shared receive queue
 * @OBJ_SRQ_QP: a queue pair that receives from the SRQ
 * @OBJ_TM_SRQ: an SRQ with tag matching, on a device that has it
 * @OBJ_XRC: the internal objects of the driver for XRC
 * @OBJ_XRCD: an XRC domain
 * @OBJ_XRC_SRQ: an SRQ of the XRC domain
 * @OBJ_XRC_INI: an XRC initiator
 * @OBJ_XRC_TGT: an XRC target, which ib_core creates without a context
 * @OBJ_TD: the transport domain of the context, on a device with queues for raw packets
 * @OBJ_RAW_QP: a queue pair for raw packets
 * @OBJ_SENDER: the same, without a receive queue
 * @OBJ_RECEIVER: the same, without a send queue
 * @OBJ_WQ: a work queue
 * @OBJ_RQT: an indirection table of two entries
 * @OBJ_RSS_QP: a queue pair that spreads packets over the table
 * @NUM_OBJECT_IDS: number of objects
 */
enum object_id {
	OBJ_NONE,
	OBJ_CONTEXT,
	OBJ_OLD_CONTEXT,
	OBJ_DEVX_CONTEXT,
	OBJ_LARGE_CONTEXT,
	OBJ_PD,
	OBJ_MR,
	OBJ_CQ,
	OBJ_RC_QP,
	OBJ_UC_QP,
	OBJ_UD_QP,
	OBJ_SRQ,
	OBJ_SRQ_QP,
	OBJ_TM_SRQ,
	OBJ_XRC,
	OBJ_XRCD,
	OBJ_XRC_SRQ,
	OBJ_XRC_INI,
	OBJ_XRC_TGT,
	OBJ_TD,
	OBJ_RAW_QP,
	OBJ_SENDER,
	OBJ_RECEIVER,
	OBJ_WQ,
	OBJ_RQT,
	OBJ_RSS_QP,
	NUM_OBJECT_IDS,
};

#define MR_PAGES	3

/**
 * struct objects - what a process has created
 * @mock: the device and the context
 * @pd: the protection domain
 * @cq: the completion queue
 * @xrcd: the XRC domain
 * @srq: the shared receive queue, basic or XRC
 * @qp: the queue pair of any type
 * @wq: the work queue
 * @rqt: the indirection table
 * @mr: the memory region
 * @existing: what exists, in order of creation
 * @num_existing: number of elements of @existing
 * @ctx_flags: flags of the context, %MLX5_IB_ALLOC_UCTX_DEVX or 0
 * @srq_wr: receive requests that the basic SRQ is to hold
 * @srq_tags: tags of an SRQ with tag matching
 * @srq_flags: flags of the library's request for an SRQ: %MLX5_SRQ_FLAG_SIGNATURE or 0
 * @break_response: the response of each call goes to an address that is not mapped
 * @newer_request: the library is newer than the driver, so that the request of the next call has a
 *	field that the driver does not know; set to false by a call that could have a request
 * @cq_buf: address of the buffer of @cq
 * @cq_db: address of the doorbell record of @cq
 * @srq_buf: address of the buffer of @srq
 * @srq_db: address of the doorbell record of @srq
 * @qp_buf: address of the buffer of @qp
 * @qp_db: address of the doorbell record of @qp
 * @raw_sq_buf: address of the buffer of the send queue of a queue pair for raw packets
 * @mr_start: address of the memory of @mr
 */
struct objects {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq cq;
	struct mlx5_ib_xrcd xrcd;
	struct mlx5_ib_srq srq;
	struct mlx5_ib_qp qp;
	struct ib_wq *wq;
	struct mlx5_ib_rqt rqt;
	struct ib_mr *mr;
	enum object_id existing[NUM_OBJECT_IDS];
	unsigned int num_existing;
	u32 ctx_flags;
	u32 srq_wr;
	u32 srq_tags;
	u32 srq_flags;
	bool break_response;
	bool newer_request;
	unsigned long cq_buf;
	unsigned long cq_db;
	unsigned long srq_buf;
	unsigned long srq_db;
	unsigned long qp_buf;
	unsigned long qp_db;
	unsigned long raw_sq_buf;
	unsigned long mr_start;
};

/**
 * struct object_type - how a test creates and destroys an object
 * @name: name of the object in the results
 * @needs: what must exist before, in order of creation; OBJ_NONE ends the list
 * @create: create the object
 * @destroy: destroy the object
 * @commands: number of commands that @create sends; each of them creates one firmware object
 * @qp_type: type of a queue pair
 * @has_response: @create copies a response to the process
 * @may_stay: @destroy fails if firmware refuses to destroy the object
 * @orphans_first: orphans may refer to the object, so that @destroy tries to destroy them first
 */
struct object_type {
	const char *name;
	enum object_id needs[3];
	int (*create)(struct objects *o, const struct object_type *type);
	int (*destroy)(struct objects *o);
	unsigned int commands;
	enum ib_qp_type qp_type;
	bool has_response;
	bool may_stay;
	bool orphans_first;
};

/**
 * struct footprint - everything that a verb can leave behind
 * @live: objects that firmware keeps
 * @pinned: pinned pages of the process
 * @bfregs: uses of bfregs of the context
 * @db_pages: the context has pages with doorbell records
 * @rscs: the table of queue pairs and SRQs is not empty
 * @queue_mems: internal queues that have memory of the kernel
 * @reg_pages: pages of memory regions, as sysfs shows them
 * @counted: what counts for all users, of all kinds together
 */
struct footprint {
	unsigned int live;
	long pinned;
	unsigned int bfregs;
	bool db_pages;
	bool rscs;
	unsigned int queue_mems;
	int reg_pages;
	long counted;
};

extern const struct object_type object_types[NUM_OBJECT_IDS];

struct objects *objects_make(struct kunit *test);
struct ib_udata *objects_udata(struct objects *o, const void *in, size_t inlen, size_t outlen);
int objects_need(struct objects *o, enum object_id id);
int objects_create(struct objects *o, enum object_id id);
int objects_destroy(struct objects *o, enum object_id id);
int objects_destroy_all(struct objects *o);
int objects_create_qp(struct objects *o, struct mlx5_ib_qp *qp, enum ib_qp_type type);
int objects_create_qp_on(struct objects *o, struct mlx5_ib_qp *qp, enum ib_qp_type type,
			 struct ib_cq *send_cq, struct ib_cq *recv_cq);
void footprint_take(struct mock *mock, struct footprint *fp);
void footprint_expect(struct mock *mock, const struct footprint *want, const char *after,
		      unsigned int n);

#endif /* BLUEBELL_KUNIT_OBJECTS_H */
