// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging, computation only: the tree of an implicit region, translation entries,
 * page-fault events, and the memory that a WQE names. Pure functions.
 */

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout_mkey.h"
#include "layout_odp.h"

#define TOKEN_MASK	0xffffff
#define TYPE_SHIFT	24
#define TYPE_MASK	7
#define ANY_QP		0xffffff
#define XRC_SEG_BYTES	16
#define SHORT_AV_BYTES	16

static_assert(MLX5_IB_ODP_DIR_SHIFT > MLX5_IB_ODP_LEAF_SHIFT);

/**
 * mlx5_ib_odp_service_caps - operations of a transport service that can fault on pages
 * @caps: struct mlx5_ifc_odp_per_transport_service_cap_bits
 *
 * Return: mask of enum ib_odp_transport_cap_bits.
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
 * mlx5_ib_odp_parse_eqe - decode a page-fault event
 * @eqe: entry of the page-fault event queue, struct mlx5_eqe_page_fault
 * @fault: result
 *
 * Return: true; false if the entry is not of a page fault of a known kind.
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
		/* RDMA faults have one number, which is both the token and the queue. */
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
 * mlx5_ib_fault_is_requester - whether a fault is of a send queue
 * @fault: fault at a WQE
 *
 * Return: true if the WQE is in the send queue, false if it is in a receive queue.
 */
bool mlx5_ib_fault_is_requester(const struct mlx5_ib_fault *fault)
{
	return fault->type & MLX5_PAGE_FAULT_RESUME_REQUESTOR;
}

/**
 * mlx5_ib_fault_is_srq - whether a fault is of a shared receive queue
 * @fault: fault at a WQE
 *
 * Return: true if the number is that of an SRQ, false if it is that of a QP.
 */
bool mlx5_ib_fault_is_srq(const struct mlx5_ib_fault *fault)
{
	return fault->type == MLX5_WQE_PF_TYPE_RMP;
}

/**
 * mlx5_ib_fault_writes - whether the device needs write access to the page
 * @fault: the fault
 *
 * Return: true if it does; a page that is mapped for reading is not enough then.
 */
bool mlx5_ib_fault_writes(const struct mlx5_ib_fault *fault)
{
	if (fault->is_rdma)
		return fault->type & MLX5_PAGE_FAULT_RESUME_WRITE;
	return fault->type != MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE;
}

/* ---- WQEs ------------------------------------------------------------------- */

/**
 * mlx5_ib_odp_wqe_bytes - length of a send WQE as its control segment has it
 * @ctrl: control segment, struct mlx5_wqe_ctrl_seg
 *
 * Return: length in bytes, at most MLX5_IB_ODP_MAX_WQE.
 */
size_t mlx5_ib_odp_wqe_bytes(const void *ctrl)
{
	const struct mlx5_wqe_ctrl_seg *seg = ctrl;

	return (be32_to_cpu(seg->qpn_ds) & 0x3f) * MLX5_SEND_WQE_DS;
}

/* Length in bytes of the segments between control and data segments, or -EINVAL. */
static int odp_wqe_header_bytes(const void *wqe, size_t len, enum ib_qp_type type)
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
		/* A long address vector is a short one with a GRH after it; a bit says which. */
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

static void odp_sges_add(struct mlx5_ib_odp_sges *sges, u64 addr, u32 length, u32 lkey)
{
	if (sges->num < ARRAY_SIZE(sges->sge))
		sges->sge[sges->num++] = (struct ib_sge){
			.addr = addr, .length = length, .lkey = lkey,
		};
}

/*
 * Collect data segments up to @end or a terminator. Inline data is entered with key 0 and names no
 * memory, but its bytes count in the message.
 */
static void odp_sges_parse(const void *seg, const void *end, bool inline_ok,
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
			odp_sges_add(sges, 0, count, 0);
			seg += ALIGN(count + sizeof(data->byte_count), sizeof(*data)) -
			       sizeof(*data);
			continue;
		}
		if (!count && data->lkey == MLX5_TERMINATE_SCATTER_LIST_LKEY)
			return;
		odp_sges_add(sges, be64_to_cpu(data->addr), count ?: BIT(31),
			     be32_to_cpu(data->lkey));
	}
}

/**
 * mlx5_ib_odp_parse_send - find the memory that a send WQE names
 * @wqe: copy of the WQE. A process wrote it, so nothing in it can be relied on
 * @len: length of the copy in bytes
 * @type: service type of the QP
 * @sges: result
 *
 * Decodes the segments of linux/mlx5/qp.h.
 *
 * Return: 0, or -EINVAL for a malformed WQE or one that names no memory.
 */
int mlx5_ib_odp_parse_send(const void *wqe, size_t len, enum ib_qp_type type,
			   struct mlx5_ib_odp_sges *sges)
{
	size_t off = sizeof(struct mlx5_wqe_ctrl_seg);
	int header;

	sges->num = 0;
	if (len < off)
		return -EINVAL;
	header = odp_wqe_header_bytes(wqe, len, type);
	if (header < 0 || off + header > len)
		return -EINVAL;
	odp_sges_parse(wqe + off + header, wqe + len, true, sges);
	return sges->num ? 0 : -EINVAL;
}

/**
 * mlx5_ib_odp_parse_recv - find the memory that a receive WQE names
 * @wqe: copy of the WQE, from its first data segment on
 * @len: bytes from there to the end of the WQE's stride
 * @sges: result
 */
