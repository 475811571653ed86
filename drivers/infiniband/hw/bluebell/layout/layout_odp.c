// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging, computation only: page-fault events, the memory that a WQE names, and
 * translation entries. Pure functions only.
 */

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout/caps.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"

#define TOKEN_MASK	0xffffff
#define TYPE_SHIFT	24
#define TYPE_MASK	7
/*
 * Flag of the last event of a fault, in the memory scheme. include/linux/mlx5 has no name for it;
 * mlx5_ib answers the events that have this bit.
 */
#define FLAG_LAST	BIT(7)

/*
 * Page size of the key that covers all addresses and maps no page: the key has one block of eight
 * entries, so each entry covers 2^61 bytes.
 */
#define ABSENT_PAGE_SHIFT	61

/* The preferred size of a directory is 64 GiB: its table has 4096 entries. */
#define PREFERRED_DIR_SHIFT	36
/*
 * Maximum number of entries of a root: CREATE_MKEY carries all of them. No specification says how
 * long a command may be; the emulated HCA accepts 2 MiB, and real devices accept the longer page
 * lists of large regions. If an entry covers 2 GiB, the root of 128 TiB has a list of 1 MiB.
 */
#define MAX_ROOT_KSMS	\
	ALIGN_DOWN((SZ_2M - MLX5_ST_SZ_BYTES(create_mkey_in)) / sizeof(struct mlx5_ksm), \
		   MLX5_IB_ODP_BLOCK_KSMS)

/**
 * mlx5_ib_odp_service_caps - operations of a transport service that can fault on pages
 * @caps: struct mlx5_ifc_odp_per_transport_service_cap_bits of the service
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

static void odp_parse_rdma_fault(const struct mlx5_eqe_page_fault *pf, struct mlx5_ib_fault *fault)
{
	/* An RDMA fault has one number for the token and the queue. */
	fault->is_rdma = true;
	fault->token = fault->wq_num;
	fault->key = be32_to_cpu(pf->rdma.r_key);
	fault->op_len = be32_to_cpu(pf->rdma.rdma_op_len);
	fault->va = be64_to_cpu(pf->rdma.rdma_va);
}

static void odp_parse_transport_fault(const struct mlx5_eqe *eqe, struct mlx5_ib_fault *fault)
{
	const struct mlx5_eqe_page_fault *pf = &eqe->data.page_fault;
	u32 last = be32_to_cpu(pf->wqe.pftype_wq);

	*fault = (struct mlx5_ib_fault){
		.type = last >> TYPE_SHIFT & TYPE_MASK,
		.wq_num = last & TOKEN_MASK,
		.committed = be32_to_cpu(pf->wqe.bytes_committed),
		.packet_len = be16_to_cpu(pf->wqe.packet_length),
	};
	fault->is_unknown = eqe->sub_type != MLX5_PFAULT_SUBTYPE_WQE &&
			    eqe->sub_type != MLX5_PFAULT_SUBTYPE_RDMA;
	/* The type of an unknown fault says which layout the event has, and where the token is. */
	if (fault->is_unknown ? fault->type & MLX5_PAGE_FAULT_RESUME_RDMA :
				eqe->sub_type == MLX5_PFAULT_SUBTYPE_RDMA) {
		odp_parse_rdma_fault(pf, fault);
	} else {
		fault->token = be32_to_cpu(pf->wqe.token) & TOKEN_MASK;
		fault->wqe_index = be16_to_cpu(pf->wqe.wqe_index);
	}
}

/*
 * Number of bytes, starting at @va, that the device needs. Older firmware reports this number.
 * Newer firmware reports the length of all 4 KiB pages that the device needs, the first of which
 * contains @va.
 */
static u32 odp_needed_bytes(u32 needed, u64 va)
{
	if (!needed || needed % MEMORY_SCHEME_PAGE_FAULT_GRANULARITY)
		return needed;
	return needed - va % MEMORY_SCHEME_PAGE_FAULT_GRANULARITY;
}

