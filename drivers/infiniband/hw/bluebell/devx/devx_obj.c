// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware objects that a process creates, changes, queries and destroys by commands of its own,
 * and the methods of the ioctl object MLX5_IB_OBJECT_DEVX_OBJ. See mlx5dv_devx_obj_create(3), and
 * layout_devx.c for what a process may send.
 */

#include <kunit/visibility.h>
#include <linux/memcontrol.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx.h"
#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_event.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/subscription.h"
#include "odp/odp.h"
#include "verbs/cq.h"
#include "verbs/dct.h"
#include "verbs/qp.h"
#include "verbs/rwq.h"
#include "verbs/srq.h"
#include "verbs/uar.h"

/* Report the completion event of a CQ that the process armed. Called in the CQ's EQ interrupt. */
static void devx_cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	mlx5_ib_event_report(container_of(mcq, struct mlx5_ib_devx_cq, mcq)->obj.dev, eqe);
}

/*
 * Whether the command creates a CQ that reports to an event queue, and so has to be in the tables
 * of mlx5_core, which drops completion events of any other CQ. A CQ on an APU element reports to no
 * event queue.
 */
static bool devx_cq_has_eq(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	return cmd->opcode == MLX5_CMD_OP_CREATE_CQ &&
	       !MLX5_GET(create_cq_in, in, cq_context.apu_cq);
}

/*
 * Refuse a CQ on an APU element if the device has none: firmware may ignore the bit apu_cq, and put
 * the CQ on an event queue, although the CQ is not in the tables of mlx5_core.
 */
static int devx_check_apu(const struct mlx5_ib_dev *dev, const struct mlx5_ib_devx_cmd *cmd,
			  const void *in)
{
	if (cmd->opcode != MLX5_CMD_OP_CREATE_CQ || devx_cq_has_eq(cmd, in) ||
	    MLX5_CAP_GEN(dev->mdev, apu))
		return 0;
	return refuse(dev->mdev, -EOPNOTSUPP,
		      "DEVX CREATE_CQ on an APU element, which the device does not have");
}

/*
 * Choose the struct of an object. On a device with paging, lookups have to find an indirect mkey
 * (mlx5_ib_mkey_adopt()): an access through the mkey may fault on a paged region whose key is in an
 * entry of the mkey. The event of the fault may then name the indirect mkey.
 */
static enum mlx5_ib_devx_form devx_form(const struct mlx5_ib_dev *dev,
					const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	if (devx_cq_has_eq(cmd, in))
		return MLX5_IB_DEVX_WITH_MCQ;
	if (dev->odp && mlx5_ib_devx_table_entries(cmd, in))
		return MLX5_IB_DEVX_WITH_KEY;
	return MLX5_IB_DEVX_PLAIN;
}

static struct mlx5_ib_devx_obj *devx_alloc(enum mlx5_ib_devx_form form,
					   enum mlx5_ib_devx_kind kind)
{
	static const size_t size[] = {
		[MLX5_IB_DEVX_PLAIN] = sizeof(struct mlx5_ib_devx_obj),
		[MLX5_IB_DEVX_WITH_MCQ] = sizeof(struct mlx5_ib_devx_cq),
		[MLX5_IB_DEVX_WITH_KEY] = sizeof(struct mlx5_ib_devx_key),
	};
	struct mlx5_ib_devx_obj *obj = kzalloc(size[form], GFP_KERNEL_ACCOUNT);

	if (!obj)
		return NULL;
	obj->form = form;
	/*
	 * The object is the attachment of a queue pair to a multicast group. ib_core does not know
	 * that the object uses the queue pair, so the queue pair may be destroyed first. Then
	 * firmware has ended the attachment already.
	 */
	if (kind == MLX5_IB_DEVX_MCG)
		obj->attempt = (struct mlx5_ib_fw_attempt)MLX5_IB_FW_ATTEMPT_TO_DETACH;
	return obj;
}

