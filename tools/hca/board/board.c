// SPDX-License-Identifier: GPL-2.0
/*
 * The composition of the product: the modules of an HCA, their commands, and who answers the calls
 * by which a lower module reaches an upper one.
 */
#include "board.h"
#include "cmd.h"
#include "control.h"
#include "eth_port.h"
#include "hca.h"
#include "ib_link.h"
#include "modules.h"
#include "nic_ops.h"
#include "port.h"
#include "qp.h"
#include "roce_link.h"
#include "vfio_user.h"

static const struct hca_module *const modules[] = { HCA_IB_MODULES, &control_module, NULL };
static const struct cmd_desc *const cmds[] = { HCA_IB_CMDS, NULL };

static const struct hca_module *const eth_modules[] = { HCA_ETH_MODULES, &control_module, NULL };
static const struct cmd_desc *const eth_cmds[] = { HCA_ETH_CMDS, NULL };

const struct board hca_board = {
	.modules = modules, .cmds = cmds, .irq = &vfu_irq_ops, .doorbells = &hca_doorbells,
	.qp = &transport_qp_ops, .link = &ib_link, .port = &ib_port_ops, .nic = &nic_ops,
	.cqe_lost = hca_cqe_lost,
};

const struct board hca_eth_board = {
	.modules = eth_modules, .cmds = eth_cmds, .irq = &vfu_irq_ops, .doorbells = &hca_doorbells,
	.qp = &transport_qp_ops, .link = &roce_link, .port = &eth_port_ops, .nic = &nic_ops,
	.cqe_lost = hca_cqe_lost,
};
