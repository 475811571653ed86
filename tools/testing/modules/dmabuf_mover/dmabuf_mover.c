// SPDX-License-Identifier: GPL-2.0-only
/*
 * An exporter of dma-bufs for tests. It moves their memory on request, as the
 * driver of a graphics card does when its memory is short. The pages that a buffer
 * has left are filled with a pattern and kept until the next move, so that a test
 * sees whether a device still reads them or writes to them.
 */

#include <linux/cleanup.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "dmabuf_mover.h"

#define MAX_PAGES	16384
#define LEFT		0xdb
#define TOGETHER_ORDER	4

/**
 * struct mover - the memory of a dma-buf
 * @num: number of pages
 * @pages: the pages. This and all members below are guarded by the reservation lock
 * @together: map contiguous pages in one segment
 * @left: the pages that the newest move has left; NULL before the first move
 * @map_err: negative errno with which mappings are refused, or 0
 * @mapped: present number of mappings
 * @pinned: present number of pins
 * @moves: moves so far
 * @maps: mappings so far
 * @damaged: pages that were written to after the memory had left them
 * @late: mappings that still existed after the importers had been told of a move
 */
struct mover {
	unsigned int num;
	struct page **pages;
	bool together;
	struct page **left;
	int map_err;
	unsigned int mapped;
	unsigned int pinned;
	unsigned int moves;
	unsigned int maps;
	unsigned int damaged;
	unsigned int late;
};

/* ---- pages --------------------------------------------------------------------- */

static void free_pages_of(struct page **pages, unsigned int num)
{
	unsigned int i;

	if (!pages)
		return;
	for (i = 0; i < num && pages[i]; i++)
		put_page(pages[i]);
	kvfree(pages);
}

static struct page **alloc_pages_for(unsigned int num, bool together)
{
	struct page **pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL);
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO;
	unsigned int i, k, order;
	struct page *page;

	for (i = 0; pages && i < num; i += 1U << order) {
		order = together && num - i >= 1U << TOGETHER_ORDER ? TOGETHER_ORDER : 0;
		page = order ? alloc_pages(gfp | __GFP_NOWARN | __GFP_NORETRY, order) : NULL;
		if (page) {
			split_page(page, order);
		} else {
			order = 0;
			page = alloc_page(gfp);
		}
		if (!page) {
			free_pages_of(pages, num);
			return NULL;
		}
		for (k = 0; k < 1U << order; k++)
			pages[i + k] = page + k;
	}
	return pages;
}

static bool is_damaged(struct page *page)
{
	void *addr = kmap_local_page(page);
	bool damaged = memchr_inv(addr, LEFT, PAGE_SIZE);

	kunmap_local(addr);
	return damaged;
}

static unsigned int count_damaged(const struct mover *mover)
{
	unsigned int i, n = mover->damaged;

	for (i = 0; mover->left && i < mover->num; i++)
		n += is_damaged(mover->left[i]);
	return n;
}

/* ---- the dma-buf ----------------------------------------------------------------- */

static int pin(struct dma_buf_attachment *attach)
{
	struct mover *mover = attach->dmabuf->priv;

	mover->pinned++;
	return 0;
}

static void unpin(struct dma_buf_attachment *attach)
{
	struct mover *mover = attach->dmabuf->priv;

	mover->pinned--;
}

/* Each mapping holds references to its pages, in case it outlives a move. */
static void hold_pages(struct sg_table *sgt, bool hold)
{
	struct sg_page_iter it;

	for_each_sgtable_page(sgt, &it, 0) {
		if (hold)
			get_page(sg_page_iter_page(&it));
		else
			put_page(sg_page_iter_page(&it));
	}
}

/* The table of a mapping is charged to the memory cgroup that the importer has chosen. */
static struct sg_table *map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct mover *mover = attach->dmabuf->priv;
	struct sg_table *sgt __free(kfree) = NULL;
	int err;

	if (mover->map_err)
		return ERR_PTR(mover->map_err);
	sgt = kzalloc_obj(*sgt, GFP_KERNEL_ACCOUNT);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table_from_pages_segment(sgt, mover->pages, mover->num, 0,
						(size_t)mover->num << PAGE_SHIFT,
						mover->together ? UINT_MAX & PAGE_MASK : PAGE_SIZE,
						GFP_KERNEL_ACCOUNT);
	if (err)
		return ERR_PTR(err);
	err = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (err) {
		sg_free_table(sgt);
		return ERR_PTR(err);
	}
	hold_pages(sgt, true);
	mover->mapped++;
	mover->maps++;
	return_ptr(sgt);
}