static int devx_send_raw(struct mlx5_ib_devx_obj *obj, const struct mlx5_ib_devx_cmd *cmd,
			 void *in, size_t in_len, void *out, size_t out_len)
{
	unsigned int tries = 0;
	int err;

	do {
		err = mlx5_ib_fw_exec_raw(obj->dev, obj->uid, in, in_len, out, out_len);
	} while (cmd->kind == MLX5_IB_DEVX_MKEY && err == -EREMOTEIO &&
		 mlx5_ib_devx_make_way(obj->dev, out, &tries));
	return err;
}

static int devx_send_create(struct mlx5_ib_devx_obj *obj, const struct mlx5_ib_devx_cmd *cmd,
			    void *in, size_t in_len, void *out, size_t out_len)
{
	struct mlx5_core_cq *mcq;
	int err = 0;

	if (cmd->kind == MLX5_IB_DEVX_MCG)
		err = mlx5_ib_orphans_before_attach(obj->dev, obj->context,
						    MLX5_GET(attach_to_mcg_in, in, qpn),
						    MLX5_ADDR_OF(attach_to_mcg_in, in,
								 multicast_gid));
	if (err)
		return err;
	if (obj->form != MLX5_IB_DEVX_WITH_MCQ)
		return devx_send_raw(obj, cmd, in, in_len, out, out_len);
	mcq = &to_devx_cq(obj)->mcq;
	mcq->comp = devx_cq_comp;
	err = mlx5_ib_fw_create_cq_raw(obj->dev, obj->uid, mcq, in, in_len, out, out_len);
	/* mlx5_core has no completion EQ of this number. */
	return err == -ENOENT ?
	       refuse(obj->dev->mdev, -EINVAL,
		      "DEVX CREATE_CQ names EQ %u, which is not a completion EQ",
		      MLX5_GET(create_cq_in, in, cq_context.c_eqn_or_apu_element)) : err;
}

static struct mlx5_ib_table_key *devx_table_key(struct mlx5_ib_devx_obj *obj)
{
	WARN_ON_ONCE(obj->form != MLX5_IB_DEVX_WITH_KEY);
	return &container_of(obj, struct mlx5_ib_devx_key, obj)->key;
}

static int devx_adopt_key(struct mlx5_ib_devx_obj *obj, u32 num_entries)
{
	struct mlx5_ib_table_key *key = devx_table_key(obj);
	int err = mlx5_ib_odp_own_table(obj->context, key);

	if (err)
		return err;
	key->num_entries = num_entries;
	key->memcg = get_mem_cgroup_from_mm(current->mm);
	key->mkey.key = mlx5_idx_to_mkey(obj->id.num);
	key->mkey.uid = obj->uid;
	return mlx5_ib_mkey_adopt(obj->dev, &key->mkey);
}

/* Take a reference to the UAR object that has the doorbells of an object, as verbs do. */
static void devx_get_uar(struct mlx5_ib_ucontext *context, struct mlx5_ib_devx_obj *obj,
			 const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len)
{
	u32 page;

	if (mlx5_ib_devx_read_uar(cmd, in, in_len, &page))
		obj->uar = mlx5_ib_get_uar(context, page);
}

/* Whether the object is a key that the handler of page faults can look up. */
static bool devx_is_adopted(struct mlx5_ib_devx_obj *obj)
{
	return obj->form == MLX5_IB_DEVX_WITH_KEY &&
	       devx_table_key(obj)->mkey.type == MLX5_IB_MKEY_TABLE;
}

static struct mlx5_ib_fw_attempt *devx_attempt(struct mlx5_ib_devx_obj *obj)
{
	return obj->form == MLX5_IB_DEVX_WITH_KEY ? &devx_table_key(obj)->mkey.attempt :
						    &obj->attempt;
}

static int devx_destroy(struct mlx5_ib_devx_obj *obj)
{
	return mlx5_ib_fw_send_destroy(obj->dev, obj->uid, obj->destroy, obj->destroy_size,
				       devx_attempt(obj));
}

/*
 * Drain a DC target, then destroy it: firmware refuses to destroy the target until its last packet
 * has been handled. The result of DRAIN_DCT is ignored, because firmware refuses to drain a target
 * that an earlier attempt has drained. If a command that was not answered has destroyed the target,
 * the number may belong to a new target, which must not be drained.
 */
