// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging, what can be computed: the shape of an implicit region,
 * translation entries, page-fault events, and what a WQE touches. Pure
 * functions only.
 */

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout_odp.h"

#define TOKEN_MASK	0xffffff
#define TYPE_SHIFT	24
#define TYPE_MASK	7
#define ANY_QP		0xffffff
#define XRC_SEG_BYTES	16
#define SHORT_AV_BYTES	16

static_assert(MLX5_IB_ODP_DIR_SHIFT > MLX5_IB_ODP_LEAF_SHIFT);

/**
 * mlx5_ib_odp_service_caps - what of a transport service is paged
 * @caps: struct mlx5_ifc_odp_per_transport_service_cap_bits
 *
 * Return: enum ib_odp_transport_cap_bits.
 */
u32 mlx5_ib_odp_service_caps(const void *caps)
{
	return (MLX5_GET(odp_per_transport_service_cap, caps, send) ? IB_ODP_SUPPORT_SEND : 0) |
	       (MLX5_GET(odp_per_transport_service_cap, caps, receive) ? IB_ODP_SUPPORT_RECV : 0) |
	       (MLX5_GET(odp_per_transport_service_cap, caps, write) ? IB_ODP_SUPPORT_WRITE : 0) |
	       (MLX5_GET(odp_per_transport_service_cap, caps, read) ? IB_ODP_SUPPORT_READ : 0) |
	       (MLX5_GET(odp_per_transport_service_cap, caps, atomic) ? IB_ODP_SUPPORT_ATOMIC : 0) |
	       (MLX5_GET(odp_per_transport_service_cap, caps, srq_receive) ?
		IB_ODP_SUPPORT_SRQ_RECV : 0);
}

/**
 * mlx5_ib_odp_parse_eqe - read a page-fault event
 * @eqe: entry of the page-fault event queue
 * @fault: the result
 *
 * Return: false if it is something else.
 */
bool mlx5_ib_odp_parse_eqe(const struct mlx5_eqe *eqe, struct mlx5_ib_fault *fault)
{
	const struct mlx5_eqe_page_fault *pf = &eqe->data.page_fault;
	u32 last = be32_to_cpu(pf->wqe.pftype_wq);

	if (eqe->type != MLX5_EVENT_TYPE_PAGE_FAULT)
		return false;
	*fault = (struct mlx5_ib_fault){
		.type = last >> TYPE_SHIFT & TYPE_MASK,
		.wq_num = last & TOKEN_MASK,
		.committed = be32_to_cpu(pf->wqe.bytes_committed),
		.packet_len = be16_to_cpu(pf->wqe.packet_length),
	};
	switch (eqe->sub_type) {
	case MLX5_PFAULT_SUBTYPE_WQE:
		fault->token = be32_to_cpu(pf->wqe.token) & TOKEN_MASK;
		fault->wqe_index = be16_to_cpu(pf->wqe.wqe_index);
		return true;
	case MLX5_PFAULT_SUBTYPE_RDMA:
		/* Here the number is the token, and stands for the queue, too. */
		fault->is_rdma = true;
		fault->token = fault->wq_num;
		fault->rkey = be32_to_cpu(pf->rdma.r_key);
		fault->op_len = be32_to_cpu(pf->rdma.rdma_op_len);
		fault->va = be64_to_cpu(pf->rdma.rdma_va);
		return true;
	default:
		return false;
	}
}

/**
 * mlx5_ib_fault_is_requester - whose WQE it is
 * @fault: of a WQE
 *
 * Return: true for the send queue's.
 */
bool mlx5_ib_fault_is_requester(const struct mlx5_ib_fault *fault)
{
	return fault->type & MLX5_PAGE_FAULT_RESUME_REQUESTOR;
}

/**
 * mlx5_ib_fault_is_srq - is it a shared receive queue's WQE?
 * @fault: of a WQE
 *
 * Return: true if the number is an SRQ's, false if it is a QP's.
 */
bool mlx5_ib_fault_is_srq(const struct mlx5_ib_fault *fault)
{
	return fault->type == MLX5_WQE_PF_TYPE_RMP;
}

/**
 * mlx5_ib_fault_writes - does the device want to write to the page?
 * @fault: the fault
 *
 * Return: true if it does; reading alone is not enough then.
 */
