/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The structs that most files share: the device, its port, the user context, protection domains,
 * XRC domains and entries of the mmap space. Does not include headers of other objects.
 */

#ifndef BLUEBELL_H
#define BLUEBELL_H

#include <linux/atomic.h>
#include <linux/mlx5/driver.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "fw/attempt.h"
#include "layout/caps.h"
#include "layout/layout_uar.h"

struct dentry;
struct mlx5_ib_advice_queue;
struct mlx5_ib_counters;
struct mlx5_ib_dm_pool;
struct mlx5_ib_events;
struct mlx5_ib_memic;
struct mlx5_ib_flow_tables;
struct mlx5_ib_mkey_pool;
struct mlx5_ib_odp;
struct mlx5_ib_port_ops;
struct mlx5_ib_umr;
struct mlx5_ib_user;
struct mlx5_ib_users;
struct mlx5_ib_xrc;

/**
 * struct mlx5_ib_port_link - the link of a port when it was last queried
 * @valid: the link has not changed since the query: the device reports changes, and has reported
 *	none
 * @state: enum ib_port_state at the query
 * @phys_state: enum ib_port_phys_state at the query
 * @width: enum ib_port_width
 * @speed: enum ib_port_speed
 * @max_vl: PortInfo.VLCap
 * @subnet_prefix: prefix of the GIDs of an InfiniBand port
 */
struct mlx5_ib_port_link {
	bool valid;
	u8 state;
	u8 phys_state;
	u8 width;
	u16 speed;
	u8 max_vl;
	u64 subnet_prefix;
};

/**
 * struct mlx5_ib_port - a port of the device
 * @dev: device
 * @num: number of the port, from 1
 * @ops: operations of the kind of port
 * @core_cap_flags: RDMA_CORE_CAP_*, constant
 * @min_inline: MLX5_USER_INLINE_MODE_*: headers of raw packets that a library has to put into the
 *	send WQE; constant. MLX5_USER_INLINE_MODE_NA on an InfiniBand port
 * @netdev_events: tells which network device an Ethernet port has
 * @netdev_changed: work item that adds the addresses of a new network device, and reports that the
 *	port has lost its network device; enabled only while the device is registered with the
 *	RDMA core
 * @num_netdevs: how often mlx5_core has told the driver which network device the port has. Written
 *	under a mutex of mlx5_core
 * @num_handled: value of @num_netdevs up to which @netdev_changed, or ib_core while it registered
 *	the device, has handled the changes
 * @events: receives events of the port and failures of the device, while the device is
 *	registered with the RDMA core
 * @link_lock: guards all members below, which only an InfiniBand port uses; held while some of them
 *	are copied. Taken by each query of the port, which any process can repeat, and in the
 *	interrupt of each event of the port
 * @told: the device reports each change of the link by an event, and @events is registered
 * @num_events: number of events of the port so far, plus one for the registration of @events.
 *	hca_vport_query() reads the number without the lock
 * @link: the link when it was last queried
 */
struct mlx5_ib_port {
	struct mlx5_ib_dev *dev;
	u8 num;
	const struct mlx5_ib_port_ops *ops;
	u32 core_cap_flags;
	u8 min_inline;
	struct notifier_block netdev_events;
	struct work_struct netdev_changed;
	unsigned int num_netdevs;
	unsigned int num_handled;
	struct notifier_block events;
	spinlock_t link_lock; /* guards told, num_events, link */
	bool told;
	unsigned int num_events;
	struct mlx5_ib_port_link link;
};

