// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE: the table of addresses, and the paths of queue pairs that lead from them.
 */
#include <string.h>

#include "check.h"
#include "caps.h"
#include "cmd.h"
#include "objrig.h"
#include "profile.h"
#include "qp.h"
#include "roce_address.h"

#define SIZE	4	/* entries of the table */
#define OP_SQD2SQD	0x511

static const struct hca_module *const modules[] = { &roce_address_module, NULL };
static const struct cmd_desc *const cmds[] = { roce_address_cmds, NULL };

static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
static const uint8_t gid6[16] = { 0xfe, 0x80, [8] = 1, 2, 3, 4, 5, 6, 7, 8 };
static const uint8_t mac[6] = { 2, 0xb1, 0xeb, 0xe1, 0, 0 };

#define cap(fld, v)	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], fld, v)
#define roce_cap(fld, v) IFC_SET(roce_cap, rig.hca->cap[CAP_ROCE], fld, v)

static int setup(void **state)
{
	rig_setup(state);
	rig.profile->eth = true;
	cap(roce, 1);
	roce_cap(roce_version, 5);
	roce_cap(l3_type, 6);
	roce_cap(roce_address_table_size, SIZE);
	roce_cap(r_roce_min_src_udp_port, 0xc000);
	roce_cap(r_roce_max_src_udp_port, 0xdfff);
	roce_cap(sw_r_roce_src_udp_port, 1);
	roce_cap(fl_rc_qp_when_roce_enabled, 1);
	return 0;
}

static uint8_t in[IFC_SZ(set_roce_address_in)], out[IFC_SZ(query_roce_address_out)];

static uint8_t *layout(const uint8_t *gid, unsigned int version, unsigned int l3)
{
	uint8_t *c = IFC_ADDR(set_roce_address_in, in, roce_address);

	memset(in, 0, sizeof(in));
	memcpy(IFC_ADDR(roce_addr_layout, c, source_l3_address), gid, 16);
	memcpy(IFC_ADDR(roce_addr_layout, c, source_mac_47_32), mac, 6);
	IFC_SET(roce_addr_layout, c, roce_version, version);
	IFC_SET(roce_addr_layout, c, roce_l3_type, l3);
	return c;
}

static uint8_t put(unsigned int index)
{
	IFC_SET(set_roce_address_in, in, roce_address_index, index);
	return rig_cmd(MLX5_CMD_OP_SET_ROCE_ADDRESS, 0, 0, in, sizeof(in), out,
		       IFC_SZ(set_roce_address_out));
}

static uint8_t set(unsigned int index, const uint8_t *gid, unsigned int version, unsigned int l3)
{
	layout(gid, version, l3);
	return put(index);
}

static const uint8_t *query(unsigned int index)
{
	uint8_t q[IFC_SZ(query_roce_address_in)] = {};

	IFC_SET(query_roce_address_in, q, roce_address_index, index);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_ROCE_ADDRESS, 0, 0, q, sizeof(q), out,
				 sizeof(out)), 0);
	return IFC_ADDR(query_roce_address_out, out, roce_address);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void what_is_set_is_queried(void **state)
{
	uint8_t given[IFC_SZ(roce_addr_layout)];
	uint8_t *c;

	(void)state;
	assert_int_equal(set(0, gid4, ROCE_V2, ROCE_IPV4), ST_OK);
	assert_memory_equal(query(0), IFC_ADDR(set_roce_address_in, in, roce_address),
			    IFC_SZ(roce_addr_layout));
	c = layout(gid6, ROCE_V1, ROCE_IPV6);
	IFC_SET(roce_addr_layout, c, vlan_valid, 1);
	IFC_SET(roce_addr_layout, c, vlan_id, 4094);
	memcpy(given, c, sizeof(given));
	assert_int_equal(put(SIZE - 1), ST_OK);
	assert_memory_equal(query(SIZE - 1), given, sizeof(given));
	/* Zeros delete an entry, also one that is not used. */
	memset(in, 0, sizeof(in));
	assert_int_equal(put(0), ST_OK);
	assert_int_equal(put(1), ST_OK);
	memset(given, 0, sizeof(given));
	assert_memory_equal(query(0), given, sizeof(given));
	assert_null(roce_address_get(rig.hca, 0));
	assert_non_null(roce_address_get(rig.hca, SIZE - 1));
	hca_free_objects(rig.hca);
	assert_null(roce_address_get(rig.hca, SIZE - 1));
}

