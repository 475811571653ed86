// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of user space: pin, map with the largest page that fits, and
 * give the device a key over it.
 */

#include <linux/mm.h>
#include <linux/sched.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "doorbell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "mkey_cache.h"
#include "mr.h"
#include "odp.h"
#include "ucontext.h"
#include "umr.h"

/* A longer list goes by UMR even into a new key: firmware takes it by the half-kilobyte. */
#define SHORT_LIST_MTTS	512

/**
 * mlx5_ib_get_mkey_caps - collect what the device allows a memory key to be
 * @dev: device
 * @caps: the result
 */
void mlx5_ib_get_mkey_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey_caps *caps)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	*caps = (struct mlx5_ib_mkey_caps){
		.log_max_mr_size = MLX5_CAP_GEN(mdev, log_max_mrw_sz),
		.relaxed_ordering_write = MLX5_CAP_GEN(mdev, relaxed_ordering_write),
		.relaxed_ordering_read =
			MLX5_CAP_GEN(mdev, relaxed_ordering_read) ||
			(MLX5_CAP_GEN(mdev, relaxed_ordering_read_pci_enabled) &&
			 pcie_relaxed_ordering_enabled(mdev->pdev)),
		.umr_keeps_atomic = MLX5_CAP_GEN(mdev, umr_modify_atomic_disabled),
		.umr_long_offset = MLX5_CAP_GEN(mdev, umr_extended_translation_offset),
	};
}

static void put_mem(struct mlx5_ib_mr_mem *mem)
{
	if (IS_ERR_OR_NULL(mem) || !refcount_dec_and_test(&mem->refs))
		return;
	ib_umem_release(mem->umem);
	kfree(mem);
}

DEFINE_FREE(mr_mem, struct mlx5_ib_mr_mem *, put_mem(_T))

static struct mlx5_ib_mr_mem *pin_mem(struct mlx5_ib_dev *dev, u64 start, u64 length, u32 access)
{
	struct mlx5_ib_mr_mem *mem __free(kfree) = kzalloc_obj(*mem);
	struct ib_umem *umem;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	umem = mlx5_ib_umem_get(dev, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mem->umem = umem;
	refcount_set(&mem->refs, 1);
	return_ptr(mem);
}

/* Have firmware make a key over @umem, with room for whatever its class may hold later. */
static int create_key_by_firmware(struct mlx5_ib_dev *dev, struct ib_umem *umem,
				  const struct mlx5_ib_mkc_attr *attr,
				  const struct mlx5_ib_mkey_caps *caps, int class, u32 *mkey)
{
	size_t inlen = mlx5_ib_create_mkey_inlen(attr->nmtts);
	int err;

	if (attr->nmtts > MLX5_IB_MAX_COMMAND_MTTS)
		return -ENOMEM;
	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	mlx5_ib_fill_create_mkey(in, attr, caps);
	if (class != MLX5_IB_CLASS_FIRMWARE)
		mlx5_ib_reserve_mtts(in, class < 0 ? attr->nmtts : mlx5_ib_cache_class_mtts(class));
	mlx5_ib_populate_pas(umem, 1UL << attr->page_shift,
			     MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt));
	err = mlx5_fw_create_mkey(dev, MLX5_IB_KERNEL_UID, in, inlen, mkey);
	/* A command longer than the firmware takes. */
	return err == -ENOMSG ? -ENOMEM : err;
}

/* Make @mkey, a free key, one over @umem; it is destroyed if that fails. */
static int fill_key(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		    u32 *mkey)
{
	int err;

	err = mlx5_ib_umr_reg(dev, umem, attr, caps, mkey);
	if (err)
		mlx5_fw_destroy_mkey(dev, MLX5_IB_KERNEL_UID, *mkey);
	return err;
}

