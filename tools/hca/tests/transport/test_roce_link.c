// SPDX-License-Identifier: GPL-2.0
/*
 * The transport over RoCE: two HCAs with Ethernet ports, and a peer at a port of the switch that
 * records the frames that it gets, and sends frames of its own.
 */
#include <string.h>

#include "clock.h"
#include "cmd.h"
#include "count.h"
#include "cq.h"
#include "eth_port.h"
#include "eth_switch.h"
#include "fabric.h"
#include "frame.h"
#include "icrc.h"
#include "ifc.h"
#include "mcast.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "roce_address.h"
#include "roce_frame.h"
#include "roce_link.h"
#include "roce_packet.h"
#include "util.h"
#include "wqe.h"

#define VID		7
#define PEER_FRAMES	64
#define SET(c, fld, v)	IFC_SET(roce_addr_layout, c, fld, v)

/* The addresses of each HCA, by their index. */
enum via { V1, V2_IP4, V2_IP6, V2_VLAN, VIAS };

static unsigned int via;		/* of the next connection */
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 9 };

static struct {
	unsigned int port, n;
	struct { size_t len; uint8_t bytes[FRAME_MAX]; } frame[PEER_FRAMES];
} peer;

/* ---- the rig --------------------------------------------------------------------------------- */

static const struct hca_module *const roce_modules[] = {
	&fabric_module, &roce_address_module, &eth_port_module, &roce_module, NULL
};

static void gid_of(unsigned int h, enum via v, uint8_t *gid)
{
	memset(gid, 0, 16);
	if (v == V2_IP4 || v == V2_VLAN) {
		put_be16(gid + 10, 0xffff);
		put_be32(gid + 12, 0x0a000001 + h);
	} else {
		put_be16(gid, 0xfe80);
		gid[15] = 1 + h;
	}
}

static void mac_of(unsigned int h, uint8_t *mac)
{
	uint64_t n = rig.hca[h]->eth->vport.mac;

	put_be16(mac, n >> 32);
	put_be32(mac + 2, n);
}

static void roce_path(struct qp_path *path, unsigned int h)
{
	path->src_gid_index = via;
	path->hop_limit = 64;
	gid_of(h, via, path->dgid);
	mac_of(h, path->rmac);
}

static void roce_profile(struct profile *p)
{
	uint8_t *c = p->cap[1][CAP_GENERAL], *r = p->cap[1][CAP_ROCE];

	p->eth = true;
	p->cap_valid[CAP_ROCE] = true;
	IFC_SET(cmd_hca_cap, c, roce, 1);
	IFC_SET(roce_cap, r, roce_version, 5);
	IFC_SET(roce_cap, r, l3_type, 6);
	IFC_SET(roce_cap, r, roce_address_table_size, 16);
	IFC_SET(roce_cap, r, r_roce_min_src_udp_port, 0xc000);
	IFC_SET(roce_cap, r, r_roce_max_src_udp_port, 0xffff);
}

static bool peer_up(void *arg)
{
	(void)arg;
	return true;
}

static void peer_got(void *arg, struct eth_frame *fr)
{
	(void)arg;
	assert_true(peer.n < PEER_FRAMES);
	peer.frame[peer.n].len = fr->head.len;
	memcpy(peer.frame[peer.n++].bytes, eth_frame_data(fr), fr->head.len);
	eth_frame_free(fr);
}

static int start_switch(struct fabric *f)
{
	static const struct eth_remote remote = { .up = peer_up, .send = peer_got };

	if (eth_switch_start(f))
		return -1;
	peer.n = 0;
	peer.port = eth_switch_join(f, &remote);
	return 0;
}

static const struct rig_net roce_net = {
	.modules = roce_modules, .link = &roce_link, .path = roce_path, .type = &eth_packet_type,
	.start = start_switch, .profile = roce_profile,
};

static void set_address(unsigned int h, enum via v, bool used)
{
	uint8_t in[IFC_SZ(set_roce_address_in)] = {}, out[IFC_SZ(set_roce_address_out)] = {};
	uint8_t *c = IFC_ADDR(set_roce_address_in, in, roce_address);
	struct cmd cmd = { .in = in, .out = out, .in_len = sizeof(in), .out_len = sizeof(out) };

	IFC_SET(set_roce_address_in, in, roce_address_index, v);
	if (used) {
		gid_of(h, v, IFC_ADDR(roce_addr_layout, c, source_l3_address));
		mac_of(h, IFC_ADDR(roce_addr_layout, c, source_mac_47_32));
		SET(c, roce_version, v == V1 ? ROCE_V1 : ROCE_V2);
		SET(c, roce_l3_type, v == V2_IP4 || v == V2_VLAN ? ROCE_IPV4 : ROCE_IPV6);
		SET(c, vlan_valid, v == V2_VLAN);
		SET(c, vlan_id, v == V2_VLAN ? VID : 0);
	}
	assert_int_equal(roce_address_cmds[0].handler(rig.hca[h], &cmd), 0);
}

