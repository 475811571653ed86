// SPDX-License-Identifier: GPL-2.0
/*
 * The control socket's requests: injections, census, counters, capabilities, trace, removal.
 */
#include <errno.h>
#include <event2/event.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"
#include "capture.h"
#include "cmd.h"
#include "control.h"
#include "corerig.h"
#include "count.h"
#include "eq.h"
#include "eth_port.h"
#include "expect.h"
#include "fabric.h"
#include "flow.h"
#include "flow_counter.h"
#include "ib_packet.h"
#include "ifc.h"
#include "impair.h"
#include "inject.h"
#include "mkey.h"
#include "object.h"
#include "pacing.h"
#include "packet.h"
#include "pci.h"
#include "profile.h"
#include "util.h"

static uint8_t in[8192], out[8192];

static int up(void **state)
{
	core_add_module(&control_module);
	return core_up_init(state);
}

/* A command with one mailbox of input: SET_DRIVER_VERSION. */
static size_t driver_version(void)
{
	memset(in, 0, sizeof(in));
	IFC_SET(set_driver_version_in, in, opcode, MLX5_CMD_OP_SET_DRIVER_VERSION);
	strcpy((char *)IFC_ADDR(set_driver_version_in, in, driver_version), "Linux,test,1");
	return IFC_SZ(set_driver_version_in);
}

static bool answer(const char *line, const char *want)
{
	char *a = control_request(core.hca, line);
	bool ok = strstr(a, want);

	if (!ok)
		fprintf(stderr, "%s: %s\n", line, a);
	free(a);
	return ok;
}

static void nth_command_fails_once(void **state)
{
	(void)state;
	assert_true(answer("inject cmd 2 LIM_ERR", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_LIM);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 2);
	assert_true(answer("inject clear", "\"fired\":1"));
}

