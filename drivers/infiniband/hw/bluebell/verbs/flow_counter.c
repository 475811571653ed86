// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters objects, see ibv_create_counters(3): they count the packets of flow rules, and their
 * bytes. libmlx5 collects which element of an answer a process wants packets or bytes in, and tells
 * the driver with the first rule that has the object.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw_flow.h"
#include "layout/refuse.h"
#include "verbs/flow.h"

/* A device has two numbers for a rule; a process may want each of them more than once. */
#define MAX_DESCS	64

/**
 * mlx5_ib_create_counters - create a counters object
 * @ibcounters: the object; ib_core allocates and frees it
 * @attrs: not used
 *
 * The device's counter is allocated with the first rule.
 *
 * Return: 0.
 */
int mlx5_ib_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs)
{
	mutex_init(&to_mcounters(ibcounters)->lock);
	return 0;
}

/**
 * mlx5_ib_destroy_counters - destroy a counters object
 * @ibcounters: the object; ib_core has checked that no rule has it
 *
 * Return: 0.
 */
int mlx5_ib_destroy_counters(struct ib_counters *ibcounters)
{
	struct mlx5_ib_counters_obj *counters = to_mcounters(ibcounters);

	WARN_ON_ONCE(counters->flows);
	mutex_destroy(&counters->lock);
	return 0;
}

/**
 * mlx5_ib_read_counters - read a counters object
 * @ibcounters: the object
 * @attr: the room for the answer, zeroed; the answer is read from the device whatever the flags
 *	say, so it is never older than the call
 * @attrs: not used
 *
 * May sleep.
 *
 * Return: 0; -EINVAL if no rule has the object, or if the room is too small; or the errno of a
 * failed command.
 */
int mlx5_ib_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
			  struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_counters_obj *counters = to_mcounters(ibcounters);
	struct mlx5_ib_dev *dev = to_mdev(ibcounters->device);
	u64 packets, bytes;
	unsigned int i;
	int err;

	guard(mutex)(&counters->lock);
	if (!counters->fc)
		return refuse(dev->mdev, -EINVAL, "read of counters that no flow rule has");
	if (attr->ncounters < counters->length)
		return refuse(dev->mdev, -EINVAL, "read of %u counters, there are %u",
			      attr->ncounters, counters->length);
	err = mlx5_ib_fw_query_flow_counter(dev, counters->fc, &packets, &bytes);
	for (i = 0; i < counters->num_descs && !err; i++)
		attr->counters_buff[counters->descs[i].index] =
			counters->descs[i].description == IB_COUNTER_PACKETS ? packets : bytes;
	return err;
}

static int counters_check_descs(struct mlx5_ib_counters_obj *counters,
				const struct mlx5_ib_flow_counters_desc *descs, u32 num)
{
	struct mlx5_core_dev *mdev = to_mdev(counters->ibcounters.device)->mdev;
	u32 i;

	counters->length = 0;
	for (i = 0; i < num; i++) {
		if (descs[i].description > IB_COUNTER_BYTES || descs[i].index >= INT_MAX)
			return refuse(mdev, -EINVAL, "flow counter %u of kind %u, index %u", i,
				      descs[i].description, descs[i].index);
		counters->length = max(counters->length, descs[i].index + 1);
	}
	return 0;
}

static int counters_copy_descs(struct mlx5_ib_counters_obj *counters,
			       const struct mlx5_ib_flow_counters_data *data)
{
	struct mlx5_core_dev *mdev = to_mdev(counters->ibcounters.device)->mdev;
	int err;

	if (!data->ncounters || data->ncounters > MAX_DESCS || data->reserved)
		return refuse(mdev, -EINVAL, "flow rule with %u counters, 1 to %u are possible",
			      data->ncounters, MAX_DESCS);

	struct mlx5_ib_flow_counters_desc *descs __free(kfree) =
		kmalloc_array(data->ncounters, sizeof(*descs), GFP_KERNEL_ACCOUNT);

	if (!descs)
		return -ENOMEM;
	if (copy_from_user(descs, u64_to_user_ptr(data->counters_data),
			   array_size(data->ncounters, sizeof(*descs))))
		return -EFAULT;
	err = counters_check_descs(counters, descs, data->ncounters);
	if (err)
		return err;
	counters->descs = no_free_ptr(descs);
	counters->num_descs = data->ncounters;
	return 0;
}

static void counters_free_descs(struct mlx5_ib_counters_obj *counters)
{
	kfree(counters->descs);
	counters->descs = NULL;
	counters->num_descs = 0;
}