bool mlx5_ib_fault_writes(const struct mlx5_ib_fault *fault)
{
	if (fault->is_rdma)
		return fault->type & MLX5_PAGE_FAULT_RESUME_WRITE;
	return fault->type != MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE;
}

/* ---- WQEs ------------------------------------------------------------------- */

/**
 * mlx5_ib_odp_wqe_bytes - how long a send WQE says it is
 * @ctrl: its control segment
 *
 * Return: bytes, at most MLX5_IB_ODP_MAX_WQE.
 */
size_t mlx5_ib_odp_wqe_bytes(const void *ctrl)
{
	const struct mlx5_wqe_ctrl_seg *seg = ctrl;

	return (be32_to_cpu(seg->qpn_ds) & 0x3f) * MLX5_SEND_WQE_DS;
}

/* Bytes between the control segment and the data segments, or -EINVAL. */
static int header_bytes(const void *wqe, size_t len, enum ib_qp_type type)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = wqe;
	const struct mlx5_wqe_datagram_seg *dgram = wqe + sizeof(*ctrl);
	int bytes = 0;

	if (type == IB_QPT_XRC_INI)
		bytes += XRC_SEG_BYTES;
	switch (be32_to_cpu(ctrl->opmod_idx_opcode) & 0xff) {
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_SEND_INVAL:
		if (type != IB_QPT_UD)
			return bytes;
		/* A short address vector ends where the long one's GRH would be. */
		if (len < sizeof(*ctrl) + SHORT_AV_BYTES)
			return -EINVAL;
		if (dgram->av.dqp_dct & cpu_to_be32(MLX5_EXTENDED_UD_AV))
			return sizeof(*dgram);
		return SHORT_AV_BYTES;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg);
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg) +
		       sizeof(struct mlx5_wqe_atomic_seg);
	default:
		return -EINVAL;
	}
}

static void add(struct mlx5_ib_odp_sges *sges, u64 addr, u32 length, u32 lkey)
{
	if (sges->num < ARRAY_SIZE(sges->sge))
		sges->sge[sges->num++] = (struct ib_sge){
			.addr = addr, .length = length, .lkey = lkey,
		};
}

/* Up to the end or a terminator. Inline data, whose key is 0, only takes its place. */
static void parse_data(const void *seg, const void *end, bool inline_ok,
		       struct mlx5_ib_odp_sges *sges)
{
	const struct mlx5_wqe_data_seg *data;
	u32 count;

	for (; seg + sizeof(*data) <= end; seg += sizeof(*data)) {
		data = seg;
		count = be32_to_cpu(data->byte_count);
		if (count & MLX5_INLINE_SEG) {
			count &= ~MLX5_INLINE_SEG;
			if (!inline_ok || count > end - seg)
				return;
			add(sges, 0, count, 0);
			seg += ALIGN(count + sizeof(data->byte_count), sizeof(*data)) -
			       sizeof(*data);
			continue;
		}
		if (!count && data->lkey == MLX5_TERMINATE_SCATTER_LIST_LKEY)
			return;
		add(sges, be64_to_cpu(data->addr), count ?: BIT(31), be32_to_cpu(data->lkey));
	}
}

/**
 * mlx5_ib_odp_parse_send - find what a send WQE touches
 * @wqe: the WQE in one piece, as a process wrote it: anything may be in it
 * @len: bytes of it
 * @type: service of the queue pair
 * @sges: the result
 *
 * Reads the segments of linux/mlx5/qp.h.
 *
 * Return: 0, or -EINVAL for a WQE that makes no sense or touches nothing.
 */
int mlx5_ib_odp_parse_send(const void *wqe, size_t len, enum ib_qp_type type,
			   struct mlx5_ib_odp_sges *sges)
{
	size_t off = sizeof(struct mlx5_wqe_ctrl_seg);
	int header;

	sges->num = 0;
	if (len < off)
		return -EINVAL;
	header = header_bytes(wqe, len, type);
	if (header < 0 || off + header > len)
		return -EINVAL;
	parse_data(wqe + off + header, wqe + len, true, sges);
	return sges->num ? 0 : -EINVAL;
}