/* As the stock driver deletes an entry of version 2. */
static void an_address_without_gid_and_mac_deletes(void **state)
{
	static const uint8_t none[16];
	uint8_t *c;

	(void)state;
	assert_int_equal(set(1, gid4, ROCE_V2, ROCE_IPV4), ST_OK);
	c = layout(none, ROCE_V2, ROCE_IPV6);
	assert_int_equal(put(1), ST_OK);
	assert_non_null(roce_address_get(rig.hca, 1));	/* it has a MAC */
	memset(IFC_ADDR(roce_addr_layout, c, source_mac_47_32), 0, 6);
	assert_int_equal(put(1), ST_OK);
	assert_null(roce_address_get(rig.hca, 1));
	assert_int_equal(IFC_GET(roce_addr_layout, query(1), roce_version), 0);
}

/* Of an IPv4 address the last four bytes count. */
static void an_address_is_found_by_all_but_its_mac(void **state)
{
	struct roce_address like = { .version = ROCE_V2, .l3 = ROCE_IPV4, .vid = 0 };
	uint8_t gid[16], *c;

	(void)state;
	memset(gid, 0xee, sizeof(gid));
	memcpy(gid + 12, gid4 + 12, 4);
	assert_int_equal(set(1, gid, ROCE_V2, ROCE_IPV4), ST_OK);
	memcpy(like.gid, gid4, sizeof(like.gid));
	assert_ptr_equal(roce_address_find(rig.hca, &like), roce_address_get(rig.hca, 1));
	like.vid = 5;
	assert_null(roce_address_find(rig.hca, &like));
	c = layout(gid4, ROCE_V2, ROCE_IPV4);
	IFC_SET(roce_addr_layout, c, vlan_valid, 1);
	IFC_SET(roce_addr_layout, c, vlan_id, 5);
	assert_int_equal(put(2), ST_OK);
	assert_ptr_equal(roce_address_find(rig.hca, &like), roce_address_get(rig.hca, 2));
	like.l3 = ROCE_IPV6;
	assert_null(roce_address_find(rig.hca, &like));
	like.l3 = ROCE_IPV4;
	like.version = ROCE_V1;
	assert_null(roce_address_find(rig.hca, &like));
	assert_true(roce_address_has_mac(rig.hca, mac));
	assert_int_equal(set(2, gid4, ROCE_V1, ROCE_IPV4), ST_OK);
	like.vid = 0;
	like.l3 = ROCE_IPV6;	/* version 1 has no types */
	assert_ptr_equal(roce_address_find(rig.hca, &like), roce_address_get(rig.hca, 2));
	memset(in, 0, sizeof(in));
	assert_int_equal(put(1), ST_OK);
	assert_int_equal(put(2), ST_OK);
	assert_false(roce_address_has_mac(rig.hca, mac));
}

