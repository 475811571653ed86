// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of regions over a dma-buf, with an exporter of our own that counts mappings and takes
 * its memory back, and a firmware that refuses commands.
 */

#include <kunit/test.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fdtable.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>

#include "lib/fail_alloc.h"
#include "lib/mkey_pool.h"
#include "lib/mock_hca.h"
#include "lib/orphan.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

#define SIZE		(16 * PAGE_SIZE)
#define DMA_BASE	0x10000000

/**
 * struct exporter - memory that another driver would have
 * @mock: the device that imports the memory
 * @pd: protection domain
 * @dmabuf: what is exported; freed when @fd and all attachments are gone
 * @fd: descriptor
 * @sgt: DMA addresses of the memory, which are made up
 * @mapped: number of mappings by importers
 * @keys_at_unmap: number of keys when the memory was last unmapped
 * @commands_at_unmap: number of commands when the memory was last unmapped
 * @refuse_map: refuse to map the memory
 * @mr: region of reg_all()
 */
struct exporter {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct dma_buf *dmabuf;
	int fd;
	struct sg_table sgt;
	int mapped;
	unsigned int keys_at_unmap;
	unsigned int commands_at_unmap;
	bool refuse_map;
	struct ib_mr *mr;
};

static struct sg_table *map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct exporter *ex = attach->dmabuf->priv;

	if (ex->refuse_map)
		return ERR_PTR(-ENOMEM);
	ex->mapped++;
	return &ex->sgt;
}

static void unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		  enum dma_data_direction dir)
{
	struct exporter *ex = attach->dmabuf->priv;

	ex->mapped--;
	ex->keys_at_unmap = ex->mock->num_live[MOCK_MKEY];
	ex->commands_at_unmap = ex->mock->num_commands;
}

static void release(struct dma_buf *dmabuf)
{
}

static const struct dma_buf_ops exporter_ops = {
	.map_dma_buf = map,
	.unmap_dma_buf = unmap,
	.release = release,
};

static void close_exporter(void *data)
{
	struct exporter *ex = data;

	close_fd(ex->fd);
	sg_free_table(&ex->sgt);
}

/* The length of a part has 32 bits. */
static void make_list(struct kunit *test, struct sg_table *sgt, u64 size)
{
	struct scatterlist *sg;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, sg_alloc_table(sgt, DIV_ROUND_UP_ULL(size, SZ_2G), GFP_KERNEL));
	for_each_sgtable_dma_sg(sgt, sg, i) {
		sg_dma_address(sg) = DMA_BASE + (u64)i * SZ_2G;
		sg_dma_len(sg) = min_t(u64, size - (u64)i * SZ_2G, SZ_2G);
	}
}

static struct exporter *make_exporter_of(struct kunit *test, const struct dma_buf_ops *ops,
					 u64 size)
{
	struct exporter *ex = kunit_kzalloc(test, sizeof(*ex), GFP_KERNEL);
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	KUNIT_ASSERT_NOT_NULL(test, ex);
	ex->mock = mock_create(test);
	ex->mock->dev->ib_dev.dma_device = ex->mock->dev->mdev->device;
	ex->pd.ibpd.device = &ex->mock->dev->ib_dev;
	make_list(test, &ex->sgt, size);

	info.ops = ops;
	info.size = size;
	info.flags = O_RDWR;
	info.priv = ex;
	ex->dmabuf = dma_buf_export(&info);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ex->dmabuf);
	ex->fd = dma_buf_fd(ex->dmabuf, O_CLOEXEC);
	KUNIT_ASSERT_GE(test, ex->fd, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_exporter, ex));
	return ex;
}

static struct exporter *make_exporter(struct kunit *test)
{
	return make_exporter_of(test, &exporter_ops, SIZE);
}

static struct ib_mr *reg_for(struct exporter *ex, u64 offset, u64 length, u64 iova, u32 access)
{
	struct ib_mr *mr;

	mr = mlx5_ib_reg_user_mr_dmabuf(&ex->pd.ibpd, offset, length, iova, ex->fd,
					IB_ACCESS_LOCAL_WRITE | access, NULL, NULL);
	/* ib_core sets these members when the driver has returned. */
	if (!IS_ERR(mr)) {
		mr->device = &ex->mock->dev->ib_dev;
		mr->pd = &ex->pd.ibpd;
	}
	return mr;
}