/**
 * mlx5_ib_odp_parse_recv - find what a receive WQE touches
 * @wqe: from its first data segment on
 * @len: bytes up to the end of its stride
 * @sges: the result
 */
void mlx5_ib_odp_parse_recv(const void *wqe, size_t len, struct mlx5_ib_odp_sges *sges)
{
	sges->num = 0;
	parse_data(wqe, wqe + len, false, sges);
}

/**
 * mlx5_ib_odp_window - cut a list down to a part of its bytes
 * @sges: the list
 * @skip: bytes to leave out at its start
 * @len: bytes to keep then
 */
void mlx5_ib_odp_window(struct mlx5_ib_odp_sges *sges, u64 skip, u64 len)
{
	unsigned int i, num = 0;
	struct ib_sge sge;

	for (i = 0; i < sges->num && len; i++) {
		sge = sges->sge[i];
		if (skip >= sge.length) {
			skip -= sge.length;
			continue;
		}
		sge.addr += skip;
		sge.length = min_t(u64, sge.length - skip, len);
		skip = 0;
		len -= sge.length;
		sges->sge[num++] = sge;
	}
	sges->num = num;
}

/* ---- translation entries ---------------------------------------------------------- */

/**
 * mlx5_ib_odp_mtt - entry of a page that is there
 * @dma: its address
 * @writable: the device may write to it
 *
 * A page that is not there has the entry 0.
 *
 * Return: the entry as the device reads it.
 */
__be64 mlx5_ib_odp_mtt(u64 dma, bool writable)
{
	return cpu_to_be64(dma | MLX5_EN_RD | (writable ? MLX5_EN_WR : 0));
}

/**
 * mlx5_ib_odp_next_run - find pages that are there
 * @mtt: entries
 * @first: where to start; moved to the start of the run, at a block's start
 * @end: where to stop
 * @max: longest run wanted, a multiple of a block
 * @num: entries of the run, whole blocks
 *
 * Blocks without a page are left out, so that taking away what little is there
 * of a large range costs little.
 *
 * Return: false if there is none.
 */
bool mlx5_ib_odp_next_run(const __be64 *mtt, size_t *first, size_t end, size_t max, size_t *num)
{
	size_t i = ALIGN_DOWN(*first, MLX5_IB_ODP_BLOCK_MTTS), last;

	while (i < end && !memchr_inv(mtt + i, 0, MLX5_UMR_FLEX_ALIGNMENT))
		i += MLX5_IB_ODP_BLOCK_MTTS;
	if (i >= end)
		return false;
	for (last = i; last < end && last - i < max; last += MLX5_IB_ODP_BLOCK_MTTS)
		if (!memchr_inv(mtt + last, 0, MLX5_UMR_FLEX_ALIGNMENT))
			break;
	*first = i;
	*num = last - i;
	return true;
}

/**
 * mlx5_ib_odp_chunk - where to stop for a pause
 * @first: entry to start at
 * @end: where it all ends
 * @chunk: entries that fit a list, a power of two
 *
 * Lists begin and end where blocks do, so pauses are at multiples of @chunk.
 *
 * Return: the entry before which to pause.
 */
size_t mlx5_ib_odp_chunk(size_t first, size_t end, size_t chunk)
{
	return min(end, ALIGN_DOWN(first, chunk) + chunk);
}

/**
 * mlx5_ib_odp_fill_create_mtt - build CREATE_MKEY for pages none of which is there
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits with room for the entries
 * @attr: what the key shall be
 * @caps: as for mlx5_ib_fill_mkc()
 *
 * The entries stay zero. pg_access says that their low bits are to be believed.
 */
void mlx5_ib_odp_fill_create_mtt(void *in, const struct mlx5_ib_mkc_attr *attr,
				 const struct mlx5_ib_mkey_caps *caps)
{
	mlx5_ib_fill_create_mkey(in, attr, caps);
	MLX5_SET(create_mkey_in, in, pg_access, 1);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.umr_en, 1);
}

/**
 * mlx5_ib_odp_create_ksm_inlen - length of CREATE_MKEY for a table of keys
 * @num: entries
 *
 * Return: bytes.
 */