static void opcode_fails_until_cleared(void **state)
{
	(void)state;
	assert_true(answer("inject op ALLOC_UAR 0xf", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_NO_RES);
	assert_int_equal(core_simple(MLX5_CMD_OP_NOP, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_NO_RES);
	assert_true(answer("inject clear", "\"fired\":2"));
	assert_true(answer("inject op ALLOC_UAR BAD_RES 1", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_BAD_RES);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
}

static void commands_are_deferred(void **state)
{
	(void)state;
	assert_true(answer("inject cmd defer 5 1 ALLOC_PD", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_PD, 0, out), 0xff);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 0);
}

static void answers_are_delayed_and_reordered(void **state)
{
	(void)state;
	assert_true(answer("inject cmd delay 5 2 NOP", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_NOP, 0, out), 0xff);
	core.hca->profile->command_timeout_ms = 700;
	assert_true(answer("limit command_timeout_ms", "\"limit\":700"));
	assert_true(answer("inject clear", "\"fired\":1"));
	assert_true(answer("inject cmd reorder", "\"ok\":true"));
	core_put(1, in, driver_version(), 16);
	core_ring(2);
	assert_int_equal(core_take(1, out, 16), CORE_NOT_DONE);
	assert_true(answer("inject clear", "\"fired\":0"));
}

static void census_shows_the_delta(void **state)
{
	(void)state;
	core_alloc_uar();
	assert_true(answer("census", "\"uar\":{\"total\":1,\"by_uid\":{\"0\":1}}"));
	assert_false(answer("census", "\"delta\""));
	assert_true(answer("census reset", "\"ok\":true"));
	assert_true(answer("census", "\"delta\":{}"));
	core_alloc_uar();
	assert_true(answer("census", "\"delta\":{\"uar\":1}"));
	assert_true(answer("census", "\"total\":2"));
}

/* Keys are counted by whether they are free, and objects by their user. */
static void census_counts_by_kind_and_user(void **state)
{
	struct mkey *mk[4];
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		mk[i] = (struct mkey *)obj_new_at(core.hca, OBJ_MKEY, 100 + i, i ? 7 : 3,
						  sizeof(**mk));
		mk[i]->free = i == 3;
	}
	assert_true(answer("census", "\"mkey\":{\"total\":3,\"by_uid\":{\"3\":1,\"7\":2}}"));
	assert_true(answer("census", "\"mkey_free\":{\"total\":1,\"by_uid\":{\"7\":1}}"));
	assert_true(answer("census reset", "\"ok\":true"));
	mk[0]->free = true;
	assert_true(answer("census", "\"delta\":{\"mkey\":-1,\"mkey_free\":1}"));
	for (i = 0; i < 4; i++)
		obj_free(core.hca, &mk[i]->obj);
}

static bool no_injection_is_left(struct inject *inj)
{
	unsigned int ms;

	return !inject_cmd(inj, MLX5_CMD_OP_NOP) && !inject_cmd_delay(inj, MLX5_CMD_OP_NOP) &&
	       !inject_cmd_deferral(inj, MLX5_CMD_OP_NOP) && !inject_cmd_reorder(inj) &&
	       !inject_cqe(inj, &ms) && !inject_umr(inj) && !inject_fault(inj, true) &&
	       !inject_token(inj) && !inject_umr_reorder(inj);
}

/* Each injection takes effect as often as the request says, and counts each time. */
static void injections_take_effect_so_often(void **state)
{
	struct inject *inj = core.hca->inject;
	unsigned int ms, i;

	(void)state;
	assert_true(answer("inject cqe delay 5 2", "\"ok\":true"));
	for (i = 0; i < 2; i++) {
		assert_true(inject_cqe(inj, &ms));
		assert_int_equal(ms, 5);
	}
	assert_false(inject_cqe(inj, &ms));
	assert_true(answer("inject cqe drop", "\"ok\":true"));
	assert_true(inject_cqe(inj, &ms));
	assert_int_equal(ms, 0);
	assert_false(inject_cqe(inj, &ms));
	assert_true(answer("inject umr 2 1", "\"ok\":true"));
	assert_false(inject_umr(inj));
	assert_true(inject_umr(inj));
	assert_true(inject_umr(inj));
	assert_false(inject_umr(inj));
	assert_true(answer("inject fault subtype 7 2", "\"ok\":true"));
	for (i = 0; i < 2; i++)
		assert_int_equal(inject_fault(inj, i)->subtype, 7);
	assert_null(inject_fault(inj, true));
	assert_true(answer("inject fault nowrite", "\"ok\":true"));
	assert_null(inject_fault(inj, false));
	assert_true(inject_fault(inj, true)->not_write);
	assert_null(inject_fault(inj, true));
	assert_true(answer("inject fault token 2", "\"ok\":true"));
	assert_true(inject_token(inj));
	assert_true(inject_token(inj));
	assert_false(inject_token(inj));
	assert_true(no_injection_is_left(inj));
	assert_true(answer("inject clear", "\"fired\":10"));
	assert_true(answer("inject clear", "\"fired\":0"));
}

static void clear_ends_every_injection(void **state)
{
	static const char *const requests[] = {
		"inject cmd 1 LIM_ERR", "inject op NOP LIM_ERR", "inject cmd delay 5",
		"inject cmd defer 5", "inject cmd reorder", "inject cqe drop", "inject umr",
		"inject umr reorder", "inject fault subtype 7", "inject fault nowrite",
		"inject fault token",
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_true(answer(requests[i], "\"ok\":true"));
		assert_true(answer("inject clear", "\"fired\":0"));
		if (!no_injection_is_left(core.hca->inject))
			fail_msg("%s: not cleared", requests[i]);
		assert_true(answer(requests[i], "\"ok\":true"));
		if (no_injection_is_left(core.hca->inject))
			fail_msg("%s has no effect", requests[i]);
		assert_true(answer("inject clear", "\"ok\":true"));
	}
}

static void commands_are_counted(void **state)
{
	(void)state;
	assert_true(answer("commands reset", "\"ok\":true"));
	core_alloc_uar();
	core_alloc_uar();
	assert_true(answer("commands", "\"total\":2,\"by_name\":{\"ALLOC_UAR\":2}"));
	assert_true(answer("counters", "\"commands_failed\":0,"));
	core_simple(0xfff, 0, out);
	assert_true(answer("counters", "\"commands_failed\":1,"));
	assert_true(answer("counters", "\"doorbells_dropped\":0"));
}

#define COUNTER(name, fld) { name, offsetof(struct counters, fld) }

/* Each name has the value of its own counter. */
static void each_counter_has_its_name(void **state)
{
	static const struct { const char *name; size_t at; } list[] = {
		COUNTER("doorbells_send", db_send), COUNTER("doorbells_blueflame", db_bf),
		COUNTER("doorbells_cq", db_cq), COUNTER("doorbells_eq", db_eq),
		COUNTER("cqes", cqes), COUNTER("cqes_error", cqes_err), COUNTER("eqes", eqes),
		COUNTER("eqes_lost", eqes_lost), COUNTER("page_faults", page_faults),
		COUNTER("page_faults_failed", page_faults_failed),
		COUNTER("page_faults_midway", page_faults_midway), COUNTER("irqs", irqs),
		COUNTER("packets_tx", packets_tx), COUNTER("packets_rx", packets_rx),
		COUNTER("octets_tx", octets_tx), COUNTER("octets_rx", octets_rx),
		COUNTER("multicast_tx", mcast_tx), COUNTER("multicast_rx", mcast_rx),
		COUNTER("packets_dropped", packets_dropped),
		COUNTER("packets_corrupted", packets_corrupted),
		COUNTER("bad_pkeys", bad_pkeys), COUNTER("bad_qkeys", bad_qkeys),
		COUNTER("link_downed", link_downed),
		COUNTER("rx_steering_discards", rx_steering_discards),
		COUNTER("rx_rule_drops", rx_rule_drops),
		COUNTER("rx_queue_not_ready", rx_queue_not_ready),
		COUNTER("rx_no_wqe", rx_no_wqe), COUNTER("rx_wqe_too_small", rx_wqe_too_small),
		COUNTER("rx_buffer_errors", rx_buffer_errors),
		COUNTER("wqes_sq", wqes_sq), COUNTER("wqes_rq", wqes_rq),
		COUNTER("commands", cmds), COUNTER("wqes_blueflame", wqes_bf),
		COUNTER("blueflame_same_buffer", bf_same_buffer), COUNTER("umr", umr),
		COUNTER("umr_refused", umr_refused), COUNTER("umr_reordered", umr_reordered),
		COUNTER("remote_invalidations", remote_inval),
		COUNTER("commands_failed", cmds_failed), COUNTER("register_reads", reg_reads),
		COUNTER("register_writes", reg_writes),
		COUNTER("register_writes_early", reg_early), COUNTER("dma_blocked", dma_blocked),
		COUNTER("no_uar", db_drop[DROP_NO_UAR]), COUNTER("no_qp", db_drop[DROP_NO_QP]),
		COUNTER("wrong_uar", db_drop[DROP_WRONG_UAR]),
		COUNTER("no_cq", db_drop[DROP_NO_CQ]), COUNTER("no_eq", db_drop[DROP_NO_EQ]),
		COUNTER("bad_offset", db_drop[DROP_BAD_OFFSET]),
		COUNTER("bad_size", db_drop[DROP_BAD_SIZE]),
		COUNTER("bad_state", db_drop[DROP_BAD_STATE]),
		COUNTER("no_memic", db_drop[DROP_NO_MEMIC]),
		COUNTER("no_blueflame", db_drop[DROP_NO_BLUEFLAME]),
		COUNTER("no_wqe", db_drop[DROP_NO_WQE]), COUNTER("bad_wqe", db_drop[DROP_BAD_WQE]),
		COUNTER("arm_record", db_drop[DROP_ARM_RECORD]),
	};
	struct counters *c = &core.hca->count, before = *c;
	unsigned long drops = 0;
	char want[60];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		*(uint64_t *)((char *)c + list[i].at) = 1000 + i;
		if (list[i].at >= offsetof(struct counters, db_drop) &&
		    list[i].at < offsetof(struct counters, wqes_bf))
			drops += 1000 + i;
	}
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		snprintf(want, sizeof(want), "\"%s\":%zu", list[i].name, 1000 + i);
		assert_true(answer("counters", want));
	}
	snprintf(want, sizeof(want), "\"doorbells_dropped\":%lu,", drops);
	assert_true(answer("counters", want));
	*c = before;
}

static void trace_decodes_command_fields(void **state)
{
	(void)state;
	assert_true(answer("trace on", "\"ok\":true"));
	core_alloc_uar();
	assert_true(answer("trace dump 1", "\"op\":\"ALLOC_UAR\""));
	assert_true(answer("trace dump 1", "\"out\":{\"uar\":4}"));
	core_simple(0xfff, 0, out);
	assert_true(answer("trace dump 1", "\"why\":\"no command 0xfff\""));
}

/* Send a packet to a LID that no port has. Returns whether the file became longer. */
static bool packet_is_captured(const char *path)
{
	struct packet *p = packet_alloc(core.fabric);
	struct stat before, after;

	stat(path, &before);
	p->opcode = BTH_RC | BTH_SEND_ONLY;
	ib_hdr(p)->dlid = 0x77;
	fabric_tx(core.hca, p);
	stat(path, &after);
	return after.st_size > before.st_size;
}

static void capture_is_switched_off_and_on(void **state)
{
	char path[] = "/tmp/test-control-XXXXXX";
	struct capture *c;

	(void)state;
	assert_true(answer("capture on", "--capture was not given"));
	close(mkstemp(path));
	assert_int_equal(capture_open(path, 0, &ib_packet_type, &c), 0);
	fabric_set_capture(core.fabric, c);
	assert_true(packet_is_captured(path));
	assert_true(answer("capture off", "\"ok\":true"));
	assert_false(packet_is_captured(path));
	assert_true(answer("capture on", "\"ok\":true"));
	assert_true(packet_is_captured(path));
	assert_true(answer("capture", "\"ok\":false"));
	assert_true(answer("capture /etc/passwd", "capture on|off"));
	unlink(path);
}