void mlx5_ib_odp_parse_recv(const void *wqe, size_t len, struct mlx5_ib_odp_sges *sges)
{
	sges->num = 0;
	odp_sges_parse(wqe, wqe + len, false, sges);
}

/**
 * mlx5_ib_odp_window - reduce a list of data segments to a range of the message's bytes
 * @sges: the list, changed in place
 * @skip: bytes to leave out at the start of the message
 * @len: bytes to keep after those
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
 * mlx5_ib_odp_mtt - build the translation entry of a page that is mapped
 * @dma: DMA address of the page
 * @writable: the device may write to the page
 *
 * The entry of a page that is not mapped is 0: any access to it faults.
 *
 * Return: the entry as the device reads it.
 */
__be64 mlx5_ib_odp_mtt(u64 dma, bool writable)
{
	return cpu_to_be64(dma | MLX5_EN_RD | (writable ? MLX5_EN_WR : 0));
}

/**
 * mlx5_ib_odp_next_run - find a run of blocks with mapped pages
 * @mtt: translation entries
 * @first: entry to start at; result: first entry of the run, at the start of a block
 * @end: entry to stop before
 * @max: number of entries of the longest run wanted, a multiple of a block
 * @num: result: number of entries of the run, whole blocks
 *
 * Blocks without a mapped page are left out, so that unmapping a large range in which few
 * pages are mapped takes few UMRs.
 *
 * Return: false if no page is mapped.
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
 * mlx5_ib_odp_chunk - end of the part of a range of entries that one UMR writes
 * @first: first entry of the part
 * @end: end of the whole range
 * @chunk: number of entries that one UMR can write, a power of two and whole blocks
 *
 * A UMR writes whole blocks, so parts end at multiples of @chunk.
 *
 * Return: number of the entry after the part.
 */
size_t mlx5_ib_odp_chunk(size_t first, size_t end, size_t chunk)
{
	return min(end, ALIGN_DOWN(first, chunk) + chunk);
}

/**
 * mlx5_ib_odp_create_ksm_inlen - length of CREATE_MKEY for a table of keys
 * @num: number of entries
 *
 * Return: length in bytes.
 */
size_t mlx5_ib_odp_create_ksm_inlen(u32 num)
{
	return MLX5_ST_SZ_BYTES(create_mkey_in) + num * sizeof(struct mlx5_ksm);
}

/**
 * mlx5_ib_odp_fill_ksm - build an entry of a table of keys
 * @ksm: the entry, struct mlx5_ksm
 * @key: key that the entry leads to
 * @va: address in that key at which the entry starts
 */
void mlx5_ib_odp_fill_ksm(struct mlx5_ksm *ksm, u32 key, u64 va)
{
	*ksm = (struct mlx5_ksm){ .key = cpu_to_be32(key), .va = cpu_to_be64(va) };
}

/**
 * mlx5_ib_odp_fill_create_ksm - build CREATE_MKEY for a table of keys
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits with room for the entries
 * @attr: attributes of the key
 *
 * Every entry leads to the null key, so that any access through the new key faults.
 */
void mlx5_ib_odp_fill_create_ksm(void *in, const struct mlx5_ib_odp_ksm_attr *attr)
{
	struct mlx5_ksm *ksm = MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt);
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	u32 i;

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size, attr->num);
	/* Relaxed ordering is up to the keys that the entries lead to. */
	mlx5_ib_fill_mkc_access(mkc, attr->access & ~IB_ACCESS_RELAXED_ORDERING, NULL);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, qpn, ANY_QP);
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
 * mlx5_ib_odp_fill_inline - build a UMR that carries a few entries of a key's table
 * @wqe: zeroed UMR
 * @mkey: the key
 * @octoword: where in the table the entries start, in units of 16 bytes and at the start
 *	of a block
 * @num: length of the entries in units of 16 bytes, whole blocks
 *
 * Return: where in @wqe the caller is to write the entries.
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
 * mlx5_ib_odp_root_entries - number of directories that cover an address space
 * @task_size: end of the address space
 *
 * Return: number of entries of the root, whole blocks.
 */
u32 mlx5_ib_odp_root_entries(u64 task_size)
{
	return ALIGN(((task_size - 1) >> MLX5_IB_ODP_DIR_SHIFT) + 1, MLX5_IB_ODP_BLOCK_KSMS);
}

/**
 * mlx5_ib_odp_dir_index - index in the root of the directory of an address
 * @va: address
 *
 * Return: the index.
 */
unsigned long mlx5_ib_odp_dir_index(u64 va)
{
	return va >> MLX5_IB_ODP_DIR_SHIFT;
}

/**
 * mlx5_ib_odp_leaf_index - index in its directory of the leaf of an address
 * @va: address
 *
 * Return: the index.
 */
unsigned long mlx5_ib_odp_leaf_index(u64 va)
{
	return (va & (BIT_ULL(MLX5_IB_ODP_DIR_SHIFT) - 1)) >> MLX5_IB_ODP_LEAF_SHIFT;
}

/**
 * mlx5_ib_odp_leaf_base - first address of the leaf of an address
 * @va: address
 *
 * Return: the first address.
 */
u64 mlx5_ib_odp_leaf_base(u64 va)
{
	return ALIGN_DOWN(va, BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT));
}
