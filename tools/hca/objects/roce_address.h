/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The addresses of an Ethernet port with RoCE, which the driver sets: each entry is a source that
 * queue pairs and datagrams name by its index. No reset keeps the table.
 */
#ifndef BLUEBELL_ROCE_ADDRESS_H
#define BLUEBELL_ROCE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

/* MLX5_ROCE_VERSION_* and MLX5_ROCE_L3_TYPE_* of linux/mlx5/device.h */
enum roce_version { ROCE_V1 = 0, ROCE_V2 = 2 };
enum roce_l3 { ROCE_IPV4 = 0, ROCE_IPV6 = 1 };

#define ROCE_ADDRESSES	256	/* the most that the table can have */
#define ROCE_GID_BYTES	16
#define ROCE_MAC_BYTES	6

struct roce_address {
	bool used;
	enum roce_version version;
	enum roce_l3 l3;		/* of version 2 */
	uint8_t gid[ROCE_GID_BYTES];	/* an IPv4 address is the last four bytes */
	uint8_t mac[ROCE_MAC_BYTES];
	bool vlan;
	uint16_t vid;			/* 0 without a VLAN */
};

bool roce_offered(const struct hca *hca);
const struct roce_address *roce_address_get(const struct hca *hca, unsigned int index);
const struct roce_address *roce_address_find(const struct hca *hca,
					     const struct roce_address *like);
bool roce_address_has_mac(const struct hca *hca, const uint8_t *mac);

extern const struct hca_module roce_address_module;
extern const struct cmd_desc roce_address_cmds[];

#endif