/* "cap" shows the current value, which the driver may have changed, and the maximum. */
static void cap_shows_current_and_maximum(void **state)
{
	(void)state;
	assert_true(answer("cap general log_max_qp", "\"cur\":18,\"max\":18"));
	assert_true(answer("cap general uar_4k", "\"cur\":0,\"max\":1"));
	IFC_SET(cmd_hca_cap, core.hca->cap[0], uar_4k, 1);
	assert_true(answer("cap general uar_4k", "\"cur\":1,\"max\":1"));
	assert_true(answer("cap atomic atomic_operations", "\"cur\":15"));
	assert_true(answer("cap odp transport_page_fault_scheme_cap.rc_odp_caps.send",
			   "\"cur\":1"));
}

static void profile_has_a_name(void **state)
{
	(void)state;
	assert_true(answer("profile", "\"name\":\"default\""));
}

static void limit_shows_the_number_of_objects(void **state)
{
	(void)state;
	assert_true(answer("limit pd", "\"limit\":262143"));
	core.hca->profile->range[OBJ_UAR].limit = core.hca->profile->range[OBJ_UAR].first + 24;
	assert_true(answer("limit uar", "\"limit\":24"));
	core.hca->profile->log_min_ack_timeout = 17;
	core.hca->profile->no_write_combining = true;
	assert_true(answer("limit log_min_ack_timeout", "\"limit\":17"));
	assert_true(answer("limit no_write_combining", "\"limit\":1"));
	core.hca->profile->min_wqe_inline_mode = 3;
	assert_true(answer("limit min_wqe_inline_mode", "\"limit\":3"));
}

/* A UAR of the limit is what ALLOC_UAR allocates, with large pages a page of UARs. */
static void limit_of_uars_follows_the_page_size(void **state)
{
	uint8_t *c = core.hca->cap[CAP_GENERAL];

	(void)state;
	assert_true(answer("limit uar", "\"limit\":8092}"));
	IFC_SET(cmd_hca_cap, c, log_uar_page_sz, 4);
	assert_true(answer("limit uar", "\"limit\":505}"));
	IFC_SET(cmd_hca_cap, c, uar_4k, 1);
	assert_true(answer("limit uar", "\"limit\":505}"));
	assert_true(answer("limit pd", "\"limit\":262143}"));
}

static void rates_are_listed(void **state)
{
	struct rate *rate;

	(void)state;
	assert_true(answer("rates", "\"list\":[]"));
	rate = (struct rate *)obj_new_at(core.hca, OBJ_RATE, 3, 5, sizeof(*rate));
	rate->obj.refs = 2;
	IFC_SET(set_pp_rate_limit_context, rate->ctx, rate_limit, 1000);
	IFC_SET(set_pp_rate_limit_context, rate->ctx, burst_upper_bound, 7);
	IFC_SET(set_pp_rate_limit_context, rate->ctx, typical_packet_size, 64);
	assert_true(answer("rates", "[{\"index\":3,\"uid\":5,\"set\":1,\"rate\":1000,\"burst\":7,"
			   "\"packet\":64,\"queues\":2}]"));
	rate->obj.refs = 0;
	obj_free(core.hca, &rate->obj);
}

/* A table of level 3 with one rule, which sends IPv6 to the table of level 7. */
static void flow_tables_are_dumped(void **state)
{
	struct flow_table *t[2];
	struct flow_dest *dest;
	struct flow_group *g;
	struct flow_counter *c;
	struct flow_entry *e;
	uint32_t *counter;
	unsigned int i;

	(void)state;
	assert_true(answer("steering dump", "\"root\":0,\"tables\":[]"));
	for (i = 0; i < 2; i++) {
		t[i] = (struct flow_table *)obj_new_at(core.hca, OBJ_FLOW_TABLE, 5 + i, 0,
						       sizeof(**t));
		TAILQ_INIT(&t[i]->groups);
		t[i]->level = i ? 3 : 7;
		t[i]->log_size = 4;
	}
	flow_table_set_miss(core.hca, t[1], 5);
	flow_set_root(core.hca, FLOW_NIC_RX, t[1]);
	g = (struct flow_group *)obj_new_at(core.hca, OBJ_FLOW_GROUP, 9, 0, sizeof(*g));
	g->start = 2;
	g->end = 3;
	IFC_SET(fte_match_set_lyr_2_4, g->criteria, ip_version, 15);
	assert_true(flow_group_add(t[1], g));
	for (i = 0; i < 2; i++) {
		e = (struct flow_entry *)obj_new_at(core.hca, OBJ_FLOW_ENTRY, 1 + i, 0, sizeof(*e));
		e->index = 3 - i;
		e->action = i ? FLOW_FWD : FLOW_DROP;
		e->tag = i;
		IFC_SET(fte_match_set_lyr_2_4, e->value, ip_version, i ? 6 : 4);
		flow_entry_add(g, e);
	}
	dest = calloc(1, sizeof(*dest));
	*dest = (struct flow_dest){ FLOW_TO_TABLE, 5 };
	flow_entry_set_dests(core.hca, e, dest, 1);
	c = (struct flow_counter *)obj_new_at(core.hca, OBJ_FLOW_COUNTER, 33, 0, sizeof(*c));
	c->packets = 7;
	c->octets = 5000000000;
	counter = calloc(1, sizeof(*counter));
	*counter = 33;
	flow_entry_set_counters(core.hca, e, counter, 1);
	assert_true(answer("steering dump", "\"root\":6,\"tables\":[{\"id\":6,\"level\":3,"
			   "\"log_size\":4,\"miss\":5,\"groups\":[{\"id\":9,\"first\":2,\"last\":3,"
			   "\"criteria\":{\"ip_version\":15},\"entries\":2,\"list\":[{\"index\":2,"
			   "\"value\":{\"ip_version\":6},\"action\":\"forward\",\"tag\":1,"
			   "\"to\":[{\"table\":5}],\"counters\":[{\"id\":33,\"packets\":7,"
			   "\"octets\":5000000000}]},{\"index\":3,\"value\":{\"ip_version\":4},"
			   "\"action\":\"drop\",\"tag\":0,\"to\":[]}]}]},{\"id\":5,\"level\":7,"
			   "\"log_size\":4,\"miss\":0,\"groups\":[]}]"));
	assert_true(answer("steering dump 1", "\"action\":\"forward\",\"tag\":1,"
			   "\"to\":[{\"table\":5}],\"counters\":[{\"id\":33,\"packets\":7,"
			   "\"octets\":5000000000}]}]}]"));
	hca_free_objects(core.hca);
}

static int up_eth(void **state)
{
	core_eth = true;
	core_add_module(&control_module);
	return core_up_init(state);
}

static int down_eth(void **state)
{
	core_eth = false;
	return core_down(state);
}