static void addresses_are_checked(void **state)
{
	uint8_t *c;

	(void)state;
	assert_refused(set(SIZE, gid4, ROCE_V2, ROCE_IPV4), ST_BAD_INDEX, WHY_ROCE_ADDRESS_INDEX);
	assert_refused(set(0, gid4, 1, ROCE_IPV4), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VERSION);
	assert_refused(set(0, gid4, 3, ROCE_IPV4), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VERSION);
	assert_refused(set(0, gid4, 0xff, ROCE_IPV4), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VERSION);
	assert_refused(set(0, gid4, ROCE_V2, 2), ST_BAD_PARAM, WHY_ROCE_ADDRESS_TYPE);
	c = layout(gid4, ROCE_V2, ROCE_IPV4);
	IFC_SET(roce_addr_layout, c, source_mac_47_32, 0x0100);
	assert_refused(put(0), ST_BAD_PARAM, WHY_ROCE_ADDRESS_MAC);
	c = layout(gid4, ROCE_V2, ROCE_IPV4);
	IFC_SET(roce_addr_layout, c, vlan_id, 7);
	assert_refused(put(0), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VLAN);
	IFC_SET(roce_addr_layout, c, vlan_valid, 1);
	IFC_SET(roce_addr_layout, c, vlan_id, 4095);
	assert_refused(put(0), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VLAN);
	layout(gid4, ROCE_V2, ROCE_IPV4);
	IFC_SET(set_roce_address_in, in, vhca_port_num, 1);
	assert_refused(put(0), ST_BAD_PARAM, WHY_PORT_UNKNOWN);
	roce_cap(roce_version, 4);
	assert_refused(set(0, gid4, ROCE_V1, ROCE_IPV4), ST_BAD_PARAM, WHY_ROCE_ADDRESS_VERSION);
	roce_cap(l3_type, 4);
	assert_refused(set(0, gid4, ROCE_V2, ROCE_IPV4), ST_BAD_PARAM, WHY_ROCE_ADDRESS_TYPE);
	assert_int_equal(set(0, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	cap(roce, 0);
	assert_refused(set(0, gid6, ROCE_V2, ROCE_IPV6), ST_BAD_OP, WHY_ROCE_NOT_OFFERED);
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static uint32_t new_qp(enum qp_type type)
{
	uint8_t qin[IFC_BYTE(create_qp_in, pas) + 8] = {}, qout[IFC_SZ(create_qp_out)];
	uint8_t *c = IFC_ADDR(create_qp_in, qin, qpc);
	uint32_t uar = rig_uar(0), eqn = rig_eq();

	IFC_SET(qpc, c, st, type);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, pd, rig_pd());
	IFC_SET(qpc, c, log_sq_size, 4);
	IFC_SET(qpc, c, rq_type, RQ_NONE);
	IFC_SET(qpc, c, uar_page, uar);
	IFC_SET(qpc, c, cqn_snd, rig_cq(RAM_BASE + 0x4000, RAM_BASE + 0x100, 4, 64, uar, eqn));
	IFC_SET64(qpc, c, dbr_addr, RAM_BASE + 0x200);
	put_be64(IFC_ADDR(create_qp_in, qin, pas), RAM_BASE + 0x10000);
	if (rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, 0, qin, sizeof(qin), qout, sizeof(qout)))
		return 0;
	return IFC_GET(create_qp_out, qout, qpn);
}

/*
 * A transition with optional parameters, of which RTS2RTS_QP has a second mask, @opt_95_32.
 */
static uint8_t modify_opt(uint16_t op, uint32_t qpn, const uint8_t *qpc, uint32_t opt,
			  uint64_t opt_95_32)
{
	uint8_t min[IFC_SZ(rst2init_qp_in)] = {}, mout[IFC_SZ(rst2init_qp_out)];

	IFC_SET(rst2init_qp_in, min, qpn, qpn);
	IFC_SET(rst2init_qp_in, min, opt_param_mask, opt);
	ifc_set_bits(min, RTS2RTS_QP_OPT_95_32, 32, opt_95_32 >> 32);
	ifc_set_bits(min, RTS2RTS_QP_OPT_95_32 + 32, 32, opt_95_32);
	memcpy(IFC_ADDR(rst2init_qp_in, min, qpc), qpc, QPC_BYTES);
	return rig_cmd(op, 0, 0, min, sizeof(min), mout, sizeof(mout));
}

static uint8_t modify(uint16_t op, uint32_t qpn, const uint8_t *qpc)
{
	return modify_opt(op, qpn, qpc, 0, 0);
}

/* A context that leads from the address at index 1 to a peer. */
static uint8_t *context(uint8_t *c)
{
	uint8_t *path = IFC_ADDR(qpc, c, primary_address_path);

	memset(c, 0, QPC_BYTES);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, mtu, 3);
	IFC_SET(qpc, c, log_msg_max, 30);
	IFC_SET(qpc, c, remote_qpn, 0x1234);
	IFC_SET(ads, path, vhca_port_num, 1);
	IFC_SET(ads, path, src_addr_index, 1);
	IFC_SET(ads, path, rmac_47_32, 0x02b1);
	IFC_SET(ads, path, rmac_31_0, 0xebe10001);
	IFC_SET(ads, path, udp_sport, 0xc123);
	IFC_SET(ads, path, dscp, 26);
	IFC_SET(ads, path, eth_prio, 5);
	IFC_SET(ads, path, hop_limit, 64);
	memcpy(IFC_ADDR(ads, path, rgid_rip), gid6, 16);
	return path;
}