/**
 * struct mlx5_ib_orphans - objects and buffers of a device that wait to be destroyed
 * @lock: guards @list, @dead and @orphans of each context; held while an entry is added or moved,
 *	never while a command is sent. Also held while the memory of an orphan that has no context
 *	is freed, since orphans in @dead may share a doorbell page. A task that sends the commands
 *	of a list takes the lock only if the list is not empty
 * @list: struct orphan (see orphan.c) for each object of the driver and of kernel consumers, in the
 *	order in which the objects have to be destroyed, and for new buffers of resized CQs, which
 *	have no command. The other entries' commands are sent again by a kernel consumer that
 *	destroys a queue pair, CQ, SRQ or domain, or attaches a queue pair to a multicast group; by
 *	a process that closes an XRC domain, or destroys an XRC target; by @retry; and by the
 *	unbinding of the driver
 * @dead: struct orphan for each object of a context that has been closed, for the user ids of these
 *	contexts, and for XRC targets. A process can add an entry for each of its objects that
 *	firmware refuses to destroy. Only @retry, and the unbinding of the driver, send the commands
 *	of these entries
 * @retry: tries to destroy the objects of both lists, one command at a time
 * @delay: pause before the next run of @retry, in jiffies
 * @buffers_lock: guards @buffers; held for one list operation. Also taken by tasks that reclaim
 *	memory
 * @buffers: struct orphan_buffer: buffers that the device may still read
 */
struct mlx5_ib_orphans {
	struct mutex lock;	/* guards list, dead */
	struct list_head list;
	struct list_head dead;
	struct delayed_work retry;
	unsigned long delay;
	spinlock_t buffers_lock; /* guards buffers */
	struct list_head buffers;
};

/**
 * struct mlx5_ib_rsc_table - finds objects by type and number
 * @rscs: struct mlx5_ib_rsc by type and number: an entry for each queue pair and SRQ of verbs. Each
 *	event of a queue takes the lock of the xarray in interrupt context, for one look-up
 * @nb: receives the asynchronous events of queues from mlx5_core
 * @wq: delivers events in process context. Errors of a process's queues cause events, but each
 *	queue has one work item, whatever the number of events
 */
struct mlx5_ib_rsc_table {
	struct xarray rscs;
	struct notifier_block nb;
	struct workqueue_struct *wq;
};

