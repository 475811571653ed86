/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modules of an HCA and their commands, up to those of this folder: the board of the product
 * and the rig of the tests of this folder are composed of these lists.
 */
#ifndef BLUEBELL_MODULES_H
#define BLUEBELL_MODULES_H

#include <stdint.h>

#include "address.h"
#include "caps.h"
#include "cmd.h"
#include "cmdif.h"
#include "cq.h"
#include "dc.h"
#include "dct.h"
#include "dev.h"
#include "dispatch.h"
#include "eq.h"
#include "eth_port.h"
#include "eth_reg.h"
#include "eth_vport_cmd.h"
#include "fabric.h"
#include "fault.h"
#include "flow.h"
#include "flow_cmd.h"
#include "flow_counter.h"
#include "general.h"
#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "mcast.h"
#include "memic.h"
#include "mkey.h"
#include "nic.h"
#include "pacing.h"
#include "pages.h"
#include "pci.h"
#include "pd.h"
#include "port.h"
#include "qcounter.h"
#include "qp.h"
#include "req.h"
#include "roce_address.h"
#include "roce_link.h"
#include "rq.h"
#include "rqt.h"
#include "sched.h"
#include "sq.h"
#include "srq.h"
#include "tir.h"
#include "tis.h"
#include "uar.h"
#include "uctx.h"
#include "umem_cmd.h"
#include "watch.h"
#include "xrq.h"

/*
 * The modules of an HCA whose port has the modules in the arguments, in the order in which they
 * start: the init() of a module uses only modules before it.
 */
#define HCA_MODULES(...)							\
	&pages_module, &uctx_module, &umem_module, &eq_module, &pd_module,	\
	&qcounter_module, &pacing_module, &memic_module, &mkey_module,		\
	&cq_module, &srq_module, &mcast_module, &qp_module, &dct_module,	\
	&tis_module, &sq_module, &rq_module, &rqt_module, &tir_module,		\
	&flow_module, &cmdif_module, &fabric_module, __VA_ARGS__,		\
	&sched_module, &fault_module, &req_module, &watch_module, &dc_module,	\
	&dispatch_module, &nic_module, &iseg_module, &pci_module, &uar_module

/* The tables of commands of an HCA whose port has the tables in the arguments. */
#define HCA_CMDS(...)								\
	cap_cmds, pages_cmds, uctx_cmds, umem_cmds, general_cmds, xrq_cmds,	\
	eq_cmds, pd_cmds, qcounter_cmds, pacing_cmds, memic_cmds, mkey_cmds,	\
	cq_cmds, srq_cmds, mcast_cmds, qp_cmds, qp_modify_cmds, dct_cmds,	\
	tis_cmds,								\
	sq_cmds, rq_cmds, rqt_cmds, tir_cmds, flow_table_cmds,			\
	flow_group_cmds, flow_entry_cmds, flow_counter_cmds, dev_cmds,		\
	__VA_ARGS__, fault_cmds, uar_cmds

/* Of the ports. */
#define HCA_IB_MODULES	HCA_MODULES(&address_module, &port_module)
#define HCA_IB_CMDS	HCA_CMDS(port_cmds, port_reg_cmds)
#define HCA_ETH_MODULES	HCA_MODULES(&roce_address_module, &eth_port_module, &roce_module)
#define HCA_ETH_CMDS	HCA_CMDS(roce_address_cmds, roce_cnp_cmds, eth_vport_cmds, eth_reg_cmds)

/* Functions of these modules that a lower module calls by struct board. */
extern const struct doorbell_ops hca_doorbells;
void hca_cqe_lost(struct hca *hca, uint32_t num);

#endif
