/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The HCA's current capabilities: those of the profile, changed by SET_HCA_CAP until DISABLE_HCA.
 */
#ifndef BLUEBELL_CAPS_H
#define BLUEBELL_CAPS_H

#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"

/* A capability by the name of its field in mlx5_ifc.h. */
#define hca_cap_gen(hca, fld)	 IFC_GET(cmd_hca_cap, (hca)->cap[CAP_GENERAL], fld)
#define hca_cap_atomic(hca, fld) IFC_GET(atomic_caps, (hca)->cap[CAP_ATOMIC], fld)
#define hca_cap_eth(hca, fld) \
	IFC_GET(per_protocol_networking_offload_caps, (hca)->cap[CAP_ETH], fld)
/* Of the tables of flows that received frames pass. */
#define hca_cap_nic_rx(hca, fld) \
	IFC_GET(flow_table_nic_cap, (hca)->cap[CAP_FLOW_TABLE], \
		flow_table_properties_nic_receive.fld)
#define hca_cap_roce(hca, fld)	 IFC_GET(roce_cap, (hca)->cap[CAP_ROCE], fld)
#define hca_cap_gen_2(hca, fld)	 IFC_GET(cmd_hca_cap_2, (hca)->cap[CAP_GENERAL_2], fld)
#define hca_cap_qos(hca, fld)	 IFC_GET(qos_cap, (hca)->cap[CAP_QOS], fld)
#define hca_cap_mem(hca, fld)	 IFC_GET64(device_mem_cap, (hca)->cap[CAP_DEV_MEM], fld)

/*
 * The offset in bits of a general capability that libmlx5 reads and mlx5_ifc.h does not name: can
 * RTS2RTS_QP change the UDP source port of a queue pair?
 */
#define CAP_RTS2RTS_QP_UDP_SPORT 0x151

/* atomic_operations, as in linux/mlx5/driver.h, which calls masked atomics extended. */
enum atomic_ops {
	ATOMIC_OP_CMP_SWAP = 0x1, ATOMIC_OP_FETCH_ADD = 0x2, ATOMIC_OP_MASKED_CMP_SWAP = 0x4,
	ATOMIC_OP_MASKED_FETCH_ADD = 0x8,
};

bool caps_settable(unsigned int type, const char *field);
void caps_reset(struct hca *hca);

extern const struct cmd_desc cap_cmds[];

#endif