static void unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		  enum dma_data_direction dir)
{
	struct mover *mover = attach->dmabuf->priv;

	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	hold_pages(sgt, false);
	sg_free_table(sgt);
	kfree(sgt);
	mover->mapped--;
}

static void free_mover(struct mover *mover)
{
	if (!mover)
		return;
	free_pages_of(mover->pages, mover->num);
	free_pages_of(mover->left, mover->num);
	kfree(mover);
}

DEFINE_FREE(mover, struct mover *, free_mover(_T))

static void release(struct dma_buf *dmabuf)
{
	free_mover(dmabuf->priv);
}

static const struct dma_buf_ops mover_ops = {
	.pin = pin,
	.unpin = unpin,
	.map_dma_buf = map,
	.unmap_dma_buf = unmap,
	.release = release,
};

/* ---- requests of a test -------------------------------------------------------------- */

static struct dma_buf *export(size_t size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct mover *mover __free(mover) = kzalloc_obj(*mover);
	struct dma_buf *dmabuf;

	if (!mover)
		return ERR_PTR(-ENOMEM);
	mover->num = size >> PAGE_SHIFT;
	mover->pages = alloc_pages_for(mover->num, false);
	if (!mover->pages)
		return ERR_PTR(-ENOMEM);
	info.ops = &mover_ops;
	info.size = size;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = mover;
	dmabuf = dma_buf_export(&info);
	if (!IS_ERR(dmabuf))
		retain_and_null_ptr(mover);
	return dmabuf;
}

static int create(struct dmabuf_mover_create *req)
{
	struct dma_buf *dmabuf;
	int fd;

	if (req->reserved || !req->size || !PAGE_ALIGNED(req->size) ||
	    req->size >> PAGE_SHIFT > MAX_PAGES)
		return -EINVAL;
	dmabuf = export(req->size);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	req->fd = fd;
	return fd < 0 ? fd : 0;
}

static struct miscdevice mover_device;

static void ignore_move(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops follower_ops = {
	.invalidate_mappings = ignore_move,
};

/* Map a dma-buf as an importer that could follow a move. Returns 1 if the dma-buf is not pinned. */
static int map_as_follower(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	const struct mover *mover = dmabuf->priv;
	struct sg_table *sgt;
	bool pinned;

	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	pinned = mover->pinned;
	dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
	return !pinned;
}

/* This module itself is the importer, so that the answer is the kernel's and not a driver's. */
static int can_move(void)
{
	struct dma_buf *dmabuf = export(PAGE_SIZE);
	struct dma_buf_attachment *attach;
	int ret;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	attach = dma_buf_dynamic_attach(dmabuf, mover_device.this_device, &follower_ops, NULL);
	ret = PTR_ERR_OR_ZERO(attach);
	if (!ret) {
		dma_resv_lock(dmabuf->resv, NULL);
		ret = map_as_follower(dmabuf, attach);
		dma_resv_unlock(dmabuf->resv);
		dma_buf_detach(dmabuf, attach);
	}
	dma_buf_put(dmabuf);
	return ret;
}

/*
 * Have the importers unmap the memory, and copy it to other pages. Called with the
 * reservation lock held.
 */
static void move_to(struct dma_buf *dmabuf, struct page **pages, bool together)
{
	struct mover *mover = dmabuf->priv;
	unsigned int i;

	dma_buf_invalidate_mappings(dmabuf);
	dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false, MAX_SCHEDULE_TIMEOUT);
	mover->late += mover->mapped;
	for (i = 0; i < mover->num; i++) {
		copy_highpage(pages[i], mover->pages[i]);
		memset_page(mover->pages[i], 0, LEFT, PAGE_SIZE);
	}
	mover->left = mover->pages;
	mover->pages = pages;
	mover->together = together;
	mover->moves++;
}

static int move(struct dma_buf *dmabuf, const struct dmabuf_mover_move *req)
{
	bool together = req->flags & DMABUF_MOVER_TOGETHER;
	struct mover *mover = dmabuf->priv;
	struct page **pages, **unused;

	if (req->flags & ~DMABUF_MOVER_TOGETHER || req->reserved || req->map_errno > MAX_ERRNO)
		return -EINVAL;
	pages = alloc_pages_for(mover->num, together);
	if (!pages)
		return -ENOMEM;
	dma_resv_lock(dmabuf->resv, NULL);
	unused = pages;
	if (!mover->pinned) {
		mover->damaged = count_damaged(mover);
		unused = mover->left;
		mover->map_err = -(int)req->map_errno;
		move_to(dmabuf, pages, together);
	}
	dma_resv_unlock(dmabuf->resv);
	free_pages_of(unused, mover->num);
	return unused == pages ? -EBUSY : 0;
}

