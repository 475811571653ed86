// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory (MEMIC): ALLOC_MEMIC, DEALLOC_MEMIC and MODIFY_MEMIC, the window of BAR0 that shows
 * the memory, and the windows that apply an operation to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "caps.h"
#include "cmd.h"
#include "count.h"
#include "hca.h"
#include "ifc.h"
#include "memic.h"
#include "object.h"
#include "profile.h"

/* Freed memory is filled with this, so that the next owner does not find zeros by chance. */
#define POISON	0xdb

/*
 * An allocation. Addresses are offsets in BAR0. The windows of the operations lie behind the device
 * memory, and each window is as long as the whole device memory. In a window, an allocation is as
 * far from the start as in the device memory; with pack_memic_ops in the profile it is in the first
 * gap, so that allocations of different pages can share a page of the window.
 */
struct memic {
	struct obj obj;		/* obj.num: MEMIC_UNITs from the start of the device memory */
	uint64_t start;
	uint32_t size;
	uint32_t ops;		/* a bit for each operation that was given an address */
	uint64_t op_start[MEMIC_OPS];	/* these addresses */
};

struct memics {
	int fd;			/* file of the memory, at the same offset as in BAR0 */
	uint8_t *mem;
	uint64_t start, size;
};

/**
 * memic_on() - tell whether the HCA has device memory
 * @hca: the HCA
 */
bool memic_on(struct hca *hca)
{
	return hca_cap_gen(hca, device_memory) && hca_cap_mem(hca, memic);
}

static bool memic_in_profile(const struct profile *p)
{
	return IFC_GET(cmd_hca_cap, p->cap[1][0], device_memory) &&
	       IFC_GET(device_mem_cap, p->cap[1][0x0f], memic);
}

static void memic_free(struct hca *hca, struct memic *a)
{
	memset(memic_ptr(hca, a->start, a->size), POISON, a->size);
	obj_free(hca, &a->obj);
}

static bool memic_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	memic_free(hca, (struct memic *)o);
	return true;
}

static void memic_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_MEMIC, memic_drop, NULL);
}

static void memic_exit(struct hca *hca)
{
	struct memics *m = hca->memics;

	if (m->mem)
		munmap(m->mem, m->size);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
	hca->memics = NULL;
}

static int memic_map(struct memics *m)
{
	m->fd = memfd_create("bluebell-memic", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, m->start + m->size))
		return -errno;
	m->mem = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, m->start);
	if (m->mem == MAP_FAILED) {
		m->mem = NULL;
		return -errno;
	}
	memset(m->mem, POISON, m->size);
	return 0;
}

static int memic_init(struct hca *hca)
{
	const uint8_t *cap = hca->profile->cap[1][0x0f];
	struct memics *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	hca->memics = m;
	m->fd = -1;
	if (!memic_in_profile(hca->profile))
		return 0;
	m->start = IFC_GET64(device_mem_cap, cap, memic_bar_start_addr);
	m->size = IFC_GET(device_mem_cap, cap, memic_bar_size);
	err = memic_map(m);
	if (err)
		memic_exit(hca);
	return err;
}

const struct hca_module memic_module = {
	.name = "memic", .init = memic_init, .reset = memic_reset, .exit = memic_exit,
};

/* ---- finding allocations --------------------------------------------------------------------- */

/**
 * memic_ptr() - find the host address of device memory
 * @hca: the HCA
 * @addr: offset in BAR0
 * @len: bytes
 *
 * Return: the address; NULL if the range is not all device memory.
 */
void *memic_ptr(struct hca *hca, uint64_t addr, uint64_t len)
{
	struct memics *m = hca->memics;

	if (!m->mem || addr < m->start || len > m->size || addr - m->start > m->size - len)
		return NULL;
	return m->mem + (addr - m->start);
}

struct memic_search {
	uint64_t addr, len;
	struct memic *found;
};

static bool memic_overlaps(struct hca *hca, struct obj *o, void *arg)
{
	struct memic *a = (struct memic *)o;
	struct memic_search *s = arg;

	(void)hca;
	if (a->start >= s->addr + s->len || s->addr >= a->start + a->size)
		return true;
	s->found = a;
	return false;
}

