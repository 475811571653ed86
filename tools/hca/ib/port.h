/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The physical port and its virtual port: what a subnet manager sets, link state and events, the
 * commands about the port, and the registers that ACCESS_REG reads and writes.
 */
#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"
#include "fabric.h"
#include "mad.h"
#include "port_info.h"

struct hca;
struct hca_module;

#define PORT_MAX_VFS	127

/* The vport of a virtual function: what the function that manages it has set. */
struct vf_vport {
	uint64_t node_guid, port_guid;
	uint8_t policy;			/* enum vport_policy */
};

/*
 * The HCA's thread takes the HCA's attr_lock to change these members, except @vf, because the
 * switch's agents read them.
 */
struct port {
	struct vf_vport vf[PORT_MAX_VFS];
	uint32_t cap_mask1;
	bool admin_down;	/* the driver has taken the port down (PAOS) */
	struct port_attrs attrs;
	struct mad_perf perf_zero;	/* what PortCounters subtracts from the counts */
};

uint16_t port_violations(bool counted, uint64_t n);

void port_set_link(struct hca *hca, bool up);
bool port_set_lids(struct hca *hca, uint16_t lid, uint8_t lmc);
void port_set_state(struct hca *hca, enum port_state state);
void port_set_prefix(struct hca *hca, uint64_t prefix);
void port_set_pkeys(struct hca *hca, unsigned int index, const uint8_t *pkeys, unsigned int n);
void port_set_guids(struct hca *hca, unsigned int index, const uint8_t *guids, unsigned int n);
void port_reregister(struct hca *hca);
bool port_set_pkey(struct hca *hca, unsigned int index, uint16_t pkey);

/* ---- port_reg.c ------------------------------------------------------------------------------ */

uint8_t port_access_reg(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write,
			const uint8_t *in, uint8_t *out, size_t len);

extern const struct cmd_desc port_reg_cmds[];

/* ---- vf_vport.c ------------------------------------------------------------------------------ */

uint8_t vf_vport_check(struct hca *hca, struct cmd *cmd, unsigned int vport);
void vf_vport_query(struct hca *hca, unsigned int vport, uint8_t *ctx);
uint8_t vf_vport_modify(struct hca *hca, struct cmd *cmd, unsigned int vport, const uint8_t *ctx);

/* ---- vport.c --------------------------------------------------------------------------------- */

extern const struct cmd_desc port_cmds[];

extern const struct hca_module port_module;
extern const struct port_ops ib_port_ops;

#endif