/* The second frame is for another address, the third is not padded. All bytes are as given. */
static void frames_are_injected(void **state)
{
	const struct eth_stats *s = &core.hca->eth->stats;
	char line[5000] = "inject frame ";
	struct eth_frame *fr;

	(void)state;
	assert_true(answer("inject frame 02b1ebe1000002000000000208060A0b", "\"ok\":true"));
	assert_true(answer("inject frame 02b1ebe100990200000000020806", "\"ok\":true"));
	fr = eth_rx(core.hca);
	assert_non_null(fr);
	assert_int_equal(fr->head.len, ETH_FRAME_PADDED);
	assert_memory_equal(eth_frame_data(fr) + 12, "\x08\x06\x0a\x0b\0", 5);
	eth_frame_free(fr);
	assert_null(eth_rx(core.hca));
	assert_int_equal(s->phy_rx.frames[ETH_UNICAST], 2);
	assert_int_equal(s->rx_other_address, 1);
	core.hca->eth->mtu = 4096;
	memset(line + 13, 'f', 4096);
	assert_true(answer(line, "\"ok\":true"));
	fr = eth_rx(core.hca);
	assert_non_null(fr);
	eth_frame_free(fr);
	memset(line + 13, 'f', 4098);
	assert_true(answer(line, "usage: inject frame HEX"));
	assert_true(answer("inject frame", "usage: inject frame HEX"));
	assert_true(answer("inject frame ffffffffffff0200000000020g06", "usage: inject frame HEX"));
	assert_true(answer("inject frame ffffffffffff02000000000208060",
			   "usage: inject frame HEX"));
	assert_true(answer("inject frame ffffffffffff02000000000208", "usage: inject frame HEX"));
	assert_true(answer("impair corrupt=100", "\"ok\":true"));
	assert_true(answer("inject frame ffffffffffff0200000000020806", "\"ok\":true"));
	assert_null(eth_rx(core.hca));
	assert_true(answer("counters", "\"packets_corrupted\":1"));
	assert_true(answer("link down", "\"ok\":true"));
	assert_true(answer("inject frame ffffffffffff0200000000020806", "the link is down"));
}

static void an_infiniband_port_gets_no_frames(void **state)
{
	(void)state;
	assert_true(answer("inject frame ffffffffffff0200000000020806", "an InfiniBand port"));
}

/* A datagram of the HCA to itself. */
static struct packet *datagram(void)
{
	struct packet *p = packet_alloc(core.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->dlid = fabric_lid(core.hca);
	p->dqpn = 2;
	return p;
}

static void port_changes_as_a_subnet_manager_does(void **state)
{
	(void)state;
	assert_true(answer("port lid 77", "\"ok\":true"));
	assert_int_equal(fabric_lid(core.hca), 77);
	assert_true(answer("port lid 128 7", "\"ok\":true"));
	assert_int_equal(fabric_lmc(core.hca), 7);
	assert_true(answer("port lid 80 3", "\"ok\":true"));
	assert_int_equal(fabric_lmc(core.hca), 3);
	assert_true(answer("port pkey 3 0x8003", "\"ok\":true"));
	assert_int_equal(pkey_table_get(core.hca, 3), 0x8003);
}

static uint8_t set_address(unsigned int index, unsigned int version, bool tagged)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 9, 0, 1 };
	static const uint8_t mac[6] = { 2, 0xb1, 0xeb, 0xe1, 0, 0xa };
	uint8_t set[IFC_SZ(set_roce_address_in)] = { 0 };
	uint8_t *c = IFC_ADDR(set_roce_address_in, set, roce_address);

	IFC_SET(set_roce_address_in, set, opcode, MLX5_CMD_OP_SET_ROCE_ADDRESS);
	IFC_SET(set_roce_address_in, set, roce_address_index, index);
	memcpy(IFC_ADDR(roce_addr_layout, c, source_l3_address), gid, sizeof(gid));
	memcpy(IFC_ADDR(roce_addr_layout, c, source_mac_47_32), mac, sizeof(mac));
	IFC_SET(roce_addr_layout, c, roce_version, version);
	IFC_SET(roce_addr_layout, c, vlan_valid, tagged);
	IFC_SET(roce_addr_layout, c, vlan_id, tagged ? 7 : 0);
	return core_cmd(set, sizeof(set), out, IFC_SZ(set_roce_address_out));
}

static void addresses_are_listed(void **state)
{
	(void)state;
	assert_true(answer("addresses", "the port has no RoCE"));
	IFC_SET(cmd_hca_cap, core.hca->cap[CAP_GENERAL], roce, 1);
	IFC_SET(roce_cap, core.hca->cap[CAP_ROCE], roce_version, 5);
	IFC_SET(roce_cap, core.hca->cap[CAP_ROCE], l3_type, 6);
	IFC_SET(roce_cap, core.hca->cap[CAP_ROCE], roce_address_table_size, 256);
	assert_true(answer("addresses", "\"list\":[]"));
	assert_true(answer("addresses 1", "takes no argument"));
	assert_int_equal(set_address(0, 0, false), ST_OK);
	assert_int_equal(set_address(255, 2, true), ST_OK);
	assert_true(answer("addresses", "\"list\":[{\"index\":0,\"version\":1,"
			   "\"gid\":\"0000:0000:0000:0000:0000:ffff:0a09:0001\","
			   "\"mac\":\"02:b1:eb:e1:00:0a\"},"
			   "{\"index\":255,\"version\":2,\"ip\":4,"
			   "\"gid\":\"0000:0000:0000:0000:0000:ffff:0a09:0001\","
			   "\"mac\":\"02:b1:eb:e1:00:0a\",\"vlan\":7}]"));
}

static void only_ethernet_ports_mark_packets(void **state)
{
	(void)state;
	assert_true(answer("ecn", "not an Ethernet port"));
}

static void link_is_impaired_until_off(void **state)
{
	struct impair *im = fabric_impair(core.hca);

	(void)state;
	assert_true(answer("impair", "\"settings\":{\"loss\":0.0,"));
	assert_true(answer("impair loss=1%,dup=0.5,delay_ms=7,seed=9",
			   "\"loss\":1.0,\"dup\":0.5,\"reorder\":0.0,\"corrupt\":0.0,"
			   "\"delay\":0.0,\"delay_ms\":7,\"seed\":9}"));
	assert_int_equal(impair_settings(im)->ppm[IMPAIR_LOSS], 10000);
	assert_true(answer("impair reorder=100", "\"ok\":true"));
	fabric_tx(core.hca, datagram());
	assert_true(answer("impair", "\"packets\":1,\"lost\":0,\"duplicated\":0,"
			   "\"reordered\":1,\"corrupted\":0,\"delayed\":0,\"held\":1}"));
	assert_true(answer("impair off", "\"reordered\":1,\"corrupted\":0,\"delayed\":0,"
			   "\"held\":0"));
	assert_true(answer("impair corrupt=100", "\"packets\":0"));
	fabric_tx(core.hca, datagram());
	assert_true(answer("impair", "\"corrupted\":1"));
	assert_true(answer("counters", "\"packets_corrupted\":1"));
	assert_true(answer("impair loss=200", "loss has to be a percentage"));
	assert_true(answer("impair corrupt", "corrupt has to be a percentage"));
	assert_true(answer("impair later=1", "no setting later"));
	assert_true(answer("impair loss=1 dup=1", "usage: impair [SETTINGS|off]"));
	assert_true(answer("impair", "\"corrupt\":100.0"));	/* not changed */
}