static void up(enum qp_type type, enum via v)
{
	unsigned int h, i;

	via = v;
	rig_up_on(&roce_net);
	for (h = 0; h < 2; h++) {
		for (i = 0; i < VIAS; i++)
			set_address(h, i, true);
		rig.hca[h]->eth->vport.roce = true;
	}
	pair_up(type);
}

static int rc(void **state)
{
	(void)state;
	up(QPT_RC, V2_IP4);
	return 0;
}

static int ud(void **state)
{
	(void)state;
	up(QPT_UD, V2_IP4);
	return 0;
}

static uint64_t drops(unsigned int h, enum roce_drop why)
{
	return rig.hca[h]->count.roce_drop[why];
}

static uint64_t all_drops(unsigned int h)
{
	uint64_t n = rig.hca[h]->count.packets_dropped;
	unsigned int i;

	for (i = 0; i < ROCE_DROPS; i++)
		n += drops(h, i);
	return n;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void connections_work_over_all_kinds_of_addresses(void **state)
{
	enum via v;

	for (v = V1; v < VIAS; v++) {
		up(QPT_RC, v);
		use_connection(3001, 3000);
		assert_int_equal(all_drops(0) + all_drops(1), 0);
		/* The frames are the queue pairs', not the NIC's. */
		assert_null(eth_rx(rig.hca[1]));
		assert_true(rig.hca[1]->eth->stats.roce_rx.frames[ETH_UNICAST] >= 8);
		assert_int_equal(rig.hca[1]->eth->stats.vport_rx.frames[ETH_UNICAST], 0);
		rig_down(state);
	}
}

/* All that the responder needs is in the frames. */
static void masked_atomics_cross_the_link(void **state)
{
	uint64_t *word = rig_ptr(1, buf_b);

	(void)state;
	*word = 0xffff;
	post_atomic(WQE_MASKED_FA, buf_b, 0x0001, 0x8080);	/* fields of 8 bits */
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 0xff00);
	*word = 0xff00ff;
	post_masked_cs(0x1234, 0xff, 0x00ff, 0xff);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(*word == 0xff0034);
}

static void lost_frames_are_sent_again(void **state)
{
	unsigned int lost;

	for (lost = 0; lost < 6; lost++) {
		rc(state);
		a->path.ack_timeout = 14;
		fabric_inject_drop(rig.hca[1], lost, 1);
		use_connection(3001, 3000);
		rig_down(state);
	}
}

/* Both learn the address of the other, so that frames are not flooded, and nothing is lost. */
static void a_sender_waits_for_room(void **state)
{
	uint8_t mac[6];
	unsigned int i;

	(void)state;
	use_connection(3001, 3000);
	mac_of(1, mac);
	assert_true(eth_switch_room(rig.hca[0], mac));
	for (i = 0; eth_switch_room(rig.hca[0], mac); i++) {
		struct eth_frame *fr = eth_frame_alloc(60);

		memset(eth_frame_data(fr), 0, 60);
		memcpy(eth_frame_data(fr), mac, 6);
		memcpy(eth_frame_data(fr) + 6, peer_mac, 6);
		eth_switch_forward(rig.fabric, peer.port, fr);
	}
	assert_int_equal(i, 512);
	/* The NIC holds up the frames behind its own, but loses none. */
	a->path.ack_timeout = 16;
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x4000, key_b, 16);
	rig_run(6, 20);
	assert_int_equal(rig.ncqe, 5);
	for (i = 0; i < 512; i++) {
		struct eth_frame *fr = eth_rx(rig.hca[1]);

		assert_non_null(fr);
		eth_frame_free(fr);
	}
	assert_int_equal(rig_run(6, 3000), 6);
	expect(CQ_A, 4, CQE_REQ, 0);
	assert_int_equal(all_drops(0) + all_drops(1), 0);
	assert_null(eth_rx(rig.hca[1]));
}