static struct ib_mr *reg_at(struct exporter *ex, u64 offset, u64 length, u64 iova)
{
	return reg_for(ex, offset, length, iova, 0);
}

static struct ib_mr *reg_for_windows(struct exporter *ex)
{
	return reg_for(ex, 0, SIZE, 0, IB_ACCESS_MW_BIND);
}

static struct ib_mr *reg(struct exporter *ex, u64 offset, u64 length)
{
	return reg_at(ex, offset, length, offset);
}

static int reg_all(void *exporter)
{
	struct exporter *ex = exporter;

	ex->mr = reg(ex, 0, SIZE);
	return PTR_ERR_OR_ZERO(ex->mr);
}

static void dereg_all(void *exporter)
{
	struct exporter *ex = exporter;

	mlx5_ib_dereg_mr(ex->mr, NULL);
}

static void failure_of_any_allocation_releases_the_memory(struct kunit *test)
{
	static const struct fail_alloc_verb verb = { reg_all, dereg_all };
	struct exporter *ex = make_exporter(test);

	fail_alloc_each(ex->mock, &verb, ex);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
}

static void take_back(struct exporter *ex)
{
	dma_resv_lock(ex->dmabuf->resv, NULL);
	dma_buf_invalidate_mappings(ex->dmabuf);
	dma_resv_unlock(ex->dmabuf->resv);
}

static void registration_with_a_dma_handle_is_refused(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_dmah dmah = {};

	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EOPNOTSUPP),
			    mlx5_ib_reg_user_mr_dmabuf(&ex->pd.ibpd, 0, SIZE, 0, ex->fd,
						       IB_ACCESS_LOCAL_WRITE, &dmah, NULL));
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 0);
}

static void key_is_destroyed_before_the_memory_is_unmapped(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_mr *mr = reg(ex, 0, SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, ex->mock->num_live[MOCK_MKEY], 1);
	ex->keys_at_unmap = 99;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->keys_at_unmap, 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(ex->mock), 0);
	/* One command created the key, one destroyed it. */
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 2);
}

static void memory_that_was_taken_back_is_out_of_reach(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_mr *mr = reg(ex, 0, SIZE), *other = reg(ex, PAGE_SIZE, 2 * PAGE_SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	take_back(ex);
	KUNIT_EXPECT_EQ(test, ex->mock->num_live[MOCK_MKEY], 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	/*
	 * When the exporter takes the memory back again, no mapping is left; deregistration finds
	 * no key.
	 */
	take_back(ex);
	ex->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(other, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 0);
}

/* Deregistration tries again to destroy a key that firmware has refused to destroy. */
static void key_that_firmware_keeps_can_be_destroyed_later(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_mr *mr = reg(ex, 0, SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	ex->mock->refuse_destroy = true;
	take_back(ex);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), ex->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, ex->mock->num_live[MOCK_MKEY], 1);
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(ex->mock), 0);
}

/*
 * Firmware refuses to destroy a key to which a window is bound. The driver does not say that the
 * device may access memory that the exporter reuses, because the region keeps the memory.
 */
static void region_with_a_window_keeps_its_memory(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, to_mmr(mr)->mkey.class, MLX5_IB_CLASS_FIRMWARE);
	ex->mock->refuse_destroy = true;
	ex->mock->refuse_err = -EINVAL;
	ex->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	/* The window is gone. */
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(ex->mock), 0);
}

/*
 * The process has closed the device, and firmware refuses to destroy the key of its region. So many
 * of its windows are left.
 */
static void close_with_windows(struct exporter *ex, int windows)
{
	ex->mock->refuse_destroy = true;
	ex->mock->refuse_err = -EINVAL;
	ex->mock->context->closing = true;
	atomic_set(&ex->mock->context->windows, windows);
}

static void end_windows(struct exporter *ex)
{
	atomic_set(&ex->mock->context->windows, 0);
	ex->mock->refuse_destroy = false;
}

/*
 * The process has closed the device, and ib_core destroys the region before the window that is
 * bound to it. UMR cannot revoke the key. When ib_core comes to the region again, the window is
 * gone.
 */
static void region_of_a_closed_process_waits_for_its_window(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mlx5_ib_ucontext *context = ex->mock->context;
	struct ib_udata *udata = mock_udata(ex->mock, NULL, 0, 0);
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	close_with_windows(ex, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), -EBUSY);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, ex->mock->num_live[MOCK_MKEY], 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&context->orphans));
	end_windows(ex);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), 0);
	KUNIT_EXPECT_EQ(test, ex->keys_at_unmap, 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(ex->mock), 0);
	context->closing = false;
}