/* Send a command that the HCA refuses without an injection. */
static void refuse_one(void)
{
	assert_int_equal(core_simple(0xfff, 0, out), ST_BAD_OP);
}

#define UNKNOWN_CMD "{\"kind\":\"refuse\",\"name\":\"0xfff\",\"status\":\"BAD_OP_ERR\"," \
		    "\"cause\":\"OPCODE_UNKNOWN\",\"why\":\"no command 0xfff\",\"count\":"

static void refusals_that_nobody_announced_are_listed(void **state)
{
	(void)state;
	assert_true(answer("unexpected", "\"list\":[],\"unlisted\":0"));
	refuse_one();
	refuse_one();
	assert_true(answer("unexpected", "\"list\":[" UNKNOWN_CMD "2}]"));
	assert_true(answer("unexpected new", UNKNOWN_CMD "2}"));
	assert_true(answer("unexpected new", "\"list\":[]"));
	refuse_one();
	assert_true(answer("unexpected new", UNKNOWN_CMD "1}"));
	assert_true(answer("unexpected", UNKNOWN_CMD "3}"));
}

static void dropped_doorbells_that_nobody_announced_are_listed(void **state)
{
	(void)state;
	doorbell_drop(core.hca, DROP_WRONG_UAR, 5, 0x77);
	assert_true(answer("unexpected", "{\"kind\":\"drop\",\"name\":\"wrong_uar\","
			   "\"cause\":\"wrong_uar\",\"why\":\"UAR 5, number or offset 119\","
			   "\"count\":1}"));
	assert_true(answer("expect drop no_cq 1", "\"ok\":true"));
	doorbell_drop(core.hca, DROP_NO_CQ, 5, 0x77);
	assert_true(answer("expect clear", "\"missing\":[]"));
	assert_true(answer("unexpected", "\"count\":1}],"));
}

static void injected_refusals_are_not_listed(void **state)
{
	(void)state;
	assert_true(answer("inject cmd 1 LIM_ERR", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_LIM);
	assert_true(answer("inject op ALLOC_UAR BAD_OP", "\"ok\":true"));
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_BAD_OP);
	assert_true(answer("unexpected", "\"list\":[]"));
}