static int devx_destroy_dct(struct mlx5_ib_devx_obj *obj)
{
	u32 out[MLX5_ST_SZ_DW(drain_dct_out)] = {};
	u32 in[MLX5_ST_SZ_DW(drain_dct_in)];

	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DRAIN_DCT, obj->id.num);
	if (!READ_ONCE(obj->attempt.replaced))
		mlx5_ib_fw_exec_raw(obj->dev, obj->uid, in, sizeof(in), out, sizeof(out));
	return mlx5_ib_fw_destroy_repeat(obj->dev, obj->uid, MLX5_CMD_OP_DESTROY_DCT, obj->id.num,
					 &obj->attempt);
}

static int devx_destroy_key(struct mlx5_ib_devx_obj *obj, bool last)
{
	struct mlx5_ib_mkey *mkey = &devx_table_key(obj)->mkey;
	int err;

	mlx5_ib_mkey_disown(obj->dev, mkey);
	err = devx_destroy(obj);
	mlx5_ib_mkey_disowned(obj->dev, mkey, err && !last);
	return err;
}

static int devx_choose_destroy(struct mlx5_ib_devx_obj *obj, bool last)
{
	if (obj->form == MLX5_IB_DEVX_WITH_MCQ && last)
		return mlx5_ib_fw_discard_cq(obj->dev, &to_devx_cq(obj)->mcq, &obj->attempt);
	if (obj->form == MLX5_IB_DEVX_WITH_MCQ)
		return mlx5_ib_fw_destroy_cq(obj->dev, &to_devx_cq(obj)->mcq, &obj->attempt);
	if (obj->id.kind == MLX5_IB_DEVX_DCT)
		return devx_destroy_dct(obj);
	if (devx_is_adopted(obj))
		return devx_destroy_key(obj, last);
	return devx_destroy(obj);
}

/*
 * Send the command that destroys an object. End the subscriptions to events of the object if the
 * object is destroyed, and after the last attempt (@last) even if it is not, because the process
 * then has no handle of the object any more.
 */
static int devx_send_destroy(struct mlx5_ib_devx_obj *obj, bool last)
{
	struct mlx5_ib_event_source source;
	int err;

	if (!mlx5_ib_event_source_of(&obj->id, &source))
		return devx_choose_destroy(obj, last);
	mlx5_ib_event_pause(obj->dev, devx_attempt(obj), source.type, source.num);
	err = devx_choose_destroy(obj, last);
	mlx5_ib_event_settle(obj->dev, devx_attempt(obj), source.type, source.num, last ? 0 : err);
	return err;
}

/**
 * mlx5_ib_devx_destroy_obj - destroy an object of a process
 * @obj: returned by mlx5_ib_devx_create_obj()
 * @last: the last attempt: an object that firmware refuses to destroy becomes an orphan (orphan.c)
 *
 * May sleep.
 *
 * Return: 0, and then @obj is freed; or, without @last, a negative errno, after which the object
 * still exists, or may exist if a command was not answered.
 */
VISIBLE_IF_KUNIT int mlx5_ib_devx_destroy_obj(struct mlx5_ib_devx_obj *obj, bool last)
{
	struct mlx5_ib_queue_mem mem = {
		.context = obj->context, .uar = obj->uar, .share = obj->share, .second = obj->key,
	};
	int err = devx_send_destroy(obj, last);

	if (err && !last)
		return err;
	if (err)
		mlx5_ib_orphan_adopt_quietly(obj->dev, obj->uid, obj->destroy, obj->destroy_size,
					     obj->id.num, devx_attempt(obj),
					     mlx5_ib_devx_kinds[obj->id.kind].name, &mem);
	else
		mlx5_ib_queue_mem_unmap_user(&mem);
	WARN_ON_ONCE(devx_is_adopted(obj));
	if (obj->form == MLX5_IB_DEVX_WITH_KEY) {
		mlx5_ib_odp_disown_table(devx_table_key(obj));
		mem_cgroup_put(devx_table_key(obj)->memcg);
	}
	kfree(obj);
	return 0;
}