/**
 * struct mlx5_ib_dev - one HCA
 * @ib_dev: the device as the RDMA core sees it; first
 * @mdev: the PCI function, or a subfunction of a PCI function; owned by mlx5_core
 * @dma_device: the device that does DMA: the PCI function, also for a subfunction
 * @caps: what the device can do, as computed at probe; constant
 * @port: the port, see port.c
 * @sys_error: notifier that mlx5_core calls when the device has failed: the notifier fails the
 *	requests of @umr, and flushes @kernel_qps
 * @gone: work item that does what @sys_error does, queued when a command finds the device gone;
 *	enabled only while @sys_error is registered
 * @async_slots: free slots for asynchronous commands of all users. Each thread of a process can
 *	wait for a slot, and tasks get slots in the order of their arrival. So in mlx5_core a
 *	command waits behind at most MLX5_IB_ASYNC_SLOTS asynchronous commands, and behind one
 *	synchronous command of each thread
 * @attempts: objects for which a command that destroys them is in flight, or was not answered; and
 *	attachments to multicast groups that firmware refuses to end
 * @orphans: objects without an owner that could not be destroyed, or that firmware may have created
 * @events: subscriptions to events of the device. Constant while the device has objects
 * @rsc_table: finds queue pairs and SRQs by the number that an event or page fault names
 * @kernel_qps: struct mlx5_ib_wqs of the queue pairs of kernel consumers, by number; no process has
 *	an entry
 * @failed: the device completes nothing any more; requests posted on @kernel_qps are flushed
 * @removing: the driver is being unbound
 * @drain_looks: how many times tasks have waited for a DC target in vain while @removing is set,
 *	each time for a tenth of a second (dct.c)
 * @kept: an object or a memory key could not be destroyed, so the struct that it is embedded in may
 *	have been leaked. If set, the driver does not warn of what is left in its tables when it
 *	frees the tables
 * @mkeys: memory keys by index; mkey_table.c says which keys have an entry. An entry is charged to
 *	the process that creates the key; the lock of the table is taken for one look-up
 * @mkey_variant: counter whose low byte becomes the low byte, called variant, of the next memory
 *	key, so that a new key differs from a destroyed key of the same index
 * @first_use: held while @dm, @umr, @mkey_pool or @xrc is created, each when it is first used. Each
 *	of them is NULL before and then constant until the device is removed. Memory is allocated
 *	while the mutex is held, so nothing that memory reclaim waits for may take the mutex. Other
 *	tasks that need one of the features wait meanwhile, for several commands, unless a signal
 *	kills them
 * @dm: device memory for users
 * @umr: queue pair that changes memory keys without firmware commands
 * @umr_zeros: array of zeros: translation entries of pages that are not present, for the device to
 *	read as the data of UMR requests. Allocated for the first paged region
 * @umr_zeros_dma: DMA address of @umr_zeros
 * @mkey_pool: free keys for @umr; created after @umr: if @mkey_pool is set, so is @umr
 * @mkey_pool_err: why @umr or @mkey_pool could not be created, or 0. Written under @first_use
 * @mkey_pool_retry: if @mkey_pool_err is set: time, in jiffies, from which on registrations that
 *	can do without @umr try again to create @umr and @mkey_pool
 * @odp: on-demand paging; NULL if the device does not support it, or if it could not be set up.
 *	Constant while the device is registered
 * @xrc: the driver's own objects for XRC queue pairs
 * @counters: which Q counters the device has; NULL without statistics. Constant while the device is
 *	registered
 * @counter_set_id: Q counter set of each queue pair of verbs that an administrator has not bound to
 *	another set
 * @dump_fill_mkey: key that discards data written through it; valid if the device has the
 *	capability dump_fill_mkey
 * @null_mkey: key for table entries without memory: any access through this key faults. Valid
 *	if the device has the capability null_mkey
 * @users: counts the objects of each user of the device. The pointer is constant
 * @flow_tables: flow tables with rules of processes; NULL if processes can have no flow rules. The
 *	pointer is constant
 * @contexts: open struct mlx5_ib_ucontext, in the order in which they were opened
 * @contexts_lock: guards @contexts, @loopback and @loopback_qps. Held while @uar_file is read; the
 *	read takes mlx5_bfreg_info.lock of each context. Each process that opens or closes the
 *	device holds @contexts_lock for one list operation; on an Ethernet port, while it opens or
 *	closes the second context, or a queue pair that needs @loopback, also for one command
 * @loopback: the vport of an Ethernet port receives what it sends
 * @loopback_qps: number of queue pairs for raw packets that need @loopback
 * @uar_file: file in debugfs by which root reads a report of the UARs of all contexts
 * @sys_image_guid: GUID of the system that the device is part of
 * @vendor_id: vendor id of the board, as QUERY_ADAPTER returns it
 */
struct mlx5_ib_dev {
	struct ib_device ib_dev;
	struct mlx5_core_dev *mdev;
	struct device *dma_device;
	struct mlx5_ib_caps caps;
	struct mlx5_ib_port port;
	struct notifier_block sys_error;
	struct work_struct gone;
	struct semaphore async_slots;
	struct mlx5_ib_fw_attempts attempts;
	struct mlx5_ib_orphans orphans;
	struct mlx5_ib_events *events;
	struct mlx5_ib_rsc_table rsc_table;
	struct xarray kernel_qps;
	bool failed;
	bool removing;
	atomic_t drain_looks;
	bool kept;
	struct xarray mkeys;
	atomic_t mkey_variant;
	struct mutex first_use; /* guards dm, umr, mkey_pool, xrc */
	struct mlx5_ib_dm_pool *dm;
	struct mlx5_ib_umr *umr;
	__be64 *umr_zeros;
	dma_addr_t umr_zeros_dma;
	struct mlx5_ib_mkey_pool *mkey_pool;
	int mkey_pool_err;
	unsigned long mkey_pool_retry;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_xrc *xrc;
	struct mlx5_ib_counters *counters;
	u8 counter_set_id;
	u32 dump_fill_mkey;
	u32 null_mkey;
	struct mlx5_ib_users *users;
	struct mlx5_ib_flow_tables *flow_tables;
	struct list_head contexts;
	struct mutex contexts_lock; /* guards contexts, loopback, loopback_qps */
	bool loopback;
	unsigned int loopback_qps;
	struct dentry *uar_file;
	__be64 sys_image_guid;
	u32 vendor_id;
};

