// SPDX-License-Identifier: GPL-2.0
/*
 * The composition of the product: which modules an HCA consists of, their commands, and who answers
 * the calls by which a lower module reaches an upper one.
 */
#include "absent.h"
#include "address.h"
#include "board.h"
#include "caps.h"
#include "cmd.h"
#include "cmdif.h"
#include "control.h"
#include "cq.h"
#include "dev.h"
#include "dispatch.h"
#include "eq.h"
#include "eth_link.h"
#include "eth_port.h"
#include "eth_reg.h"
#include "eth_vport_cmd.h"
#include "fabric.h"
#include "fault.h"
#include "flow.h"
#include "flow_cmd.h"
#include "general.h"
#include "hca.h"
#include "ib_link.h"
#include "ifc.h"
#include "iseg.h"
#include "mcast.h"
#include "memic.h"
#include "mkey.h"
#include "nic.h"
#include "nic_ops.h"
#include "pacing.h"
#include "pages.h"
#include "pci.h"
#include "pd.h"
#include "port.h"
#include "qcounter.h"
#include "qp.h"
#include "req.h"
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
#include "vfio_user.h"
#include "watch.h"

/*
 * The modules of a board whose port has the modules in the arguments, in the order in which they
 * start: the init() of a module uses only modules before it.
 */
#define MODULES(...) {								\
	&pages_module, &uctx_module, &umem_module, &eq_module, &pd_module,	\
	&qcounter_module, &pacing_module, &memic_module, &mkey_module,		\
	&cq_module, &srq_module, &mcast_module, &qp_module,			\
	&tis_module, &sq_module, &rq_module, &rqt_module, &tir_module,		\
	&flow_module, &cmdif_module, &fabric_module, __VA_ARGS__,		\
	&sched_module, &fault_module, &req_module, &watch_module,		\
	&dispatch_module, &nic_module, &iseg_module, &pci_module, &uar_module,	\
	&control_module, NULL							\
}

/* The commands of a board whose port has the commands in the arguments. */
#define CMDS(...) {								\
	cap_cmds, pages_cmds, uctx_cmds, umem_cmds, general_cmds, absent_cmds,	\
	eq_cmds, pd_cmds, qcounter_cmds, pacing_cmds, memic_cmds, mkey_cmds,	\
	cq_cmds, srq_cmds, mcast_cmds, qp_cmds, qp_modify_cmds, tis_cmds,	\
	sq_cmds, rq_cmds, rqt_cmds, tir_cmds, flow_table_cmds,			\
	flow_group_cmds, flow_entry_cmds, dev_cmds, __VA_ARGS__, fault_cmds,	\
	uar_cmds, NULL								\
}

static const struct hca_module *const modules[] = MODULES(&address_module, &port_module);
static const struct cmd_desc *const cmds[] = CMDS(port_cmds, port_reg_cmds);

/* Queue pairs, and send and receive queues without a queue pair share one space of numbers. */
static void send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len)
{
	if (!nic_send_doorbell(hca, uar, bf, len))
		qp_send_doorbell(hca, uar, bf, len);
}

static void cqe_lost(struct hca *hca, uint32_t num)
{
	if (!nic_lost_cqe(hca, num))
		qp_lost_cqe(hca, num);
}

static const struct doorbell_ops doorbells = {
	.send = send_doorbell, .cq_arm = cq_arm_doorbell, .eq = eq_doorbell,
};

/* ---- with an Ethernet port ------------------------------------------------------------------- */

static const struct hca_module *const eth_modules[] = MODULES(&eth_port_module);
static const struct cmd_desc *const eth_cmds[] = CMDS(eth_vport_cmds, eth_reg_cmds);

/* ---- the boards ------------------------------------------------------------------------------ */

const struct board hca_board = {
	.modules = modules, .cmds = cmds, .irq = &vfu_irq_ops, .doorbells = &doorbells,
	.qp = &transport_qp_ops, .link = &ib_link, .port = &ib_port_ops, .nic = &nic_ops,
	.cqe_lost = cqe_lost,
};

const struct board hca_eth_board = {
	.modules = eth_modules, .cmds = eth_cmds, .irq = &vfu_irq_ops, .doorbells = &doorbells,
	.qp = &transport_qp_ops, .link = &eth_link, .port = &eth_port_ops, .nic = &nic_ops,
	.cqe_lost = cqe_lost,
};