static void a_connection_loses_its_address_and_gets_it_back(void **state)
{
	(void)state;
	a->path.ack_timeout = 12;
	set_address(0, via, false);
	rig_recv(1, b, buf_b, 8192, key_b);
	post_send(WQE_SEND, 100, true);
	rig_run(1, 60);
	assert_int_equal(rig.ncqe, 0);
	assert_true(drops(0, ROCE_DROP_NO_ADDRESS) > 0);
	set_address(0, via, true);
	assert_int_equal(rig_run(2, 3000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
}

static void without_roce_nothing_is_sent_or_taken(void **state)
{
	struct eth_frame *fr;

	(void)state;
	rig.hca[0]->eth->vport.roce = false;
	rig_recv(1, b, buf_b, 8192, key_b);
	a->path.ack_timeout = 0;
	post_send(WQE_SEND, 100, true);
	rig_run(1, 20);
	assert_int_equal(drops(0, ROCE_DROP_OFF), 1);
	rig_down(state);
	rc(state);
	rig.hca[1]->eth->vport.roce = false;
	a->path.ack_timeout = 0;
	post_send(WQE_SEND, 100, true);
	rig_run(1, 20);
	assert_int_equal(rig.ncqe, 0);
	fr = eth_rx(rig.hca[1]);	/* an ordinary frame */
	assert_non_null(fr);
	eth_frame_free(fr);
}

/* ---- loopback -------------------------------------------------------------------------------- */

static void loopback_stays_in_the_port(void **state)
{
	unsigned int forced;
	struct qp *c;

	(void)state;
	for (forced = 0; forced < 2; forced++) {
		uint64_t dst;
		uint32_t key;

		up(QPT_RC, V2_IP6);
		c = rig_qp(0, QPT_RC, 30);
		dst = rig_alloc(0, BUF);
		key = rig_mkey(0, dst, BUF, ALL);
		rig_state(0, a, QPS_RST);
		rig_connect(a, 0, c, 0);
		if (forced) {
			a->path.loop = true;
			memcpy(a->path.rmac, peer_mac, 6);
		}
		post_rdma(WQE_RDMA_WRITE, dst, key, 3000);
		assert_int_equal(rig_run(1, 2000), 1);
		expect(CQ_A, 0, CQE_REQ, 0);
		assert_memory_equal(rig_ptr(0, dst), rig_ptr(0, buf_a), 3000);
		assert_int_equal(rig.hca[0]->count.packets_tx, 0);
		assert_int_equal(peer.n, 0);
		assert_true(rig.hca[0]->eth->stats.loopback_frames >= 4);
		assert_int_equal(rig.hca[0]->eth->stats.roce_rx.frames[ETH_UNICAST],
				 rig.hca[0]->eth->stats.roce_tx.frames[ETH_UNICAST]);
		rig_down(state);
	}
	up(QPT_RC, V2_IP6);
}

/* ---- what a peer sees ------------------------------------------------------------------------ */

static struct frame seen(unsigned int i)
{
	struct frame f;

	assert_true(i < peer.n);
	assert_true(frame_parse(&f, peer.frame[i].bytes, peer.frame[i].len, LENGTHS_OF_FRAME));
	return f;
}

/* The path of @a leads to the peer. */
static struct frame send_to_peer(enum via v)
{
	memcpy(a->path.rmac, peer_mac, 6);
	a->path.src_gid_index = v;
	gid_of(8, v, a->path.dgid);
	a->path.ack_timeout = 0;
	a->path.hop_limit = 33;
	a->path.flow_label = 0xabcde;
	a->path.dscp = 26;
	a->path.ecn = 2;
	a->path.tclass = 0x55;
	a->path.eth_prio = 5;
	a->path.udp_sport = 0xc777;
	post_send(WQE_SEND, 77, true);
	rig_run(1, 20);
	return seen(0);
}

static void frames_have_the_fields_of_the_path(void **state)
{
	uint8_t own[6];
	struct frame f;
	enum via v;

	for (v = V1; v < VIAS; v++) {
		rc(state);
		f = send_to_peer(v);
		mac_of(0, own);
		assert_memory_equal(f.dmac, peer_mac, 6);
		assert_memory_equal(f.smac, own, 6);
		assert_int_equal(f.tags, v == V2_VLAN);
		if (v == V2_VLAN) {
			assert_int_equal(f.tag[0].type, ETYPE_CTAG);
			assert_int_equal(f.tag[0].tci, 5 << 13 | VID);
		}
		assert_true(icrc_ok(&f));
		if (v == V1) {
			const uint8_t *grh = f.data + f.l3;

			assert_int_equal(f.ethertype, ETYPE_ROCE);
			assert_int_equal(get_be32(grh), 6u << 28 | 0x55 << 20 | 0xabcde);
			assert_int_equal(grh[6], 0x1b);
			assert_int_equal(grh[7], 33);
			rig_down(state);
			continue;
		}
		assert_int_equal(f.l4_type, L4_UDP);
		assert_int_equal(f.dport, ROCE_PORT);
		assert_in_range(f.sport, 0xc000, 0xffff);	/* chosen by the device */
		assert_int_equal(f.tclass, 26 << 2 | 2);
		assert_int_equal(f.ttl, 33);
		assert_int_equal(get_be16(f.data + f.l4 + 6), 0);
		if (v == V2_IP6)
			assert_int_equal(f.flow_label, 0xabcde);
		else
			assert_int_equal(get_be16(f.data + f.l3 + 6), 0x4000);
		rig_down(state);
	}
	rc(state);
}

static void the_driver_can_choose_the_udp_port(void **state)
{
	struct frame f;

	(void)state;
	IFC_SET(roce_cap, rig.hca[0]->cap[CAP_ROCE], sw_r_roce_src_udp_port, 1);
	f = send_to_peer(V2_IP6);
	assert_int_equal(f.sport, 0xc777);
}

/* 77 bytes are padded to 80; with headers and ICRC the frame is no longer than that. */
static void frames_have_no_more_than_they_need(void **state)
{
	struct frame f;

	(void)state;
	f = send_to_peer(V2_IP4);
	assert_int_equal(f.len, 14 + 20 + 8 + 12 + 80 + 4);
	assert_int_equal(f.data[f.payload + 1] >> 4 & 3, 3);
}

/* ---- what a peer sends ----------------------------------------------------------------------- */

/* A packet from @a to @b, as the peer makes it in the name of HCA 0. */
static struct packet good_packet(void)
{
	struct packet p;

	memset(&p, 0, sizeof(p));
	p.opcode = BTH_RC | BTH_SEND_ONLY;
	p.pkey = 0xffff;
	p.dqpn = b->obj.num;
	p.psn = b->next_rcv_psn;
	p.head.len = 10;
	roce_hdr(&p)->kind = ROCE_IP4;
	roce_hdr(&p)->net[0] = 0x45;
	roce_hdr(&p)->net[8] = 64;
	roce_hdr(&p)->net[9] = PROTO_UDP;
	put_be32(roce_hdr(&p)->net + IPV4_SIP, 0x0a000001);
	put_be32(roce_hdr(&p)->net + IPV4_DIP, 0x0a000002);
	roce_hdr(&p)->udp_sport = 0xd000;
	memcpy(roce_hdr(&p)->smac, peer_mac, 6);
	mac_of(1, roce_hdr(&p)->dmac);
	return p;
}

static void peer_sends(const struct packet *p)
{
	struct eth_frame *fr = eth_frame_alloc(roce_frame_len(p));

	roce_frame_make(p, eth_frame_data(fr), fr->head.len);
	eth_switch_forward(rig.fabric, peer.port, fr);
	rig_settle();
}

enum change {
	SOURCE, DESTINATION, VLAN_TAG, VERSION, TYPE, P_KEY, SERVICE, NUMBER, CHANGES
};

static struct packet changed(enum change c)
{
	struct packet p = good_packet();
	struct roce_headers *h = roce_hdr(&p);

	switch (c) {
	case SOURCE:
		h->net[IPV4_SIP + 3] ^= 8;
		break;
	case DESTINATION:
		h->net[IPV4_DIP + 3] ^= 8;
		break;
	case VLAN_TAG:
		h->vlan = true;
		h->tci = VID;
		break;
	case VERSION:
	case TYPE:
		h->kind = c == VERSION ? ROCE_GRH : ROCE_IP6;
		memset(h->net, 0, sizeof(h->net));
		h->net[0] = 0x60;
		h->net[6] = c == VERSION ? 0x1b : PROTO_UDP;
		gid_of(0, V2_IP4, h->net + NET_SIP);
		gid_of(1, V2_IP4, h->net + NET_DIP);
		break;
	case P_KEY:
		p.pkey = 0x8001;
		break;
	case SERVICE:
		p.opcode = BTH_UC | BTH_SEND_ONLY;
		break;
	default:
		p.dqpn++;
	}
	return p;
}

static void packets_have_to_fit_the_connection(void **state)
{
	struct packet p;
	enum change c;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	for (c = 0; c < CHANGES; c++) {
		p = changed(c);
		peer_sends(&p);
		assert_int_equal(rig.ncqe, 0);
		assert_int_equal(rig.hca[1]->count.packets_dropped, c + 1);
	}
	assert_int_equal(rig.hca[1]->count.bad_pkeys, 1);
	p = good_packet();
	p.pkey = 0x7fff;		/* of a limited member */
	peer_sends(&p);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
}

static void corrupt_frames_are_counted(void **state)
{
	struct packet p = good_packet();
	struct eth_frame *fr;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	fr = eth_frame_alloc(roce_frame_len(&p));
	roce_frame_make(&p, eth_frame_data(fr), fr->head.len);
	eth_frame_data(fr)[fr->head.len - 1] ^= 1;
	eth_switch_forward(rig.fabric, peer.port, fr);
	rig_settle();
	assert_int_equal(drops(1, ROCE_DROP_ICRC), 1);
	assert_int_equal(rig.ncqe, 0);
	assert_null(eth_rx(rig.hca[1]));
}

static void frames_of_others_are_for_the_nic(void **state)
{
	struct packet p = good_packet();
	struct eth_frame *fr;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	/* To another MAC, in promiscuous mode. */
	rig.hca[1]->eth->vport.promisc_uc = true;
	roce_hdr(&p)->dmac[5] ^= 0x40;
	peer_sends(&p);
	fr = eth_rx(rig.hca[1]);
	assert_non_null(fr);
	eth_frame_free(fr);
	/* Of a version that the HCA does not have. */
	IFC_SET(roce_cap, rig.hca[1]->cap[CAP_ROCE], roce_version, 1);
	p = good_packet();
	peer_sends(&p);
	fr = eth_rx(rig.hca[1]);
	assert_non_null(fr);
	eth_frame_free(fr);
	assert_int_equal(rig.ncqe, 0);
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static void build_av(struct rig_wqe *w, unsigned int h, enum via v, uint32_t qpn, uint32_t qkey)
{
	uint8_t *p = w->b + 16 * w->ds, gid[16], mac[6];

	gid_of(h, v, gid);
	mac_of(h, mac);
	wq_av(w, 0xc555, qpn, qkey, gid);
	p[12] = 3 << 1;		/* priority */
	memcpy(p + 20, mac, 6);
	put_be32(p + 28, v << 20 | 0x12345);
}

static void datagram(unsigned int h, enum via v, uint32_t qpn, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND_IMM, true, 0xabcd);
	build_av(&w, h, v, qpn, b->qkey);
	wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
}

/* wq_av() sets traffic class 0x42 and hop limit 9. */
static void datagrams_tell_their_header_and_tag(void **state)
{
	static const uint8_t zeros[20];
	const struct completion *c;
	uint8_t gid[16];
	const uint8_t *h;
	enum via v;

	for (v = V1; v < VIAS; v++) {
		ud(state);
		rig_recv(1, b, buf_b, 4096, key_b);
		datagram(1, v, b->obj.num, 100);
		assert_int_equal(rig_run(2, 2000), 2);
		c = &rig_cqe(CQ_B + 1, 0)->c;
		assert_int_equal(c->opcode, CQE_RESP_SEND_IMM);
		assert_int_equal(c->byte_cnt, 140);
		assert_int_equal(c->imm_inval_pkey, 0xabcd);
		assert_int_equal(c->src_qp, a->obj.num);
		assert_true(c->grh);
		assert_int_equal(c->slid, 0);
		assert_int_equal(c->sl, v == V1 ? 0 : v == V2_IP6 ? 1 : 2);
		assert_int_equal(c->vlan, v == V2_VLAN);
		assert_int_equal(c->tci, v == V2_VLAN ? 3 << 13 | VID : 0);
		h = rig_ptr(1, buf_b);
		gid_of(0, v, gid);
		if (v == V1 || v == V2_IP6) {
			assert_int_equal(get_be32(h), 6u << 28 | 0x42 << 20 | 0x12345);
			assert_int_equal(h[6], v == V1 ? 0x1b : PROTO_UDP);
			assert_int_equal(h[7], 9);
			assert_memory_equal(h + 8, gid, 16);
		} else {
			assert_memory_equal(h, zeros, 20);
			assert_int_equal(h[20], 0x45);
			assert_int_equal(h[21], 0x42);
			assert_int_equal(h[28], 9);
			assert_memory_equal(h + 32, gid + 12, 4);
		}
		assert_memory_equal(h + 40, rig_ptr(0, buf_a), 100);
		rig_down(state);
	}
	ud(state);
}

static void address_vectors_are_checked(void **state)
{
	struct rig_wqe w;

	(void)state;
	set_address(0, V2_IP6, false);
	datagram(1, V2_IP6, b->obj.num, 10);
	rig_settle();
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_SOURCE_GID_UNKNOWN);
	rig_down(state);

	ud(state);
	wq_ctrl(&w, WQE_SEND, true, 0);
	put_be32(w.b + 16, b->qkey);
	put_be32(w.b + 24, b->obj.num);	/* the short form */
	w.ds = 2;
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_WQE_INVALID);
}