static void odp_parse_memory_fault(const struct mlx5_eqe *eqe, struct mlx5_ib_fault *fault)
{
	const struct mlx5_eqe_page_fault *pf = &eqe->data.page_fault;
	u64 va = be64_to_cpu(pf->memory.va);

	*fault = (struct mlx5_ib_fault){
		.is_unknown = eqe->sub_type != MLX5_PFAULT_SUBTYPE_MEMORY,
		.is_memory = true,
		.is_early = !(pf->memory.flags & FLAG_LAST),
		.token = (u64)be16_to_cpu(pf->memory.token47_32) << 32 |
			 be32_to_cpu(pf->memory.token31_0),
		.key = be32_to_cpu(pf->memory.mkey),
		.va = va,
		.packet_len = odp_needed_bytes(be32_to_cpu(pf->memory.demand_fault_pages), va),
		.before = be16_to_cpu(pf->memory.pre_demand_fault_pages) *
			  MEMORY_SCHEME_PAGE_FAULT_GRANULARITY,
		.after = be16_to_cpu(pf->memory.post_demand_fault_pages) *
			 MEMORY_SCHEME_PAGE_FAULT_GRANULARITY,
	};
}

/**
 * mlx5_ib_odp_parse_eqe - decode a page-fault event
 * @eqe: entry of the page-fault event queue, with a struct mlx5_eqe_page_fault
 * @by_memory: the device reports faults by the memory scheme (@is_memory of struct mlx5_ib_fault)
 * @fault: result, but for @taken, which the caller sets
 *
 * Return: true; false if the entry is not a page-fault event.
 */
bool mlx5_ib_odp_parse_eqe(const struct mlx5_eqe *eqe, bool by_memory,
			   struct mlx5_ib_fault *fault)
{
	if (eqe->type != MLX5_EVENT_TYPE_PAGE_FAULT)
		return false;
	if (by_memory)
		odp_parse_memory_fault(eqe, fault);
	else
		odp_parse_transport_fault(eqe, fault);
	return true;
}

/**
 * mlx5_ib_odp_fill_resume - build PAGE_FAULT_RESUME
 * @in: zeroed struct mlx5_ifc_page_fault_resume_in_bits
 * @fault: the fault
 * @error: the device is to fail the work request
 */
void mlx5_ib_odp_fill_resume(void *in, const struct mlx5_ib_fault *fault, bool error)
{
	void *info = MLX5_ADDR_OF(page_fault_resume_in, in, page_fault_info);

	MLX5_SET(page_fault_resume_in, in, opcode, MLX5_CMD_OP_PAGE_FAULT_RESUME);
	if (fault->is_memory) {
		MLX5_SET(mem_page_fault_info, info, error, error);
		MLX5_SET(mem_page_fault_info, info, fault_token_47_32, fault->token >> 32);
		MLX5_SET(mem_page_fault_info, info, fault_token_31_0, lower_32_bits(fault->token));
	} else {
		MLX5_SET(trans_page_fault_info, info, error, error);
		MLX5_SET(trans_page_fault_info, info, page_fault_type, fault->type);
		MLX5_SET(trans_page_fault_info, info, wq_number, fault->wq_num);
		MLX5_SET(trans_page_fault_info, info, fault_token, lower_32_bits(fault->token));
	}
}

/* ---- WQEs ------------------------------------------------------------------- */

/*
 * Length in bytes of the segment after the control segment that says where the request goes, or
 * -EINVAL. Datagrams and the requests of DC initiators have an address vector.
 */
static int odp_wqe_address_bytes(const void *wqe, size_t len, enum ib_qp_type type)
{
	const struct mlx5_wqe_datagram_seg *dgram = wqe + sizeof(struct mlx5_wqe_ctrl_seg);

	if (type == IB_QPT_XRC_INI)
		return sizeof(struct mlx5_wqe_xrc_seg);
	if (type != IB_QPT_UD && type != IB_QPT_DRIVER)
		return 0;
	/* A bit says whether a GRH follows the short address vector. */
	if (len < sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(struct mlx5_base_av))
		return -EINVAL;
	if (dgram->av.dqp_dct & cpu_to_be32(MLX5_EXTENDED_UD_AV))
		return sizeof(*dgram);
	return sizeof(struct mlx5_base_av);
}