size_t mlx5_ib_odp_create_ksm_inlen(u32 num)
{
	return MLX5_ST_SZ_BYTES(create_mkey_in) + num * sizeof(struct mlx5_ksm);
}

/**
 * mlx5_ib_odp_fill_ksm - build an entry of a table of keys
 * @ksm: the entry
 * @key: what it leads to
 * @va: address there at which it starts
 */
void mlx5_ib_odp_fill_ksm(struct mlx5_ksm *ksm, u32 key, u64 va)
{
	*ksm = (struct mlx5_ksm){ .key = cpu_to_be32(key), .va = cpu_to_be64(va) };
}

/**
 * mlx5_ib_odp_fill_create_ksm - build CREATE_MKEY for a table of keys
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits with room for the entries
 * @attr: what the key shall be
 *
 * Each entry leads to the null key: whatever is done through it faults.
 */
void mlx5_ib_odp_fill_create_ksm(void *in, const struct mlx5_ib_odp_ksm_attr *attr)
{
	struct mlx5_ksm *ksm = MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt);
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	const struct mlx5_ib_mkey_caps none = {};
	u32 i;

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size, attr->num);
	mlx5_ib_fill_mkc_access(mkc, attr->access, &none);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, qpn, ANY_QP);
	MLX5_SET(mkc, mkc, mkey_7_0, attr->variant);
	MLX5_SET(mkc, mkc, pd, attr->pdn);
	MLX5_SET64(mkc, mkc, start_addr, attr->base);
	MLX5_SET64(mkc, mkc, len, (u64)attr->num << attr->shift);
	MLX5_SET(mkc, mkc, translations_octword_size, attr->num);
	MLX5_SET(mkc, mkc, log_page_size, attr->shift);
	for (i = 0; i < attr->num; i++)
		mlx5_ib_odp_fill_ksm(&ksm[i], attr->null_mkey,
				     attr->base + ((u64)i << attr->shift));
}

/**
 * mlx5_ib_odp_fill_inline - write a few entries of a key, which the request carries
 * @wqe: zeroed request
 * @mkey: the key
 * @octoword: where in its table to start, in units of 16 bytes, at a block's start
 * @num: how many of them, whole blocks
 *
 * Return: where the entries go.
 */
void *mlx5_ib_odp_fill_inline(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 octoword, u16 num)
{
	mlx5_ib_umr_fill_xlt(wqe, mkey);
	wqe->umr.flags = MLX5_UMR_INLINE | MLX5_UMR_TRANSLATION_OFFSET_EN;
	wqe->umr.xlt_offset = cpu_to_be16(octoword & U16_MAX);
	wqe->umr.xlt_offset_47_16 = cpu_to_be32(octoword >> 16);
	wqe->umr.xlt_octowords = cpu_to_be16(num);
	return wqe->mtt;
}

/* ---- implicit regions ---------------------------------------------------------- */

/**
 * mlx5_ib_odp_root_entries - directories of a whole address space
 * @task_size: its end
 *
 * Return: entries of the root, whole blocks.
 */
u32 mlx5_ib_odp_root_entries(u64 task_size)
{
	return ALIGN(((task_size - 1) >> MLX5_IB_ODP_DIR_SHIFT) + 1, MLX5_IB_ODP_BLOCK_KSMS);
}

/**
 * mlx5_ib_odp_dir_index - which directory an address is in
 * @va: address
 *
 * Return: its index in the root.
 */
unsigned long mlx5_ib_odp_dir_index(u64 va)
{
	return va >> MLX5_IB_ODP_DIR_SHIFT;
}

/**
 * mlx5_ib_odp_leaf_index - which leaf of its directory an address is in
 * @va: address
 *
 * Return: its index in the directory.
 */
unsigned long mlx5_ib_odp_leaf_index(u64 va)
{
	return (va & (BIT_ULL(MLX5_IB_ODP_DIR_SHIFT) - 1)) >> MLX5_IB_ODP_LEAF_SHIFT;
}

/**
 * mlx5_ib_odp_leaf_base - where the leaf of an address starts
 * @va: address
 *
 * Return: address.
 */
u64 mlx5_ib_odp_leaf_base(u64 va)
{
	return ALIGN_DOWN(va, BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT));
}