static void paths_lead_to_a_peer(void **state)
{
	static const uint8_t peer[6] = { 2, 0xb1, 0xeb, 0xe1, 0, 1 };
	uint32_t qpn = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES];
	const struct qp_path *path;

	(void)state;
	assert_int_equal(set(1, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	context(c);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), ST_OK);
	path = &qp_find(rig.hca, qpn)->path;
	assert_memory_equal(path->rmac, peer, sizeof(peer));
	assert_memory_equal(path->dgid, gid6, sizeof(gid6));
	assert_int_equal(path->src_gid_index, 1);
	assert_int_equal(path->udp_sport, 0xc123);
	assert_int_equal(path->dscp, 26);
	assert_int_equal(path->eth_prio, 5);
	assert_int_equal(path->hop_limit, 64);
	assert_false(path->loop);
}

struct bad_path {
	struct ifc_field field;
	uint32_t value;
	uint8_t status;
	uint32_t why;
};

#define ADS(fld) { IFC_OFF(ads, fld), IFC_BITS(ads, fld), #fld }

static void refuses_paths(uint32_t qpn, const struct bad_path *bad, size_t n)
{
	uint8_t c[QPC_BYTES], *path;
	size_t i;

	for (i = 0; i < n; i++) {
		path = context(c);
		ifc_set_bits(path, bad[i].field.off, bad[i].field.width, bad[i].value);
		assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), bad[i].status);
		assert_int_equal(rig.syndrome, bad[i].why);
	}
}

static void paths_are_checked(void **state)
{
	static const struct bad_path bad[] = {
		{ ADS(grh), 1, ST_BAD_PARAM, WHY_ROCE_PATH_FIELD },
		{ ADS(mlid), 1, ST_BAD_PARAM, WHY_ROCE_PATH_FIELD },
		{ ADS(rlid), 1, ST_BAD_PARAM, WHY_ROCE_PATH_FIELD },
		{ ADS(sl), 1, ST_BAD_PARAM, WHY_ROCE_PATH_FIELD },
		{ ADS(f_dscp), 1, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED },
		{ ADS(f_ecn), 1, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED },
		{ ADS(f_eth_prio), 1, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED },
		{ ADS(src_addr_index), 2, ST_BAD_INDEX, WHY_ROCE_PATH_ADDRESS },
		{ ADS(src_addr_index), SIZE, ST_BAD_INDEX, WHY_ROCE_PATH_ADDRESS },
		{ ADS(rmac_47_32), 0x3333, ST_BAD_PARAM, WHY_ROCE_PATH_MAC },
		{ ADS(udp_sport), 0xbfff, ST_BAD_PARAM, WHY_ROCE_PATH_UDP_PORT },
		{ ADS(udp_sport), 0xe000, ST_BAD_PARAM, WHY_ROCE_PATH_UDP_PORT },
	};
	uint32_t qpn = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES], *path = context(c);

	(void)state;
	assert_int_equal(set(1, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	/* The only P_Key is at index 0. */
	IFC_SET(ads, path, pkey_index, 1);
	assert_refused(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, c), ST_BAD_INDEX, WHY_PKEY_INDEX);
	context(c);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, c), ST_OK);
	refuses_paths(qpn, bad, ARRAY_SIZE(bad));
	/* The device chooses the port unless the driver says that it does; version 1 has none. */
	path = context(c);
	IFC_SET(ads, path, udp_sport, 0);
	assert_refused(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), ST_BAD_PARAM,
		       WHY_ROCE_PATH_UDP_PORT);
	roce_cap(sw_r_roce_src_udp_port, 0);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), ST_OK);
	roce_cap(sw_r_roce_src_udp_port, 1);
	assert_int_equal(set(1, gid6, ROCE_V1, ROCE_IPV6), ST_OK);
	qpn = new_qp(QPT_RC);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), ST_OK);
}

