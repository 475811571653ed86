// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Functions of a Linux 7.2 kernel that the driver calls and the kernel at hand lacks, and the
 * driver's operations in the form that this kernel has: see compat/include/bluebell_compat.h.
 */

#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <rdma/rdma_counter.h>

#include "fw/bluebell.h"
#include "verbs/verbs.h"

/* Here these are the kernel's own. */
#undef ib_device_ops
#undef ib_set_device_ops
#undef reg_user_mr
#undef reg_user_mr_dmabuf
#undef counter_bind_qp
#undef counter_unbind_qp
#undef ib_register_device
#undef ib_unregister_device
#undef mlx5_flow_destination
#undef mlx5_add_flow_rules

#ifndef BB_HAVE_UMEM_ATTR
/**
 * ib_umem_get_va - pin memory of a process and map it for DMA
 * @device: device
 * @addr: address in the process
 * @size: bytes
 * @access: enum ib_access_flags
 *
 * ib_core of 7.2 asks for a mapping without bounce buffers, because nothing would copy what the
 * device and the process write. Older kernels cannot be asked, so look at the mapping afterwards.
 *
 * Return: the memory, or an ERR_PTR: -EIO if some of it is mapped by bounce buffers, or as
 * ib_umem_get().
 */
struct ib_umem *ib_umem_get_va(struct ib_device *device, unsigned long addr, size_t size,
			       int access)
{
	struct ib_umem *umem = ib_umem_get(device, addr, size, access);
	struct scatterlist *sg;
	int i;

	if (IS_ERR(umem) || !dma_dev_need_sync(device->dma_device))
		return umem;
	for_each_sgtable_dma_sg(&umem->sgt_append.sgt, sg, i) {
		if (bb_is_bounced(device->dma_device, sg_dma_address(sg))) {
			ib_umem_release(umem);
			return ERR_PTR(-EIO);
		}
	}
	return umem;
}
#endif /* BB_HAVE_UMEM_ATTR */

#ifndef BB_HAVE_FLOW_COUNTER
#define MAX_DESTINATIONS 4	/* of a rule of the driver */

static u32 counter_number(struct mlx5_fc *counter)
{
	unsigned long number = (unsigned long)counter;

	return number & 1 ? number >> 1 : mlx5_fc_id(counter);
}

static void fill_destination(struct mlx5_flow_destination *own,
			     const struct bb_flow_destination *dest)
{
	own->type = dest->type;
	switch (dest->type) {
	case MLX5_FLOW_DESTINATION_TYPE_COUNTER:
		own->counter_id = counter_number(dest->counter);
		return;
	case MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE:
		own->ft = dest->ft;
		return;
	case MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE_NUM:
		own->ft_num = dest->ft_num;
		return;
	default:
		own->tir_num = dest->tir_num;
	}
}

/* Add a flow rule, see mlx5_add_flow_rules(). */
struct mlx5_flow_handle *bb_add_flow_rules(struct mlx5_flow_table *ft,
					   const struct mlx5_flow_spec *spec,
					   struct mlx5_flow_act *act,
					   struct bb_flow_destination *dest, int num_dest)
{
	struct mlx5_flow_destination own[MAX_DESTINATIONS] = {};
	int i;

	if (WARN_ON_ONCE(num_dest > MAX_DESTINATIONS))
		return ERR_PTR(-EINVAL);
	for (i = 0; i < num_dest; i++)
		fill_destination(&own[i], &dest[i]);
	return mlx5_add_flow_rules(ft, spec, act, own, num_dest);
}
#endif /* BB_HAVE_FLOW_COUNTER */

#ifndef BB_HAVE_UDATA
/*
 * Copy the driver's part of a request. Returns -EINVAL if the process has passed less than
 * @min_size bytes, and -EOPNOTSUPP if it asks for more than this driver knows: if the bytes after
 * the first @size are not zero.
 */