static void devx_name_obj(struct mlx5_ib_devx_obj *obj, const struct mlx5_ib_devx_cmd *cmd,
			  const void *in, size_t in_len, const void *out)
{
	mlx5_ib_devx_read_id(cmd, in, out, &obj->id);
	obj->destroy_size = mlx5_ib_devx_fill_destroy(cmd, &obj->id, in, in_len, obj->destroy);
}

/* The command that creates an object has failed: undo what was done before for it. Frees @obj. */
static void devx_undo_create(struct mlx5_ib_devx_obj *obj, const struct mlx5_ib_devx_cmd *cmd,
			     const void *in, size_t in_len, const void *out, int err)
{
	struct mlx5_ib_queue_mem mem = {
		.context = obj->context, .uar = obj->uar, .share = obj->share, .second = obj->key,
	};

	/* Firmware may have attached the QP, but the process gets no handle: detach the QP. */
	if (err == -ETIMEDOUT && cmd->kind == MLX5_IB_DEVX_MCG) {
		devx_name_obj(obj, cmd, in, in_len, out);
		obj->attempt.unanswered = true;
		mlx5_ib_devx_destroy_obj(obj, true);
		return;
	}
	/* The object may exist and have its doorbells in the UAR, so keep the UAR. */
	if (err == -ETIMEDOUT && mem.uar)
		mlx5_ib_orphan_keep_lost(obj->dev, "a DEVX object", &mem);
	mlx5_ib_share_undo(&mem.share, err);
	mlx5_ib_share_undo(&mem.second, err);
	mlx5_ib_queue_mem_unmap_user(&mem);
	kfree(obj);
}

/*
 * Check a command that creates an object, and set the bits in the command which say that the memory
 * of the object is a umem.
 */
static int devx_check_new(struct mlx5_ib_ucontext *context, void *in, size_t in_len, size_t out_len,
			  const struct mlx5_ib_devx_cmd **cmd)
{
	int err = mlx5_ib_devx_check(context, in, in_len, MLX5_IB_DEVX_CREATE, cmd);
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);

	if (!err)
		err = mlx5_ib_devx_check_create(*cmd, in, in_len, out_len);
	if (!err)
		err = devx_check_apu(dev, *cmd, in) ?:
		      mlx5_ib_check_klms(mlx5_ib_devx_num_klms(*cmd, in), &dev->caps);
	return err ?: mlx5_ib_devx_use_umem(*cmd, in, in_len);
}

