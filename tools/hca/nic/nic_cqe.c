// SPDX-License-Identifier: GPL-2.0
/*
 * What the CQE of a received frame says of the frame. Drivers believe checksums by these fields, so
 * each bit counts: hds_ip_ext says which headers are right, check_sum is the sum of the IP packet
 * for those that have no TCP or UDP header.
 */
#include "csum.h"
#include "nic_cqe.h"

/* l4_l3_hdr_type */
enum { L4_SHIFT = 4, L3_SHIFT = 2 };
enum cqe_l4 { CQE_L4_NONE, CQE_L4_TCP, CQE_L4_UDP, CQE_L4_TCP_ACK, CQE_L4_TCP_ACK_DATA };
enum cqe_l3 { CQE_L3_NONE, CQE_L3_IPV6, CQE_L3_IPV4 };

/* rss_hash_type, where IPv4 and IPv6 have other numbers */
enum { HASH_L4_SHIFT = 6, HASH_L3_SHIFT = 2 };
enum cqe_hash_l3 { CQE_HASH_IPV4 = 1, CQE_HASH_IPV6 = 2 };
enum cqe_hash_l4 { CQE_HASH_TCP = 1, CQE_HASH_UDP = 2, CQE_HASH_SPI = 3 };

static enum cqe_l4 cqe_l4(const struct frame *f)
{
	if (f->l4_type == L4_UDP)
		return CQE_L4_UDP;
	if (f->l4_type == L4_NONE)
		return CQE_L4_NONE;
	if (!(f->tcp_flags & TCP_ACK))
		return CQE_L4_TCP;
	return f->payload == f->l4_end ? CQE_L4_TCP_ACK : CQE_L4_TCP_ACK_DATA;
}

static enum cqe_l3 cqe_l3(const struct frame *f)
{
	if (!f->ip_version)
		return CQE_L3_NONE;
	return f->ip_version == 4 ? CQE_L3_IPV4 : CQE_L3_IPV6;
}

static uint8_t cqe_hash_type(const struct frame *f, unsigned int fields)
{
	uint8_t l3 = 0, l4 = 0;

	if (fields & (RSS_SIP | RSS_DIP))
		l3 = f->ip_version == 4 ? CQE_HASH_IPV4 : CQE_HASH_IPV6;
	if (fields & (RSS_SPORT | RSS_DPORT))
		l4 = f->l4_type == L4_TCP ? CQE_HASH_TCP : CQE_HASH_UDP;
	else if (fields & RSS_SPI)
		l4 = CQE_HASH_SPI;
	return l4 << HASH_L4_SHIFT | l3 << HASH_L3_SHIFT;
}

/**
 * nic_cqe_of() - describe a frame
 * @f: the frame, as it is stored
 * @rss: the hash function; only the Toeplitz hash is shown
 * @hash: the hash of the frame
 *
 * Return: the fields of the CQE, but for the VLAN tag and the flow tag, which are 0.
 */
struct cqe_frame nic_cqe_of(const struct frame *f, const struct rss *rss,
			    const struct rss_hash *hash)
{
	struct cqe_frame c = { .hds_ip_ext = CQE_L2_OK };

	if (rss->fn == RSS_TOEPLITZ) {
		c.rss_hash_result = hash->value;
		c.rss_hash_type = cqe_hash_type(f, hash->fields);
	}
	if (f->ip_version)
		c.check_sum = csum_packet(f);
	if (csum_ip_ok(f))
		c.hds_ip_ext |= CQE_L3_OK;
	if (csum_l4_ok(f))
		c.hds_ip_ext |= CQE_L4_OK;
	c.l4_l3_hdr_type = cqe_l4(f) << L4_SHIFT | cqe_l3(f) << L3_SHIFT;
	return c;
}