int bb_copy_validate_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min_size)
{
	int err;

	if (!udata || udata->inlen < min_size)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

/* Copy the driver's part of an answer: as much as the process takes, and zeros after it. */
int _ib_respond_udata(struct ib_udata *udata, const void *resp, size_t size)
{
	size_t copied;

	if (!udata)
		return 0;
	copied = min(size, udata->outlen);
	if (copy_to_user(udata->outbuf, resp, copied) ||
	    clear_user(udata->outbuf + copied, udata->outlen - copied))
		return -EFAULT;
	return 0;
}

int ib_is_udata_in_empty(struct ib_udata *udata)
{
	int zero;

	if (!udata || !udata->inlen)
		return 0;
	zero = check_zeroed_user(udata->inbuf, udata->inlen);
	return zero < 0 ? zero : zero ? 0 : -EOPNOTSUPP;
}

int ib_respond_empty_udata(struct ib_udata *udata)
{
	return _ib_respond_udata(udata, NULL, 0);
}

int ib_no_udata_io(struct ib_udata *udata)
{
	return ib_is_udata_in_empty(udata) ?: ib_respond_empty_udata(udata);
}
#endif /* BB_HAVE_UDATA */

#ifndef BB_HAVE_UFILE_CLEANUP
/* ib_core does not call this operation: see set_destroy_ops(). */
void bb_no_ufile_cleanup(struct ib_uverbs_file *ufile)
{
}
#endif

#ifndef BB_HAVE_OPS
/* The operations of the driver. All its devices have the same. */
static struct bb_device_ops bb_ops;

/* ---- destruction at the end of a process ------------------------------------------------- */

/*
 * When a process has closed the device, or the device is removed, ib_core of 7.2 first tells the
 * driver, which sets @closing of the context. Here the driver learns this from the arguments with
 * which ib_core destroys the first object. ib_core holds the file's hw_destroy_rwsem for writing
 * then, as it does when it tells the driver in 7.2.
 */
static void context_is_closing(struct ib_ucontext *context)
{
	to_mucontext(context)->closing = true;
}

/* The bundle of a call of the process has the call's request or attributes. */
static void note_closing(struct uverbs_attr_bundle *attrs)
{
	if (attrs->context && !attrs->ucore.inlen &&
	    bitmap_empty(attrs->attr_present, UVERBS_API_ATTR_BKEY_LEN))
		context_is_closing(attrs->context);
}

static void note_closing_udata(struct ib_udata *udata)
{
	if (udata)
		note_closing(rdma_udata_to_uverbs_attr_bundle(udata));
}

/*
 * If ib_core destroys a queue pair that it could not finish creating, @udata is in no bundle. This
 * queue pair is not the object of its uobject yet. struct ib_uqp_object begins with the uobject.
 */
static int destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	if (udata && ((struct ib_uobject *)qp->uobject)->object == qp)
		note_closing_udata(udata);
	return bb_ops.destroy_qp(qp, udata);
}

static int destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	note_closing_udata(udata);
	return bb_ops.destroy_cq(cq, udata);
}

static int destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	note_closing_udata(udata);
	return bb_ops.destroy_srq(srq, udata);
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	note_closing_udata(udata);
	return bb_ops.dereg_mr(mr, udata);
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	note_closing_udata(udata);
	return bb_ops.dealloc_pd(pd, udata);
}

static int dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	note_closing_udata(udata);
	return bb_ops.dealloc_xrcd(xrcd, udata);
}

static int dealloc_dm(struct ib_dm *dm, struct uverbs_attr_bundle *attrs)
{
	if (attrs)
		note_closing(attrs);
	return bb_ops.dealloc_dm(dm, attrs);
}

/*
 * Without a bundle: the file and the number of the object have one reference each. A call of the
 * process would have looked the object up, and have a third one.
 */
static int dealloc_mw(struct ib_mw *mw)
{
	struct ib_uobject *uobj = mw->uobject;

	if (uobj && uobj->object == mw && kref_read(&uobj->ref) == 2)
		context_is_closing(uobj->context);
	return bb_ops.dealloc_mw(mw);
}

static void set_destroy_ops(struct ib_device_ops *core, const struct bb_device_ops *ops)
{
	bb_ops.destroy_qp = ops->destroy_qp;
	bb_ops.destroy_cq = ops->destroy_cq;
	bb_ops.destroy_srq = ops->destroy_srq;
	bb_ops.dereg_mr = ops->dereg_mr;
	bb_ops.dealloc_pd = ops->dealloc_pd;
	bb_ops.dealloc_xrcd = ops->dealloc_xrcd;
	bb_ops.dealloc_dm = ops->dealloc_dm;
	bb_ops.dealloc_mw = ops->dealloc_mw;
	core->destroy_qp = destroy_qp;
	core->destroy_cq = destroy_cq;
	core->destroy_srq = destroy_srq;
	core->dereg_mr = dereg_mr;
	core->dealloc_pd = dealloc_pd;
	core->dealloc_xrcd = dealloc_xrcd;
	core->dealloc_dm = dealloc_dm;
	core->dealloc_mw = dealloc_mw;
}

/* ---- operations with other arguments -------------------------------------------------- */

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
{
	return attrs ? bb_ops.create_user_cq(cq, attr, attrs) : bb_ops.create_cq(cq, attr, NULL);
}