/* The first rule of an object: allocate the counter. The caller holds the object's lock. */
static int counters_start(struct mlx5_ib_counters_obj *counters, struct mlx5_ib_ucontext *context,
			  const struct mlx5_ib_flow_counters_data *data)
{
	struct mlx5_ib_dev *dev = to_mdev(counters->ibcounters.device);
	struct mlx5_fc *fc;
	int err;

	if (!MLX5_CAP_FLOWTABLE_NIC_RX(dev->mdev, flow_counter))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "flow rule with counters, which the device does not have (flow_counter)");
	err = mlx5_ib_share_take(context, MLX5_IB_SHARE_FLOW_COUNTER, &counters->share) ?:
	      counters_copy_descs(counters, data);
	if (!err) {
		fc = mlx5_ib_fw_create_flow_counter(dev);
		err = PTR_ERR_OR_ZERO(fc);
	}
	if (!err) {
		counters->fc = fc;
		return 0;
	}
	counters_free_descs(counters);
	mlx5_ib_share_undo(&counters->share, err);
	return err;
}

/*
 * Read the data of libmlx5: struct mlx5_ib_create_flow with no or one element, and perhaps zeroes.
 * Programs of older libraries pass nothing.
 */
static int counters_read_udata(const struct mlx5_core_dev *mdev, struct ib_udata *udata,
			       struct mlx5_ib_create_flow *head,
			       struct mlx5_ib_flow_counters_data *data)
{
	struct {
		struct mlx5_ib_create_flow head;
		struct mlx5_ib_flow_counters_data data;
	} req = {};
	int err;

	if (!udata->inlen) {
		*head = (struct mlx5_ib_create_flow){};
		return 0;
	}
	err = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (err)
		return err;
	if (udata->inlen > sizeof(req) &&
	    !ib_is_udata_cleared(udata, sizeof(req), udata->inlen - sizeof(req)))
		return refuse(mdev, -EINVAL, "flow rule with data of the library beyond %zu bytes",
			      sizeof(req));
	if (req.head.reserved || req.head.ncounters_data > 1)
		return refuse(mdev, -EINVAL, "flow rule with data for %u counters objects",
			      req.head.ncounters_data);
	if (req.head.ncounters_data && udata->inlen < sizeof(req))
		return refuse(mdev, -EINVAL, "flow rule with %zu bytes for a counters object",
			      udata->inlen);
	head->ncounters_data = req.head.ncounters_data;
	*data = req.data;
	return 0;
}

/**
 * mlx5_ib_counters_bind - have a counters object count the packets of a flow rule
 * @counters: the object; NULL if the rule has none
 * @context: context of the process
 * @udata: struct mlx5_ib_create_flow of libmlx5
 *
 * All rules of an object are counted together. May sleep.
 *
 * Return: 0, and @counters->fc is the counter until mlx5_ib_counters_unbind(); -EINVAL for invalid
 * data, for data of an object that counts already, or without data for one that does not;
 * -EOPNOTSUPP if the device has no flow counters; -EFAULT; -ENOMEM, also if the user has as many
 * flow counters as a user can have; or the errno of a failed command.
 */
int mlx5_ib_counters_bind(struct mlx5_ib_counters_obj *counters, struct mlx5_ib_ucontext *context,
			  struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;
	struct mlx5_ib_flow_counters_data data = {};
	struct mlx5_ib_create_flow head = {};
	int err = counters_read_udata(mdev, udata, &head, &data);

	if (err)
		return err;
	if (!counters)
		return !head.ncounters_data ? 0 :
		       refuse(mdev, -EINVAL, "flow rule without counters, with data for them");
	guard(mutex)(&counters->lock);
	if (!!counters->fc == !!head.ncounters_data)
		return refuse(mdev, -EINVAL,
			      "flow rule with data for %u counters objects, of %u rules",
			      head.ncounters_data, counters->flows);
	err = counters->fc ? 0 : counters_start(counters, context, &data);
	if (!err)
		counters->flows++;
	return err;
}

/**
 * mlx5_ib_counters_unbind - stop counting the packets of a flow rule that is gone
 * @counters: the object
 *
 * With the last rule the counter is gone. May sleep.
 */
void mlx5_ib_counters_unbind(struct mlx5_ib_counters_obj *counters)
{
	guard(mutex)(&counters->lock);
	WARN_ON_ONCE(!counters->flows);
	if (--counters->flows)
		return;
	mlx5_ib_fw_destroy_flow_counter(to_mdev(counters->ibcounters.device), counters->fc);
	counters->fc = NULL;
	counters_free_descs(counters);
	mlx5_ib_share_give(&counters->share);
}
