// SPDX-License-Identifier: GPL-2.0
/*
 * The hashes of receive side scaling.
 */
#include <string.h>

#include "bytes.h"
#include "rss.h"

struct rss_input {
	uint8_t bytes[RSS_INPUT_MAX];
	size_t len;
	unsigned int fields;
};

/**
 * rss_toeplitz() - the Toeplitz hash
 * @key: the key
 * @input: what is hashed
 * @len: bytes of it, RSS_INPUT_MAX at most: for each bit the key has the 32 bits from there on
 *
 * Return: the hash.
 */
uint32_t rss_toeplitz(const uint8_t key[RSS_KEY_BYTES], const uint8_t *input, size_t len)
{
	uint32_t window = get_be32(key), hash = 0;
	unsigned int bit;
	size_t i;

	for (i = 0; i < len && i + 4 < RSS_KEY_BYTES; i++) {
		for (bit = 0x80; bit; bit >>= 1) {
			if (input[i] & bit)
				hash ^= window;
			window = window << 1 | !!(key[i + 4] & bit);
		}
	}
	return hash;
}

/*
 * The XOR of all bytes, whose bits are then in reverse order. That this is what "inverted" means
 * (MLX5_RX_HASH_FN_INVERTED_XOR8) is deduced from the stock driver: with this hash it puts the entry
 * that a user has chosen for the XOR x into the place whose number has the bits of x in reverse.
 */
static uint32_t rss_xor8(const struct rss_input *in)
{
	uint8_t xor = 0, hash = 0;
	unsigned int bit;
	size_t i;

	for (i = 0; i < in->len; i++)
		xor ^= in->bytes[i];
	for (bit = 0; bit < 8; bit++)
		hash |= (xor >> bit & 1) << (7 - bit);
	return hash;
}

/*
 * Add a source and a destination, as far as they are selected. In the symmetric form their OR and
 * their XOR take the places of both; so this form needs both.
 */
static void rss_add_pair(struct rss_input *in, const struct rss *rss, unsigned int both,
			 const uint8_t *src, const uint8_t *dst, size_t size)
{
	unsigned int fields = rss->fields & both;
	uint8_t *to = in->bytes + in->len;
	size_t i;

	in->fields |= fields;
	if (rss->symmetric && fields == both) {
		for (i = 0; i < size; i++) {
			to[i] = src[i] | dst[i];
			to[size + i] = src[i] ^ dst[i];
		}
		in->len += 2 * size;
		return;
	}
	if (fields & (RSS_SIP | RSS_SPORT)) {
		memcpy(to, src, size);
		to += size;
	}
	if (fields & (RSS_DIP | RSS_DPORT)) {
		memcpy(to, dst, size);
		to += size;
	}
	in->len = to - in->bytes;
}

static bool rss_has_spi(const struct frame *f)
{
	return !f->frag && (f->protocol == PROTO_ESP || f->protocol == PROTO_AH) && f->spi;
}

static void rss_collect(struct rss_input *in, const struct rss *rss, const struct frame *f)
{
	size_t skip = f->ip_version == 4 ? IP_BYTES - 4 : 0;
	uint8_t sport[2], dport[2];

	rss_add_pair(in, rss, RSS_SIP | RSS_DIP, f->sip + skip, f->dip + skip, IP_BYTES - skip);
	if (f->l4_type != L4_NONE) {
		put_be16(sport, f->sport);
		put_be16(dport, f->dport);
		rss_add_pair(in, rss, RSS_SPORT | RSS_DPORT, sport, dport, sizeof(sport));
	} else if (rss_has_spi(f) && (rss->fields & RSS_SPI)) {
		in->fields |= RSS_SPI;
		put_be32(in->bytes + in->len, f->spi);
		in->len += 4;
	}
}

/**
 * rss_hash_frame() - hash the selected fields of a frame
 * @rss: which hash of which fields
 * @f: the frame
 *
 * Fields that the frame does not have are left out: a fragment is hashed by its addresses, and what
 * is no IP not at all.
 *
 * Return: the hash, and which fields it is of; if of none, the hash is 0.
 */
struct rss_hash rss_hash_frame(const struct rss *rss, const struct frame *f)
{
	struct rss_input in = { .len = 0 };
	struct rss_hash hash = { 0 };

	if (rss->fn == RSS_NONE || !f->ip_version)
		return hash;
	rss_collect(&in, rss, f);
	hash.fields = in.fields;
	if (!in.len)
		return hash;
	hash.value = rss->fn == RSS_XOR8 ? rss_xor8(&in) : rss_toeplitz(rss->key, in.bytes, in.len);
	return hash;
}
