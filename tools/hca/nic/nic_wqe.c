// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of the WQEs of send queues. The layouts are struct mlx5_wqe_ctrl_seg and struct
 * mlx5_wqe_eth_seg in linux/mlx5/qp.h.
 */
#include <errno.h>

#include "bytes.h"
#include "nic_wqe.h"

#define ETH_SEG		WQE_DS		/* offset of the Ethernet segment */
#define ETH_SEG_BYTES	16
#define INLINE_HEADER	14		/* offset of the header's bytes in the Ethernet segment */

/* Bits of cs_flags. */
#define CSUM_INNER	0x30		/* of what is in a tunnel */
#define CSUM_IP		0x40
#define CSUM_L4		0x80

/* Bits of inline_hdr.sz: a VLAN tag in the header's place, and whether it is a provider's. */
#define INSERT_VLAN	0x8000
#define INSERT_STAG	0x0001

static int nic_wqe_bad(struct nic_wqe *n, const char *why)
{
	n->w.why = why;
	return -EINVAL;
}

/* Bytes from the start of the Ethernet segment to the data segments. */
static size_t nic_eth_bytes(uint16_t header_len)
{
	size_t end = INLINE_HEADER + header_len;

	return end <= ETH_SEG_BYTES ? ETH_SEG_BYTES : (end + WQE_DS - 1) / WQE_DS * WQE_DS;
}

/* The tag that the device puts into the frame. The frame has no inline header then. */
static int nic_parse_tag(struct nic_wqe *n, const uint8_t *eth, uint16_t size)
{
	if (size & ~(INSERT_VLAN | INSERT_STAG))
		return nic_wqe_bad(n, "both an inline header and a VLAN tag to insert");
	n->insert_tag = true;
	n->tag.type = size & INSERT_STAG ? ETYPE_STAG : ETYPE_CTAG;
	n->tag.tci = get_be16(eth + INLINE_HEADER);
	return 0;
}

static int nic_parse_eth(struct nic_wqe *n)
{
	const uint8_t *eth = n->w.raw + ETH_SEG;
	size_t room = n->w.ds * WQE_DS - ETH_SEG;
	uint16_t size;

	if (n->w.ds * WQE_DS < ETH_SEG + ETH_SEG_BYTES)
		return nic_wqe_bad(n, "no room for an Ethernet segment");
	if (eth[4] & CSUM_INNER)
		return nic_wqe_bad(n, "checksums in tunnels are not offered");
	if (get_be32(eth) || eth[5])
		return nic_wqe_bad(n, "software parsing is not offered");
	size = get_be16(eth + 12);
	if (size & INSERT_VLAN) {
		if (nic_parse_tag(n, eth, size))
			return -EINVAL;
		size = 0;
	}
	if (nic_eth_bytes(size) > room)
		return nic_wqe_bad(n, "the inline header is longer than the WQE");
	n->ip_csum = eth[4] & CSUM_IP;
	n->l4_csum = eth[4] & CSUM_L4;
	n->mss = get_be16(eth + 6);
	n->header = eth + INLINE_HEADER;
	n->header_len = size;
	return wqe_parse_data(&n->w, ETH_SEG + nic_eth_bytes(size));
}

/* Each data segment is a frame, so the headers are not in front of the first one. */
static int nic_parse_several(struct nic_wqe *n)
{
	if (nic_parse_eth(n))
		return -EINVAL;
	if (n->header_len || n->insert_tag || n->mss)
		return nic_wqe_bad(n, "several packets with an inline header, a tag or a mss");
	n->several = true;
	return n->w.nseg ? 0 : nic_wqe_bad(n, "several packets, but there are none");
}

/**
 * nic_wqe_parse() - decode what follows the control segment
 * @n: the work request; wqe_parse_ctrl() has decoded the control segment
 *
 * Return: 0, or -EINVAL with @n->w.why.
 */
int nic_wqe_parse(struct nic_wqe *n)
{
	int err;

	n->w.nseg = 0;
	n->w.len = 0;
	n->w.is_read = false;
	n->w.is_atomic = false;
	n->insert_tag = false;
	n->header_len = 0;
	n->ip_csum = false;
	n->l4_csum = false;
	n->mss = 0;
	n->len = 0;
	n->several = false;
	switch (n->w.opcode) {
	case WQE_NOP:
		return 0;
	case WQE_SEND:
	case WQE_LSO:
		err = nic_parse_eth(n);
		n->len = n->header_len + n->w.len;
		return err;
	case WQE_ENHANCED_MPSW:
		err = nic_parse_several(n);
		n->len = n->w.len;
		return err;
	default:
		return nic_wqe_bad(n, "a send queue does not have this opcode");
	}
}