static void objects_left_at_teardown_are_listed(void **state)
{
	(void)state;
	core_alloc_uar();
	core_alloc_uar();
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_true(answer("unexpected", "[{\"kind\":\"left\",\"cause\":\"uar\",\"why\":"
			   "\"2 objects are left at TEARDOWN_HCA\",\"count\":1}]"));
	assert_int_equal(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_true(answer("unexpected", "\"count\":1}]"));
}

/* A driver that has no time to destroy its objects says so, as mlx5_core does at shutdown. */
static void forced_teardown_may_leave_objects(void **state)
{
	(void)state;
	core_alloc_uar();
	IFC_SET(teardown_hca_in, in, opcode, MLX5_CMD_OP_TEARDOWN_HCA);
	IFC_SET(teardown_hca_in, in, profile, MLX5_TEARDOWN_HCA_IN_PROFILE_FORCE_CLOSE);
	assert_int_equal(core_cmd(in, IFC_SZ(teardown_hca_in), out, 16), ST_OK);
	assert_int_equal(obj_total(core.hca), 0);
	assert_true(answer("unexpected", "\"list\":[]"));
}

/* Each announcement covers its opcode, its status and its number of refusals, and no more. */
static void announced_refusals_are_not_listed(void **state)
{
	(void)state;
	assert_true(answer("expect refuse 0xfff BAD_OP 2", "\"ok\":true"));
	refuse_one();
	refuse_one();
	assert_true(answer("unexpected", "\"list\":[]"));
	refuse_one();
	assert_true(answer("unexpected", UNKNOWN_CMD "1}"));
	assert_true(answer("expect refuse 0xfff LIM_ERR", "\"ok\":true"));
	assert_true(answer("expect refuse CREATE_CQ BAD_OP", "\"ok\":true"));
	refuse_one();
	assert_true(answer("unexpected", UNKNOWN_CMD "2}"));
	assert_true(answer("expect refuse any any any", "\"ok\":true"));
	refuse_one();
	assert_true(answer("unexpected", UNKNOWN_CMD "2}"));
}

static void announced_refusals_that_do_not_come_are_missing(void **state)
{
	(void)state;
	assert_true(answer("expect refuse 0xfff BAD_OP 2", "\"ok\":true"));
	assert_true(answer("expect refuse CREATE_CQ any any", "\"ok\":true"));
	assert_true(answer("expect drop wrong_uar", "\"ok\":true"));
	assert_true(answer("expect umr 3", "\"ok\":true"));
	assert_true(answer("expect overrun 2", "\"ok\":true"));
	assert_true(answer("expect left", "\"ok\":true"));
	refuse_one();
	assert_true(answer("expect clear", "\"missing\":[{\"kind\":\"refuse\",\"name\":\"0xfff\","
			   "\"status\":\"BAD_OP_ERR\",\"want\":2,\"seen\":1},"
			   "{\"kind\":\"drop\",\"name\":\"wrong_uar\",\"want\":1,\"seen\":0},"
			   "{\"kind\":\"umr\",\"want\":3,\"seen\":0},"
			   "{\"kind\":\"overrun\",\"want\":2,\"seen\":0},"
			   "{\"kind\":\"left\",\"want\":1,\"seen\":0}]"));
	assert_true(answer("expect clear", "\"missing\":[]"));
	refuse_one();
	assert_true(answer("unexpected", UNKNOWN_CMD "1}"));
}

/* One refusal or more, with any status. */
static void announcement_needs_neither_status_nor_number(void **state)
{
	(void)state;
	assert_true(answer("expect refuse 0xfff", "\"ok\":true"));
	refuse_one();
	refuse_one();
	assert_true(answer("unexpected", "\"list\":[]"));
	assert_true(answer("expect clear", "\"missing\":[]"));
}

/* Incidents count first for announcements with a number, then for announcements of any number. */
static void announcement_of_any_number_takes_the_rest(void **state)
{
	(void)state;
	assert_true(answer("expect refuse any any any", "\"ok\":true"));
	assert_true(answer("expect refuse 0xfff BAD_OP 2", "\"ok\":true"));
	refuse_one();
	refuse_one();
	refuse_one();
	assert_true(answer("expect clear", "\"missing\":[]"));
	assert_true(answer("unexpected", "\"list\":[]"));
}

static void everything_can_be_announced(void **state)
{
	(void)state;
	assert_true(answer("expect any", "\"ok\":true"));
	refuse_one();
	doorbell_drop(core.hca, DROP_NO_CQ, 5, 0x77);
	expect_incident(core.hca->expect, INCIDENT_UMR, 0, 0, "cause", "why");
	expect_incident(core.hca->expect, INCIDENT_OVERRUN, 0, 0, "cause", "why");
	assert_true(answer("unexpected", "\"list\":[]"));
	assert_true(answer("expect clear", "\"missing\":[]"));
	refuse_one();
	assert_true(answer("unexpected", UNKNOWN_CMD "1}"));
}

static void malformed_requests_are_answered(void **state)
{
	static const char *const bad[] = {
		"", "frob", "inject", "inject cmd", "inject cmd 0 LIM_ERR", "inject cmd 1 NO_SUCH",
		"inject cmd delay", "inject cmd delay 0", "inject cmd delay 5 0",
		"inject cmd delay 5 1 FOO", "inject cmd delay 5 1 0x10000", "inject cmd defer",
		"inject cmd defer 0", "inject cmd reorder 3",
		"inject op FOO LIM_ERR", "inject cqe eat", "inject umr 0",
		"inject cqe delay", "inject cqe delay 0", "inject cqe delay 0x100000000",
		"inject fault token 0", "inject event NONE",
		"trace", "link", "link sideways", "inject link", "inject link up up",
		"port", "port lid 0", "port lid 0xc000",
		"port lid 64 8", "port lid 65 1", "port lid 64 1 1",
		"port pkey 0", "port pkey 128 1", "port pkey 0 0x10000", "census all",
		"inject fatal 300",
		"cap", "cap general", "cap frob rc", "cap general frob",
		"cap general reserved_at_0", "cap general rc 1", "limit", "limit frob", "rates 1", "profile x",
		"steering", "steering frob", "steering dump x", "steering dump 1 2",
		"expect", "expect frob", "expect refuse", "expect refuse FROB", "expect drop",
		"expect refuse CREATE_CQ FROB", "expect refuse CREATE_CQ LIM_ERR 0",
		"expect refuse CREATE_CQ LIM_ERR 1 2", "expect drop frob", "expect drop no_qp 1 2",
		"expect umr x", "expect left x", "expect bug", "expect overrun 1 2", "expect any 1",
		"unexpected frob", "unexpected new 1",
		/* Numbers have neither a sign nor white space, and at most 64 bits. */
		"inject umr -1", "inject umr +1", "inject umr \v1", "inject umr \f1",
		"inject umr 1 -1", "inject umr 0x", "inject umr 0x10000000000000000",
		"inject cmd -1 LIM_ERR", "inject cmd 1 -18446744073709551608",
		"inject op -18446744073709551361 LIM_ERR", "inject fault token -1",
		"inject event -18446744073709551607", "inject event 0x22 1 -1",
		"inject event GENERAL_EVENT 0 256", "inject event 256",
		"inject event CQ_ERROR 0x1000000", "inject event COMM_EST 0x1000000",
		"inject event PORT_CHANGE 16", "inject event PAGE_REQUEST 0x100000000",
		"expect any -1", "expect umr -1",
		"port pkey +0 1", "trace dump -1", "trace dump x",
		/* One more than the greatest value, or one word too many. */
		"inject cmd 1 256", "inject cmd delay 600001", "inject cmd defer 600001",
		"inject cmd delay 5 1 NOP 1", "inject cmd reorder 1", "inject op 0 LIM_ERR",
		"inject op 0x1000 LIM_ERR",
		"inject op NOP LIM_ERR 0", "inject op NOP LIM_ERR 1 1", "inject cqe drop 0",
		"inject cqe drop x", "inject cqe delay 600001", "inject cqe delay 1 0",
		"inject umr 1 1 1", "inject umr reorder 1", "inject fault subtype",
		"inject fault subtype 256", "inject fault subtype 1 0", "inject fault nowrite 0",
		"inject fault token 1 1", "inject fatal 0", "inject fatal 256",
		"inject event NOP 1 1 1", "trace dump 1 1", "trace on on", "link up up",
		"port lid 0x10000", "port lid 256 8", "inject cmd 1", "limit pd pd",
		"impair off off", "plug", "rates x", "commands x", "inject fault",
		"inject fault x",
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_true(answer(bad[i], "\"ok\":false"));
}

static void greatest_values_are_accepted(void **state)
{
	static const char *const good[] = {
		"inject cmd 1 255", "inject cmd delay 600000", "inject cmd defer 600000 1 NOP",
		"inject op 0xfff LIM_ERR 1", "inject cqe drop", "inject cqe delay 600000 1",
		"inject umr 1 1", "inject fault subtype 255 1", "inject fault nowrite 1",
		"inject fault token 1", "trace dump 1", "inject fatal 255", "inject clear",
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(answer(good[i], "\"ok\":true"));
	assert_false(core.hca->fatal);
}

/* A firmware status has a name, with _ERR at its end or without. */
static void each_status_has_its_name(void **state)
{
	static const struct { const char *name; uint8_t status; } t[] = {
		{ "INT_ERR", 0x01 }, { "BAD_OP_ERR", 0x02 }, { "BAD_PARAM_ERR", 0x03 },
		{ "BAD_SYS_STATE_ERR", 0x04 }, { "BAD_RES_ERR", 0x05 }, { "RES_BUSY", 0x06 },
		{ "LIM_ERR", 0x08 }, { "BAD_RES_STATE_ERR", 0x09 }, { "IX_ERR", 0x0a },
		{ "BAD_INDEX_ERR", 0x0a }, { "NO_RES_ERR", 0x0f }, { "BAD_QP_STATE_ERR", 0x10 },
		{ "BAD_PKT_ERR", 0x30 }, { "BAD_SIZE_OUTS_CQES_ERR", 0x40 },
		{ "BAD_INP_LEN_ERR", 0x50 }, { "BAD_OUTP_LEN_ERR", 0x51 },
		{ "int", 0x01 }, { "bad_outp_len", 0x51 }, { "Lim_Err", 0x08 },
	};
	char line[60];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		snprintf(line, sizeof(line), "inject cmd 1 %s", t[i].name);
		assert_true(answer(line, "\"ok\":true"));
		assert_int_equal(core_simple(MLX5_CMD_OP_NOP, 0, out), t[i].status);
	}
}

/* A client cannot make the HCA keep injections without end. */
static void injections_are_limited(void **state)
{
	char line[60];
	unsigned int i;

	(void)state;
	for (i = 0; i < INJECT_MAX_CMDS; i++)
		assert_true(answer("inject cmd 1000 LIM_ERR", "\"ok\":true"));
	assert_true(answer("inject cmd 1000 LIM_ERR", "more than"));
	assert_true(answer("inject op NOP LIM_ERR", "more than"));
	/* An opcode has one delay: a second delay of the same opcode replaces the first. */
	for (i = 1; i <= INJECT_MAX_DELAYS + 1; i++) {
		snprintf(line, sizeof(line), "inject cmd delay 1 1 %u", i);
		assert_true(answer(line, i <= INJECT_MAX_DELAYS ? "\"ok\":true" : "more than"));
		snprintf(line, sizeof(line), "inject cmd defer 1 1 %u", i);
		assert_true(answer(line, i <= INJECT_MAX_DELAYS ? "\"ok\":true" : "more than"));
	}
	assert_true(answer("inject cmd delay 2 1 1", "\"ok\":true"));
	assert_true(answer("inject clear", "\"fired\":0"));
	assert_true(answer("inject cmd 1 LIM_ERR", "\"ok\":true"));
	/* So it does while an earlier delay has been used up. */
	assert_true(answer("inject cmd delay 1 1 ALLOC_PD", "\"ok\":true"));
	assert_true(answer("inject cmd delay 1 2 NOP", "\"ok\":true"));
	assert_int_equal(inject_cmd_delay(core.hca->inject, MLX5_CMD_OP_ALLOC_PD), 1);
	assert_true(answer("inject cmd delay 1 1 NOP", "\"ok\":true"));
	assert_int_equal(inject_cmd_delay(core.hca->inject, MLX5_CMD_OP_NOP), 1);
	assert_int_equal(inject_cmd_delay(core.hca->inject, MLX5_CMD_OP_NOP), 0);
}

/* An injected event has the number and subtype that were given, even the greatest that fit. */
static void event_has_its_number_and_subtype(void **state)
{
	const uint8_t *eqe = core.ram + CORE_FREE;
	uint32_t eqn;

	(void)state;
	assert_int_equal(core_create_eq(core_alloc_uar(), 4, CORE_FREE,
					1 << EV_COMM_EST | 1 << EV_CQ_ERROR | 1 << EV_PORT_CHANGE |
					1 << EV_PAGE_REQUEST, 0, &eqn), ST_OK);
	assert_true(answer("inject event COMM_EST 0xffffff 255", "\"ok\":true"));
	assert_int_equal(eqe[1], EV_COMM_EST);
	assert_int_equal(eqe[3], 255);
	assert_int_equal(get_be32(eqe + 32 + 24), 0xffffff);
	assert_true(answer("inject event CQ_ERROR 0xffffff", "\"ok\":true"));
	assert_int_equal(eqe[64 + 1], EV_CQ_ERROR);
	assert_int_equal(eqe[64 + 3], 0);
	assert_int_equal(get_be32(eqe + 64 + 32), 0xffffff);
	assert_int_equal(eqe[64 + 32 + 11], 1);
	assert_true(answer("inject event PORT_CHANGE 15 7", "\"ok\":true"));
	assert_int_equal(eqe[128 + 3], 7);
	assert_int_equal(eqe[128 + 32 + 8], 0xf0);
	assert_true(answer("inject event PORT_CHANGE", "\"ok\":true"));
	assert_int_equal(eqe[192 + 32 + 8], 0x10);
	assert_true(answer("inject event PAGE_REQUEST 0xffffffff", "\"ok\":true"));
	assert_int_equal(get_be32(eqe + 256 + 32 + 4), UINT32_MAX);
}

/* Each event can be injected by its name. */
static void each_event_has_its_name(void **state)
{
	static const struct { const char *name; uint8_t type; } t[] = {
		{ "PATH_MIG", 0x01 }, { "COMM_EST", 0x02 }, { "SQ_DRAINED", 0x03 },
		{ "CQ_ERROR", 0x04 }, { "WQ_CATAS_ERROR", 0x05 }, { "PATH_MIG_FAILED", 0x07 },
		{ "INTERNAL_ERROR", 0x08 }, { "PORT_CHANGE", 0x09 }, { "PAGE_REQUEST", 0x0b },
		{ "WQ_INVAL_REQ_ERROR", 0x10 }, { "WQ_ACCESS_ERROR", 0x11 },
		{ "SRQ_CATAS_ERROR", 0x12 }, { "SRQ_LAST_WQE", 0x13 }, { "SRQ_RQ_LIMIT", 0x14 },
		{ "TEMP_WARN_EVENT", 0x17 }, { "GENERAL_EVENT", 0x22 },
	};
	const uint8_t *eqe = core.ram + CORE_FREE;
	uint64_t events = 0;
	unsigned int i, first = 0;
	char line[60];
	uint32_t eqn;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++)
		events |= 1ull << t[i].type;
	assert_int_equal(core_create_eq(core_alloc_uar(), 6, CORE_FREE, events, 0, &eqn), ST_OK);
	/* The new event queue has got the events of a cable and of the power. */
	while (first < 64 && eqe[64 * first + 1] && !(eqe[64 * first + 63] & 1))
		first++;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		snprintf(line, sizeof(line), "inject event %s 5", t[i].name);
		assert_true(answer(line, "\"ok\":true"));
		assert_int_equal(eqe[64 * (first + i) + 1], t[i].type);
	}
}