/**
 * mlx5_ib_devx_create_obj - create an object by a command of a process
 * @context: context of the process
 * @in: the command, which is changed: it gets the user id of @context
 * @in_len: bytes of @in
 * @out: gets the answer for the process; zeroed
 * @out_len: bytes of @out, at least as many as status and syndrome have
 *
 * May sleep.
 *
 * Return: the object, or an ERR_PTR: -EREMOTEIO if firmware has refused the command, as @out says;
 * -EINVAL and -EPERM as mlx5_ib_devx_check(), mlx5_ib_devx_check_create(), mlx5_ib_check_klms() and
 * mlx5_ib_devx_use_umem(); -EINVAL also for a CQ on an event queue that is not for completions;
 * -EOPNOTSUPP for a CQ on an APU element, if the device has none; -EBUSY as
 * mlx5_ib_orphans_before_attach(); -ENOMEM, also if the user has as many objects of the kind as a
 * user can have; or the errno of a command that was not sent, or not answered.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_devx_obj *mlx5_ib_devx_create_obj(struct mlx5_ib_ucontext *context, void *in,
						 size_t in_len, void *out, size_t out_len)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	const struct mlx5_ib_devx_cmd *cmd;
	int err;

	err = devx_check_new(context, in, in_len, out_len, &cmd);
	if (err)
		return ERR_PTR(err);

	struct mlx5_ib_devx_obj *obj __free(kfree) = devx_alloc(devx_form(dev, cmd, in),
							    cmd->kind);

	if (!obj)
		return ERR_PTR(-ENOMEM);
	obj->dev = dev;
	obj->uid = context->uid;
	obj->context = context;
	obj->num_counters = mlx5_ib_devx_num_counters(cmd, in);
	err = mlx5_ib_devx_take_shares(context, cmd, in, &obj->share, &obj->key);
	if (err)
		return ERR_PTR(err);
	devx_get_uar(context, obj, cmd, in, in_len);
	err = devx_send_create(obj, cmd, in, in_len, out, out_len);
	if (err) {
		devx_undo_create(no_free_ptr(obj), cmd, in, in_len, out, err);
		return ERR_PTR(err);
	}
	devx_name_obj(obj, cmd, in, in_len, out);
	mlx5_ib_fw_number_taken(dev, obj->destroy);
	if (obj->form == MLX5_IB_DEVX_WITH_KEY)
		err = devx_adopt_key(obj, mlx5_ib_devx_table_entries(cmd, in));
	if (!err)
		return no_free_ptr(obj);
	mlx5_ib_devx_destroy_obj(no_free_ptr(obj), true);
	return ERR_PTR(err);
}

/**
 * mlx5_ib_devx_prepare - check a command about an object, and let it name memory by umems only
 * @context: context of the process
 * @id: the object
 * @use: MLX5_IB_DEVX_MODIFY or MLX5_IB_DEVX_QUERY
 * @in: the command, which may be changed
 * @in_len: bytes of @in
 *
 * Return: 0; the errno of mlx5_ib_devx_check(); or -EINVAL for a command about another object, or
 * for a command that is too short to have the bits that mlx5_ib_devx_use_umem() sets.
 */
int mlx5_ib_devx_prepare(const struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
			 enum mlx5_ib_devx_use use, void *in, size_t in_len)
{
	const struct mlx5_ib_devx_cmd *cmd;
	int err;

	err = mlx5_ib_devx_check(context, in, in_len, use, &cmd);
	if (err)
		return err;
	if (!mlx5_ib_devx_names(cmd, in, id))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "DEVX command 0x%x does not name the object of its handle, %s 0x%x",
			      cmd->opcode, mlx5_ib_devx_kinds[id->kind].name, id->num);
	return mlx5_ib_devx_use_umem(cmd, in, in_len);
}

/**
 * mlx5_ib_devx_send - change or query an object by a command of a process
 * @context: context of the process
 * @id: the object
 * @use: MLX5_IB_DEVX_MODIFY or MLX5_IB_DEVX_QUERY
 * @in: the command, which is changed: it gets the user id of @context
 * @in_len: bytes of @in
 * @out: gets the answer for the process; zeroed
 * @out_len: bytes of @out, at least as many as status and syndrome have
 *
 * May sleep.
 *
 * Return: 0; -EREMOTEIO if firmware has refused the command, as @out says; the errno of
 * mlx5_ib_devx_prepare(); or the errno of a command that was not sent, or not answered.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_send(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
		      enum mlx5_ib_devx_use use, void *in, size_t in_len, void *out, size_t out_len)
{
	int err = mlx5_ib_devx_prepare(context, id, use, in, in_len);

	if (err)
		return err;
	return mlx5_ib_fw_exec_raw(to_mdev(context->ibucontext.device), context->uid, in, in_len,
				   out, out_len);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int devx_obj_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			    struct uverbs_attr_bundle *attrs)
{
	/*
	 * A user who destroys the object can try again after a failure. If the object is removed
	 * for another reason, this is the last attempt: ib_core would warn of an object that is
	 * left.
	 */
	return mlx5_ib_devx_destroy_obj(uobj->object, why != RDMA_REMOVE_DESTROY);
}

/* The command of a process, and room for firmware's answer; freed when the ioctl ends. */
struct devx_buffers {
	void *in;
	int in_len;
	void *out;
	int out_len;
};