/* Without a window nothing would make ib_core come to the region again. */
static void region_of_a_closed_process_waits_for_nothing_else(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mlx5_ib_ucontext *context = ex->mock->context;
	struct ib_udata *udata = mock_udata(ex->mock, NULL, 0, 0);
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	close_with_windows(ex, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	end_windows(ex);
	mlx5_ib_orphans_leave_context(ex->mock->dev, context);
	context->closing = false;
	KUNIT_EXPECT_EQ(test, mock_num_live(ex->mock), 0);
}

/* Pages of an exporter do not count as locked memory of the process. */
static void region_counts_as_paged_memory_of_its_user(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mlx5_ib_ucontext *context = ex->mock->context;
	struct ib_uobject uobj = { .context = &context->ibucontext };
	struct mlx5_ib_users *users = ex->mock->dev->users;
	u32 mib = DIV_ROUND_UP(SIZE, SZ_1M);
	struct ib_mr *mr;
	atomic_t *count;

	count = &mock_give_user(ex->mock)[MLX5_IB_SHARE_PAGED];
	users->limit[MLX5_IB_SHARE_PAGED] = mib;
	ex->pd.ibpd.uobject = &uobj;
	ex->mock->num_commands = 0;
	ex->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(ex, 0, SIZE)), ex->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	ex->mock->refuse = 0;
	mr = reg(ex, 0, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, atomic_read(count), mib);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(ex, 0, SIZE)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	ex->pd.ibpd.uobject = NULL;
	mock_drop_user(ex->mock);
}

static void refused_region_releases_the_memory(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);

	ex->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, 0, SIZE)), ex->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
	ex->mock->refuse = 0;
	ex->mock->num_commands = 0;
	ex->refuse_map = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, 0, SIZE)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, 0, SIZE + 1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, SIZE, 1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
}

static void change_of_rights_is_refused(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct ib_mr *mr = reg(ex, 0, SIZE), *new;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	new = mlx5_ib_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0, &ex->pd.ibpd,
				    mock_udata(ex->mock, NULL, 0, 0));
	KUNIT_EXPECT_EQ(test, PTR_ERR(new), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ex->mock->num_live[MOCK_MKEY], 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING

#include "odp/odp_internal.h"

/* Make the device that imports the memory execute UMRs, with no keys in its pool. */
static struct mock_hca *make_umr(struct exporter *ex)
{
	struct mock_hca *hca = mock_hca_create(ex->mock);

	mock_hca_start(hca);
	return hca;
}

static void failed_revocation_by_umr_destroys_the_key(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);
	unsigned int others = ex->mock->num_live[MOCK_MKEY];
	struct ib_mr *mr;

	/* The first region leaves its key in the pool; UMR fills this key for the second region. */
	mr = reg(ex, 0, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_ASSERT_EQ(test, mock_hca_num_free(hca), 1);
	mr = reg(ex, 0, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_NE(test, mock_hca_num_pages(hca), 0);
	hca->fail = hca->num_requests + 1;
	hca->how = MOCK_NOT_EXECUTED;
	take_back(ex);
	/* Firmware has destroyed the key before the exporter got its memory back. */
	KUNIT_EXPECT_EQ(test, hca->num_requests, hca->fail);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->keys_at_unmap, others);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(hca), 0);
}

/*
 * UMR would revoke a key to which a window is bound, and firmware then refuses to destroy the key:
 * region and window would reach nothing, although the region still exists.
 */
static void region_with_a_window_is_not_revoked(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, to_mmr(mr)->mkey.class, MLX5_IB_CLASS_LONG);
	ex->mock->refuse_destroy = true;
	ex->mock->refuse_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_FALSE(test, to_mmr(mr)->mkey.revoked);
	KUNIT_EXPECT_EQ(test, mock_hca_dma_addr(hca, mr->lkey, 0), DMA_BASE);
	/* The exporter may still revoke the memory. */
	take_back(ex);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
}

/*
 * The process has closed the device, and firmware does not answer DESTROY_MKEY. No UMR can name the
 * key after that, so UMR revokes the key first.
 */