static void a_datagram_may_have_the_bit_of_a_grh(void **state)
{
	const struct completion *c;
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	build_av(&w, 1, V2_IP4, b->obj.num, b->qkey);
	w.b[16 + 28] |= 0x40;		/* a GRH, as on InfiniBand */
	wq_data(&w, buf_a, 100, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.opcode, CQE_REQ);
	c = &rig_cqe(CQ_B + 1, 0)->c;
	assert_int_equal(c->opcode, CQE_RESP_SEND);
	assert_int_equal(c->byte_cnt, 140);
	assert_memory_equal((uint8_t *)rig_ptr(1, buf_b) + 40, rig_ptr(0, buf_a), 100);
}

static void datagrams_come_to_addresses_of_the_port(void **state)
{
	struct packet p = good_packet();

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	p.opcode = BTH_UD | BTH_SEND_ONLY;
	p.qkey = b->qkey;
	p.sqpn = 5;
	roce_hdr(&p)->net[IPV4_DIP + 3] ^= 8;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
	roce_hdr(&p)->net[IPV4_DIP + 3] ^= 8;
	roce_hdr(&p)->vlan = true;	/* only the other address has this tag ... */
	roce_hdr(&p)->tci = VID + 1;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 0);
	roce_hdr(&p)->tci = VID;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 1);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
}

