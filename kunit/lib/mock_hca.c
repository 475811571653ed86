// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mock device that executes UMRs: it keeps the translation tables of its memory keys and
 * walks them as hardware does.
 */

#include <kunit/device.h>
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/layout_odp.h"
#include "lib/mkey_pool.h"
#include "lib/umr.h"
#include "mock_hca.h"
#include "odp/odp_internal.h"
#include "verbs/mr.h"

#define NULL_MKEY	0x800
/* Keys on the way to a page of an implicit region: root, directory, leaf. */
#define MAX_DEPTH	3
#define OCTOWORD	16

/**
 * struct mock_key - a memory key of the device
 * @mkc: context of the key, struct mlx5_ifc_mkc_bits
 * @table: translation entries
 * @bytes: size of @table
 */
struct mock_key {
	u8 mkc[MLX5_ST_SZ_BYTES(mkc)];
	u8 *table;
	size_t bytes;
};

static struct mock_hca *current_hca(void)
{
	struct mock *mock = kunit_get_current_test()->priv;

	return mock->hca;
}

/* ---- keys ------------------------------------------------------------------------------- */

static void free_key(struct mock_key *key)
{
	if (!key)
		return;
	kvfree(key->table);
	kfree(key);
}

static void add_key(struct mock_hca *hca, void *in, u32 index)
{
	size_t given = MLX5_GET(create_mkey_in, in, translations_octword_actual_size) * OCTOWORD;
	struct kunit *test = hca->mock->test;
	struct mock_key *key = kzalloc_obj(*key, GFP_KERNEL | __GFP_NOFAIL);

	memcpy(key->mkc, MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry),
	       sizeof(key->mkc));
	key->bytes = MLX5_GET(mkc, key->mkc, translations_octword_size) * OCTOWORD;
	KUNIT_EXPECT_LE(test, given, key->bytes);
	key->table = kvzalloc(max_t(size_t, key->bytes, 1), GFP_KERNEL | __GFP_NOFAIL);
	memcpy(key->table, MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt),
	       min(given, key->bytes));
	KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(&hca->keys, index, key,
						    GFP_KERNEL | __GFP_NOFAIL)));
}

/**
 * mock_hca_fw - takes the place of mlx5_ib_fw_exec_via() on a device that executes UMRs
 * @dev: as for mock_fw()
 * @uid: as for mock_fw()
 * @in: as for mock_fw()
 * @in_size: as for mock_fw()
 * @out: as for mock_fw()
 * @out_size: as for mock_fw()
 * @send: as for mock_fw()
 * @arg: as for mock_fw()
 *
 * Return: as mock_fw().
 */
int mock_hca_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u32 index = MLX5_GET(destroy_mkey_in, in, mkey_index);
	struct mock_hca *hca = current_hca();

	switch (MLX5_GET(create_mkey_in, in, opcode)) {
	case MLX5_CMD_OP_CREATE_MKEY:
		if (!err)
			add_key(hca, in, MLX5_GET(create_mkey_out, out, mkey_index));
		break;
	case MLX5_CMD_OP_DESTROY_MKEY:
		/* After an error the key may be gone, too. */
		if (!xa_load(&hca->mock->live[MOCK_MKEY], index))
			free_key(xa_erase(&hca->keys, index));
		break;
	}
	return err;
}

/* The memory key that @mkey names, if it is not free and also has the low byte of @mkey. */
static struct mock_key *find_key(struct mock_hca *hca, u32 mkey)
{
	struct mock_key *key = xa_load(&hca->keys, mlx5_mkey_to_idx(mkey));

	if (!key || MLX5_GET(mkc, key->mkc, free) ||
	    MLX5_GET(mkc, key->mkc, mkey_7_0) != mlx5_mkey_variant(mkey))
		return NULL;
	return key;
}