static void key_of_a_closed_process_is_revoked_first(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	ex->mock->refuse_destroy = true;
	ex->mock->refuse_err = -ETIMEDOUT;
	ex->mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(ex->mock, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	ex->mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(ex->mock->dev, ex->mock->context);
	ex->mock->context->closing = false;
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
}

/*
 * The pages of the key are as large as the memory and the addresses allow: 64 KiB, 16 KiB, 64 KiB
 * and 8 KiB in the four cases. In the first round firmware creates a key; in the second round UMR
 * fills the free key that the first round has left in the pool.
 */
/* UMR revokes the key although a window is bound to it; the key is destroyed after the window. */
static void region_that_umr_has_revoked_waits_for_its_window(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);
	struct mlx5_ib_ucontext *context = ex->mock->context;
	struct ib_mr *mr = reg_for_windows(ex);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	close_with_windows(ex, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(ex->mock, NULL, 0, 0)), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	end_windows(ex);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(ex->mock, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	context->closing = false;
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
}

static void large_pages_lead_to_every_part_of_the_memory(struct kunit *test)
{
	static const struct { u64 offset, length, iova; } cases[] = {
		{ 0, SIZE, 0 },
		{ 0x1000, 0x2000, 0x1000 },
		{ 0x3000, 0xa000, 0x70003000 },
		{ 0x3000, 0xa000, 0x70001000 },
	};
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);
	unsigned int round, i;
	struct ib_mr *mr;
	u64 at;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mock_hca_empty_pool(hca);
		for (round = 0; round < 2; round++) {
			KUNIT_ASSERT_EQ(test, mock_hca_num_free(hca), round);
			mr = reg_at(ex, cases[i].offset, cases[i].length, cases[i].iova);
			KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
			KUNIT_EXPECT_EQ(test, mock_hca_num_free(hca), 0);
			for (at = 0; at < cases[i].length; at += SZ_4K)
				KUNIT_EXPECT_EQ_MSG(test,
						    mock_hca_dma_addr(hca, mr->lkey,
								      cases[i].iova + at),
						    DMA_BASE + cases[i].offset + at,
						    "case %u, round %u, 0x%llx", i, round, at);
			KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
		}
	}
}

static int pin(struct dma_buf_attachment *attach)
{
	return 0;
}

static void unpin(struct dma_buf_attachment *attach)
{
}

/* Memory that its exporter may move. */
static const struct dma_buf_ops moving_ops = {
	.pin = pin,
	.unpin = unpin,
	.map_dma_buf = map,
	.unmap_dma_buf = unmap,
	.release = release,
};

/*
 * UMR fails to revoke the key, and firmware does not answer that it has destroyed the key. A UMR on
 * this key would stop the UMR queue pair of all users.
 */
static void move_names_no_key_that_may_be_gone(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg(ex, 0, SIZE);
	unsigned int requests;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, ex->mapped, 1);
	hca->stopped = true;
	ex->mock->lose_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -ETIMEDOUT);
	hca->stopped = false;
	ex->mock->lose_destroy = false;
	requests = hca->num_requests;
	take_back(ex);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, hca->num_requests, requests);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(hca), 0);
}

/* After a refusal UMR fails to clear the entries, so the driver has the key destroyed again. */
static void key_that_is_destroyed_at_last_is_not_given_up(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_udata *udata = mock_udata(ex->mock, NULL, 0, 0);
	struct ib_mr *mr = reg(ex, 0, SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	hca->stopped = true;
	ex->mock->refuse = ex->mock->num_commands + 1;
	ex->mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), 0);
	hca->stopped = false;
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_slots(hca, false), mock_hca_num_free(hca));
}

static void region_without_a_key_is_not_counted(struct kunit *test)
{
	struct exporter *ex = make_exporter(test);
	struct mock_hca *hca = make_umr(ex);

	KUNIT_ASSERT_EQ(test, mock_hca_num_free(hca), 0);
	ex->mock->refuse = ex->mock->num_commands + 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(reg(ex, 0, SIZE)), ex->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(hca), 0);
}

static struct ib_mr *reg_paged_for(struct exporter *ex, u64 length, u32 access)
{
	return mlx5_ib_odp_reg_dmabuf(&ex->pd.ibpd, 0, length, 0, ex->fd,
				      IB_ACCESS_ON_DEMAND | access);
}

static struct ib_mr *reg_paged(struct exporter *ex, u64 length)
{
	return reg_paged_for(ex, length, IB_ACCESS_LOCAL_WRITE);
}

