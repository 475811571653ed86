// SPDX-License-Identifier: GPL-2.0
/*
 * The command queue: its entries, mailbox chains with their tokens and signatures, and completion
 * by ownership bit and event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "cmdif.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"

/* struct mlx5_cmd_layout of linux/mlx5/device.h */
enum {
	LAY_TYPE = 0, LAY_INLEN = 4, LAY_IN_PTR = 8, LAY_IN = 16, LAY_OUT = 32, LAY_OUT_PTR = 48,
	LAY_OUTLEN = 56, LAY_TOKEN = 60, LAY_SIG = 61, LAY_OWN = 63, LAY_SIZE = 64,
};

/* struct mlx5_cmd_prot_block: a mailbox */
enum {
	BLK_DATA = 0, BLK_RSVD = 512, BLK_NEXT = 560, BLK_NUM = 568, BLK_TOKEN = 573,
	BLK_CTRL_SIG = 574, BLK_SIG = 575, BLK_SIZE = 576, BLK_DATA_SIZE = 512,
};

#define CMD_TYPE_PCI	7
#define OWNER_HW	1
#define INLINE		16	/* bytes of a command that are in the queue entry itself */
#define OUT_HDR		8	/* status and syndrome: the shortest output */
#define MAX_CMD_LEN	(1u << 20)
#define BLK_ALIGN	512

#define LOG_STRIDE	6
#define LOG_SIZE	5

/* MLX5_CMD_DELIVERY_STAT_*: the command did not reach its handler. */
enum delivery {
	DL_OK = 0x0, DL_SIG = 0x1, DL_TOKEN = 0x2, DL_BLK_NUM = 0x3, DL_OUT_ALIGN = 0x4,
	DL_IN_ALIGN = 0x5, DL_FW = 0x6, DL_IN_LEN = 0x7, DL_OUT_LEN = 0x8, DL_RESERVED = 0x9,
	DL_DESCR = 0x10,
};

struct cmdif {
	uint64_t queue;		/* guest address, 0: not set */
	uint32_t counts[CMD_OPCODES];
};

static int cmdif_init(struct hca *hca)
{
	hca->cmdif = calloc(1, sizeof(*hca->cmdif));
	return hca->cmdif ? 0 : -ENOMEM;
}

static void cmdif_restart(struct hca *hca)
{
	cmdif_set_queue(hca, 0);
}

static void cmdif_exit(struct hca *hca)
{
	free(hca->cmdif);
	hca->cmdif = NULL;
}

const struct hca_module cmdif_module = {
	.name = "cmdif", .init = cmdif_init, .restart = cmdif_restart, .exit = cmdif_exit,
};

/**
 * cmdif_counts() - commands executed since the last cmdif_counts_reset()
 * @hca: the HCA
 *
 * Return: CMD_OPCODES numbers, by opcode.
 */
const uint32_t *cmdif_counts(struct hca *hca)
{
	return hca->cmdif->counts;
}

/**
 * cmdif_count() - count a command
 * @hca: the HCA
 * @opcode: of the command; an opcode that no command can have is not counted
 */
void cmdif_count(struct hca *hca, uint16_t opcode)
{
	if (opcode < CMD_OPCODES)
		hca->cmdif->counts[opcode]++;
}

/**
 * cmdif_counts_reset() - set the counts of all commands to 0
 * @hca: the HCA
 */
void cmdif_counts_reset(struct hca *hca)
{
	memset(hca->cmdif->counts, 0, sizeof(hca->cmdif->counts));
}

/**
 * cmdif_log_size() - size of the command queue
 *
 * Return: log2 of the number of entries.
 */
unsigned int cmdif_log_size(void)
{
	return LOG_SIZE;
}

/**
 * cmdif_log_stride() - size of an entry of the command queue
 *
 * Return: log2 of the bytes.
 */
unsigned int cmdif_log_stride(void)
{
	return LOG_STRIDE;
}

/**
 * cmdif_set_queue() - the driver wrote the address of the queue
 * @hca: the HCA
 * @addr: guest address of 32 entries of 64 bytes, 4 KiB aligned; 0 stops the interface
 */
void cmdif_set_queue(struct hca *hca, uint64_t addr)
{
	hca->cmdif->queue = addr;
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

static uint8_t cmdif_xor(const uint8_t *p, size_t len)
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
	return cmdif_xor(b + BLK_RSVD, BLK_SIG - BLK_RSVD) == 0xff &&
 cmdif_xor(b, BLK_SIZE) == 0xff;
}

static void mailbox_sign(uint8_t *b)
{
	b[BLK_CTRL_SIG] = 0;
	b[BLK_CTRL_SIG] = ~cmdif_xor(b + BLK_RSVD, BLK_CTRL_SIG - BLK_RSVD);
	b[BLK_SIG] = 0;
	b[BLK_SIG] = ~cmdif_xor(b, BLK_SIG);
}