static struct memic *memic_first_overlap(struct hca *hca, uint64_t addr, uint64_t len)
{
	struct memic_search s = { .addr = addr, .len = len };

	obj_for_each(hca, OBJ_MEMIC, memic_overlaps, &s);
	return s.found;
}

/**
 * memic_find() - find the allocation that a range lies in
 * @hca: the HCA
 * @addr: offset in BAR0
 * @len: bytes
 * @uid: user id of the command; 0 finds the allocations of all owners
 *
 * The drivers allocate device memory with user id 0 and map it into processes, so commands of
 * processes do not find that memory.
 *
 * Return: the allocation; NULL if none contains the whole range, or if it has another owner.
 */
struct obj *memic_find(struct hca *hca, uint64_t addr, uint64_t len, uint16_t uid)
{
	struct memic *a;

	if (!len || !memic_ptr(hca, addr, len))
		return NULL;
	a = memic_first_overlap(hca, addr, len);
	if (!a || addr < a->start || addr + len > a->start + a->size)
		return NULL;
	return !uid || a->obj.uid == uid ? &a->obj : NULL;
}

/* ---- BAR0 ------------------------------------------------------------------------------------ */

/**
 * memic_region() - tell which part of BAR0 a client can map
 * @hca: the HCA
 * @off: set to the offset in BAR0, which is also the offset in the file
 * @len: set to its length, bytes
 *
 * Return: the file to map it from, -1 if there is none.
 */
int memic_region(struct hca *hca, uint64_t *off, uint64_t *len)
{
	struct memics *m = hca->memics;

	*off = m->start;
	*len = m->size;
	return m->fd;
}

struct memic_op_search {
	unsigned int op;
	uint64_t addr, len;
	struct memic *found;
};

static bool memic_op_overlaps(struct hca *hca, struct obj *o, void *arg)
{
	struct memic *a = (struct memic *)o;
	struct memic_op_search *s = arg;

	(void)hca;
	if (!(a->ops & 1u << s->op) || a->op_start[s->op] >= s->addr + s->len ||
	    s->addr >= a->op_start[s->op] + a->size)
		return true;
	s->found = a;
	return false;
}

/* Find an allocation whose addresses for an operation overlap with a range of the window. */
static struct memic *memic_op_first(struct hca *hca, unsigned int op, uint64_t addr, uint64_t len)
{
	struct memic_op_search s = { .op = op, .addr = addr, .len = len };

	obj_for_each(hca, OBJ_MEMIC, memic_op_overlaps, &s);
	return s.found;
}

/*
 * Find the byte of device memory to which an access at @off in the window of an operation applies.
 * *@op is MEMIC_OPS if @off is in no window. Returns NULL if MODIFY_MEMIC has not given the
 * operation an address there, or if the access is not one byte wide.
 */
static uint8_t *memic_op_ptr(struct hca *hca, uint64_t off, uint32_t len, unsigned int *op)
{
	struct memics *m = hca->memics;
	struct memic *a;

	*op = MEMIC_OPS;
	if (!m->mem || off < m->start + m->size || off >= m->start + (1 + MEMIC_OPS) * m->size)
		return NULL;
	*op = (off - m->start) / m->size - 1;
	a = len == 1 ? memic_op_first(hca, *op, off, 1) : NULL;
	return a ? memic_ptr(hca, a->start + (off - a->op_start[*op]), 1) : NULL;
}

/**
 * memic_bar_read() - serve a read by the guest
 * @hca: the HCA
 * @off: bytes from BAR0's start
 * @buf: where to
 * @len: bytes
 *
 * Reads are not checked against the owner: the driver decides which process maps which page. In the
 * windows of the operations, only a read of one byte at an address that MODIFY_MEMIC has given to a
 * test-and-set is executed. All other reads there give zeros and are counted as drops.
 *
 * Return: false if @off is neither in device memory nor in the window of an operation.
 */
