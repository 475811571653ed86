// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the tests of the whole HCA: the command queue as a driver uses it, with mailboxes,
 * tokens and signatures.
 */
#include <event2/event.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd.h"
#include "corerig.h"
#include "eth_port.h"
#include "eth_switch.h"
#include "fabric.h"
#include "hca.h"
#include "ib_link.h"
#include "ifc.h"
#include "iseg.h"
#include "mem.h"
#include "modules.h"
#include "nic_ops.h"
#include "packet.h"
#include "pci.h"
#include "port.h"
#include "profile.h"
#include "qp.h"
#include "util.h"
#include "vfio_user.h"

#define BLK	1024	/* distance of mailboxes */

struct core core;

/* ---- composition ----------------------------------------------------------------------------- */

/* With room for modules of folders above. */
static const struct hca_module *modules[40] = { HCA_IB_MODULES };
static const struct hca_module *eth_modules[ARRAY_SIZE(modules)] = { HCA_ETH_MODULES };
static const struct cmd_desc *const cmds[] = { HCA_IB_CMDS, NULL };
static const struct cmd_desc *const eth_cmds[] = { HCA_ETH_CMDS, NULL };

struct doorbell_ops core_doorbells;

static const struct board board = {
	.modules = modules, .cmds = cmds, .irq = &vfu_irq_ops, .doorbells = &core_doorbells,
	.qp = &transport_qp_ops, .link = &ib_link, .port = &ib_port_ops, .nic = &nic_ops,
	.cqe_lost = hca_cqe_lost,
};

static const struct board eth_board = {
	.modules = eth_modules, .cmds = eth_cmds, .irq = &vfu_irq_ops, .doorbells = &core_doorbells,
	.qp = &transport_qp_ops, .link = &roce_link, .port = &eth_port_ops, .nic = &nic_ops,
	.cqe_lost = hca_cqe_lost,
};

const struct board *core_board;
bool core_eth;

/* Make the fabric and the HCA. Returns false if memory is short. */
static bool make_hca(void)
{
	const struct board *own = core_eth ? &eth_board : &board;

	core.fabric = fabric_new(core_eth ? &eth_packet_type : &ib_packet_type);
	if (!core.fabric || (core_eth && eth_switch_start(core.fabric)))
		return false;
	core.hca = hca_create(core_board ? core_board : own, core.base, core.fabric, core.profile,
			      0);
	return core.hca;
}

static void add_module(const struct hca_module **list, const struct hca_module *m)
{
	while (*list && *list != m)
		list++;
	*list = m;
}

void core_add_module(const struct hca_module *m)
{
	add_module(modules, m);
	add_module(eth_modules, m);
}

/* ---- socket ---------------------------------------------------------------------------------- */

static char socket_dir[32], socket_path[64];

bool core_socket(char *to, size_t room)
{
	strcpy(socket_dir, "/tmp/test-core-XXXXXX");
	if (!mkdtemp(socket_dir)) {
		socket_dir[0] = 0;
		return false;
	}
	snprintf(socket_path, sizeof(socket_path), "%s/hca", socket_dir);
	return (size_t)snprintf(to, room, "%s", socket_path) < room;
}

void core_socket_remove(void)
{
	if (!socket_dir[0])
		return;
	unlink(socket_path);
	rmdir(socket_dir);
	socket_dir[0] = 0;
}

void core_put_back_stdin(int saved)
{
	if (saved >= 0)
		dup2(saved, STDIN_FILENO);
	else
		close(STDIN_FILENO);
	close(saved);
}

/* ---- registers ------------------------------------------------------------------------------- */

static uint8_t xor8(const uint8_t *p, size_t n)
{
	uint8_t x = 0;

	while (n--)
		x ^= *p++;
	return x;
}

void core_reg_write(uint32_t off, uint32_t val)
{
	uint8_t b[4];

	put_be32(b, val);
	pci_bar_write(core.hca, 0, off, b, 4);
}

uint32_t core_reg_read(uint32_t off)
{
	uint8_t b[4];

	pci_bar_read(core.hca, 0, off, b, 4);
	return get_be32(b);
}

int core_up(void **state)
{
	const uint8_t on[2] = { PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0 };

	(void)state;
	core = (struct core){ .fd = memfd_create("ram", MFD_CLOEXEC) };
	core.base = event_base_new();
	core.profile = malloc(sizeof(*core.profile));
	if (core.fd < 0 || !core.base || profile_default(core.profile, core_eth))
		return -1;
	core.profile->initializing_ms = 0;
	core_doorbells = hca_doorbells;
	if (!make_hca() || ftruncate(core.fd, CORE_RAM) ||
	    mem_map_fd(core.hca, 0, CORE_RAM, core.fd, 0, true, true))
		return -1;
	pci_config_write(core.hca, PCI_COMMAND, on, 2);
	core.ram = mem_ptr(core.hca, 0, CORE_RAM, true);
	core_reg_write(0x10, 0);
	core_reg_write(0x14, CORE_QUEUE);
	return 0;
}