static int page_in_for(struct ib_mr *mr, unsigned long req)
{
	struct odp_mr *odp = container_of(to_mmr(mr), struct odp_mr, mr);

	return odp->ops->page_in(odp, 0, PAGE_SIZE, req);
}

static int page_in(struct ib_mr *mr)
{
	return page_in_for(mr, 0);
}

static void region_for_reading_is_not_mapped_for_a_write(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_paged_for(ex, SIZE, IB_ACCESS_REMOTE_READ);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	take_back(ex);
	KUNIT_EXPECT_EQ(test, page_in_for(mr, HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE), -EFAULT);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, page_in_for(mr, HMM_PFN_REQ_FAULT), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

/* UMR could not map the memory, but the registration need not fail for that. */
static void region_that_is_created_while_umr_is_stopped_is_mapped_later(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr;

	hca->stopped = true;
	mr = reg_paged(ex, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	hca->stopped = false;
	KUNIT_EXPECT_EQ(test, page_in(mr), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), SIZE / PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

static void expect_no_paged_region(struct kunit *test, struct exporter *ex, const char *after)
{
	const atomic_t *count = ex->mock->context->user->count;
	struct mock_hca *hca = ex->mock->hca;

	KUNIT_EXPECT_EQ_MSG(test, ex->mapped, 0, "after %s", after);
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&ex->dmabuf->attachments), "after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(hca), 0, "after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_in_use(hca), 0, "after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_slots(hca, false), mock_hca_num_free(hca),
			    "after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&count[MLX5_IB_SHARE_MKEY]), 0, "after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&count[MLX5_IB_SHARE_PAGED]), 0, "after %s", after);
}

static void refused_paged_region_leaves_nothing(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SZ_2M);
	struct mock_hca *hca = make_umr(ex);
	struct ib_uobject uobj = { .context = &ex->mock->context->ibucontext };
	u32 *limit = ex->mock->dev->users->limit, max = limit[MLX5_IB_SHARE_PAGED];

	mock_give_user(ex->mock);
	ex->pd.ibpd.uobject = &uobj;
	ex->mock->refuse = ex->mock->num_commands + 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg_paged(ex, SZ_2M)), ex->mock->refuse_err);
	expect_no_paged_region(test, ex, "a refused command");
	ex->mock->refuse = 0;
	/* In MiB. */
	limit[MLX5_IB_SHARE_PAGED] = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg_paged(ex, SZ_2M)), -ENOMEM);
	expect_no_paged_region(test, ex, "the limit of the user");
	limit[MLX5_IB_SHARE_PAGED] = max;
	ex->refuse_map = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg_paged(ex, SZ_2M)), -ENOMEM);
	expect_no_paged_region(test, ex, "a refusal of the exporter");
	ex->refuse_map = false;
	for (hca->how = 0; hca->how < MOCK_NUM_FAILURES; hca->how++) {
		/* Firmware creates the key, so the first UMR maps the memory. */
		mock_hca_empty_pool(hca);
		hca->fail = hca->num_requests + 1;
		KUNIT_EXPECT_LT(test, PTR_ERR_OR_ZERO(reg_paged(ex, SZ_2M)), 0);
		hca->stopped = false;
		expect_no_paged_region(test, ex, "a failed UMR");
	}
	hca->fail = 0;
	ex->pd.ibpd.uobject = NULL;
	mock_drop_user(ex->mock);
}

/* UMR could not clear the entries, so firmware has destroyed the key, whose number is free. */
static void destroyed_key_is_not_mapped(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	unsigned int num_requests;
	struct ib_mr *mr;

	mr = reg_paged(ex, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), SIZE / PAGE_SIZE);
	hca->fail = hca->num_requests + 1;
	hca->how = MOCK_NOT_EXECUTED;
	take_back(ex);
	KUNIT_EXPECT_TRUE(test, to_mmr(mr)->mkey.destroyed);
	hca->fail = 0;
	num_requests = hca->num_requests;
	KUNIT_EXPECT_EQ(test, page_in(mr), -EIO);
	KUNIT_EXPECT_EQ(test, hca->num_requests, num_requests);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
}

/* More pages than a key of the pool has entries for: UMR does not revoke the key of the region. */
#define LONG_SIZE	((BIT_ULL(MLX5_IB_POOL_MAX_LOG_MTTS) + 1) << PAGE_SHIFT)

