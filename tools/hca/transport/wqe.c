// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of work queue elements. The layouts are struct mlx5_wqe_ctrl_seg and its neighbours in
 * linux/mlx5/qp.h; a table tells which segments each opcode has.
 */
#include <errno.h>
#include <string.h>

#include "ifc.h"
#include "qp.h"
#include "util.h"
#include "wqe.h"

#define SEG_INLINE	0x80000000u
#define SEG_MAX		0x80000000ull	/* what a byte count of 0 stands for */
#define TM_SEG_BYTES	32
#define TM_FLAG_SYNC	0x40
#define TM_FLAG_CQE	0x80
#define AV_EXTENDED	0x80000000u
#define AV_BASE_BYTES	16
#define AV_FULL_BYTES	48

#define RC		(1u << QPT_RC)
#define UC		(1u << QPT_UC)
#define DGRAM		(1u << QPT_UD | 1u << QPT_QP0 | 1u << QPT_QP1)
#define XRC		(1u << QPT_XRC)
#define DCI		(1u << QPT_DCI)
#define UMRQP		(1u << QPT_REG_UMR)

struct op_desc {
	const char *name;
	unsigned int types;		/* service types that have the opcode */
	uint8_t remote;			/* bytes of the remote address segment */
	uint8_t atomic;			/* bytes of the atomic segment */
	bool local, read, data;
};

static const struct op_desc op_table[] = {
	[WQE_NOP] = { "NOP", RC | UC | DGRAM | XRC | DCI | UMRQP, .local = true },
	[WQE_SEND] = { "SEND", RC | UC | DGRAM | XRC | DCI, .data = true },
	[WQE_SEND_IMM] = { "SEND_IMM", RC | UC | DGRAM | XRC | DCI, .data = true },
	[WQE_SEND_INVAL] = { "SEND_INVAL", RC | XRC | DCI, .data = true },
	[WQE_RDMA_WRITE] = { "RDMA_WRITE", RC | UC | XRC | DCI, .remote = 16, .data = true },
	[WQE_RDMA_WRITE_IMM] = { "RDMA_WRITE_IMM", RC | UC | XRC | DCI, .remote = 16,
			       .data = true },
	[WQE_RDMA_READ] = { "RDMA_READ", RC | XRC | DCI, .remote = 16, .read = true, .data = true },
	[WQE_ATOMIC_CS] = { "ATOMIC_CS", RC | XRC | DCI, .remote = 16, .atomic = 16, .data = true },
	[WQE_ATOMIC_FA] = { "ATOMIC_FA", RC | XRC | DCI, .remote = 16, .atomic = 16, .data = true },
	[WQE_MASKED_CS] = { "MASKED_CS", RC | XRC | DCI, .remote = 16, .atomic = 32, .data = true },
	[WQE_MASKED_FA] = { "MASKED_FA", RC | XRC | DCI, .remote = 16, .atomic = 16, .data = true },
	[WQE_UMR] = { "UMR", RC | UC | XRC | DCI | UMRQP, .local = true },
	[WQE_TAG_MATCHING] = { "TAG_MATCHING", RC, .local = true },
};

static int wqe_bad(struct send_wqe *w, const char *why)
{
	w->why = why;
	return -EINVAL;
}

/**
 * wqe_parse_ctrl() - decode the control segment, the first 16 bytes of @w->raw
 * @w: the work request; opcode, index, QP number, length, stream and flags are filled
 *
 * Implements struct mlx5_wqe_ctrl_seg. Pure.
 *
 * Return: 0, or -EINVAL with @w->why if no WQE can have the length.
 */
int wqe_parse_ctrl(struct send_wqe *w)
{
	uint32_t op = get_be32(w->raw), qpn_ds = get_be32(w->raw + 4);
	uint8_t flags = w->raw[11];

	w->opmod = op >> 24;
	w->idx = op >> 8;
	w->opcode = op;
	w->qpn = qpn_ds >> 8;
	w->ds = qpn_ds & 0x3f;
	w->fence = flags >> 5;
	w->cqe = (flags >> 2 & 3) >= 2;
	w->solicited = flags >> 1 & 1;
	w->imm = get_be32(w->raw + 12);
	w->stream = get_be16(w->raw + 9);
	w->why = NULL;
	if (!w->ds || (qpn_ds & 0xc0))
		return wqe_bad(w, "ds is not valid");
	return 0;
}