static int devx_get_buffers(struct uverbs_attr_bundle *attrs, u16 in_attr, u16 out_attr,
			    struct devx_buffers *b)
{
	b->in = uverbs_attr_get_alloced_ptr(attrs, in_attr);
	b->in_len = uverbs_attr_get_len(attrs, in_attr);
	b->out_len = uverbs_attr_get_len(attrs, out_attr);
	b->out = uverbs_zalloc(attrs, b->out_len);
	return PTR_ERR_OR_ZERO(b->out);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	struct mlx5_ib_devx_obj *obj;
	struct devx_buffers b;
	int err;

	err = devx_get_buffers(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
			       MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, &b);
	if (err)
		return err;
	obj = mlx5_ib_devx_create_obj(to_mucontext(uobj->context), b.in, b.in_len, b.out,
				      b.out_len);
	if (!IS_ERR(obj)) {
		uobj->object = obj;
		/* If the method fails after this call, ib_core destroys the object. */
		uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	}
	return mlx5_ib_devx_answer(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, b.out, b.out_len,
				   PTR_ERR_OR_ZERO(obj));
}

/* An object that a handle stands for, and the attempts to destroy it. */
struct devx_named {
	struct mlx5_ib_devx_id id;
	const struct mlx5_ib_fw_attempt *attempt;
};

static void devx_name_as(struct devx_named *named, u8 kind, u32 num,
			 const struct mlx5_ib_fw_attempt *attempt)
{
	named->id.kind = kind;
	named->id.num = num;
	named->attempt = attempt;
}

/* A queue pair that consists of several objects has one of each kind that a command can name. */
static int devx_identify_qp(const struct ib_qp *ibqp, u8 kind, struct devx_named *named)
{
	/*
	 * @ibqp of a process that opens an XRC target is ib_core's: only @real_qp is the driver's.
	 */
	struct mlx5_ib_qp *qp = to_mqp(ibqp->real_qp);
	const struct mlx5_ib_rsc *dct = mlx5_ib_dct_rsc(qp);
	struct mlx5_ib_qp_part part;

	if (dct) {
		devx_name_as(named, MLX5_IB_DEVX_DCT, dct->num, &dct->attempt);
		return 0;
	}
	if (mlx5_ib_qp_is_plain(qp)) {
		devx_name_as(named, MLX5_IB_DEVX_QP, ibqp->qp_num, &qp->rsc.attempt);
		return 0;
	}
	if (!qp->ops->find_part || !qp->ops->find_part(qp, kind, &part))
		return refuse(to_mdev(ibqp->device)->mdev, -EINVAL,
			      "DEVX on QP 0x%x, which consists of other objects at the device",
			      ibqp->qp_num);
	devx_name_as(named, kind, part.num, part.attempt);
	return 0;
}

/* What an SRQ of each type is at the device. */
static const u8 devx_srq_kinds[] = {
	[IB_SRQT_BASIC] = MLX5_IB_DEVX_RMP, [IB_SRQT_XRC] = MLX5_IB_DEVX_XRC_SRQ,
	[IB_SRQT_TM] = MLX5_IB_DEVX_XRQ,
};

static int devx_identify(struct ib_uobject *uobj, u8 kind, struct devx_named *named)
{
	struct mlx5_ib_devx_obj *obj = uobj->object;
	struct mlx5_ib_object *rqt;
	struct mlx5_ib_srq *srq;
	struct mlx5_ib_rwq *rwq;
	struct mlx5_ib_cq *cq;

	*named = (struct devx_named){};
	switch (uobj_get_object_id(uobj)) {
	case MLX5_IB_OBJECT_DEVX_OBJ:
		named->id = obj->id;
		named->attempt = devx_attempt(obj);
		return 0;
	case UVERBS_OBJECT_CQ:
		cq = to_mcq(uobj->object);
		devx_name_as(named, MLX5_IB_DEVX_CQ, cq->mcq.cqn, &cq->attempt);
		return 0;
	case UVERBS_OBJECT_QP:
		return devx_identify_qp(uobj->object, kind, named);
	case UVERBS_OBJECT_SRQ:
		srq = to_msrq(uobj->object);
		devx_name_as(named, devx_srq_kinds[srq->ibsrq.srq_type], srq->rsc.num,
			     &srq->rsc.attempt);
		return 0;
	case UVERBS_OBJECT_WQ:
		rwq = to_mrwq(uobj->object);
		devx_name_as(named, MLX5_IB_DEVX_RQ, rwq->rsc.num, &rwq->rsc.attempt);
		return 0;
	case UVERBS_OBJECT_RWQ_IND_TBL:
		rqt = &to_mrqt(uobj->object)->object;
		devx_name_as(named, MLX5_IB_DEVX_RQT, rqt->num, &rqt->attempt);
		return 0;
	default:
		return refuse(to_mdev(uobj->context->device)->mdev, -EINVAL,
			      "DEVX on an object of uverbs type %u, not a DEVX object, CQ, QP, SRQ, WQ or indirection table",
			      uobj_get_object_id(uobj));
	}
}