/* A key of a class over @umem: one that is free, or a new one. */
static int get_key(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		   const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		   int class, u32 *mkey)
{
	u32 room = class < 0 ? attr->nmtts : mlx5_ib_cache_class_mtts(class);
	bool have = class >= 0 && mlx5_ib_take_mkey(dev, class, mkey);
	int err;

	if (!have && attr->nmtts > SHORT_LIST_MTTS) {
		err = mlx5_ib_make_free_mkey(dev, room, attr->access, mkey);
		if (err)
			return err;
		have = true;
	}
	if (have && !fill_key(dev, umem, attr, caps, mkey))
		return 0;
	return create_key_by_firmware(dev, umem, attr, caps, class, mkey);
}

static int create_key(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		      struct mlx5_ib_mkc_attr *attr, int *class, u32 *mkey)
{
	struct mlx5_ib_mkey_caps caps;
	unsigned long pgsz;
	size_t nmtts;
	int err;

	mlx5_ib_get_mkey_caps(dev, &caps);
	pgsz = ib_umem_find_best_pgsz(umem, mlx5_ib_mkey_page_sizes(), attr->iova);
	if (!pgsz)
		return -EINVAL;
	nmtts = ib_umem_num_dma_blocks(umem, pgsz);
	if (nmtts > MLX5_IB_MAX_MTTS)
		return -ENOMEM;
	attr->page_shift = ilog2(pgsz);
	attr->nmtts = nmtts;
	attr->variant = atomic_inc_return(&dev->mkey_variant);

	*class = mlx5_ib_choose_class(dev, nmtts, attr->access, &caps);
	if (*class == MLX5_IB_CLASS_FIRMWARE)
		return create_key_by_firmware(dev, umem, attr, &caps, *class, mkey);
	err = get_key(dev, umem, attr, &caps, *class, mkey);
	if (err && *class >= 0)
		mlx5_ib_lose_mkey(dev, *class);
	return err;
}

/* Nothing reaches memory through a region's key any more. */
static int put_key(struct mlx5_ib_dev *dev, int class, u32 mkey)
{
	int err;

	if (class >= 0 && !mlx5_ib_umr_revoke(dev, mkey)) {
		mlx5_ib_put_mkey(dev, class, mkey);
		return 0;
	}
	err = mlx5_fw_destroy_mkey(dev, MLX5_IB_KERNEL_UID, mkey);
	if (!err && class >= 0)
		mlx5_ib_lose_mkey(dev, class);
	return err;
}

/* The same for a region, which may have lost its key before. */
static int kill_key(struct mlx5_ib_dev *dev, struct mlx5_ib_mr *mr)
{
	int err;

	if (mr->mem && mr->mem->umem->is_dmabuf)
		mlx5_ib_revoke_dmabuf_mr(mr);
	if (mr->key_gone)
		return 0;
	err = put_key(dev, mr->class, mr->ibmr.lkey);
	/* The key is there and ours: firmware has nothing else against it. */
	if (err == -EINVAL && mr->class < 0)
		return -EBUSY;
	mr->key_gone = !err;
	return err;
}