/* The frame is longer than the MTU of the port, 1522 bytes. */
static void long_frames_are_dropped(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 8192, key_b);
	datagram(1, V2_IP4, b->obj.num, 2000);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_int_equal(rig.ncqe, 1);
	assert_int_equal(rig.hca[0]->eth->stats.tx_too_long, 1);
	rig.hca[0]->eth->mtu = 9000;
	rig.hca[1]->eth->mtu = 9000;
	datagram(1, V2_IP4, b->obj.num, 4000);
	assert_int_equal(rig_run(3, 2000), 3);
	assert_memory_equal(rig_ptr(1, buf_b + 40), rig_ptr(0, buf_a), 4000);
}

static void qp1_gets_datagrams_of_any_address(void **state)
{
	struct packet p = good_packet();
	struct qp *gsi = rig_qp(1, QPT_QP1, 30);

	(void)state;
	rig_state(1, gsi, QPS_INIT);
	rig_state(1, gsi, QPS_RTR);
	rig_recv(1, gsi, buf_b, 4096, key_b);
	p.opcode = BTH_UD | BTH_SEND_ONLY;
	p.qkey = 0x80010000;
	p.sqpn = 1;
	p.dqpn = 1;
	p.head.len = 256;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 1);
	expect(31, 0, CQE_RESP_SEND, 0);
	/* There is no queue pair 0. */
	p.dqpn = 0;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 1);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

