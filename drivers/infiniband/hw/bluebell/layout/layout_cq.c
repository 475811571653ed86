// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queue layout: the number of entries, the library's request and the context of a CQ
 * (CQC). Pure functions only.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "layout/caps.h"
#include "layout/layout_cq.h"
#include "layout/refuse.h"

#define CQ_FLAGS (IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
#define VENDOR_FLAGS	(MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |			\
			 MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |		\
			 MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS)

/**
 * mlx5_ib_cq_entries - number of CQEs of a CQ
 * @cqe: entries the user asked for
 * @log_max_cq_sz: log2 of the largest number of CQEs that the device supports
 *
 * The number of CQEs is the smallest power of two that is greater than @cqe, as in libmlx5, which
 * allocates the buffer of a user's queue.
 *
 * Return: number of CQEs, or -EINVAL if @cqe is zero or the device does not support so many.
 */
int mlx5_ib_cq_entries(unsigned int cqe, u8 log_max_cq_sz)
{
	u32 max = (1U << min(log_max_cq_sz, 30)) - 1;

	/* Check before roundup_pow_of_two(), whose result might not fit into an unsigned long. */
	if (!cqe || cqe > max)
		return refuse(NULL, -EINVAL, "CQ of %u entries, 1 to %u are possible", cqe, max);
	return roundup_pow_of_two(cqe + 1);
}

static int cq_parse_compression(const struct mlx5_ib_create_cq *ucmd,
				const struct mlx5_ib_caps *caps, void *cqc)
{
	if (ucmd->cqe_comp_en > 1)
		return refuse(caps->mdev, -EINVAL, "CQ whose cqe_comp_en is %u, not 0 or 1",
			      ucmd->cqe_comp_en);
	if (!ucmd->cqe_comp_en)
		return 0;
	if (!(ucmd->cqe_size == 64 ? MLX5_CAP_GEN(caps->mdev, cqe_compression) :
				     MLX5_CAP_GEN(caps->mdev, cqe_compression_128)))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "CQ with cqe_comp_en: the device cannot compress CQEs of %u bytes",
			      ucmd->cqe_size);

	MLX5_SET(cqc, cqc, cqe_comp_en, 1);
	switch (ucmd->cqe_comp_res_format) {
	case MLX5_IB_CQE_RES_FORMAT_HASH:
		/* mini_cqe_res_format is 0 for this format. */
		return 0;
	case MLX5_IB_CQE_RES_FORMAT_CSUM:
		MLX5_SET(cqc, cqc, mini_cqe_res_format, MLX5_CQE_FORMAT_CSUM);
		return 0;
	case MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX:
		if (!MLX5_CAP_GEN(caps->mdev, mini_cqe_resp_stride_index))
			return refuse(caps->mdev, -EOPNOTSUPP,
				      "CQ whose cqe_comp_res_format is 4: the device has no mini_cqe_resp_stride_index");
		MLX5_SET(cqc, cqc, mini_cqe_res_format, MLX5_CQE_FORMAT_CSUM_STRIDX);
		return 0;
	default:
		return refuse(caps->mdev, -EINVAL,
			      "CQ whose cqe_comp_res_format is %u, not 1, 2 or 4",
			      ucmd->cqe_comp_res_format);
	}
}

/**
 * mlx5_ib_cq_parse_create - check a request to create a CQ, and translate it to a CQC
 * @ucmd: the library's request (struct mlx5_ib_create_cq of rdma/mlx5-abi.h)
 * @flags: enum ib_uverbs_ex_create_cq_flags
 * @caps: what the device can do
 * @cqc: zeroed struct mlx5_ifc_cqc_bits; gets the fields that depend on nothing but the request
 *
 * Return: 0; -EINVAL for invalid attributes; -EOPNOTSUPP for unknown @flags, for features that this
 * device does not have, and for the request to pad CQEs of 64 bytes.
 */
int mlx5_ib_cq_parse_create(const struct mlx5_ib_create_cq *ucmd, u32 flags,
			    const struct mlx5_ib_caps *caps, void *cqc)
{
	if (flags & ~CQ_FLAGS)
		return refuse(caps->mdev, -EOPNOTSUPP, "CQ flags %#x, supported: %#x", flags,
			      CQ_FLAGS);
	if (ucmd->flags & ~VENDOR_FLAGS || ucmd->reserved0 || ucmd->reserved1)
		return refuse(caps->mdev, -EINVAL,
			      "CQ driver flags %#x, supported: %#x; reserved %#x %#x, must be 0",
			      ucmd->flags, VENDOR_FLAGS, ucmd->reserved0, ucmd->reserved1);
	if (ucmd->cqe_size != 64 && ucmd->cqe_size != 128)
		return refuse(caps->mdev, -EINVAL, "CQ with CQEs of %u bytes, not 64 or 128",
			      ucmd->cqe_size);

	MLX5_SET(cqc, cqc, cqe_sz, ucmd->cqe_size == 64 ? CQE_STRIDE_64 : CQE_STRIDE_128);
	if (ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD) {
		if (ucmd->cqe_size != 128 || !MLX5_CAP_GEN(caps->mdev, cqe_128_always))
			return refuse(caps->mdev, -EOPNOTSUPP,
				      "CQ with padded CQEs of %u bytes: needs 128 bytes, and a device with cqe_128_always",
				      ucmd->cqe_size);
		MLX5_SET(cqc, cqc, cqe_sz, CQE_STRIDE_128_PAD);
	}
	if ((ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS) && !caps->real_time)
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "CQ with REAL_TIME_TS: the device has no real-time timestamps in CQEs");
	if (flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN) {
		if (!MLX5_CAP_GEN(caps->mdev, cq_oi))
			return refuse(caps->mdev, -EOPNOTSUPP,
				      "CQ with IGNORE_OVERRUN: the device has no cq_oi");
		MLX5_SET(cqc, cqc, oi, 1);
	}
	return cq_parse_compression(ucmd, caps, cqc);
}

/**
 * mlx5_ib_fill_cqc_buf - describe the buffer of a CQ
 * @cqc: struct mlx5_ifc_cqc_bits
 * @geo: page geometry of the buffer
 */
void mlx5_ib_fill_cqc_buf(void *cqc, const struct mlx5_ib_buf_geometry *geo)
{
	MLX5_SET(cqc, cqc, log_page_size, geo->page_shift - MLX5_ADAPTER_PAGE_SHIFT);
	MLX5_SET(cqc, cqc, page_offset, geo->page_offset);
}
