/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs of users (RC, UC, UD, XRC) and of kernel consumers (RC, UC, UD, SMI, GSI). Each kind
 * of queue pairs has a table of operations.
 */

#ifndef BLUEBELL_QP_H
#define BLUEBELL_QP_H

#include <linux/mlx5/device.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_qp.h"
#include "lib/buf.h"
#include "lib/rsc.h"
#include "verbs/uar.h"

/* @bfregn of a QP whose doorbell is not on a static register of its context. */
#define MLX5_IB_INVALID_BFREG		(-1)

struct mlx5_ib_fw_batch;
struct mlx5_ib_qp;
struct mlx5_ib_ucontext;
struct mlx5_ib_wqs;
struct notifier_block;

/**
 * struct mlx5_ib_qp_part - an object of which a queue pair consists
 * @num: number of the object
 * @attempt: attempts to destroy the object
 */
struct mlx5_ib_qp_part {
	u32 num;
	const struct mlx5_ib_fw_attempt *attempt;
};

/**
 * struct mlx5_ib_qp_ops - what a kind of queue pair does
 * @create: creates a queue pair, after mlx5_ib_qp_create() has set what all kinds have. @udata is
 *	NULL for a kernel consumer, and for the target of an XRC connection. Sets the capacities in
 *	@init to those that the queue pair has. After an error nothing is left but perhaps an orphan
 *	(orphan.c)
 * @modify: changes the state and attributes, as ib_core asks
 * @query: reads the attributes but not the capacities; the state goes to @qp->state. @attr is
 *	zeroed; @qp->mutex is held
 * @set_counter: has the queue pair count in a Q counter set. In RTS it counts there from now on, in
 *	another state when it next goes from RESET to INIT, or to RTS. If the device cannot change
 *	the set of a QP in RTS, a change to RTS does not change the set. After an error the queue
 *	pair counts where it did. NULL for kinds that are not one QP at the device
 * @find_part: finds the object of a kind (enum mlx5_ib_devx_kind) of which the queue pair consists,
 *	for a command of its process (DEVX). Returns false if the queue pair has none. NULL for
 *	kinds that are one QP at the device, and for kinds whose objects processes cannot name
 * @destroy: destroys everything that the queue pair consists of. After an error @destroy is called
 *	again, and continues where it stopped
 * @destroy_early: begins to destroy what the queue pair consists of, by commands of @batch;
 *	@destroy is called when the batch has been executed. NULL: all is left to @destroy
 * @post_send: posts the requests before @end; NULL for kinds that kernel consumers do not post to.
 *	Any context
 *
 * A queue pair can be one object of the device, several, or none for a time: only the operations of
 * its kind know which objects.
 */
struct mlx5_ib_qp_ops {
	int (*create)(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata);
	int (*modify)(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
	int (*query)(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr);
	int (*set_counter)(struct mlx5_ib_qp *qp, u16 set_id);
	bool (*find_part)(const struct mlx5_ib_qp *qp, u8 kind, struct mlx5_ib_qp_part *part);
	int (*destroy)(struct mlx5_ib_qp *qp);
	void (*destroy_early)(struct mlx5_ib_qp *qp, struct mlx5_ib_fw_batch *batch);
	int (*post_send)(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr *end, const struct ib_send_wr **bad);
};

/**
 * struct mlx5_ib_qp - queue pair
 * @ibqp: verbs object; ib_core allocates and frees the whole
 * @ops: operations of the queue pair's kind. Constant
 * @priv: data of the queue pair's kind: struct mlx5_ib_gsi for QP1, struct mlx5_ib_raw_qp for a
 *	queue pair for raw packets, struct mlx5_ib_object for one that spreads packets over several
 *	receive queues (rss_qp.c), struct mlx5_ib_dct for a DC target; otherwise NULL
 * @wqs: work queues of a kernel consumer; otherwise NULL. Constant
 * @uid: user id of the commands on the queue pair: that of the owner, but MLX5_IB_KERNEL_UID for an
 *	XRC queue pair. Constant
 * @mutex: guards the members from @state to @counts_in. But @state is also read without the mutex,
 *	and mlx5_ib_destroy_qp() sets @closing without the mutex. Held across the state-change
 *	command, so that @state is the state that the command has set
 * @state: state that was last set or queried; the device itself may have left it after an error
 * @closing: the queue pair is being destroyed because its process has closed the device: the driver
 *	neither reads nor changes its attributes any more
 * @access: enum ib_access_flags last asked for
 * @dest_rd_atomic: responder resources last asked for
 * @out_of_order: receive WQEs are consumed in any order from RTR on, as a change to INIT asked for
 * @counter_set: Q counter set that the queue pair is to count in
 * @counts_in: Q counter set that the QP's context at the device names, from INIT on
 * @rsc: the QP at the device, and its entry in the table in which the QP of an event is looked up
 *	by number. @rsc.ops is NULL for a queue pair that is not plain (mlx5_ib_qp_is_plain())
 * @sends_as_qp1: the queue pair is a sender of QP1, see gsi.c. Constant
 * @tirn: number of the TIR through which a queue pair for raw packets receives; otherwise 0.
 *	Constant
 * @loopback: the port has to receive what it sends as long as the queue pair exists
 * @mem: memory of the work queues, doorbell record, and UAR object of a user, released after the
 *	queues are destroyed. For the target of an XRC connection @mem.share alone, which counts the
 *	target against the limit of a user
 * @bell: entry of a user's queue pair in its context's list of queues, for the report of UARs
 *	(uar_report.c)
 * @bfregn: number of the static doorbell register (bfreg) to free after the queues are destroyed,
 *	or MLX5_IB_INVALID_BFREG
 * @ucmd: the library's request; without a user, the sizes of the queues only; constant
 * @qpc: context that the QP was created with, struct mlx5_ifc_qpc_bits; constant. Of a queue pair
 *	for raw packets it has only the UAR
 * @init: what the consumer created the queue pair with, and the capacities that it has; constant
 */
struct mlx5_ib_qp {
	struct ib_qp ibqp;
	const struct mlx5_ib_qp_ops *ops;
	void *priv;
	struct mlx5_ib_wqs *wqs;
	u16 uid;
	struct mutex mutex; /* held across state changes; guards state to counts_in */
	enum ib_qp_state state;
	bool closing;
	u32 access;
	u8 dest_rd_atomic;
	bool out_of_order;
	u16 counter_set;
	u16 counts_in;
	struct mlx5_ib_rsc rsc;
	bool sends_as_qp1;
	u32 tirn;
	bool loopback;
	struct mlx5_ib_queue_mem mem;
	struct mlx5_ib_bell bell;
	int bfregn;
	struct mlx5_ib_create_qp ucmd;
	u32 qpc[MLX5_ST_SZ_DW(qpc)];
	struct ib_qp_init_attr init;
};

static inline struct mlx5_ib_qp *to_mqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct mlx5_ib_qp, ibqp);
}