/**
 * struct mlx5_bfreg_info - UAR pages of a context, and queues on each bfreg (blue-flame register)
 * @layout: sizes, fixed when the context is allocated
 * @sys_pages: device index of the first UAR of each page: first the static pages, whose UARs are
 *	allocated with the context, then the dynamic pages, whose UARs are allocated when the page
 *	is mapped. MLX5_IB_INVALID_UAR_INDEX for a dynamic page without a UAR. Guarded by @lock.
 * @count: number of QPs on each static bfreg. Guarded by @lock.
 * @bells: struct mlx5_ib_bell of each QP and CQ of verbs that has its doorbell on a UAR of the
 *	context. Guarded by @lock.
 * @num_bells: length of @bells. Guarded by @lock.
 * @lock: taken by queue creation, queue destruction and mmap. Held across ALLOC_UAR of a dynamic
 *	page, so that two tasks that map the same page cannot both allocate a UAR; and while the
 *	entry of a UAR object is inserted into the mmap space, so that a report of UARs, which holds
 *	@lock, sees no more entries than it has counted. Nests inside mmap_lock. ib_core frees
 *	entries under a lock that nests inside @lock, so mlx5_ib_mmap_free() must not take @lock.
 * @uar_4k: device and library use UARs of 4 KiB, whatever the host's page size
 * @blueflame: bfregs accept WQEs: what mlx5_ib_has_blueflame() returned when the device was opened.
 *	Kept here, because that function may sleep
 */
struct mlx5_bfreg_info {
	struct mlx5_bfreg_layout layout;
	u32 *sys_pages;
	unsigned int *count;
	struct list_head bells;
	u32 num_bells;
	struct mutex lock;	/* guards sys_pages, count, bells, num_bells */
	bool uar_4k;
	bool blueflame;
};

/**
 * struct mlx5_ib_ucontext - a process's use of the device
 * @ibucontext: as the RDMA core sees it; first
 * @node: in the list of the device, while the context is open
 * @pid: the process that opened the device
 * @comm: name of that process when it opened the device
 * @user: user that the process belonged to when it opened the device, with a reference; constant
 * @unlimited: the limits of a user do not apply to objects of the context; constant
 * @uid: user id in firmware commands for the process; 0 in a context without a user id
 * @devx_rights: MLX5_UCTX_CAP_*: rights that follow from the capabilities that the process had when
 *	it opened the device. The driver checks them itself, because firmware gives @uid only the
 *	rights that firmware supports. Constant
 * @bfregi: UAR pages and bfregs
 * @db_pages: pinned pages with doorbell records, by user page number and address space
 * @db_lock: guards @db_pages and the pages in it. Held while a page is pinned, so that two tasks do
 *	not pin the same page
 * @tdn: number of the transport domain; valid if @has_tdn
 * @has_tdn: the context has a transport domain, from its first queue for raw packets on
 * @tdn_lock: guards @tdn and @has_tdn; held while the domain is allocated, so that two tasks do not
 *	both allocate one
 * @cqe_version: version of the CQE format that the library reads
 * @advice: asynchronous ibv_advise_mr() calls; NULL before the first one
 * @orphans: struct orphan (see orphan.c) for each object of the context that firmware has refused
 *	to destroy, and that has no owner any more. Guarded by the lock of struct mlx5_ib_orphans;
 *	when the context is being closed, also read without the lock
 * @closing: the process has closed the device, or the device is being removed: ib_core destroys the
 *	objects of the context, and gives up objects that firmware goes on refusing to destroy.
 *	Written with the file's hw_destroy_rwsem held for writing, when no call of the process runs
 *	any more; so calls read @closing without a lock
 * @windows: number of memory windows that ib_core has not deallocated
 * @async_bytes: bytes of asynchronous commands whose answers have not been read, and of the answers
 * @event_channels: number of open channels for events
 */