/* ---- multicast ------------------------------------------------------------------------------- */

static void to_group(const uint8_t *gid, const uint8_t *mac)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND, true, 0);
	build_av(&w, 1, gid[0] ? V2_IP6 : V2_IP4, 0xffffff, b->qkey);
	memcpy(w.b + 16 + 20, mac, 6);
	memcpy(w.b + 16 + 32, gid, 16);
	wq_data(&w, buf_a, 50, key_a);
	rig_send(0, a, w.b, w.ds);
}

static void groups_flood_and_loop(void **state)
{
	static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	static const uint8_t gid6[16] = { 0xff, 0x0e, [15] = 7 };
	static const uint8_t mac4[6] = { 1, 0, 0x5e, 1, 2, 3 };
	static const uint8_t mac6[6] = { 0x33, 0x33, 0, 0, 0, 7 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		const uint8_t *gid = i & 1 ? gid6 : gid4;

		ud(state);
		assert_int_equal(mcast_attach(rig.hca[0], gid, a->obj.num), 0);
		assert_int_equal(mcast_attach(rig.hca[1], gid, b->obj.num), 0);
		rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
		rig_recv(1, b, buf_b, 4096, key_b);
		rig.hca[0]->eth->vport.no_mc_loopback = i > 1;
		to_group(gid, i & 1 ? mac6 : mac4);
		rig_settle();
		assert_int_equal(peer.n, 1);
		expect(CQ_A, 0, CQE_REQ, 0);
		expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
		assert_int_equal(!rig_cqe(CQ_A + 1, 0), i > 1);
		assert_memory_equal(rig_ptr(1, buf_b + 40), rig_ptr(0, buf_a), 50);
		rig_down(state);
	}
	ud(state);
	a->block_lb_mc = true;
	assert_int_equal(mcast_attach(rig.hca[0], gid6, a->obj.num), 0);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	to_group(gid6, mac6);
	rig_settle();
	assert_null(rig_cqe(CQ_A + 1, 0));
}