/* The translation entry of the page of @va, or 0; sets @offset to where in the page @va is. */
static u64 find_entry(struct mock_hca *hca, u32 mkey, u64 va, u64 *offset)
{
	struct mock_key *key;
	struct mlx5_ksm *ksm;
	u64 start, index;
	int depth;
	u8 shift;

	for (depth = 0; depth < MAX_DEPTH; depth++) {
		key = find_key(hca, mkey);
		if (!key)
			return 0;
		start = MLX5_GET64(mkc, key->mkc, start_addr);
		shift = MLX5_GET(mkc, key->mkc, log_page_size);
		if (va < start || va - start >= MLX5_GET64(mkc, key->mkc, len))
			return 0;
		index = (va >> shift) - (start >> shift);
		*offset = va & (BIT_ULL(shift) - 1);
		if (MLX5_GET(mkc, key->mkc, access_mode_1_0) == MLX5_MKC_ACCESS_MODE_MTT)
			return be64_to_cpu(((__be64 *)key->table)[index]);
		ksm = (struct mlx5_ksm *)key->table + index;
		va = be64_to_cpu(ksm->va) + *offset;
		mkey = be32_to_cpu(ksm->key);
	}
	return 0;
}

/**
 * mock_hca_translate - translate an address as the device does
 * @hca: device
 * @mkey: key of the access
 * @va: address of the access
 *
 * Return: the translation entry of the page, or 0 if the device faults.
 */
u64 mock_hca_translate(struct mock_hca *hca, u32 mkey, u64 va)
{
	u64 offset;

	return find_entry(hca, mkey, va, &offset);
}

/**
 * mock_hca_dma_addr - where the device reads or writes
 * @hca: device
 * @mkey: key of the access; its pages may have any size
 * @va: address of the access
 *
 * Return: DMA address, or 0 if the device faults.
 */
u64 mock_hca_dma_addr(struct mock_hca *hca, u32 mkey, u64 va)
{
	u64 offset, entry = find_entry(hca, mkey, va, &offset);

	/* The bits below the smallest page are access rights. */
	return entry ? ALIGN_DOWN(entry, SZ_4K) + offset : 0;
}

/**
 * mock_hca_entry_key - the key that an entry of a table of keys refers to
 * @hca: device
 * @mkey: key of the table
 * @index: index of the entry
 *
 * Return: the key, or 0 if the table does not exist or has no such entry.
 */
u32 mock_hca_entry_key(struct mock_hca *hca, u32 mkey, unsigned long index)
{
	struct mock_key *key = find_key(hca, mkey);

	if (!key || (index + 1) * sizeof(struct mlx5_ksm) > key->bytes)
		return 0;
	return be32_to_cpu(((struct mlx5_ksm *)key->table)[index].key);
}

/**
 * mock_hca_mkc - the context of a key
 * @hca: device
 * @index: number of the key
 *
 * Return: struct mlx5_ifc_mkc_bits, or NULL if the device has not created the key.
 */
const void *mock_hca_mkc(struct mock_hca *hca, unsigned long index)
{
	struct mock_key *key = xa_load(&hca->keys, index);

	return key ? key->mkc : NULL;
}

/**
 * mock_hca_num_pages - number of pages that the device reaches
 * @hca: device
 *
 * Return: number of entries with a page in all MTT keys that are not free.
 */
unsigned int mock_hca_num_pages(struct mock_hca *hca)
{
	unsigned long index;
	unsigned int num = 0;
	struct mock_key *key;
	u64 start, end, i;
	u8 shift;

	xa_for_each(&hca->keys, index, key) {
		if (MLX5_GET(mkc, key->mkc, free) ||
		    MLX5_GET(mkc, key->mkc, access_mode_1_0) != MLX5_MKC_ACCESS_MODE_MTT)
			continue;
		start = MLX5_GET64(mkc, key->mkc, start_addr);
		end = start + MLX5_GET64(mkc, key->mkc, len);
		shift = MLX5_GET(mkc, key->mkc, log_page_size);
		for (i = start >> shift; i << shift < end; i++)
			num += !!((__be64 *)key->table)[i - (start >> shift)];
	}
	return num;
}

/* ---- UMRs ------------------------------------------------------------------------------- */