struct mlx5_ib_ucontext {
	struct ib_ucontext ibucontext;
	struct list_head node;
	struct pid *pid;
	char comm[TASK_COMM_LEN];
	struct mlx5_ib_user *user;
	bool unlimited;
	u16 uid;
	u32 devx_rights;
	struct mlx5_bfreg_info bfregi;
	struct rb_root db_pages;
	struct mutex db_lock;	/* guards db_pages */
	u32 tdn;
	bool has_tdn;
	struct mutex tdn_lock;	/* guards tdn, has_tdn */
	u8 cqe_version;
	struct mlx5_ib_advice_queue *advice;
	struct list_head orphans;
	bool closing;
	atomic_t windows;
	atomic_t async_bytes;
	atomic_t event_channels;
};

/**
 * struct mlx5_ib_pd - protection domain
 * @ibpd: as the RDMA core sees it; first
 * @uid: user id that owns the domain
 * @pdn: number of the domain in the device
 * @attempt: attempts to deallocate the domain
 */
struct mlx5_ib_pd {
	struct ib_pd ibpd;
	u16 uid;
	u32 pdn;
	struct mlx5_ib_fw_attempt attempt;
};

/**
 * struct mlx5_ib_xrcd - XRC domain
 * @ibxrcd: as the RDMA core sees it; first
 * @xrcdn: number of the domain in the device
 * @user: user against whose limit the domain counts: the user who has allocated it, with a
 *	reference. NULL for a domain that is not counted
 */
struct mlx5_ib_xrcd {
	struct ib_xrcd ibxrcd;
	u32 xrcdn;
	struct mlx5_ib_user *user;
};

/**
 * struct mlx5_user_mmap_entry - an entry in the mmap space of a context
 * @rdma_entry: offset and reference count: one reference for the object, one for each mapping, one
 *	for each dma-buf that exports the entry, and for a UAR object one for each queue. A static
 *	or dynamic UAR page has an entry only while the page is mapped, to count its mappings
 * @free: called when the last reference is gone: frees the entry, and releases the UAR of a UAR
 *	object, the device memory, or the address of an operation on device memory. May sleep
 * @address: physical address of the first byte, as the CPU uses it; like @denied and @wc, not set
 *	for a static or dynamic UAR page
 * @denied: which of VM_READ, VM_WRITE and VM_EXEC a mapping must not have
 * @wc: mapped write combining, otherwise uncached
 * @page_id: for a UAR object, and for a static or dynamic UAR page, the index of its first UAR in
 *	the device
 * @mem: for device memory, and for the address of an operation on device memory, the allocation, on
 *	which the entry has a reference
 * @op: for an address at which an access does an operation on device memory, the number of the
 *	operation
 */
struct mlx5_user_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void (*free)(struct mlx5_user_mmap_entry *entry);
	phys_addr_t address;
	vm_flags_t denied;
	bool wc;
	union {
		u32 page_id;
		struct {
			struct mlx5_ib_memic *mem;
			u8 op;
		};
	};
};

static inline struct mlx5_ib_dev *to_mdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct mlx5_ib_dev, ib_dev);
}

static inline struct mlx5_ib_ucontext *to_mucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct mlx5_ib_ucontext, ibucontext);
}

/* The context that a protection domain belongs to; NULL for a kernel consumer's domain. */
static inline struct mlx5_ib_ucontext *mlx5_ib_pd_context(const struct ib_pd *pd)
{
	return pd->uobject ? to_mucontext(pd->uobject->context) : NULL;
}

/* Whether ib_core is destroying all objects of the object's context; false without a context. */
static inline bool mlx5_ib_is_closing(const struct ib_uobject *uobj)
{
	return uobj && uobj->context && to_mucontext(uobj->context)->closing;
}

static inline struct mlx5_ib_pd *to_mpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct mlx5_ib_pd, ibpd);
}

static inline struct mlx5_ib_xrcd *to_mxrcd(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct mlx5_ib_xrcd, ibxrcd);
}

static inline struct mlx5_user_mmap_entry *to_mmmap(struct rdma_user_mmap_entry *rdma_entry)
{
	return container_of(rdma_entry, struct mlx5_user_mmap_entry, rdma_entry);
}

#endif /* BLUEBELL_H */