/* Find a mailbox of a chain and check it. Returns NULL and sets *err if it is not valid. */
static uint8_t *mailbox_get(struct hca *hca, uint64_t addr, unsigned int num, uint8_t token,
			    bool out,
			    enum delivery *err)
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

static enum delivery mailbox_chain_read(struct hca *hca, const uint8_t *lay, uint8_t *buf,
					size_t len)
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

/*
 * Walk the output chain before the command runs, so that no command runs whose output cannot be
 * stored.
 */
static enum delivery mailbox_chain_check(struct hca *hca, const uint8_t *lay, size_t len)
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

static void mailbox_chain_write(struct hca *hca, uint8_t *lay, const uint8_t *buf, size_t len)
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

/* ---- entries --------------------------------------------------------------------------------- */

static enum delivery cmdif_entry_check(const uint8_t *lay, size_t in_len, size_t out_len)
{
	if (cmdif_xor(lay, LAY_SIZE) != 0xff)
		return DL_SIG;
	if (lay[LAY_TYPE] != CMD_TYPE_PCI)
		return DL_DESCR;
	if (lay[1] || lay[2] || lay[3] || lay[62])
		return DL_RESERVED;
	if (in_len < INLINE || in_len > MAX_CMD_LEN)
		return DL_IN_LEN;
	if (out_len < OUT_HDR || out_len > MAX_CMD_LEN)
		return DL_OUT_LEN;
	return DL_OK;
}

static enum delivery cmdif_entry_run(struct hca *hca, uint8_t *lay, unsigned int slot)
{
	size_t in_len = get_be32(lay + LAY_INLEN), out_len = get_be32(lay + LAY_OUTLEN);
	enum delivery dl = cmdif_entry_check(lay, in_len, out_len);
	uint8_t *in, *out;

	if (dl != DL_OK)
		return dl;
	in = calloc(1, in_len);
	out = calloc(1, out_len);
	if (!in || !out)
		dl = DL_FW;
	if (dl == DL_OK)
		dl = mailbox_chain_read(hca, lay, in, in_len);
	if (dl == DL_OK)
		dl = mailbox_chain_check(hca, lay, out_len);
	if (dl == DL_OK) {
		cmd_execute(hca, in, in_len, out, out_len, slot);
		mailbox_chain_write(hca, lay, out, out_len);
	}
	free(in);
	free(out);
	return dl;
}

/*
 * Execute the command in a slot. Returns true if the entry was ours and is now the driver's again.
 */
static bool cmdif_run_slot(struct hca *hca, unsigned int slot)
{
	uint8_t *guest = mem_ptr(hca, hca->cmdif->queue + (slot << LOG_STRIDE), LAY_SIZE, true);
	uint8_t lay[LAY_SIZE];
	enum delivery dl;

	if (!guest || !(__atomic_load_n(guest + LAY_OWN, __ATOMIC_ACQUIRE) & OWNER_HW)) {
		hca_trace(hca, "cmd_drop", "\"slot\":%u", slot);
		return false;
	}
	memcpy(lay, guest, LAY_SIZE);
	dl = cmdif_entry_run(hca, lay, slot);
	if (dl != DL_OK)
		hca_trace(hca, "cmd_undelivered", "\"slot\":%u,\"delivery\":%u", slot, dl);
	if (hca->hung || hca->fatal)
		return false;
	lay[LAY_OWN] = dl << 1;
	lay[LAY_SIG] = 0;
	lay[LAY_SIG] = ~cmdif_xor(lay, LAY_SIZE);
	memcpy(guest, lay, LAY_OWN);
	__atomic_store_n(guest + LAY_OWN, lay[LAY_OWN], __ATOMIC_RELEASE);
	return true;
}

/**
 * cmdif_doorbell() - the driver rang the command doorbell
 * @hca: the HCA
 * @slots: bitmap of queue entries that have a command
 *
 * Executes the commands at once, in order of their slots. The ownership bit of each entry shows its
 * completion; one event for all is posted if an event queue subscribed to it.
 */
void cmdif_doorbell(struct hca *hca, uint32_t slots)
{
	bool events = eq_subscribed(hca, EV_CMD);
	uint32_t done = 0;
	unsigned int i;

	if (hca->hung || hca->fatal || hca->unplugged || !hca->cmdif->queue)
		return;
	for (i = 0; i < HCA_CMD_SLOTS; i++)
		if (slots >> i & 1 && cmdif_run_slot(hca, i))
			done |= 1u << i;
	/* An event queue that was created by these commands is not told about them. */
	if (done && events) {
		uint8_t data[28] = { 0 };

		put_be32(data, done);
		eq_post_async(hca, EV_CMD, 0, data);
	}
}