static void copy_locked(struct mover *mover, u64 offset, char *buf, size_t len, bool write)
{
	size_t off, n;

	for (; len; len -= n, buf += n, offset += n) {
		off = offset_in_page(offset);
		n = min(len, PAGE_SIZE - off);
		if (write)
			memcpy_to_page(mover->pages[offset >> PAGE_SHIFT], off, buf, n);
		else
			memcpy_from_page(buf, mover->pages[offset >> PAGE_SHIFT], off, n);
	}
}

/*
 * Copy through a buffer, because access to the memory of the process may fault, which is not
 * allowed under the lock.
 */
static int copy(struct dma_buf *dmabuf, const struct dmabuf_mover_copy *req)
{
	void __user *user = u64_to_user_ptr(req->buf);

	if (req->offset > dmabuf->size || req->length > dmabuf->size - req->offset)
		return -EINVAL;

	void *buf __free(kvfree) = kvmalloc(req->length, GFP_KERNEL);

	if (!buf)
		return -ENOMEM;
	if (req->write && copy_from_user(buf, user, req->length))
		return -EFAULT;
	dma_resv_lock(dmabuf->resv, NULL);
	copy_locked(dmabuf->priv, req->offset, buf, req->length, req->write);
	dma_resv_unlock(dmabuf->resv);
	if (!req->write && copy_to_user(user, buf, req->length))
		return -EFAULT;
	return 0;
}

static int query(struct dma_buf *dmabuf, struct dmabuf_mover_stat *stat)
{
	const struct mover *mover = dmabuf->priv;

	dma_resv_lock(dmabuf->resv, NULL);
	stat->mapped = mover->mapped;
	stat->pinned = mover->pinned;
	stat->moves = mover->moves;
	stat->maps = mover->maps;
	stat->damaged = count_damaged(mover);
	stat->late = mover->late;
	dma_resv_unlock(dmabuf->resv);
	return 0;
}

union request {
	s32 fd;
	struct dmabuf_mover_create create;
	struct dmabuf_mover_move move;
	struct dmabuf_mover_copy copy;
	struct dmabuf_mover_stat stat;
};

static int do_request(unsigned int cmd, union request *req)
{
	struct dma_buf *dmabuf;
	int err = -EINVAL;

	if (cmd == DMABUF_MOVER_CREATE)
		return create(&req->create);
	dmabuf = dma_buf_get(req->fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops == &mover_ops) {
		if (cmd == DMABUF_MOVER_MOVE)
			err = move(dmabuf, &req->move);
		else if (cmd == DMABUF_MOVER_COPY)
			err = copy(dmabuf, &req->copy);
		else
			err = query(dmabuf, &req->stat);
	}
	dma_buf_put(dmabuf);
	return err;
}

static long mover_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union request req = {};
	int err;

	switch (cmd) {
	case DMABUF_MOVER_CAN_MOVE:
		return can_move();
	case DMABUF_MOVER_CREATE:
	case DMABUF_MOVER_MOVE:
	case DMABUF_MOVER_COPY:
	case DMABUF_MOVER_STAT:
		break;
	default:
		return -ENOTTY;
	}
	if (copy_from_user(&req, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	err = do_request(cmd, &req);
	if (err)
		return err;
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &req, _IOC_SIZE(cmd)))
		return -EFAULT;
	return 0;
}

static const struct file_operations mover_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = mover_ioctl,
};

static struct miscdevice mover_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmabuf_mover",
	.fops = &mover_fops,
	.mode = 0600,
};

static int __init mover_init(void)
{
	int err = misc_register(&mover_device);

	if (err)
		return err;
	err = dma_coerce_mask_and_coherent(mover_device.this_device, DMA_BIT_MASK(64));
	if (err)
		misc_deregister(&mover_device);
	return err;
}
module_init(mover_init);

static void __exit mover_exit(void)
{
	misc_deregister(&mover_device);
}
module_exit(mover_exit);

MODULE_IMPORT_NS("DMA_BUF");
MODULE_DESCRIPTION("dma-bufs whose memory moves on request, for tests");
MODULE_LICENSE("GPL");