/* Page faults of queue pairs in the new domain may name the key, others no more. */
static void paged_region_changes_its_domain(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg(ex, 0, SIZE);
	struct mlx5_ib_pd pd = { .ibpd.device = ex->pd.ibpd.device, .pdn = 0x222 };
	const void *mkc;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_NULL(test, mlx5_ib_rereg_user_mr(mr, IB_MR_REREG_PD, 0, 0, 0, 0, &pd.ibpd,
						      mock_udata(ex->mock, NULL, 0, 0)));
	KUNIT_EXPECT_EQ(test, to_mmr(mr)->pdn, pd.pdn);
	mkc = mock_hca_mkc(hca, mlx5_mkey_to_idx(mr->lkey));
	KUNIT_ASSERT_NOT_NULL(test, mkc);
	KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, pd), pd.pdn);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

/* Register a region with a long key, and let firmware answer no command that destroys a key. */
static struct ib_mr *reg_long(struct kunit *test, struct exporter *ex)
{
	struct ib_mr *mr = reg_paged(ex, LONG_SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, to_mmr(mr)->mkey.class, MLX5_IB_CLASS_LONG);
	KUNIT_ASSERT_EQ(test, ex->mapped, 1);
	ex->mock->num_commands = 0;
	ex->mock->refuse_destroy = true;
	ex->mock->refuse_err = -ETIMEDOUT;
	return mr;
}

/* Firmware does not execute DESTROY_MKEY, and no UMR can name the key after that. */
static void long_key_reaches_nothing_after_the_exit(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, LONG_SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_long(test, ex);

	ex->mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(ex->mock, NULL, 0, 0)), 0);
	ex->mock->context->closing = false;
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->commands_at_unmap, 0);
	/* The command and its repetition, each of which costs a timeout. */
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 2);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
	hca->stuck++;
}

static void move_finds_nothing_mapped_by_a_key_without_an_answer(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, LONG_SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_long(test, ex);

	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 2);
	take_back(ex);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, page_in(mr), -EIO);
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, 3);
}

static void region_that_firmware_keeps_is_mapped_again(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, LONG_SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_long(test, ex);

	ex->mock->refuse_err = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -EREMOTEIO);
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, page_in(mr), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), LONG_SIZE >> PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
}

/* UMR does not work, so that the memory can only be unmapped when the key has been destroyed. */
static void refused_deregistration_without_umr_unmaps_nothing(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, LONG_SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_long(test, ex);

	ex->mock->refuse_err = -EREMOTEIO;
	hca->stopped = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), -EREMOTEIO);
	hca->stopped = false;
	KUNIT_EXPECT_EQ(test, ex->mapped, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), LONG_SIZE >> PAGE_SHIFT);
	ex->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
}

/* The translation entries of so many pages take two UMRs, of which the second fails. */
static void mapping_that_failed_half_way_reaches_nothing(struct kunit *test)
{
	const unsigned int pages = SZ_8K + SZ_4K;
	struct exporter *ex = make_exporter_of(test, &moving_ops, pages * PAGE_SIZE);
	struct mock_hca *hca = make_umr(ex);
	unsigned int num_requests;
	struct ib_mr *mr;

	mr = reg_paged(ex, pages * PAGE_SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), pages);
	take_back(ex);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	num_requests = hca->num_requests;
	KUNIT_EXPECT_EQ(test, page_in(mr), 0);
	KUNIT_EXPECT_EQ(test, hca->num_requests, num_requests + 2);
	take_back(ex);
	hca->fail = hca->num_requests + 2;
	hca->how = MOCK_NOT_EXECUTED;
	KUNIT_EXPECT_NE(test, page_in(mr), 0);
	KUNIT_EXPECT_GE(test, hca->num_requests, hca->fail);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	/* The key still works. */
	hca->fail = 0;
	KUNIT_EXPECT_EQ(test, page_in(mr), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), pages);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
}