bool memic_bar_read(struct hca *hca, uint64_t off, uint8_t *buf, uint32_t len)
{
	const uint8_t *p = memic_ptr(hca, off, len);
	unsigned int op;
	uint8_t *t;

	if (p) {
		memcpy(buf, p, len);
		return true;
	}
	t = memic_op_ptr(hca, off, len, &op);
	if (op == MEMIC_OPS)
		return false;
	memset(buf, 0, len);
	if (!t || op != MEMIC_TEST_AND_SET)
		doorbell_drop(hca, DROP_NO_MEMIC, off / HCA_PAGE_SIZE, off % HCA_PAGE_SIZE);
	else
		buf[0] = __atomic_exchange_n(t, 1, __ATOMIC_SEQ_CST);
	return true;
}

/**
 * memic_bar_write() - serve a write by the guest
 * @hca: the HCA
 * @off: bytes from BAR0's start
 * @buf: the bytes
 * @len: how many
 *
 * In the windows of the operations, only a write of one byte to an address that MODIFY_MEMIC has
 * given to an increment is executed. All other writes there are dropped and counted.
 *
 * Return: false if @off is neither in device memory nor in the window of an operation.
 */
bool memic_bar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len)
{
	uint8_t *p = memic_ptr(hca, off, len);
	unsigned int op;

	if (p) {
		memcpy(p, buf, len);
		return true;
	}
	p = memic_op_ptr(hca, off, len, &op);
	if (op == MEMIC_OPS)
		return false;
	if (!p || op != MEMIC_INCREMENT)
		doorbell_drop(hca, DROP_NO_MEMIC, off / HCA_PAGE_SIZE, off % HCA_PAGE_SIZE);
	else
		__atomic_fetch_add(p, buf[0], __ATOMIC_SEQ_CST);
	return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t memic_check_on(struct hca *hca, struct cmd *cmd)
{
	return memic_on(hca) ? ST_OK : cmd_fail(cmd, ST_BAD_OP, WHY_MEMIC_NOT_OFFERED,
						"memic is not supported");
}

/* Find the first gap of @size bytes in [*@at, @end); *@at is set to its address. */
static bool memic_place(struct hca *hca, uint64_t *at, uint64_t end, uint64_t size, uint64_t align)
{
	struct memic *in_way;

	*at = (*at + align - 1) & ~(align - 1);
	while (size <= end && *at <= end - size) {
		in_way = memic_first_overlap(hca, *at, size);
		if (!in_way)
			return true;
		*at = (in_way->start + in_way->size + align - 1) & ~(align - 1);
	}
	return false;
}

static uint8_t alloc_memic(struct hca *hca, struct cmd *cmd)
{
	const struct obj_range *r = &hca->profile->range[OBJ_MEMIC];
	unsigned int log_align = IFC_GET(alloc_memic_in, cmd->in, log_memic_addr_alignment);
	uint64_t at = IFC_GET64(alloc_memic_in, cmd->in, range_start_addr);
	uint32_t range = IFC_GET(alloc_memic_in, cmd->in, range_size);
	uint32_t size = IFC_GET(alloc_memic_in, cmd->in, memic_size);
	uint32_t unit = 1u << hca_cap_mem(hca, log_min_memic_alloc_size);
	struct memic *a;

	if (memic_check_on(hca, cmd))
		return ST_BAD_OP;
	if (!size || size % unit || size > hca_cap_mem(hca, max_memic_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MEMIC_SIZE,
				"%u bytes: not a multiple of %u, or over %u", size, unit,
				(uint32_t)hca_cap_mem(hca, max_memic_size));
	if (log_align > hca_cap_mem(hca, log_max_memic_addr_alignment))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MEMIC_ALIGNMENT,
				"alignment 2^%u is not supported", log_align);
	if (!range || !memic_ptr(hca, at, range))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MEMIC_RANGE,
				"range 0x%llx+0x%x is not device memory", (unsigned long long)at,
				range);
	if (obj_count(hca, OBJ_MEMIC) >= r->limit - r->first)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all %u allocations are in use",
				r->limit - r->first);
	if (!memic_place(hca, &at, at + range, size, (uint64_t)MEMIC_UNIT << log_align))
		return cmd_fail(cmd, ST_NO_RES, WHY_MEMIC_NO_GAP,
				"there is no gap of %u bytes in the range", size);
	a = (struct memic *)obj_new_at(hca, OBJ_MEMIC,
				       (at - hca->memics->start) / MEMIC_UNIT,
				       cmd->uid, sizeof(*a));
	if (!a)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory");
	a->start = at;
	a->size = size;
	IFC_SET64(alloc_memic_out, cmd->out, memic_start_addr, at);
	return ST_OK;
}