/* ---- congestion ------------------------------------------------------------------------------ */

/* A packet of version 2 that a router has marked. */
static void send_marked(bool v6)
{
	struct packet p = good_packet();
	struct roce_headers *h = roce_hdr(&p);

	p.psn = b->next_rcv_psn;
	if (v6) {
		h->kind = ROCE_IP6;
		memset(h->net, 0, sizeof(h->net));
		put_be32(h->net, 6u << 28 | 3u << 20);
		h->net[6] = PROTO_UDP;
		gid_of(0, V2_IP6, h->net + NET_SIP);
		gid_of(1, V2_IP6, h->net + NET_DIP);
	} else {
		h->net[1] = 3;
	}
	peer_sends(&p);
}

static void a_marked_packet_is_answered_by_a_cnp(void **state)
{
	static const uint8_t zeros[16];
	unsigned int v6, i;
	struct frame f;

	for (v6 = 0; v6 < 2; v6++) {
		up(QPT_RC, v6 ? V2_IP6 : V2_IP4);
		for (i = 0; i < 2; i++)
			rig_recv(1, b, buf_b, 64, key_b);
		/* The way back leads to the peer, which sees what comes. */
		memcpy(b->path.rmac, peer_mac, 6);
		send_marked(v6);
		assert_int_equal(roce_congestion(rig.hca[1]).marked, 1);
		assert_int_equal(roce_congestion(rig.hca[1]).sent, 1);
		f = seen(0);
		assert_true(icrc_ok(&f));
		assert_int_equal(f.tclass, 48 << 2);
		assert_int_equal(f.data[f.payload], 0x81);
		assert_int_equal(get_be32(f.data + f.payload + 4),
				 0x40000000 | a->obj.num);	/* BECN */
		assert_memory_equal(f.data + f.payload + 12, zeros, 16);
		assert_int_equal(f.l4_end - f.payload, 12 + 16 + 4);
		/* The packet itself is received. */
		assert_int_equal(rig.ncqe, 1);
		rig_down(state);
	}
	rc(state);
}

static void cnps_to_a_queue_pair_have_a_pause(void **state)
{
	struct packet p = good_packet();

	(void)state;
	roce_hdr(&p)->net[1] = 3;
	p.dqpn++;
	peer_sends(&p);			/* to no queue pair */
	p.dqpn--;
	roce_hdr(&p)->net[IPV4_SIP + 3] ^= 8;
	peer_sends(&p);			/* not from its peer */
	assert_int_equal(roce_congestion(rig.hca[1]).marked, 2);
	assert_int_equal(roce_congestion(rig.hca[1]).sent, 0);
	b->cnp_ns = clock_now_ns() + 1000000000;
	send_marked(false);
	assert_int_equal(roce_congestion(rig.hca[1]).sent, 0);
	b->cnp_ns = clock_now_ns() - 1000000;
	send_marked(false);
	assert_int_equal(roce_congestion(rig.hca[1]).sent, 1);
}

