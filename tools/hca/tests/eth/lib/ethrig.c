// SPDX-License-Identifier: GPL-2.0
/*
 * A rig for tests of Ethernet: makes HCAs on one switch.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eq.h"
#include "eth_reg.h"
#include "eth_switch.h"
#include "eth_vport_cmd.h"
#include "ethrig.h"
#include "evrig.h"
#include "fabric.h"
#include "mem.h"
#include "object.h"
#include "profile.h"

#define EQ_MEM	0x100000

struct lan lan;

static const struct hca_module *const modules[] = {
	&eq_module, &fabric_module, &eth_port_module, NULL
};

static const struct cmd_desc *const cmds[] = { eth_vport_cmds, eth_reg_cmds, NULL };

static const struct board board = {
	.modules = modules, .cmds = cmds, .irq = &evrig_irq_ops, .port = &eth_port_ops,
};

static void lan_event(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype,
		      const uint8_t *data)
{
	unsigned int h = hca->index;

	(void)eqn;
	if (type != EV_PORT_CHANGE)
		return;
	assert_int_equal(data[8] >> 4, 1);
	lan.event[h][lan.events[h]++ % sizeof(lan.event[h])] = subtype;
}

static struct hca *lan_hca(unsigned int h)
{
	struct hca *hca = hca_create(&board, lan.base, lan.fabric, lan.profile, h);
	int fd = memfd_create("guest", 0);

	assert_non_null(hca);
	assert_false(ftruncate(fd, 4096));
	assert_false(mem_map_fd(hca, EQ_MEM, 4096, fd, 0, true, true));
	close(fd);
	evrig_eq(hca, EQ_MEM, ~1ull);
	return hca;
}

static void lan_profile(struct profile *p)
{
	uint8_t *c = p->cap[1][CAP_GENERAL];
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		p->range[k] = (struct obj_range){ 0x10, 0x1000 };
	p->eth = true;
	p->mtu = 10000;
	p->part = 4119;
	p->vport_speed = 10;
	p->cap_valid[CAP_GENERAL] = true;
	IFC_SET(cmd_hca_cap, c, log_max_current_uc_list, 2);
	IFC_SET(cmd_hca_cap, c, log_max_current_mc_list, 3);
	IFC_SET(cmd_hca_cap, c, log_max_vlan_list, 4);
	IFC_SET(cmd_hca_cap, c, vport_counters, 1);
	IFC_SET(cmd_hca_cap, c, vport_counter_local_loopback, 1);
	IFC_SET(cmd_hca_cap, c, nic_receive_steering_discard, 1);
	IFC_SET(cmd_hca_cap, c, transmit_discard_vport_down, 1);
	IFC_SET(cmd_hca_cap, c, eth_wqe_too_small, 1);
}

int lan_up(void **state)
{
	unsigned int h;

	(void)state;
	memset(&lan, 0, sizeof(lan));
	lan.profile = calloc(1, sizeof(*lan.profile));
	lan_profile(lan.profile);
	evrig_set_handler(lan_event);
	lan.base = event_base_new();
	lan.fabric = fabric_new(&eth_packet_type);
	assert_int_equal(eth_switch_start(lan.fabric), 0);
	for (h = 0; h < LAN_HCAS; h++)
		lan.hca[h] = lan_hca(h);
	return 0;
}

int lan_down(void **state)
{
	unsigned int h;

	(void)state;
	for (h = 0; h < LAN_HCAS; h++) {
		hca_free_objects(lan.hca[h]);
		hca_destroy(lan.hca[h]);
	}
	fabric_free(lan.fabric);
	event_base_free(lan.base);
	free(lan.profile);
	return 0;
}

static void put_mac(uint8_t *at, uint64_t mac)
{
	put_be16(at, mac >> 32);
	put_be32(at + 2, mac);
}

struct eth_frame *lan_frame(uint64_t dmac, uint64_t smac, unsigned int len)
{
	struct eth_frame *fr = eth_frame_alloc(len);
	uint8_t *data = eth_frame_data(fr);

	memset(data, len, len);
	put_mac(data, dmac);
	put_mac(data + 6, smac);
	put_be16(data + 12, 0x88b5);		/* local experimental */
	return fr;
}

void lan_send(unsigned int h, uint64_t dmac, uint64_t smac, unsigned int len)
{
	eth_tx(lan.hca[h], lan_frame(dmac, smac, len));
}

uint64_t lan_take(unsigned int h)
{
	struct eth_frame *fr = eth_rx(lan.hca[h]);
	uint64_t smac;

	if (!fr)
		return 0;
	smac = eth_mac(eth_frame_data(fr) + 6);
	eth_frame_free(fr);
	return smac;
}

unsigned int lan_count(unsigned int h)
{
	unsigned int n = 0;

	while (lan_take(h))
		n++;
	return n;
}

uint8_t lan_cmd(uint16_t opcode, uint16_t op_mod, void *in, size_t in_len, size_t out_len)
{
	struct hca *hca = lan.hca[0];
	struct cmd cmd = { .opcode = opcode, .op_mod = op_mod, .in = in, .in_len = in_len,
			   .out = lan.out, .out_len = out_len };
	uint8_t st;

	assert_true(out_len <= sizeof(lan.out));
	put_be16(in, opcode);
	put_be16((uint8_t *)in + 6, op_mod);
	memset(lan.out, 0, sizeof(lan.out));
	cmd.desc = cmd_desc_find(hca, opcode);
	assert_non_null(cmd.desc);
	assert_true(in_len >= cmd.desc->in_min && out_len >= cmd.desc->out_min);
	st = cmd_check_op_mod(&cmd);
	if (!st)
		st = cmd_check_reserved(hca, &cmd);
	if (!st)
		st = cmd.desc->handler(hca, &cmd);
	memcpy(lan.why, cmd.why, sizeof(lan.why));
	lan.syndrome = cmd.syndrome;
	assert_true(!st == !cmd.syndrome);
	return st;
}

uint8_t lan_reg(unsigned int h, uint16_t id, bool write, void *reg, size_t len)
{
	uint8_t in[IFC_SZ(access_register_in) + 256] = {};
	uint8_t out[IFC_SZ(access_register_out) + 256] = {};
	struct hca *hca = lan.hca[h];
	struct cmd cmd = { .opcode = MLX5_CMD_OP_ACCESS_REG, .in = in, .out = out,
			   .op_mod = write ? MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE :
					     MLX5_ACCESS_REGISTER_IN_OP_MOD_READ,
			   .in_len = IFC_SZ(access_register_in) + len,
			   .out_len = IFC_SZ(access_register_out) + len };
	uint8_t st;

	assert_true(len <= 256);
	IFC_SET(access_register_in, in, register_id, id);
	memcpy(in + IFC_SZ(access_register_in), reg, len);
	cmd.desc = cmd_desc_find(hca, cmd.opcode);
	st = cmd.desc->handler(hca, &cmd);
	memcpy(reg, out + IFC_SZ(access_register_out), len);
	lan.syndrome = cmd.syndrome;
	assert_true(!st == !cmd.syndrome);
	return st;
}
