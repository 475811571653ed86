/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ACCESS_REG: tables of registers, and the registers that ports of all types have.
 */
#ifndef BLUEBELL_ACCESS_REG_H
#define BLUEBELL_ACCESS_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;
struct hca;

/* Bytes of a request that an answer repeats: port, group, planes. */
#define PORT_BYTES	8

struct reg_desc {
	uint16_t id;		/* MLX5_REG_* of linux/mlx5/driver.h; 0 ends a table */
	uint16_t min;		/* bytes */
	bool has_port;		/* local_port is in the second byte */
	uint8_t repeats;	/* bytes of the request that the answer repeats; if 0 and the
				 * register has a port: PORT_BYTES */
	/* Refuse values; NULL: there is nothing to refuse. */
	uint8_t (*check)(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write);
	void (*write)(struct hca *hca, const uint8_t *in);	/* NULL: read-only */
	/* @out: zeroed, but with the first bytes of the request that the answer repeats */
	void (*read)(struct hca *hca, uint8_t *out);
};

uint8_t reg_access(struct hca *hca, struct cmd *cmd, const struct reg_desc *table, uint16_t reg,
		   bool write, const uint8_t *in, uint8_t *out, size_t len);
uint8_t access_reg(struct hca *hca, struct cmd *cmd, const struct reg_desc *table);

/* Registers of ports of all types. */
enum { REG_PMLP = 0x5002, REG_NODE_DESC = 0x6001, REG_DTOR = 0xc00e };

#define NODE_DESC_BYTES	64

void reg_read_pmlp(struct hca *hca, uint8_t *out);
void reg_read_dtor(struct hca *hca, uint8_t *out);
void reg_read_node_desc(struct hca *hca, uint8_t *out);
void reg_write_node_desc(struct hca *hca, const uint8_t *in);

#endif