/* Decode struct mlx5_av. Returns its length in bytes, or -EINVAL. */
static int wqe_parse_av(struct send_wqe *w, size_t off, size_t end)
{
	const uint8_t *p = w->raw + off;
	struct wqe_av *av = &w->av;
	struct qp_path *path = &av->path;
	uint32_t dqpn, grh;

	if (off + AV_BASE_BYTES > end)
		return wqe_bad(w, "no room for an address vector");
	memset(av, 0, sizeof(*av));
	dqpn = get_be32(p + 8);
	av->qkey = get_be32(p);
	av->dc_key = get_be64(p);
	av->dqpn = dqpn & 0xffffff;
	path->stat_rate = p[12] >> 4;
	path->sl = p[12] & 0xf;
	path->mlid = p[13] & 0x7f;
	path->rlid = get_be16(p + 14);
	/* On an Ethernet port the same bits are those of RoCE. */
	path->eth_prio = p[12] >> 1 & 7;
	path->loop = p[13] >> 7;
	path->udp_sport = path->rlid;
	av->compact = !(dqpn & AV_EXTENDED);
	if (av->compact)
		return AV_BASE_BYTES;
	if (off + AV_FULL_BYTES > end)
		return wqe_bad(w, "no room for an extended address vector");
	grh = get_be32(p + 28);
	memcpy(path->rmac, p + 20, sizeof(path->rmac));
	path->tclass = p[26];
	path->dscp = path->tclass >> 2;
	path->ecn = path->tclass & 3;
	path->hop_limit = p[27];
	path->grh = grh >> 30 & 1;
	path->src_gid_index = grh >> 20;
	path->flow_label = grh & 0xfffff;
	memcpy(path->dgid, p + 32, sizeof(path->dgid));
	return AV_FULL_BYTES;
}

/*
 * A masked fetch-and-add has the addend and, in the place of the data to compare, the field
 * boundaries; a masked compare-and-swap has four words.
 */
static void wqe_parse_atomic(struct send_wqe *w, size_t off)
{
	const uint8_t *p = w->raw + off;

	w->is_atomic = true;
	w->swap_add = get_be64(p);
	w->compare = get_be64(p + 8);
	w->swap_mask = ~0ull;
	w->compare_mask = ~0ull;
	if (w->opcode == WQE_MASKED_CS) {
		w->swap_mask = get_be64(p + 16);
		w->compare_mask = get_be64(p + 24);
	}
}

/*
 * Decode the data or inline segment at @p. Returns its size in bytes, 0 for a terminator, or
 * -EINVAL for inline data beyond @room bytes.
 */
static int wqe_parse_seg(struct wqe_seg *s, const uint8_t *p, size_t room)
{
	uint32_t count = get_be32(p);

	memset(s, 0, sizeof(*s));
	if (count & SEG_INLINE) {
		s->len = count & ~SEG_INLINE;
		if (s->len > room - 4)
			return -EINVAL;
		s->inl = p + 4;
		return (s->len + 4 + WQE_DS - 1) / WQE_DS * WQE_DS;
	}
	s->len = count ? count : SEG_MAX;
	s->lkey = get_be32(p + 4);
	s->addr = get_be64(p + 8);
	if (!count && s->lkey == LKEY_TERMINATE)
		return 0;
	return WQE_DS;
}

/**
 * wqe_parse_data() - decode the data and inline segments of a send WQE
 * @w: the work request; the segments are added to @w->seg and their bytes to @w->len
 * @off: where the first segment begins in @w->raw
 *
 * The list ends at the terminator key or with the WQE. Pure.
 *
 * Return: 0, or -EINVAL with @w->why.
 */
int wqe_parse_data(struct send_wqe *w, size_t off)
{
	size_t end = w->ds * WQE_DS;
	const struct wqe_seg *s;
	int n;

	while (off < end) {
		s = &w->seg[w->nseg];
		n = wqe_parse_seg(&w->seg[w->nseg], w->raw + off, end - off);
		if (n < 0)
			return wqe_bad(w, "inline segment beyond the WQE");
		if (!n)
			break;
		if (s->inl && (w->is_read || w->is_atomic))
			return wqe_bad(w, "inline segment as destination");
		w->len += s->len;
		w->nseg++;
		off += n;
	}
	return 0;
}

/* Decode the segments after the control segment, which the service and the opcode determine. */
static int wqe_parse_segments(struct send_wqe *w, const struct op_desc *d, enum qp_type type)
{
	size_t off = WQE_DS, end = w->ds * WQE_DS;
	int n;

	if (type == QPT_XRC) {
		if (off + WQE_DS > end)
			return wqe_bad(w, "no room for the XRC segment");
		w->xrc_srqn = get_be32(w->raw + off) & 0xffffff;
		off += WQE_DS;
	}
	if ((DGRAM | DCI) >> type & 1) {
		n = wqe_parse_av(w, off, end);
		if (n < 0)
			return n;
		off += n;
	}
	if (off + d->remote + d->atomic > end)
		return wqe_bad(w, "no room for the remote address or atomic segment");
	if (d->remote) {
		w->raddr = get_be64(w->raw + off);
		w->rkey = get_be32(w->raw + off + 8);
		off += d->remote;
	}
	if (d->atomic) {
		wqe_parse_atomic(w, off);
		off += d->atomic;
	}
	n = wqe_parse_data(w, off);
	if (n)
		return n;
	return w->is_atomic && w->len != 8 ? wqe_bad(w, "atomic result not 8 bytes") : 0;
}

