// SPDX-License-Identifier: GPL-2.0
/*
 * The mailboxes of commands: chains with tokens and signatures, in guest memory.
 */
#include <stdbool.h>
#include <string.h>

#include "ifc.h"
#include "mailbox.h"
#include "mem.h"

/* struct mlx5_cmd_prot_block: a mailbox */
enum {
	BLK_DATA = 0, BLK_RSVD = 512, BLK_NEXT = 560, BLK_NUM = 568, BLK_TOKEN = 573,
	BLK_CTRL_SIG = 574, BLK_SIG = 575, BLK_SIZE = 576, BLK_DATA_SIZE = 512,
};

#define BLK_ALIGN	512

/**
 * mailbox_xor() - compute the xor of bytes, to make or check a signature
 * @p: the bytes
 * @len: number of bytes
 *
 * Return: the xor; 0xff if a valid signature is one of the bytes.
 */
uint8_t mailbox_xor(const uint8_t *p, size_t len)
{
	uint8_t x = 0;

	while (len--)
		x ^= *p++;
	return x;
}

/*
 * A signature makes the xor of the bytes that it covers 0xff. Both signatures are 0 if the driver
 * set none.
 */
static bool mailbox_sig_ok(const uint8_t *b)
{
	if (!b[BLK_SIG] && !b[BLK_CTRL_SIG])
		return true;
	return mailbox_xor(b + BLK_RSVD, BLK_SIG - BLK_RSVD) == 0xff &&
	       mailbox_xor(b, BLK_SIZE) == 0xff;
}

static void mailbox_sign(uint8_t *b)
{
	b[BLK_CTRL_SIG] = 0;
	b[BLK_CTRL_SIG] = ~mailbox_xor(b + BLK_RSVD, BLK_CTRL_SIG - BLK_RSVD);
	b[BLK_SIG] = 0;
	b[BLK_SIG] = ~mailbox_xor(b, BLK_SIG);
}

/* Find a mailbox of a chain and check it. Returns NULL and sets *err if it is not valid. */
static uint8_t *mailbox_get(struct hca *hca, uint64_t addr, unsigned int num, uint8_t token,
			    bool out, enum delivery *err)
{
	uint8_t *b;

	if (!addr || addr % BLK_ALIGN) {
		*err = out ? DL_OUT_ALIGN : DL_IN_ALIGN;
		return NULL;
	}
	b = mem_ptr(hca, addr, BLK_SIZE, out);
	if (!b)
		*err = out ? DL_OUT_ALIGN : DL_IN_ALIGN;
	else if (get_be32(b + BLK_NUM) != num)
		*err = DL_BLK_NUM;
	else if (b[BLK_TOKEN] != token)
		*err = DL_TOKEN;
	else if (!out && !mailbox_sig_ok(b))
		*err = DL_SIG;
	else
		return b;
	return NULL;
}

/**
 * mailbox_chain_read() - read a command's input
 * @hca: the HCA
 * @lay: the queue entry
 * @buf: set to the input
 * @len: bytes of the input
 *
 * Return: DL_OK, or what is wrong with the mailboxes.
 */
enum delivery mailbox_chain_read(struct hca *hca, const uint8_t *lay, uint8_t *buf, size_t len)
{
	uint64_t addr = get_be64(lay + LAY_IN_PTR);
	enum delivery err = DL_OK;
	unsigned int num;
	size_t off;

	memcpy(buf, lay + LAY_IN, len < INLINE ? len : INLINE);
	for (num = 0, off = INLINE; off < len; num++, off += BLK_DATA_SIZE) {
		uint8_t *b = mailbox_get(hca, addr, num, lay[LAY_TOKEN], false, &err);

		if (!b)
			return err;
		memcpy(buf + off, b, len - off < BLK_DATA_SIZE ? len - off : BLK_DATA_SIZE);
		addr = get_be64(b + BLK_NEXT);
	}
	return DL_OK;
}

/**
 * mailbox_chain_check() - check that a command's output can be stored
 * @hca: the HCA
 * @lay: the queue entry
 * @len: bytes of the output
 *
 * Called before the command is executed: a command whose output cannot be stored is not executed.
 *
 * Return: DL_OK, or what is wrong with the mailboxes.
 */
enum delivery mailbox_chain_check(struct hca *hca, const uint8_t *lay, size_t len)
{
	uint64_t addr = get_be64(lay + LAY_OUT_PTR);
	enum delivery err = DL_OK;
	unsigned int num;
	size_t off;

	for (num = 0, off = INLINE; off < len; num++, off += BLK_DATA_SIZE) {
		uint8_t *b = mailbox_get(hca, addr, num, lay[LAY_TOKEN], true, &err);

		if (!b)
			return err;
		addr = get_be64(b + BLK_NEXT);
	}
	return DL_OK;
}

/**
 * mailbox_chain_write() - store a command's output
 * @hca: the HCA
 * @lay: the queue entry, whose output is filled in
 * @buf: the output
 * @len: bytes of the output
 *
 * Stops at a mailbox that is no longer valid: the driver may have given up on the command and used
 * the mailbox for another command, whose token differs.
 */
void mailbox_chain_write(struct hca *hca, uint8_t *lay, const uint8_t *buf, size_t len)
{
	uint64_t addr = get_be64(lay + LAY_OUT_PTR);
	enum delivery err;
	unsigned int num;
	size_t off;

	memcpy(lay + LAY_OUT, buf, len < INLINE ? len : INLINE);
	for (num = 0, off = INLINE; off < len; num++, off += BLK_DATA_SIZE) {
		uint8_t *b = mailbox_get(hca, addr, num, lay[LAY_TOKEN], true, &err);

		if (!b)
			return;
		memcpy(b, buf + off, len - off < BLK_DATA_SIZE ? len - off : BLK_DATA_SIZE);
		mailbox_sign(b);
		addr = get_be64(b + BLK_NEXT);
	}
}