static uint32_t qp_in_rts(uint8_t st, uint8_t *c)
{
	uint32_t qpn = new_qp(st);

	context(c);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, qpn, c), ST_OK);
	return qpn;
}

/* Set the UDP source port in a context, and move a queue pair from RTS to RTS. */
static uint8_t change_port(uint32_t qpn, uint8_t *c, uint16_t udp_sport, uint64_t opt_95_32)
{
	IFC_SET(qpc, c, primary_address_path.udp_sport, udp_sport);
	/* Another field, which the command does not mention in a mask. */
	IFC_SET(qpc, c, primary_address_path.dscp, 33);
	return modify_opt(MLX5_CMD_OP_RTS2RTS_QP, qpn, c, 0, opt_95_32);
}

static void source_port_changes_in_rts(void **state)
{
	const uint64_t udp_sport = 1 << 2;
	uint8_t c[QPC_BYTES];
	uint32_t rc, uc, ud;
	const struct qp *qp;

	(void)state;
	assert_int_equal(set(1, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	uc = qp_in_rts(QPT_UC, c);
	ud = new_qp(QPT_UD);
	rc = qp_in_rts(QPT_RC, c);
	qp = qp_find(rig.hca, rc);
	assert_refused(change_port(rc, c, 0xd903, udp_sport), ST_BAD_PARAM, WHY_QP_OPT_PARAM);
	ifc_set_bits(rig.hca->cap[CAP_GENERAL], CAP_RTS2RTS_QP_UDP_SPORT, 1, 1);
	assert_int_equal(change_port(rc, c, 0xd903, 0), ST_OK);
	assert_int_equal(qp->path.udp_sport, 0xc123);
	assert_int_equal(change_port(rc, c, 0xd903, udp_sport), ST_OK);
	assert_int_equal(qp->path.udp_sport, 0xd903);
	assert_int_equal(IFC_GET(qpc, qp->qpc, primary_address_path.udp_sport), 0xd903);
	assert_int_equal(qp->path.dscp, 26);
	assert_int_equal(qp->state, QPS_RTS);
	assert_int_equal(change_port(uc, c, 0xd904, udp_sport), ST_OK);
	assert_int_equal(qp_find(rig.hca, uc)->path.udp_sport, 0xd904);
	/* A port beyond the range, and bits that mean other parameters or none. */
	assert_refused(change_port(rc, c, 0xe000, udp_sport), ST_BAD_PARAM,
		       WHY_ROCE_PATH_UDP_PORT);
	assert_refused(change_port(rc, c, 0xd905, udp_sport | 1), ST_BAD_PARAM, WHY_QP_OPT_PARAM);
	assert_refused(change_port(rc, c, 0xd905, udp_sport | 1ull << 63), ST_BAD_PARAM,
		       WHY_QP_OPT_PARAM);
	assert_int_equal(qp->path.udp_sport, 0xd903);
	/* A datagram has its port in the address vector. */
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, ud, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, ud, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, ud, c), ST_OK);
	assert_refused(change_port(ud, c, 0xd903, udp_sport), ST_BAD_PARAM, WHY_QP_OPT_PARAM);
}