static int give_pages(uint16_t op_mod)
{
	uint8_t in[16 + 8 * 256] = { 0 }, out[16];
	unsigned int n, i, first = op_mod == 1 ? 0 : core.profile->boot_pages;

	if (core_simple(MLX5_CMD_OP_QUERY_PAGES, op_mod, out))
		return -1;
	n = IFC_GET(query_pages_out, out, num_pages);
	IFC_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
	IFC_SET(manage_pages_in, in, op_mod, 1);
	IFC_SET(manage_pages_in, in, input_num_entries, n);
	for (i = 0; i < n && i < 256; i++)
		put_be64(in + 16 + 8 * i, 0x200000 + 0x1000 * (first + i));
	return core_cmd(in, 16 + 8 * n, out, 16) ? -1 : 0;
}

int core_set_uar_page(unsigned int log, bool uar_4k)
{
	static uint8_t in[16 + HCA_CAP_SIZE];
	uint8_t *c = IFC_ADDR(set_hca_cap_in, in, capability), out[16];

	memset(in, 0, 16);
	IFC_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	memcpy(c, core.hca->cap[CAP_GENERAL], HCA_CAP_SIZE);
	IFC_SET(cmd_hca_cap, c, log_uar_page_sz, log);
	IFC_SET(cmd_hca_cap, c, uar_4k, uar_4k);
	/* As mlx5_core does. */
	IFC_SET(cmd_hca_cap, c, dct, IFC_GET(cmd_hca_cap, core.hca->profile->cap[0][CAP_GENERAL], dct));
	return core_cmd(in, sizeof(in), out, 16) ? -1 : 0;
}

int core_init_pages(unsigned int log, bool uar_4k)
{
	uint8_t out[16];

	return core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out) || give_pages(1) ||
	       core_set_uar_page(log, uar_4k) || give_pages(2) ||
	       core_simple(MLX5_CMD_OP_INIT_HCA, 0, out) ? -1 : 0;
}

int core_init_commands(void)
{
	uint8_t out[16];

	return core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out) || give_pages(1) || give_pages(2) ||
	       core_simple(MLX5_CMD_OP_INIT_HCA, 0, out) ? -1 : 0;
}

int core_up_init(void **state)
{
	return core_up(state) || core_init_commands() ? -1 : 0;
}

int core_down(void **state)
{
	(void)state;
	core_socket_remove();
	hca_destroy(core.hca);
	fabric_free(core.fabric);
	event_base_free(core.base);
	free(core.profile);
	close(core.fd);
	return 0;
}

/* ---- the command queue ----------------------------------------------------------------------- */

static void blk_sign(uint8_t *b)
{
	b[574] = 0;
	b[574] = ~xor8(b + 512, 62);
	b[575] = 0;
	b[575] = ~xor8(b, 575);
}

static void build_chain(uint64_t pa, const uint8_t *data, size_t len)
{
	unsigned int n = len > 16 ? (len - 16 + 511) / 512 : 0, i;

	for (i = 0; i < n; i++) {
		uint8_t *b = core.ram + pa + (uint64_t)i * BLK;
		size_t off = 16 + (size_t)i * 512;

		memset(b, 0, 576);
		if (data)
			memcpy(b, data + off, len - off < 512 ? len - off : 512);
		put_be64(b + 560, i + 1 < n ? pa + (uint64_t)(i + 1) * BLK : 0);
		put_be32(b + 568, i);
		b[573] = core.token;
		if (core.sign)
			blk_sign(b);
	}
}

static uint64_t out_mbox(unsigned int slot)
{
	return CORE_MBOX + 0x80000 + slot * 0x8000ull;
}

uint8_t *core_put(unsigned int slot, const void *in, size_t in_len, size_t out_len)
{
	uint8_t *lay = core.ram + CORE_QUEUE + slot * 64;
	uint64_t in_pa = CORE_MBOX + slot * 0x4000ull;

	memset(lay, 0, 64);
	core.token++;
	lay[0] = 7;
	put_be32(lay + 4, in_len);
	memcpy(lay + 16, in, in_len < 16 ? in_len : 16);
	build_chain(in_pa, in, in_len);
	build_chain(out_mbox(slot), NULL, out_len);
	put_be64(lay + 8, in_len > 16 ? in_pa : 0);
	put_be64(lay + 48, out_len > 16 ? out_mbox(slot) : 0);
	put_be32(lay + 56, out_len);
	lay[60] = core.token;
	lay[63] = 1;
	lay[61] = ~xor8(lay, 64);
	return lay;
}