static void change_context(struct mock_key *key, const struct mlx5_ib_umr_wqe *wqe)
{
	u64 mask = be64_to_cpu(wqe->umr.mkey_mask);

	if (mask & MLX5_MKEY_MASK_FREE)
		MLX5_SET(mkc, key->mkc, free, MLX5_GET(mkc, wqe->mkc, free));
	if (mask & MLX5_MKEY_MASK_KEY)
		MLX5_SET(mkc, key->mkc, mkey_7_0, MLX5_GET(mkc, wqe->mkc, mkey_7_0));
	if (mask & MLX5_MKEY_MASK_PAGE_SIZE)
		MLX5_SET(mkc, key->mkc, log_page_size, MLX5_GET(mkc, wqe->mkc, log_page_size));
	if (mask & MLX5_MKEY_MASK_START_ADDR)
		MLX5_SET64(mkc, key->mkc, start_addr, MLX5_GET64(mkc, wqe->mkc, start_addr));
	if (mask & MLX5_MKEY_MASK_LEN)
		MLX5_SET64(mkc, key->mkc, len, MLX5_GET64(mkc, wqe->mkc, len));
	if (mask & MLX5_MKEY_MASK_PD)
		MLX5_SET(mkc, key->mkc, pd, MLX5_GET(mkc, wqe->mkc, pd));
	if (mask & MLX5_MKEY_MASK_QPN)
		MLX5_SET(mkc, key->mkc, qpn, MLX5_GET(mkc, wqe->mkc, qpn));
	if (mask & MLX5_MKEY_MASK_LR)
		MLX5_SET(mkc, key->mkc, lr, MLX5_GET(mkc, wqe->mkc, lr));
	if (mask & MLX5_MKEY_MASK_LW)
		MLX5_SET(mkc, key->mkc, lw, MLX5_GET(mkc, wqe->mkc, lw));
	if (mask & MLX5_MKEY_MASK_RR)
		MLX5_SET(mkc, key->mkc, rr, MLX5_GET(mkc, wqe->mkc, rr));
	if (mask & MLX5_MKEY_MASK_RW)
		MLX5_SET(mkc, key->mkc, rw, MLX5_GET(mkc, wqe->mkc, rw));
}

static void execute_umr(struct mock_hca *hca, const struct mlx5_ib_umr_wqe *wqe)
{
	size_t bytes = be16_to_cpu(wqe->umr.xlt_octowords) * OCTOWORD, offset = 0;
	u32 mkey = be32_to_cpu(wqe->ctrl.umr_mkey);
	struct mock_key *key = xa_load(&hca->keys, mlx5_mkey_to_idx(mkey));
	struct kunit *test = hca->mock->test;
	const void *entries = wqe->mtt;

	KUNIT_EXPECT_NOT_NULL_MSG(test, key, "UMR on key 0x%x, which does not exist", mkey);
	if (!key)
		return;
	KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, key->mkc, mkey_7_0), mlx5_mkey_variant(mkey));
	if (wqe->umr.flags & MLX5_UMR_TRANSLATION_OFFSET_EN)
		offset = (be16_to_cpu(wqe->umr.xlt_offset) |
			  (size_t)be32_to_cpu(wqe->umr.xlt_offset_47_16) << 16) * OCTOWORD;
	if (bytes && !(wqe->umr.flags & MLX5_UMR_INLINE)) {
		KUNIT_EXPECT_EQ(test, be32_to_cpu(wqe->list.lkey),
				mlx5_ib_umr_lkey(hca->mock->dev));
		KUNIT_EXPECT_GE(test, be32_to_cpu(wqe->list.byte_count), bytes);
		/* There is no IOMMU: a DMA address is a physical address. */
		entries = phys_to_virt(be64_to_cpu(wqe->list.addr));
	}
	KUNIT_EXPECT_LE(test, offset + bytes, key->bytes);
	if (offset + bytes > key->bytes)
		return;
	memcpy(key->table + offset, entries, bytes);
	change_context(key, wqe);
}

/* Whether a UMR names its key by another variant than the key has. */
static bool names_wrong_variant(struct mock_hca *hca, const struct mlx5_ib_umr_wqe *wqe)
{
	u32 mkey = be32_to_cpu(wqe->ctrl.umr_mkey);
	struct mock_key *key = xa_load(&hca->keys, mlx5_mkey_to_idx(mkey));

	return key && MLX5_GET(mkc, key->mkc, mkey_7_0) != mlx5_mkey_variant(mkey);
}

/* Stub of mlx5_ib_umr_post(). */
static int hca_umr_post(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
			struct mlx5_ib_umr_request *req)
{
	struct mock_hca *hca = current_hca();
	bool wrong = hca->restarts && names_wrong_variant(hca, wqe);
	bool fails = ++hca->num_requests == hca->fail;