/*
 * Decode the segment of a change of the list of tags, and the buffer of an append. Libraries leave
 * what the segment does not need as the WQE before left it, so reserved bytes may have any value.
 */
static int wqe_parse_tm(struct send_wqe *w)
{
	const uint8_t *p = w->raw + WQE_DS;
	struct wqe_tm *tm = &w->tm;
	unsigned int ds = 1 + TM_SEG_BYTES / WQE_DS;

	if (w->cqe)
		return wqe_bad(w, "a tag segment asks for its completion itself");
	if (w->ds < ds)
		return wqe_bad(w, "no room for the tag segment");
	*tm = (struct wqe_tm){
		.op = p[0] >> 4, .cqe = p[1] & TM_FLAG_CQE, .sync = p[1] & TM_FLAG_SYNC,
		.index = get_be16(p + 2), .sw_phase = get_be16(p + 6),
		.tag = get_be64(p + 16), .mask = get_be64(p + 24),
	};
	if (tm->op > WQE_TM_REMOVE || p[0] & 0xf || p[1] & ~(TM_FLAG_CQE | TM_FLAG_SYNC))
		return wqe_bad(w, "unknown operation or flag of a tag segment");
	if (w->ds != ds + (tm->op == WQE_TM_APPEND))
		return wqe_bad(w, "a tag segment with another number of buffers than it needs");
	if (tm->op != WQE_TM_APPEND)
		return 0;
	if (wqe_parse_data(w, ds * WQE_DS))
		return -EINVAL;
	return w->seg[0].inl && w->nseg ? wqe_bad(w, "inline segment as a tagged buffer") : 0;
}

/**
 * wqe_parse_send() - decode a whole send WQE
 * @w: the caller fills @w->raw with the whole WQE in one piece; the other members are set here
 * @type: service type of the queue pair, which determines the opcodes and segments
 *
 * Implements the segments of linux/mlx5/qp.h: control, XRC, datagram, remote address, atomic,
 * masked atomic, data and inline; and the tag segment. The segments of a UMR are not decoded;
 * @w->umr points at them.
 * Every reference into the WQE is bounded by its ds count. Pure.
 *
 * Return: 0, or -EINVAL with @w->why.
 */
int wqe_parse_send(struct send_wqe *w, enum qp_type type)
{
	const struct op_desc *d;
	int n = wqe_parse_ctrl(w);

	if (n)
		return n;
	w->nseg = 0;
	w->len = 0;
	w->is_read = false;
	w->is_atomic = false;
	w->umr = NULL;
	w->umr_len = 0;
	if (w->opcode >= ARRAY_SIZE(op_table) || !op_table[w->opcode].name)
		return wqe_bad(w, "unknown opcode");
	d = &op_table[w->opcode];
	if (!(d->types >> type & 1))
		return wqe_bad(w, "the service type does not have this opcode");

	w->local = d->local;
	w->is_read = d->read;
	if (d->local) {
		w->umr = w->raw + WQE_DS;
		w->umr_len = (w->ds - 1) * WQE_DS;
		return w->opcode == WQE_TAG_MATCHING ? wqe_parse_tm(w) : 0;
	}
	return wqe_parse_segments(w, d, type);
}

/**
 * wqe_parse_recv() - decode the data segments of a receive WQE
 * @w: the result
 * @buf: the WQE, one stride
 * @len: bytes of it
 * @skip: bytes before the first data segment (signature or SRQ next segment)
 *
 * The list ends at the terminator key (LKEY_TERMINATE with a zero count) or with the stride.
 *
 * Return: 0, or -EINVAL for an inline segment, which a receive WQE cannot have.
 */
int wqe_parse_recv(struct recv_wqe *w, const uint8_t *buf, size_t len, size_t skip)
{
	size_t off;

	w->len = 0;
	w->nseg = 0;
	for (off = skip; off + WQE_DS <= len && w->nseg < WQE_MAX_SEGS; off += WQE_DS) {
		struct wqe_seg *s = &w->seg[w->nseg];

		if (!wqe_parse_seg(s, buf + off, len - off))
			break;
		if (get_be32(buf + off) & SEG_INLINE)
			return -EINVAL;
		w->len += s->len;
		w->nseg++;
	}
	return 0;
}