void core_ring(uint32_t slots)
{
	core_reg_write(0x18, slots);
}

uint8_t core_take(unsigned int slot, void *out, size_t out_len)
{
	const uint8_t *lay = core.ram + CORE_QUEUE + slot * 64;
	size_t off;

	core.sig_own = lay[63];
	core.sig_lay = xor8(lay, 64);
	if (lay[63] & 1)
		return CORE_NOT_DONE;
	memcpy(out, lay + 32, out_len < 16 ? out_len : 16);
	for (off = 16; off < out_len; off += 512)
		memcpy((uint8_t *)out + off,
		       core.ram + out_mbox(slot) + (off - 16) / 512 * BLK,
		       out_len - off < 512 ? out_len - off : 512);
	return lay[63] >> 1;
}

uint8_t core_cmd(const void *in, size_t in_len, void *out, size_t out_len)
{
	core_put(0, in, in_len, out_len);
	core_ring(1);
	core.syndrome = 0;
	if (core_take(0, out, out_len))
		return 0xff;
	core.syndrome = get_be32((uint8_t *)out + 4);
	return *(uint8_t *)out;
}

uint8_t core_simple(uint16_t opcode, uint16_t op_mod, uint8_t *out16)
{
	uint8_t in[48] = { 0 };

	IFC_SET(alloc_uar_in, in, opcode, opcode);
	IFC_SET(alloc_uar_in, in, op_mod, op_mod);
	return core_cmd(in, opcode == MLX5_CMD_OP_INIT_HCA ? 32 : 16, out16, 16);
}

uint32_t core_alloc_uar(void)
{
	uint8_t out[16];

	return core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out) ? 0 : IFC_GET(alloc_uar_out, out, uar);
}

uint8_t core_create_eq(uint32_t uar, unsigned int log, uint64_t pa, uint64_t events,
		       unsigned int vector, uint32_t *eqn)
{
	unsigned int n = (64u << log) / 4096, i;
	uint8_t in[IFC_SZ(create_eq_in) + 8 * 64] = { 0 }, out[16];
	uint8_t *c = IFC_ADDR(create_eq_in, in, eq_context_entry);
	uint8_t st;

	n = n < 1 ? 1 : n > 64 ? 64 : n;
	IFC_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
	IFC_SET(create_eq_in, in, event_bitmask[0], events);
	IFC_SET(eqc, c, log_eq_size, log);
	IFC_SET(eqc, c, uar_page, uar);
	IFC_SET(eqc, c, intr, vector);
	for (i = 0; i < n; i++)
		put_be64(in + IFC_SZ(create_eq_in) + 8 * i, pa + 4096ull * i);
	st = core_cmd(in, IFC_SZ(create_eq_in) + 8 * n, out, 16);
	*eqn = IFC_GET(create_eq_out, out, eq_number);
	return st;
}

uint8_t core_create_cq(uint32_t uar, uint32_t eqn, uint32_t *cqn)
{
	uint8_t in[IFC_SZ(create_cq_in) + 8] = { 0 }, out[16], st;
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);

	IFC_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
	IFC_SET(cqc, c, log_cq_size, 6);
	IFC_SET(cqc, c, uar_page, uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, eqn);
	IFC_SET64(cqc, c, dbr_addr, CORE_FREE + 0x4000);
	put_be64(IFC_ADDR(create_cq_in, in, pas), CORE_FREE + 0x2000);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*cqn = IFC_GET(create_cq_out, out, cqn);
	return st;
}

uint8_t core_create_qp(uint32_t uar, uint32_t pdn, uint32_t cqn, uint32_t *qpn)
{
	uint8_t in[IFC_SZ(create_qp_in) + 8] = { 0 }, out[IFC_SZ(create_qp_out)], st;
	uint8_t *q = IFC_ADDR(create_qp_in, in, qpc);

	IFC_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
	IFC_SET(qpc, q, st, QPT_RC);
	IFC_SET(qpc, q, pd, pdn);
	IFC_SET(qpc, q, rq_type, RQ_NONE);
	IFC_SET(qpc, q, log_sq_size, 6);
	IFC_SET(qpc, q, uar_page, uar);
	IFC_SET(qpc, q, cqn_snd, cqn);
	IFC_SET(qpc, q, cqn_rcv, cqn);
	IFC_SET64(qpc, q, dbr_addr, CORE_FREE + 0x4008);
	put_be64(IFC_ADDR(create_qp_in, in, pas), CORE_FREE + 0x3000);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*qpn = IFC_GET(create_qp_out, out, qpn);
	return st;
}