/* Find the allocation that begins at @start. */
static uint8_t memic_check(struct hca *hca, struct cmd *cmd, uint64_t start, struct memic **a)
{
	struct obj *o = memic_find(hca, start, 1, cmd->uid);

	*a = (struct memic *)o;
	if (o && (*a)->start == start)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_RES, WHY_MEMIC_UNKNOWN, "no allocation begins at 0x%llx",
			(unsigned long long)start);
}

static uint8_t dealloc_memic(struct hca *hca, struct cmd *cmd)
{
	uint32_t size = IFC_GET(dealloc_memic_in, cmd->in, memic_size);
	struct memic *a;
	uint8_t st;

	if (memic_check_on(hca, cmd))
		return ST_BAD_OP;
	st = memic_check(hca, cmd, IFC_GET64(dealloc_memic_in, cmd->in, memic_start_addr), &a);
	if (st)
		return st;
	if (size != a->size)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MEMIC_SIZE,
				"memic_size is %u bytes, but %u were allocated", size, a->size);
	if (a->obj.refs)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
				"%u keys refer to the allocation", a->obj.refs);
	if (a->ops)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_MEMIC_OPERATION_IN_USE,
				"operations 0x%x still have an address", a->ops);
	memic_free(hca, a);
	return ST_OK;
}

/* Give an operation on an allocation addresses in the operation's window. */
static bool memic_op_place(struct hca *hca, struct memic *a, unsigned int op)
{
	struct memics *m = hca->memics;
	uint64_t window = m->start + (1 + op) * m->size, at = window;
	struct memic *in_way;

	if (!hca->profile->pack_memic_ops) {
		a->op_start[op] = window + (a->start - m->start);
		return true;
	}
	while ((in_way = memic_op_first(hca, op, at, a->size)))
		at = (in_way->op_start[op] + in_way->size + MEMIC_UNIT - 1) & -(uint64_t)MEMIC_UNIT;
	a->op_start[op] = at;
	return at + a->size <= window + m->size;
}

static uint8_t modify_memic(struct hca *hca, struct cmd *cmd)
{
	unsigned int op = IFC_GET(modify_memic_in, cmd->in, memic_operation_type);
	struct memic *a;
	uint8_t st;

	if (memic_check_on(hca, cmd))
		return ST_BAD_OP;
	if (op >= MEMIC_OPS || !(hca_cap_mem(hca, memic_operations) & 1u << op))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MEMIC_OPERATION_NOT_OFFERED,
				"operation %u is not supported (memic_operations)", op);
	st = memic_check(hca, cmd, IFC_GET64(modify_memic_in, cmd->in, memic_start_addr), &a);
	if (st)
		return st;
	if (!(a->ops & 1u << op) == (cmd->op_mod == MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_MEMIC_OPERATION_STATE,
				"operation %u has %s address", op,
				a->ops & 1u << op ? "an" : "no");
	if (cmd->op_mod == MLX5_MODIFY_MEMIC_OP_MOD_ALLOC) {
		if (!memic_op_place(hca, a, op))
			return cmd_fail(cmd, ST_NO_RES, WHY_MEMIC_NO_GAP,
					"there is no gap of %u bytes for operation %u", a->size,
					op);
		IFC_SET64(modify_memic_out, cmd->out, memic_operation_addr, a->op_start[op]);
	}
	a->ops ^= 1u << op;
	return ST_OK;
}

const struct cmd_desc memic_cmds[] = {
	CMD(ALLOC_MEMIC, alloc_memic, alloc_memic),
	CMD(DEALLOC_MEMIC, dealloc_memic, dealloc_memic),
	CMD(MODIFY_MEMIC, modify_memic, modify_memic,
	    OP_MODS(MLX5_MODIFY_MEMIC_OP_MOD_ALLOC, MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC)),
	{}
};