/* Length in bytes of the segments between control and data segments, or -EINVAL. */
static int odp_wqe_header_bytes(const void *wqe, size_t len, enum ib_qp_type type)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = wqe;
	int bytes = odp_wqe_address_bytes(wqe, len, type);

	if (bytes < 0)
		return bytes;
	switch (be32_to_cpu(ctrl->opmod_idx_opcode) & 0xff) {
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_SEND_INVAL:
		return bytes;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg);
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg) +
		       sizeof(struct mlx5_wqe_atomic_seg);
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg) +
		       sizeof(struct mlx5_wqe_masked_atomic_seg);
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
 * Whether a data segment ends the list of a receive WQE. libmlx5 ends the list with
 * MLX5_TERMINATE_SCATTER_LIST_LKEY; a program that builds its WQEs itself may instead use the key
 * that the device reports for this purpose.
 */
static bool odp_is_list_end(const struct mlx5_wqe_data_seg *data, const struct mlx5_ib_caps *caps)
{
	return !data->byte_count && (data->lkey == MLX5_TERMINATE_SCATTER_LIST_LKEY ||
				     data->lkey == cpu_to_be32(caps->list_end_mkey));
}

/**
 * mlx5_ib_odp_parse_data - find the memory that the data segments of a WQE name
 * @seg: the first data segment
 * @end: end of the WQE
 * @inline_ok: the WQE may carry data inline. Such data gets an entry in @sges, because its bytes
 *	count as bytes of the message; the entry has key 0, and so names no memory
 * @caps: what the device can do
 * @sges: result
 *
 * The segments end at @end, at a terminator, or at inline data that is not allowed or too long.
 *
 * Return: 0, or -EINVAL if there is no segment.
 */
int mlx5_ib_odp_parse_data(const void *seg, const void *end, bool inline_ok,
			   const struct mlx5_ib_caps *caps, struct mlx5_ib_odp_sges *sges)
{
	const struct mlx5_wqe_data_seg *data;
	u32 count;

	sges->num = 0;
	for (; seg + sizeof(*data) <= end; seg += sizeof(*data)) {
		data = seg;
		count = be32_to_cpu(data->byte_count);
		if (count & MLX5_INLINE_SEG) {
			count &= ~MLX5_INLINE_SEG;
			if (!inline_ok || count > end - seg)
				break;
			odp_sges_add(sges, 0, count, 0);
			seg += ALIGN(count + sizeof(data->byte_count), sizeof(*data)) -
			       sizeof(*data);
			continue;
		}
		if (odp_is_list_end(data, caps))
			break;
		odp_sges_add(sges, be64_to_cpu(data->addr), count ?: BIT(31),
			     be32_to_cpu(data->lkey));
	}
	return sges->num ? 0 : -EINVAL;
}

/**
 * mlx5_ib_odp_parse_send - find the memory that a send WQE names
 * @wqe: copy of the WQE. A process has written the WQE, so the driver can rely on no field
 * @len: length of the copy in bytes, perhaps longer than the WQE
 * @type: service type of the QP
 * @caps: what the device can do
 * @sges: result
 *
 * Decodes the segments of linux/mlx5/qp.h.
 *
 * Return: 0, or -EINVAL for a WQE that is malformed or has no data segment.
 */
int mlx5_ib_odp_parse_send(const void *wqe, size_t len, enum ib_qp_type type,
			   const struct mlx5_ib_caps *caps, struct mlx5_ib_odp_sges *sges)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = wqe;
	int header;

	if (len < sizeof(*ctrl))
		return -EINVAL;
	len = min(len, (be32_to_cpu(ctrl->qpn_ds) & 0x3f) * MLX5_SEND_WQE_DS);
	header = odp_wqe_header_bytes(wqe, len, type);
	if (header < 0 || sizeof(*ctrl) + header > len)
		return -EINVAL;
	return mlx5_ib_odp_parse_data(wqe + sizeof(*ctrl) + header, wqe + len, true, caps, sges);
}

/**
 * mlx5_ib_odp_window - reduce a list of data segments to a range of the message's bytes
 * @sges: the list of the whole message, which the function changes
 * @skip: bytes to leave out at the start of the message
 * @len: bytes to keep after @skip
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
 * mlx5_ib_odp_next_run - find a run of blocks with mapped pages
 * @mtt: translation entries
 * @first: entry to start at; result: first entry of the run, at the start of a block
 * @end: entry to stop before
 * @max: maximum number of entries of the run, whole blocks
 * @num: result: number of entries of the run, whole blocks
 *
 * Blocks without a mapped page are left out, so that unmapping a large range in which few
 * pages are mapped takes few UMRs.
 *
 * Return: true; false if no page is mapped in the blocks from @first to @end.
 */