/* With the optional parameter of the path, a drained queue pair gets another one, or none. */
static void path_changes_in_sqd(void **state)
{
	const uint32_t primary_path = 1 << 7;
	uint8_t c[QPC_BYTES], *path;
	struct qp *qp;
	uint32_t rc;

	(void)state;
	assert_int_equal(set(1, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	rc = qp_in_rts(QPT_RC, c);
	qp = qp_find(rig.hca, rc);
	qp->state = QPS_SQD;
	path = context(c);
	IFC_SET(ads, path, rmac_31_0, 0xebe10002);
	assert_int_equal(modify_opt(OP_SQD2SQD, rc, c, 0, 0), ST_OK);
	assert_int_equal(qp->path.rmac[5], 1);
	assert_int_equal(modify_opt(OP_SQD2SQD, rc, c, primary_path, 0), ST_OK);
	assert_int_equal(qp->path.rmac[5], 2);
	IFC_SET(ads, path, rmac_47_32, 0x0100);
	assert_refused(modify_opt(OP_SQD2SQD, rc, c, primary_path, 0), ST_BAD_PARAM,
		       WHY_ROCE_PATH_MAC);
	path = context(c);
	IFC_SET(ads, path, src_addr_index, 2);
	assert_refused(modify_opt(OP_SQD2SQD, rc, c, primary_path, 0), ST_BAD_INDEX,
		       WHY_ROCE_PATH_ADDRESS);
	assert_int_equal(qp->path.src_gid_index, 1);
}

static void loopback_is_for_rc(void **state)
{
	uint32_t rc = new_qp(QPT_RC), uc = new_qp(QPT_UC);
	uint8_t c[QPC_BYTES], *path;

	(void)state;
	assert_int_equal(set(1, gid6, ROCE_V2, ROCE_IPV6), ST_OK);
	path = context(c);
	IFC_SET(ads, path, fl, 1);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, rc, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, uc, c), ST_OK);
	assert_refused(modify(MLX5_CMD_OP_INIT2RTR_QP, uc, c), ST_BAD_PARAM,
		       WHY_ROCE_PATH_LOOPBACK);
	roce_cap(fl_rc_qp_when_roce_enabled, 0);
	assert_refused(modify(MLX5_CMD_OP_INIT2RTR_QP, rc, c), ST_BAD_PARAM,
		       WHY_ROCE_PATH_LOOPBACK);
	roce_cap(fl_rc_qp_when_roce_enabled, 1);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, rc, c), ST_OK);
	assert_true(qp_find(rig.hca, rc)->path.loop);
}

/* A UD queue pair has no path, and a device without RoCE none of these fields. */
static void paths_of_others_are_not_checked(void **state)
{
	uint32_t ud = new_qp(QPT_UD), rc = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES];

	(void)state;
	context(c);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, ud, c), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, ud, c), ST_OK);
	cap(roce, 0);
	assert_refused(modify(MLX5_CMD_OP_RST2INIT_QP, rc, c), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
}

static void the_port_has_qp1_alone(void **state)
{
	(void)state;
	assert_int_equal(new_qp(QPT_QP0), 0);
	assert_int_equal(rig.syndrome, WHY_QP_SERVICE_TYPE);
	assert_int_not_equal(new_qp(QPT_QP1), 0);
	cap(roce, 0);
	assert_int_equal(new_qp(QPT_QP1), 0);
	assert_int_equal(rig.syndrome, WHY_QP_SERVICE_TYPE);
}

static uint8_t attach(uint32_t qpn, const uint8_t *gid)
{
	uint8_t ain[IFC_SZ(attach_to_mcg_in)] = {}, aout[IFC_SZ(attach_to_mcg_out)];

	IFC_SET(attach_to_mcg_in, ain, qpn, qpn);
	memcpy(IFC_ADDR(attach_to_mcg_in, ain, multicast_gid), gid, 16);
	return rig_cmd(MLX5_CMD_OP_ATTACH_TO_MCG, 0, 0, ain, sizeof(ain), aout, sizeof(aout));
}

static void groups_can_be_of_ipv4(void **state)
{
	static const uint8_t group4[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	static const uint8_t group6[16] = { 0xff, 0x0e, [15] = 1 };
	uint32_t qpn = new_qp(QPT_UD);

	(void)state;
	assert_int_equal(attach(qpn, group4), ST_OK);
	assert_int_equal(attach(qpn, group6), ST_OK);
	assert_refused(attach(qpn, gid4), ST_BAD_PARAM, WHY_MCAST_GID);
	cap(roce, 0);
	qpn = new_qp(QPT_UD);
	assert_refused(attach(qpn, group4), ST_BAD_PARAM, WHY_MCAST_GID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_set_is_queried), TEST(an_address_without_gid_and_mac_deletes),
		TEST(an_address_is_found_by_all_but_its_mac),
		TEST(addresses_are_checked),
		TEST(paths_lead_to_a_peer),
		TEST(paths_are_checked),
		TEST(source_port_changes_in_rts),
		TEST(path_changes_in_sqd), TEST(loopback_is_for_rc),
		TEST(paths_of_others_are_not_checked),
		TEST(the_port_has_qp1_alone),
		TEST(groups_can_be_of_ipv4),
	};

	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