	if (hca->stopped || (fails && hca->how == MOCK_NOT_POSTED))
		return -EAGAIN;
	if (!wrong && (!fails || hca->how == MOCK_EXECUTED))
		execute_umr(hca, wqe);
	hca->stopped = (fails && hca->how == MOCK_STOPPED) || (hca->restarts && (fails || wrong));
	req->ok = !fails && !wrong;
	hca->num_posted++;
	return 0;
}

/* Stub of mlx5_ib_umr_wait(). */
static int hca_umr_wait(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_request *req)
{
	struct mock_hca *hca = current_hca();

	hca->num_posted--;
	KUNIT_EXPECT_GE_MSG(hca->mock->test, hca->num_posted, 0, "wait for a UMR not posted");
	return req->ok ? 0 : -EIO;
}

/* Stub of mlx5_ib_umr_await(). */
static int hca_umr_await(struct mlx5_ib_dev *dev)
{
	struct mock_hca *hca = current_hca();

	if (hca->restarts)
		hca->stopped = false;
	return hca->stopped ? -EAGAIN : 0;
}

/* ---- pool ------------------------------------------------------------------------------- */

static void no_upkeep(struct work_struct *work)
{
}

/* Stub of mlx5_ib_mkey_pool_start(). */
static void no_start(struct mlx5_ib_dev *dev)
{
}

/*
 * A pool without upkeep, which would run in another task and so without stubs: the pool has
 * only the keys that regions have released.
 */
static void make_pool(struct mock_hca *hca)
{
	struct mlx5_ib_mkey_pool *pool = kzalloc_obj(*pool);
	int i;

	KUNIT_ASSERT_NOT_NULL(hca->mock->test, pool);
	pool->dev = hca->mock->dev;
	for (i = 0; i < MLX5_IB_POOL_CLASSES; i++)
		spin_lock_init(&pool->classes[i].lock);
	INIT_WORK(&pool->upkeep, no_upkeep);
	INIT_DELAYED_WORK(&pool->ageing, no_upkeep);
	hca->mock->dev->mkey_pool = pool;
}

/**
 * mock_hca_empty_pool - have firmware destroy the free keys
 * @hca: device without regions
 */
void mock_hca_empty_pool(struct mock_hca *hca)
{
	mlx5_ib_cleanup_mkey_pool(hca->mock->dev);
	make_pool(hca);
}

/**
 * mock_hca_num_free - number of free keys in the pool
 * @hca: device
 *
 * Return: the number.
 */
unsigned int mock_hca_num_free(struct mock_hca *hca)
{
	unsigned int num = 0;
	int i;

	for (i = 0; i < MLX5_IB_POOL_CLASSES; i++)
		num += hca->mock->dev->mkey_pool->classes[i].use.free;
	return num;
}

/**
 * mock_hca_num_in_use - number of keys that the pool counts as in use
 * @hca: device
 *
 * Return: the number.
 */
unsigned int mock_hca_num_in_use(struct mock_hca *hca)
{
	unsigned int num = 0;
	int i;

	for (i = 0; i < MLX5_IB_POOL_CLASSES; i++)
		num += hca->mock->dev->mkey_pool->classes[i].use.in_use;
	return num;
}

/**
 * mock_hca_num_slots - slots of the driver's table of keys
 * @hca: device
 * @published: count only the slots of keys that a lookup finds
 *
 * Return: number of slots.
 */
unsigned int mock_hca_num_slots(struct mock_hca *hca, bool published)
{
	unsigned int num = 0;
	unsigned long index;
	void *entry;

	xa_for_each(&hca->mock->dev->mkeys, index, entry)
		num += !published || !xa_is_value(entry);
	return num;
}

/* ---- device ----------------------------------------------------------------------------- */

static void hold_workqueue(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct mock_hca, hold)->release);
}