static int devx_identify_existing(struct ib_uobject *uobj, u8 kind, struct mlx5_ib_devx_id *id)
{
	struct devx_named named;
	int err = devx_identify(uobj, kind, &named);

	*id = named.id;
	return err ?: mlx5_ib_fw_check_exists(to_mdev(uobj->context->device), named.attempt,
					      mlx5_ib_devx_kinds[id->kind].name, id->num);
}

/**
 * mlx5_ib_devx_identify - find the object of a handle, for a command or a subscription to name
 * @uobj: the handle; the caller keeps the object from being destroyed meanwhile
 * @id: gets the object
 *
 * A process may change and query objects of verbs, too, and subscribe to their events: @uobj is
 * the handle of such an object, or of an object that a command of the process has created.
 *
 * Return: 0; -EINVAL for a handle of another kind, or of a queue pair that is not a single QP at
 * the device, see mlx5_ib_qp_is_plain(); or -EIO as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_devx_identify(struct ib_uobject *uobj, struct mlx5_ib_devx_id *id)
{
	return devx_identify_existing(uobj, MLX5_IB_DEVX_NO_KIND, id);
}

/**
 * mlx5_ib_devx_identify_for - find the object of a handle that a command can name
 * @uobj: as for mlx5_ib_devx_identify()
 * @in: the command, which decides which object of a queue pair for raw packets is meant
 * @in_len: bytes of @in
 * @id: gets the object
 *
 * Return: as mlx5_ib_devx_identify(); -EINVAL also for a queue pair without an object of the
 * command's kind.
 */
int mlx5_ib_devx_identify_for(struct ib_uobject *uobj, const void *in, size_t in_len,
			      struct mlx5_ib_devx_id *id)
{
	return devx_identify_existing(uobj, mlx5_ib_devx_kind_of(in, in_len), id);
}

static int devx_handle(struct uverbs_attr_bundle *attrs, enum mlx5_ib_devx_use use,
		       u16 handle_attr, u16 in_attr, u16 out_attr)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, handle_attr);
	struct mlx5_ib_devx_id id;
	struct devx_buffers b;
	int err;

	err = devx_get_buffers(attrs, in_attr, out_attr, &b);
	if (!err)
		err = mlx5_ib_devx_identify_for(uobj, b.in, b.in_len, &id);
	if (err)
		return err;
	err = mlx5_ib_devx_send(to_mucontext(uobj->context), &id, use, b.in, b.in_len, b.out,
				b.out_len);
	return mlx5_ib_devx_answer(attrs, out_attr, b.out, b.out_len, err);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	return devx_handle(attrs, MLX5_IB_DEVX_MODIFY, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
			   MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
			   MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return devx_handle(attrs, MLX5_IB_DEVX_QUERY, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
			   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    MLX5_IB_DEVX_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
			    MLX5_IB_DEVX_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_DEVX_OBJ,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
			    MLX5_IB_DEVX_ANY_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE),
			    MLX5_IB_DEVX_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN),
			    MLX5_IB_DEVX_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY,
			    MLX5_IB_DEVX_ANY_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE),
			    MLX5_IB_DEVX_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN),
			    MLX5_IB_DEVX_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_TYPE_ALLOC_IDR(devx_obj_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_DESTROY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY));

const struct uapi_definition mlx5_ib_devx_obj_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_OBJ),
	{},
};