bool mlx5_ib_odp_next_run(const __be64 *mtt, size_t *first, size_t end, size_t max, size_t *num)
{
	size_t i = ALIGN_DOWN(*first, MLX5_IB_UMR_BLOCK_MTTS), last;

	while (i < end && !memchr_inv(mtt + i, 0, MLX5_UMR_FLEX_ALIGNMENT))
		i += MLX5_IB_UMR_BLOCK_MTTS;
	if (i >= end)
		return false;
	for (last = i; last < end && last - i < max; last += MLX5_IB_UMR_BLOCK_MTTS)
		if (!memchr_inv(mtt + last, 0, MLX5_UMR_FLEX_ALIGNMENT))
			break;
	*first = i;
	*num = last - i;
	return true;
}

/**
 * mlx5_ib_odp_dir_shift - how much memory a directory of an implicit region covers
 * @caps: what the device can do
 * @space: bytes of the address space that the region covers
 *
 * An entry of the root covers a directory, and an entry of a directory covers a leaf. The device
 * limits how much memory an entry covers: to 2 GiB, unless a capability says otherwise.
 *
 * Return: log2 of the bytes; 0 if the device cannot have the root and directories over @space.
 */
u8 mlx5_ib_odp_dir_shift(const struct mlx5_ib_caps *caps, u64 space)
{
	u8 min = 0, max = 0, shift;

	if (!MLX5_CAP_GEN(caps->mdev, fixed_buffer_size))
		return 0;
	if (MLX5_CAP_GEN(caps->mdev, hca_cap_2)) {
		min = MLX5_CAP_GEN_2(caps->mdev, log_min_mkey_entity_size);
		if (MLX5_CAP_GEN_2(caps->mdev, min_mkey_log_entity_size_fixed_buffer_valid))
			min = MLX5_CAP_GEN_2(caps->mdev, min_mkey_log_entity_size_fixed_buffer);
		max = MLX5_CAP_GEN_2(caps->mdev, max_mkey_log_entity_size_fixed_buffer);
	}
	max = max ?: MLX5_MAX_PAGE_SHIFT;
	if (min > MLX5_IB_ODP_LEAF_SHIFT || max <= MLX5_IB_ODP_LEAF_SHIFT)
		return 0;
	shift = min_t(u8, max, PREFERRED_DIR_SHIFT);
	while (shift < max && (space - 1) >> shift >= MAX_ROOT_KSMS)
		shift++;
	return (space - 1) >> shift >= MAX_ROOT_KSMS ? 0 : shift;
}

/**
 * mlx5_ib_odp_fill_create_ksm - build CREATE_MKEY for a table of keys, except for its entries
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits; the caller writes the entries, struct mlx5_ksm,
 *	at klm_pas_mtt
 * @attr: attributes of the key; a KSM counts as two translation entries
 *
 * Relaxed ordering is left out here: the leaves, keys over pages, have it.
 */
void mlx5_ib_odp_fill_create_ksm(void *in, const struct mlx5_ib_mkc_attr *attr)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	struct mlx5_ib_mkc_attr ordered = *attr;

	ordered.access &= ~IB_ACCESS_RELAXED_ORDERING;
	mlx5_ib_fill_create_mkey(in, &ordered, NULL);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
	MLX5_SET(mkc, mkc, umr_en, 1);
}

/**
 * mlx5_ib_odp_fill_create_absent - build CREATE_MKEY for a key in which no page is present
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits, with room for a block of entries, which stay 0
 * @attr: rights and protection domain of the key; @nmtts is the number of entries of one block
 *
 * The key covers all addresses. In the memory scheme of faults, the root and the directories of an
 * implicit region refer to this key where there is no directory or leaf. mlx5_ib uses the same page
 * size, so devices accept this size, even if the largest page size that they report is smaller.
 */
void mlx5_ib_odp_fill_create_absent(void *in, const struct mlx5_ib_mkc_attr *attr)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	struct mlx5_ib_mkc_attr ordered = *attr;

	ordered.access &= ~IB_ACCESS_RELAXED_ORDERING;
	ordered.page_shift = ABSENT_PAGE_SHIFT;
	mlx5_ib_fill_create_mkey(in, &ordered, NULL);
	MLX5_SET(create_mkey_in, in, pg_access, 1);
	MLX5_SET(mkc, mkc, length64, 1);
}