/*
 * Whether a queue pair is plain, that is, one QP at the device. A queue pair of another kind can be
 * several objects, or none.
 */
static inline bool mlx5_ib_qp_is_plain(const struct mlx5_ib_qp *qp)
{
	return qp->rsc.ops;
}

/* qp.c: verbs */
int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mlx5_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init);
int mlx5_ib_qp_set_counter(struct mlx5_ib_qp *qp, u16 set_id);
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int mlx5_ib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad);
void mlx5_ib_destroy_qp_early(struct ib_qp *ibqp, struct mlx5_ib_fw_batch *batch);

/* qp_user.c, raw_qp.c, rss_qp.c, qp_kernel.c, gsi.c: the kinds */
extern const struct mlx5_ib_qp_ops mlx5_ib_user_qp_ops;
extern const struct mlx5_ib_qp_ops mlx5_ib_raw_qp_ops;
extern const struct mlx5_ib_qp_ops mlx5_ib_rss_qp_ops;
extern const struct mlx5_ib_qp_ops mlx5_ib_xrc_target_ops;
extern const struct mlx5_ib_qp_ops mlx5_ib_kernel_qp_ops;
extern const struct mlx5_ib_qp_ops mlx5_ib_gsi_ops;

/* qp_report.c */
void mlx5_ib_qp_deliver(struct mlx5_ib_qp *qp, enum ib_event_type type);
int mlx5_ib_qp_respond_modify(struct ib_udata *udata, u32 ece);

/* qp_modify.c: what the library adds to a change */
int mlx5_ib_qp_copy_modify(struct mlx5_ib_dev *dev, enum ib_qp_type type, struct ib_udata *udata,
			   struct mlx5_ib_modify_qp *ucmd);

/* qp_common.c, qp_modify.c: common to several kinds of queue pairs */
extern const struct mlx5_ib_rsc_ops mlx5_ib_plain_qp_rsc_ops;
int mlx5_ib_qp_create(struct mlx5_ib_qp *qp, const struct mlx5_ib_qp_ops *ops,
		      struct ib_qp_init_attr *init, struct ib_udata *udata);
int mlx5_ib_check_qp(const struct mlx5_ib_qp *qp);
int mlx5_ib_qp_tirn(const struct mlx5_ib_qp *qp, u32 *tirn);
void mlx5_ib_plain_qp_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type);
void mlx5_ib_plain_qp_fill_qpc(struct mlx5_ib_qp *qp, const struct ib_qp_init_attr *init,
			       u8 cqe_version);
int mlx5_ib_plain_qp_create(struct mlx5_ib_qp *qp, const struct mlx5_ib_rsc_ops *ops,
			    struct mlx5_ib_create_qp_resp *resp, struct ib_udata *udata);
int mlx5_ib_plain_qp_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr);
int mlx5_ib_plain_qp_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
			    struct ib_udata *udata);
int mlx5_ib_plain_qp_set_counter(struct mlx5_ib_qp *qp, u16 set_id);

/* qp_doorbell.c */
int mlx5_ib_qp_get_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp, u32 *bfreg_index);
void mlx5_ib_qp_put_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp);
void mlx5_ib_qp_add_bell(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp);

/* qp_number.c */
void mlx5_ib_qp_take_number(struct mlx5_ib_qp *qp);
void mlx5_ib_qp_give_number(struct mlx5_ib_qp *qp);

/* qp_error.c */
void mlx5_ib_qp_log_error(struct mlx5_ib_qp *qp, enum ib_event_type type);

/* wr.c: work requests of kernel consumers */
int mlx5_ib_post_sends(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad);
int mlx5_ib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

/* wqe_read.c */
struct ib_pd *mlx5_ib_qp_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				  struct mlx5_ib_odp_sges *sges);

#if IS_ENABLED(CONFIG_KUNIT)
/* qp_error.c */
bool mlx5_ib_qp_event_is_fatal(enum ib_event_type type);
const char *mlx5_ib_qp_owner(const struct ib_qp *ibqp, char *buf, size_t size);
const char *mlx5_ib_qp_error_reason(const struct mlx5_ib_qp *qp, char *buf, size_t size);

/* gsi.c */
void mlx5_ib_gsi_watch(struct mlx5_ib_dev *dev, struct notifier_block *events, bool on);
#endif

#endif /* BLUEBELL_QP_H */