static int resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata)
{
	return bb_ops.resize_user_cq(cq, cqe, udata);
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 struct ib_udata *udata)
{
	return bb_ops.bb_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
					int access, struct uverbs_attr_bundle *attrs)
{
	return bb_ops.bb_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, NULL, attrs);
}

/* ---- counters ------------------------------------------------------------------------- */

/*
 * In 7.2 ib_core allocates a counter together with what the driver adds to it. Here each counter
 * has a double, which is as large as the driver's struct: from when its first queue pair is bound
 * until ib_core frees the counter. The driver finds its own members in the double
 * (compat/include/counters.h), and all others in the counter of ib_core.
 *
 * ib_core holds the lock of the counter while it binds a queue pair, and has dropped the last
 * reference to the counter before it calls counter_dealloc().
 */
static DEFINE_XARRAY(bb_counters);

/**
 * bb_counter_double - find the driver's struct of a counter
 * @counter: counter of ib_core
 *
 * Return: the struct, or NULL if no queue pair has been bound to the counter yet.
 */
void *bb_counter_double(const struct rdma_counter *counter)
{
	return xa_load(&bb_counters, (unsigned long)counter);
}

static int counter_double_alloc(struct rdma_counter *counter)
{
	void *twin = kzalloc(bb_ops.size_rdma_counter, GFP_KERNEL);
	int err;

	if (!twin)
		return -ENOMEM;
	err = xa_insert(&bb_counters, (unsigned long)counter, twin, GFP_KERNEL);
	if (err)
		kfree(twin);
	else
		bb_ops.counter_init(counter);
	return err;
}

static void counter_double_free(struct rdma_counter *counter)
{
	kfree(xa_erase(&bb_counters, (unsigned long)counter));
}

static int counter_bind_qp(struct rdma_counter *counter, struct ib_qp *qp)
{
	bool is_new = !bb_counter_double(counter);
	int err;

	lockdep_assert_held(&counter->lock);
	if (is_new) {
		err = counter_double_alloc(counter);
		if (err)
			return err;
	}
	err = bb_ops.bb_counter_bind_qp(counter, qp, counter->port);
	/* If no queue pair could be bound, ib_core frees the counter without counter_dealloc(). */
	if (err && is_new)
		counter_double_free(counter);
	return err;
}

static int counter_unbind_qp(struct ib_qp *qp)
{
	return bb_ops.bb_counter_unbind_qp(qp, qp->port);
}

static int counter_dealloc(struct rdma_counter *counter)
{
	int err;

	/* ib_core publishes a counter after its first queue pair has been bound. */
	if (WARN_ON_ONCE(!bb_counter_double(counter)))
		return 0;
	err = bb_ops.counter_dealloc(counter);
	counter_double_free(counter);
	return err;
}

static void set_counter_ops(struct ib_device_ops *core, const struct bb_device_ops *ops)
{
	bb_ops.counter_init = ops->counter_init;
	bb_ops.size_rdma_counter = ops->size_rdma_counter;
	bb_ops.counter_dealloc = ops->counter_dealloc;
	bb_ops.bb_counter_bind_qp = ops->bb_counter_bind_qp;
	bb_ops.bb_counter_unbind_qp = ops->bb_counter_unbind_qp;
	core->counter_bind_qp = counter_bind_qp;
	core->counter_unbind_qp = counter_unbind_qp;
	core->counter_dealloc = counter_dealloc;
}

/* ---- events of Ethernet ports ------------------------------------------------------------ */

#ifndef BB_HAVE_PORT_STATE
/*
 * The port of a registered device, and what consumers were told of its state. A device has one
 * port.
 */
struct bb_port {
	struct list_head node;
	struct ib_device *ibdev;
	enum ib_port_state state;
};

static LIST_HEAD(bb_ports);
static DEFINE_SPINLOCK(bb_ports_lock); /* guards bb_ports; held while the list is searched */

static struct bb_port *bb_find_port(struct ib_device *ibdev)
{
	struct bb_port *port;

	list_for_each_entry(port, &bb_ports, node)
		if (port->ibdev == ibdev)
			return port;
	return NULL;
}

/* Note the state. Returns whether the device is registered, and the port was in another state. */
static bool bb_note_state(struct ib_device *ibdev, enum ib_port_state state)
{
	struct bb_port *port;
	bool changed;

	guard(spinlock)(&bb_ports_lock);
	port = bb_find_port(ibdev);
	changed = port && port->state != state;
	if (changed)
		port->state = state;
	return changed;
}