static void stop_hca(void *data)
{
	struct mock_hca *hca = data;
	struct mlx5_ib_dev *dev = hca->mock->dev;
	struct mock_key *key;
	unsigned long index;

	hca->mock->refuse = 0;
	hca->mock->refuse_destroy = false;
	complete(&hca->release);
	if (dev->odp) {
		dev->odp->eq = NULL;
		mlx5_ib_cleanup_odp(dev);
	}
	if (dev->mkey_pool)
		mlx5_ib_cleanup_mkey_pool(dev);
	if (dev->umr)
		mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(hca->mock->test, mock_num_live(hca->mock), hca->stuck);
	KUNIT_EXPECT_EQ(hca->mock->test, hca->num_posted, 0);
	xa_for_each(&hca->keys, index, key)
		free_key(key);
	xa_destroy(&hca->keys);
}

static void set_caps(struct mock *mock)
{
	struct mlx5_ib_caps *caps = &mock->dev->caps;

	MOCK_SET_CAP(caps, umr_modify_entity_size_disabled, 0);
	MOCK_SET_CAP(caps, pg, 1);
	MOCK_SET_CAP(caps, null_mkey, 1);
	MOCK_SET_CAP(caps, max_indirection, 4);
	MOCK_SET_CAP(caps, fixed_buffer_size, 1);
	MOCK_SET_CAP(caps, hca_cap_2, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, log_min_mkey_entity_size, 12);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, max_mkey_log_entity_size_mtt, 34);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			max_mkey_log_entity_size_fixed_buffer, 40);
	MOCK_SET_CAP(caps, umr_extended_translation_offset, 1);
}

/**
 * mock_hca_create - make a mock device execute UMRs
 * @mock: the device, before UMR and paging are set up
 *
 * Return: the part that executes UMRs; freed with the test.
 */
struct mock_hca *mock_hca_create(struct mock *mock)
{
	struct mock_hca *hca = kunit_kzalloc(mock->test, sizeof(*hca), GFP_KERNEL);
	struct device *device;

	KUNIT_ASSERT_NOT_NULL(mock->test, hca);
	device = kunit_device_register(mock->test, "bluebell-mock-dma");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(mock->test, device);
	hca->mock = mock;
	mock->hca = hca;
	xa_init(&hca->keys);
	init_completion(&hca->release);
	INIT_WORK(&hca->hold, hold_workqueue);
	set_caps(mock);
	mock->dev->null_mkey = NULL_MKEY;
	/*
	 * On arm64 a device is coherent only if the firmware of the host says so, as it does of PCI
	 * devices. Memory of processes is mapped for no other device.
	 */
	arch_setup_dma_ops(device, true);
	KUNIT_ASSERT_EQ(mock->test, dma_set_mask_and_coherent(device, DMA_BIT_MASK(64)), 0);
	mock->dev->dma_device = device;
	mock->dev->ib_dev.dma_device = device;
	kunit_activate_static_stub(mock->test, mlx5_ib_fw_exec_via, mock_hca_fw);
	kunit_activate_static_stub(mock->test, mlx5_ib_umr_post, hca_umr_post);
	kunit_activate_static_stub(mock->test, mlx5_ib_umr_wait, hca_umr_wait);
	kunit_activate_static_stub(mock->test, mlx5_ib_umr_await, hca_umr_await);
	kunit_activate_static_stub(mock->test, mlx5_ib_mkey_pool_start, no_start);
	KUNIT_ASSERT_EQ(mock->test, kunit_add_action_or_reset(mock->test, stop_hca, hca), 0);
	return hca;
}

/**
 * mock_hca_start - set up UMR, the pool of keys and paging
 * @hca: device
 *
 * The page-fault event queue, which mlx5_core would create, does not exist, so nothing reports page
 * faults: a test passes the faults to the driver itself.
 */
void mock_hca_start(struct mock_hca *hca)
{
	struct mlx5_ib_dev *dev = hca->mock->dev;
	struct kunit *test = hca->mock->test;

	KUNIT_ASSERT_EQ(test, mock_init_umr(dev), 0);
	make_pool(hca);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_odp(dev), 0);
	KUNIT_ASSERT_NOT_NULL(test, dev->odp);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_umr_clear(dev), 0);
	dev->odp->reclaim_wq = alloc_ordered_workqueue("bluebell_odp_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, dev->odp->reclaim_wq);
	queue_work(dev->odp->reclaim_wq, &hca->hold);
	dev->odp->eq = (struct mlx5_eq *)hca;
}