/**
 * mlx5_ib_create_mr - make a region over memory that is pinned
 * @pd: protection domain
 * @mem: the memory; a reference passes to the region if all goes well, and stays
 *	with the caller if not
 * @iova: first address of the region
 * @length: bytes
 * @access: enum ib_access_flags, checked
 *
 * May sleep.
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *mlx5_ib_create_mr(struct ib_pd *pd, struct mlx5_ib_mr_mem *mem, u64 iova,
				u64 length, u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_mkc_attr attr = {
		.access = access,
		.pdn = to_mpd(pd)->pdn,
		.iova = iova,
		.length = length,
	};
	struct mlx5_ib_mr *mr __free(kfree) = kzalloc_obj(*mr);
	u32 mkey;
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = create_key(dev, mem->umem, &attr, &mr->class, &mkey);
	if (err)
		return ERR_PTR(err);

	mr->mem = mem;
	mr->access = access;
	mr->ibmr.device = pd->device;
	mr->ibmr.lkey = mkey;
	mr->ibmr.rkey = mkey;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->ibmr.page_size = 1U << attr.page_shift;
	return &no_free_ptr(mr)->ibmr;
}

static struct ib_mr *pin_and_create(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_mkey_caps caps;
	struct ib_mr *mr;
	int err;

	mlx5_ib_get_mkey_caps(dev, &caps);
	err = mlx5_ib_check_mr(length, iova, access, &caps);
	if (err)
		return ERR_PTR(err);

	struct mlx5_ib_mr_mem *mem __free(mr_mem) = pin_mem(dev, start, length, access);

	if (IS_ERR(mem))
		return ERR_CAST(mem);
	mr = mlx5_ib_create_mr(pd, mem, iova, length, access);
	if (!IS_ERR(mr))
		retain_and_null_ptr(mem);
	return mr;
}

static struct ib_mr *reg_any(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	if (access & IB_ACCESS_ON_DEMAND)
		return mlx5_ib_odp_reg(pd, start, length, iova, access);
	return pin_and_create(pd, start, length, iova, access);
}

/**
 * mlx5_ib_reg_user_mr - register memory of the calling process
 * @pd: protection domain
 * @start: address in the process
 * @length: bytes
 * @iova: first address of the region as WQEs and the wire name it; ib_core has
 *	checked that it has the page offset of @start
 * @access: enum ib_access_flags
 * @dmah: not supported
 * @udata: empty
 *
 * Implements ibv_reg_mr(3) and ibv_reg_mr_iova(3) with CREATE_MKEY (struct
 * mlx5_ifc_create_mkey_in_bits). May sleep.
 *
 * Return: the region, or an ERR_PTR: -EINVAL for an empty, wrapping or too long
 * range; -EOPNOTSUPP for access or a DMA handle this driver does not do;
 * -ENOMEM beyond RLIMIT_MEMLOCK or for a translation list that is too long;
 * -EFAULT for memory the process does not have.
 */
struct ib_mr *mlx5_ib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				  struct ib_dmah *dmah, struct ib_udata *udata)
{
	int err;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);
	return reg_any(pd, start, length, iova, access);
}

/*
 * Memory that was pinned for reading only has to be pinned anew before a key
 * may allow writing. The pages are those of the process that registered it, so
 * nobody else can do that.
 */
static struct ib_mr *repin_and_create(struct ib_pd *pd, struct mlx5_ib_mr *old, u32 access)
{
	struct ib_umem *umem = old->mem->umem;

	if (umem->owning_mm != current->mm)
		return ERR_PTR(-EINVAL);
	return reg_any(pd, umem->address, umem->length, old->ibmr.iova, access);
}

/* A key that an exporter had destroyed cannot be changed, nor be destroyed meanwhile. */
static int change_key(struct mlx5_ib_dev *dev, struct mlx5_ib_mr *mr, u32 access, u32 pdn,
		      const struct mlx5_ib_mkey_caps *caps)
{
	struct ib_umem_dmabuf *umem_dmabuf;
	int err;

	if (!mr->mem->umem->is_dmabuf)
		return mlx5_ib_umr_change(dev, mr->ibmr.lkey, access, pdn, caps);
	umem_dmabuf = to_ib_umem_dmabuf(mr->mem->umem);
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = mr->key_gone ? -EIO : mlx5_ib_umr_change(dev, mr->ibmr.lkey, access, pdn, caps);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	return err;
}

/* Change the rights and the domain of a key that keeps its number, if UMR can do that. */
static bool change_in_place(struct mlx5_ib_dev *dev, struct mlx5_ib_mr *mr, u32 access, u32 pdn,
			    const struct mlx5_ib_mkey_caps *caps)
{
	bool opens = access & ~mr->access & IB_ACCESS_MW_BIND;

	if (mr->class == MLX5_IB_CLASS_FIRMWARE || opens ||
	    mlx5_ib_cache_family(access, caps) != mlx5_ib_cache_family(mr->access, caps) ||
	    change_key(dev, mr, access, pdn, caps))
		return false;
	mr->access = access;
	return true;
}