static void mapping_ends_when_the_caller_is_killed(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr = reg_paged(ex, SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	take_back(ex);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	KUNIT_EXPECT_EQ(test, page_in(mr), -EINTR);
	flush_signals(current);
	disallow_signal(SIGKILL);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, page_in(mr), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

/* An entry of the key gives access to a whole page of the host. */
static void paged_region_over_parts_of_pages_is_not_possible(struct kunit *test)
{
	struct exporter *ex = make_exporter_of(test, &moving_ops, SIZE);
	struct mock_hca *hca = make_umr(ex);
	struct ib_mr *mr;

	sg_dma_address(ex->sgt.sgl) += PAGE_SIZE / 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg_paged(ex, SIZE)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
	/* The exporter moves the memory to such a place. */
	sg_dma_address(ex->sgt.sgl) -= PAGE_SIZE / 2;
	mr = reg_paged(ex, SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	take_back(ex);
	sg_dma_address(ex->sgt.sgl) += PAGE_SIZE / 2;
	KUNIT_EXPECT_EQ(test, page_in(mr), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ex->mapped, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(hca), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

/* A key has 2^31 translation entries at most, one for each page of the host. */
static void paged_region_of_too_many_pages_is_refused(struct kunit *test)
{
	const u64 length = (BIT_ULL(31) + 1) << PAGE_SHIFT;
	struct exporter *ex = make_exporter_of(test, &moving_ops, length);
	struct mock_hca *hca = make_umr(ex);
	unsigned int num_commands = ex->mock->num_commands;

	/* Stop a driver that would clear 2^31 entries. */
	hca->fail = hca->num_requests + 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg_paged(ex, length)), -ENOMEM);
	KUNIT_EXPECT_LT(test, hca->num_requests, hca->fail);
	KUNIT_EXPECT_EQ(test, ex->mock->num_commands, num_commands);
	KUNIT_EXPECT_TRUE(test, list_empty(&ex->dmabuf->attachments));
}

#endif

static struct kunit_case dmabuf_cases[] = {
	KUNIT_CASE(registration_with_a_dma_handle_is_refused),
	KUNIT_CASE(key_is_destroyed_before_the_memory_is_unmapped),
	KUNIT_CASE(memory_that_was_taken_back_is_out_of_reach),
	KUNIT_CASE(key_that_firmware_keeps_can_be_destroyed_later),
	KUNIT_CASE(region_with_a_window_keeps_its_memory),
	KUNIT_CASE(region_of_a_closed_process_waits_for_its_window),
	KUNIT_CASE(region_of_a_closed_process_waits_for_nothing_else),
	KUNIT_CASE(region_counts_as_paged_memory_of_its_user),
	KUNIT_CASE(refused_region_releases_the_memory),
	KUNIT_CASE(failure_of_any_allocation_releases_the_memory),
	KUNIT_CASE(change_of_rights_is_refused),
#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
	KUNIT_CASE(failed_revocation_by_umr_destroys_the_key),
	KUNIT_CASE(region_with_a_window_is_not_revoked),
	KUNIT_CASE(key_of_a_closed_process_is_revoked_first),
	KUNIT_CASE(region_that_umr_has_revoked_waits_for_its_window),
	KUNIT_CASE(large_pages_lead_to_every_part_of_the_memory),
	KUNIT_CASE(move_names_no_key_that_may_be_gone),
	KUNIT_CASE(paged_region_changes_its_domain),
	KUNIT_CASE(key_that_is_destroyed_at_last_is_not_given_up),
	KUNIT_CASE(region_without_a_key_is_not_counted),
	KUNIT_CASE(region_for_reading_is_not_mapped_for_a_write),
	KUNIT_CASE(region_that_is_created_while_umr_is_stopped_is_mapped_later),
	KUNIT_CASE(refused_paged_region_leaves_nothing),
	KUNIT_CASE(destroyed_key_is_not_mapped),
	KUNIT_CASE(long_key_reaches_nothing_after_the_exit),
	KUNIT_CASE(move_finds_nothing_mapped_by_a_key_without_an_answer),
	KUNIT_CASE(region_that_firmware_keeps_is_mapped_again),
	KUNIT_CASE(refused_deregistration_without_umr_unmaps_nothing),
	KUNIT_CASE(mapping_that_failed_half_way_reaches_nothing),
	KUNIT_CASE(mapping_ends_when_the_caller_is_killed),
	KUNIT_CASE(paged_region_over_parts_of_pages_is_not_possible),
	KUNIT_CASE(paged_region_of_too_many_pages_is_refused),
#endif
	{}
};

static struct kunit_suite dmabuf_suite = {
	.name = "bluebell_dmabuf",
	.test_cases = dmabuf_cases,
};

kunit_test_suite(dmabuf_suite);

MODULE_IMPORT_NS("DMA_BUF");