static void one_umr_fails_by_default(void **state)
{
	(void)state;
	assert_true(answer("inject umr", "\"ok\":true"));
	assert_true(inject_umr(core.hca->inject));
	assert_false(inject_umr(core.hca->inject));
}

static void link_is_an_injection_too(void **state)
{
	(void)state;
	assert_true(answer("inject link down", "\"ok\":true"));
	assert_false(fabric_link(core.hca));
	assert_true(answer("inject link up", "\"ok\":true"));
	assert_true(fabric_link(core.hca));
}

static void unplug_frees_all_objects(void **state)
{
	(void)state;
	core_alloc_uar();
	assert_true(answer("census reset", "\"ok\":true"));
	assert_true(answer("unplug", "\"ok\":true"));
	assert_true(answer("census", "\"unplugged\":true"));
	assert_true(answer("census", "\"total\":0,\"delta\":{\"uar\":-1}"));
	assert_int_equal(core_reg_read(0), 0xffffffff);
	assert_false(fabric_link(core.hca));
}

static void plugged_in_hca_is_as_after_power_on(void **state)
{
	uint32_t revision = core_reg_read(0);
	uint8_t before[64], after[64], on[] = { 0x06, 0x00 };

	(void)state;
	pci_power_on(core.hca);
	pci_config_read(core.hca, 0, before, sizeof(before));
	pci_config_write(core.hca, PCI_COMMAND, on, sizeof(on));
	assert_true(answer("plug", "\"ok\":false"));
	assert_true(answer("unplug", "\"ok\":true"));
	assert_true(answer("plug", "\"ok\":true"));
	pci_config_read(core.hca, 0, after, sizeof(after));
	assert_memory_equal(before, after, sizeof(before));
	pci_config_write(core.hca, PCI_COMMAND, on, sizeof(on));
	assert_int_equal(core_reg_read(0), revision);
	assert_true(fabric_link(core.hca));
	assert_false(answer("census", "unplugged"));
	assert_int_equal(core.hca->life, LIFE_RESET);
}