/* The region that a changed one becomes; NULL if it is changed in place. */
static struct ib_mr *change(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
			    u32 access, struct ib_pd *pd)
{
	struct mlx5_ib_dev *dev = to_mdev(ibmr->device);
	struct mlx5_ib_mr *old = to_mmr(ibmr);
	struct mlx5_ib_mkey_caps caps;
	struct ib_mr *mr;
	int err;

	if (flags & IB_MR_REREG_TRANS)
		return reg_any(pd, start, length, iova, access);
	if (old->paged && !old->mem) {
		err = mlx5_ib_odp_range(ibmr, &start, &length);
		return err ? ERR_PTR(err) : reg_any(pd, start, length, ibmr->iova, access);
	}
	if (access & IB_ACCESS_ON_DEMAND)
		return repin_and_create(pd, old, access);

	mlx5_ib_get_mkey_caps(dev, &caps);
	err = mlx5_ib_check_mr(ibmr->length, ibmr->iova, access, &caps);
	if (err)
		return ERR_PTR(err);
	if (ib_access_writable(access) && !old->mem->umem->writable)
		return repin_and_create(pd, old, access);

	if (change_in_place(dev, old, access, to_mpd(pd)->pdn, &caps))
		return NULL;
	/* Its exporter revokes one key. */
	if (old->mem->umem->is_dmabuf)
		return ERR_PTR(-EOPNOTSUPP);

	mr = mlx5_ib_create_mr(pd, old->mem, ibmr->iova, ibmr->length, access);
	if (!IS_ERR(mr))
		refcount_inc(&old->mem->refs);
	return mr;
}

/**
 * mlx5_ib_rereg_user_mr - change the memory, the access or the PD of a region
 * @ibmr: the region
 * @flags: IB_MR_REREG_TRANS, IB_MR_REREG_PD and IB_MR_REREG_ACCESS, any of them
 * @start: new address, with IB_MR_REREG_TRANS
 * @length: new length in bytes, with IB_MR_REREG_TRANS
 * @iova: new first address of the region, with IB_MR_REREG_TRANS
 * @access: new enum ib_access_flags, with IB_MR_REREG_ACCESS
 * @pd: new protection domain, or the old one
 * @udata: empty
 *
 * Where a work request can change the access and the domain, the keys stay what
 * they are, and peers need not be told. Otherwise a new key takes the old one's
 * place, which dies, and ib_core deregisters the old region. May sleep.
 *
 * Return: NULL if @ibmr has been changed; the region that takes its place; or an
 * ERR_PTR, and then @ibmr is as it was: errnos as those of mlx5_ib_reg_user_mr(),
 * -EBUSY if it is to be replaced while a window is bound to it, or the errno of a
 * firmware that would not destroy its key.
 */
struct ib_mr *mlx5_ib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				    u64 iova, int access, struct ib_pd *pd,
				    struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibmr->device);
	struct mlx5_ib_mr *old = to_mmr(ibmr);
	struct ib_mr *mr;
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return ERR_PTR(err);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	mr = change(ibmr, flags, start, length, iova, access, pd);
	if (IS_ERR_OR_NULL(mr) || old->paged)
		return mr;
	/* Now, while it can be undone: ib_core will not hear of a refusal. */
	err = kill_key(dev, old);
	if (!err)
		return mr;
	mlx5_ib_dereg_mr(mr, NULL);
	return ERR_PTR(err);
}

/**
 * mlx5_ib_dereg_mr - deregister a region
 * @ibmr: the region; freed if all goes well
 * @udata: not used
 *
 * The key dies before its memory is unpinned. May sleep.
 *
 * Return: 0; -EBUSY if a window is bound to the region; or the errno of a
 * firmware that would not destroy the key. After an error the memory stays
 * pinned, for the device may still reach it.
 */
int mlx5_ib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibmr->device);
	struct mlx5_ib_mr *mr = to_mmr(ibmr);
	int err;

	if (mr->paged)
		return mlx5_ib_odp_dereg(ibmr);
	err = kill_key(dev, mr);
	if (err)
		return err;
	put_mem(mr->mem);
	kfree(mr);
	return 0;
}
