/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entries of the command queue, and their chains of mailboxes.
 */
#ifndef BLUEBELL_MAILBOX_H
#define BLUEBELL_MAILBOX_H

#include <stddef.h>
#include <stdint.h>

struct hca;

/* struct mlx5_cmd_layout of linux/mlx5/device.h: offsets in a queue entry */
enum {
	LAY_TYPE = 0, LAY_INLEN = 4, LAY_IN_PTR = 8, LAY_IN = 16, LAY_OUT = 32, LAY_OUT_PTR = 48,
	LAY_OUTLEN = 56, LAY_TOKEN = 60, LAY_SIG = 61, LAY_OWN = 63, LAY_SIZE = 64,
};

#define INLINE		16	/* bytes of a command that are in the queue entry itself */

/* MLX5_CMD_DELIVERY_STAT_*: the command did not reach its handler. */
enum delivery {
	DL_OK = 0x0, DL_SIG = 0x1, DL_TOKEN = 0x2, DL_BLK_NUM = 0x3, DL_OUT_ALIGN = 0x4,
	DL_IN_ALIGN = 0x5, DL_FW = 0x6, DL_IN_LEN = 0x7, DL_OUT_LEN = 0x8, DL_RESERVED = 0x9,
	DL_DESCR = 0x10,
};

uint8_t mailbox_xor(const uint8_t *p, size_t len);
enum delivery mailbox_chain_read(struct hca *hca, const uint8_t *lay, uint8_t *buf, size_t len);
enum delivery mailbox_chain_check(struct hca *hca, const uint8_t *lay, size_t len);
void mailbox_chain_write(struct hca *hca, uint8_t *lay, const uint8_t *buf, size_t len);

#endif