static void hang_leaves_commands_unanswered(void **state)
{
	(void)state;
	assert_true(answer("inject hang", "\"ok\":true"));
	core_put(0, in, driver_version(), 16);
	core_ring(1);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
}

static void fatal_error_is_in_the_health_buffer(void **state)
{
	uint32_t count;

	(void)state;
	assert_int_equal(core_reg_read(0x23c), 0);
	assert_true(answer("inject fatal", "\"ok\":true"));
	assert_int_equal(core_reg_read(0x23c) >> 16, 1);
	assert_int_equal(core_reg_read(0x238) >> 31, 1);
	count = core_reg_read(0x1010);
	assert_int_equal(core_reg_read(0x1010), count);
}

static void firmware_restarts_after_a_fatal_error(void **state)
{
	(void)state;
	core_alloc_uar();
	assert_true(answer("inject fatal", "\"ok\":true"));
	assert_true(answer("inject clear", "\"ok\":true"));
	assert_int_equal(core_reg_read(0x23c), 0);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 0);
	assert_int_equal(core.hca->life, LIFE_RESET);
}

/* Connect to the control socket at @path; returns a descriptor that does not block. */
static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(a.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void loop(void)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		event_base_loop(core.base, EVLOOP_NONBLOCK);
}

#define REQUEST		"limit pd\n"
#define REQUEST_LEN	(sizeof(REQUEST) - 1)

/* Send whole requests until the HCA reads no more, at most @max; returns their number. */
static unsigned int send_requests(int fd, unsigned int max)
{
	unsigned int n;

	for (n = 0; n < max; n++) {
		if (n % 64 == 0)
			loop();
		if (send(fd, REQUEST, REQUEST_LEN, 0) != REQUEST_LEN)
			break;
	}
	return n;
}

/* Read answers until no more come; returns their number. */
static unsigned int read_answers(int fd)
{
	unsigned int n = 0, i, idle;
	char buf[4096];
	ssize_t len;

	for (idle = 0; idle < 3; idle++) {
		loop();
		while ((len = recv(fd, buf, sizeof(buf), 0)) > 0)
			for (i = 0, idle = 0; i < len; i++)
				n += buf[i] == '\n';
	}
	return n;
}

/* More requests than the socket's buffers of both directions can hold. */
#define MANY 100000

/* Replace @path, a template for mkstemp(), by a path that is free, and listen there. */
static void listen_at(char *path)
{
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(control_listen(core.hca, path), 0);
}

static void socket_replaces_no_file(void **state)
{
	char path[] = "/tmp/test-control-XXXXXX";
	struct stat st;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(control_listen(core.hca, path), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
}

static void client_that_reads_no_answers_is_not_read(void **state)
{
	char path[] = "/tmp/test-control-XXXXXX";
	unsigned int sent;
	int fd;

	(void)state;
	listen_at(path);
	fd = connect_to(path);
	sent = send_requests(fd, MANY);
	assert_in_range(sent, 1000, MANY - 1);
	assert_int_equal(read_answers(fd), sent);
	assert_int_equal(send_requests(fd, 1), 1);
	assert_int_equal(read_answers(fd), 1);
	close(fd);
	loop();
}

/* Whether the HCA answers the client @fd; false if it has closed the connection. */
static bool is_served(int fd)
{
	char buf[256];

	loop();
	send(fd, REQUEST, REQUEST_LEN, MSG_NOSIGNAL);
	loop();
	return recv(fd, buf, sizeof(buf), 0) > 0;
}

/* A request may have as many bytes as a client may send without the end of a line. */
static void requests_are_limited(void **state)
{
	char path[] = "/tmp/test-control-XXXXXX", line[4096];
	int fd;

	(void)state;
	memset(line, 'x', sizeof(line));
	listen_at(path);
	fd = connect_to(path);
	assert_int_equal(send(fd, line, sizeof(line), 0), sizeof(line));
	assert_true(is_served(fd));
	assert_int_equal(send(fd, line, sizeof(line), 0), sizeof(line));
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_false(is_served(fd));
	close(fd);
	loop();
}

static void clients_are_limited(void **state)
{
	char path[] = "/tmp/test-control-XXXXXX";
	int fd[17];
	unsigned int i;

	(void)state;
	listen_at(path);
	for (i = 0; i < 16; i++) {
		fd[i] = connect_to(path);
		assert_true(is_served(fd[i]));
	}
	fd[16] = connect_to(path);
	assert_false(is_served(fd[16]));
	close(fd[16]);
	assert_true(is_served(fd[0]));
	close(fd[3]);
	loop();
	fd[3] = connect_to(path);
	assert_true(is_served(fd[3]));
	for (i = 0; i < 16; i++)
		close(fd[i]);
	loop();
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nth_command_fails_once), T(opcode_fails_until_cleared),
		T(commands_are_deferred), T(answers_are_delayed_and_reordered),
		T(firmware_restarts_after_a_fatal_error), T(census_shows_the_delta),
		T(census_counts_by_kind_and_user), T(injections_take_effect_so_often),
		T(clear_ends_every_injection),
		T(commands_are_counted), T(cap_shows_current_and_maximum),
		T(profile_has_a_name), T(limit_shows_the_number_of_objects),
		T(limit_of_uars_follows_the_page_size), T(rates_are_listed),
		T(flow_tables_are_dumped), T(an_infiniband_port_gets_no_frames),
		cmocka_unit_test_setup_teardown(frames_are_injected, up_eth, down_eth),
		cmocka_unit_test_setup_teardown(addresses_are_listed, up_eth, down_eth),
		T(trace_decodes_command_fields),
		T(capture_is_switched_off_and_on),
		T(port_changes_as_a_subnet_manager_does), T(link_is_impaired_until_off),
		T(only_ethernet_ports_mark_packets),
		T(link_is_an_injection_too), T(one_umr_fails_by_default),
		T(refusals_that_nobody_announced_are_listed),
		T(dropped_doorbells_that_nobody_announced_are_listed),
		T(objects_left_at_teardown_are_listed), T(forced_teardown_may_leave_objects),
		T(injected_refusals_are_not_listed), T(announced_refusals_are_not_listed),
		T(announced_refusals_that_do_not_come_are_missing),
		T(announcement_needs_neither_status_nor_number),
		T(greatest_values_are_accepted), T(injections_are_limited),
		T(event_has_its_number_and_subtype), T(each_event_has_its_name),
		T(each_status_has_its_name), T(each_counter_has_its_name),
		T(announcement_of_any_number_takes_the_rest), T(everything_can_be_announced),
		T(malformed_requests_are_answered), T(unplug_frees_all_objects),
		T(plugged_in_hca_is_as_after_power_on),
		T(socket_replaces_no_file), T(requests_are_limited), T(clients_are_limited),
		T(client_that_reads_no_answers_is_not_read), T(hang_leaves_commands_unanswered),
		T(fatal_error_is_in_the_health_buffer),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