/**
 * ib_dispatch_port_state_event - report the state of a network device as an event of the port
 * @ibdev: device, registered
 * @netdev: network device of the port
 *
 * Reports nothing if consumers know the state already.
 */
void ib_dispatch_port_state_event(struct ib_device *ibdev, struct net_device *netdev)
{
	enum ib_port_state state = ib_get_curr_port_state(netdev);
	struct ib_event event = {
		.device = ibdev,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
		.element.port_num = 1,
	};

	if (bb_note_state(ibdev, state))
		ib_dispatch_event(&event);
}

/* Called with the RTNL held. As ib_core of 7.2, leave the ports of a bond out. */
static int bb_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct ib_device *ibdev;

	if ((event != NETDEV_UP && event != NETDEV_DOWN && event != NETDEV_CHANGE) ||
	    netif_is_lag_master(netdev) || netif_is_lag_port(netdev))
		return NOTIFY_DONE;
	ibdev = ib_device_get_by_netdev(netdev, RDMA_DRIVER_MLX5);
	if (!ibdev)
		return NOTIFY_DONE;
	ib_dispatch_port_state_event(ibdev, netdev);
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block bb_netdev_nb = { .notifier_call = bb_netdev_event };
static DEFINE_MUTEX(bb_register_lock); /* guards bb_num_devices, and registers bb_netdev_nb */
static unsigned int bb_num_devices;

static int bb_watch_netdevs(void)
{
	int err = 0;

	guard(mutex)(&bb_register_lock);
	if (!bb_num_devices)
		err = register_netdevice_notifier(&bb_netdev_nb);
	if (!err)
		bb_num_devices++;
	return err;
}

static void bb_ignore_netdevs(void)
{
	guard(mutex)(&bb_register_lock);
	if (!--bb_num_devices)
		unregister_netdevice_notifier(&bb_netdev_nb);
}

static void bb_remove_port(struct ib_device *ibdev)
{
	struct bb_port *port;

	scoped_guard(spinlock, &bb_ports_lock) {
		port = bb_find_port(ibdev);
		list_del(&port->node);
	}
	kfree(port);
}

/* Register a device, and from then on report the state of its network device. */
int bb_register_device(struct ib_device *ibdev, const char *name, struct device *dma_device)
{
	struct bb_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	int err = port ? bb_watch_netdevs() : -ENOMEM;

	if (err) {
		kfree(port);
		return err;
	}
	port->ibdev = ibdev;
	scoped_guard(spinlock, &bb_ports_lock)
		list_add_tail(&port->node, &bb_ports);
	err = ib_register_device(ibdev, name, dma_device);
	if (err) {
		bb_ignore_netdevs();
		bb_remove_port(ibdev);
	}
	return err;
}

void bb_unregister_device(struct ib_device *ibdev)
{
	ib_unregister_device(ibdev);
	bb_ignore_netdevs();
	bb_remove_port(ibdev);
}
#endif /* BB_HAVE_PORT_STATE */

/* ---- the device -------------------------------------------------------------------------- */

/**
 * bb_set_device_ops - set operations of a device
 * @dev: device, not registered yet
 * @ops: operations, in the shape of 7.2
 *
 * Calls ib_set_device_ops() with the operations in the kernel's own shape.
 */
void bb_set_device_ops(struct ib_device *dev, const struct bb_device_ops *ops)
{
	/* The kernel's own members come first. */
	struct ib_device_ops core = *(const struct ib_device_ops *)ops;

	if (ops->create_user_cq) {
		bb_ops.create_cq = ops->create_cq;
		bb_ops.create_user_cq = ops->create_user_cq;
		core.create_cq = create_cq;
	}
	if (ops->resize_user_cq) {
		bb_ops.resize_user_cq = ops->resize_user_cq;
		core.resize_cq = resize_cq;
	}
	if (ops->bb_reg_user_mr) {
		bb_ops.bb_reg_user_mr = ops->bb_reg_user_mr;
		core.reg_user_mr = reg_user_mr;
	}
	if (ops->bb_reg_user_mr_dmabuf) {
		bb_ops.bb_reg_user_mr_dmabuf = ops->bb_reg_user_mr_dmabuf;
		core.reg_user_mr_dmabuf = reg_user_mr_dmabuf;
	}
	if (ops->bb_counter_bind_qp)
		set_counter_ops(&core, ops);
	if (ops->ufile_hw_cleanup)
		set_destroy_ops(&core, ops);
	ib_set_device_ops(dev, &core);
}
#endif /* BB_HAVE_OPS */