static void cnps_are_counted_by_the_sender(void **state)
{
	uint8_t in[IFC_SZ(query_cong_statistics_in)] = {};
	uint8_t out[IFC_SZ(query_cong_statistics_out)] = {};
	struct cmd cmd = { .in = in, .out = out, .in_len = sizeof(in), .out_len = sizeof(out) };
	struct packet p = good_packet();

	(void)state;
	p.opcode = CNP_OPCODE;
	p.becn = true;
	p.head.len = CNP_BYTES;
	peer_sends(&p);
	p.dqpn++;
	peer_sends(&p);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 0);
	p.head.len = CNP_BYTES - 4;
	peer_sends(&p);
	assert_int_equal(drops(1, ROCE_DROP_TRANSPORT), 1);
	assert_int_equal(roce_cnp_cmds[0].handler(rig.hca[1], &cmd), ST_BAD_OP);
	assert_int_equal(cmd.syndrome, WHY_ROCE_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[CAP_GENERAL], cc_query_allowed, 1);
	IFC_SET(query_cong_statistics_in, in, clear, 1);
	assert_int_equal(roce_cnp_cmds[0].handler(rig.hca[1], &cmd), ST_OK);
	assert_int_equal(IFC_GET(query_cong_statistics_out, out, rp_cnp_handled_low), 1);
	assert_int_equal(IFC_GET(query_cong_statistics_out, out, rp_cnp_ignored_low), 1);
	assert_int_equal(roce_congestion(rig.hca[1]).handled, 0);
}

/* Only packets whose sender knows the mark are marked. Both sides count. */
static void the_link_can_mark_packets(void **state)
{
	(void)state;
	roce_set_ecn(rig.hca[1], 1000000);
	rig_recv(1, b, buf_b, 4096, key_b);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_int_equal(roce_congestion(rig.hca[1]).marked, 0);
	a->path.ecn = 2;
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(4, 2000), 4);
	rig_settle();
	assert_int_equal(roce_congestion(rig.hca[1]).marked, 1);
	assert_int_equal(roce_congestion(rig.hca[1]).sent, 1);
	assert_int_equal(roce_congestion(rig.hca[0]).handled, 1);
	roce_set_ecn(rig.hca[1], 0);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(6, 2000), 6);
	assert_int_equal(roce_congestion(rig.hca[1]).marked, 1);
}

/* The header in the buffer of a datagram has the mark, and a right checksum. */
static void marked_datagrams_show_the_mark(void **state)
{
	const uint8_t *h;
	uint32_t sum = 0;
	unsigned int i;

	(void)state;
	roce_set_ecn(rig.hca[1], 1000000);
	rig_recv(1, b, buf_b, 4096, key_b);
	datagram(1, V2_IP4, b->obj.num, 10);	/* traffic class 0x42 */
	assert_int_equal(rig_run(2, 2000), 2);
	h = rig_ptr(1, buf_b + 20);
	assert_int_equal(h[1], 0x43);
	for (i = 0; i < 20; i += 2)
		sum += get_be16(h + i);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_int_equal(roce_congestion(rig.hca[1]).marked, 1);
	assert_int_equal(roce_congestion(rig.hca[1]).sent, 0);
}

#define ON(f, up) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_work_over_all_kinds_of_addresses),
		ON(masked_atomics_cross_the_link, rc),
		cmocka_unit_test(lost_frames_are_sent_again),
		ON(a_sender_waits_for_room, rc),
		ON(a_connection_loses_its_address_and_gets_it_back, rc),
		ON(without_roce_nothing_is_sent_or_taken, rc),
		cmocka_unit_test_teardown(loopback_stays_in_the_port, rig_down),
		cmocka_unit_test_teardown(frames_have_the_fields_of_the_path, rig_down),
		ON(the_driver_can_choose_the_udp_port, rc),
		ON(frames_have_no_more_than_they_need, rc),
		ON(packets_have_to_fit_the_connection, rc),
		ON(corrupt_frames_are_counted, rc),
		ON(frames_of_others_are_for_the_nic, rc),
		cmocka_unit_test_teardown(datagrams_tell_their_header_and_tag, rig_down),
		ON(address_vectors_are_checked, ud),
		ON(a_datagram_may_have_the_bit_of_a_grh, ud),
		ON(datagrams_come_to_addresses_of_the_port, ud),
		ON(long_frames_are_dropped, ud),
		ON(qp1_gets_datagrams_of_any_address, ud),
		cmocka_unit_test_teardown(groups_flood_and_loop, rig_down),
		cmocka_unit_test_teardown(a_marked_packet_is_answered_by_a_cnp, rig_down),
		ON(cnps_to_a_queue_pair_have_a_pause, rc),
		ON(cnps_are_counted_by_the_sender, rc),
		ON(the_link_can_mark_packets, rc),
		ON(marked_datagrams_show_the_mark, ud),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
