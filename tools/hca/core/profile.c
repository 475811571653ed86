// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: capabilities by name, the ranges of object numbers that follow from capabilities, and
 * the default profile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

/* Types of events, as MLX5_EVENT_TYPE_* in linux/mlx5/device.h; bits of user_affiliated_events. */
#define EVENT(type)	(1u << (type))
/* SQ_DRAINED, COMM_EST, CQ_ERROR, WQ_CATAS_ERROR. */
#define QUEUE_EVENTS	(EVENT(0x02) | EVENT(0x03) | EVENT(0x04) | EVENT(0x05))
/* WQ_INVAL_REQ_ERROR, WQ_ACCESS_ERROR. */
#define ERROR_EVENTS	(EVENT(0x10) | EVENT(0x11))
/* SRQ_CATAS_ERROR, SRQ_LAST_WQE, SRQ_RQ_LIMIT. */
#define SRQ_EVENTS	(EVENT(0x12) | EVENT(0x13) | EVENT(0x14))
/* DCT_DRAINED, DCT_KEY_VIOLATION. */
#define DCT_EVENTS	(EVENT(0x1c) | EVENT(0x1d))
#define OBJECT_EVENTS	(QUEUE_EVENTS | ERROR_EVENTS | SRQ_EVENTS | DCT_EVENTS)
#define PORT_CHANGE	EVENT(0x09)

/* Maximum and current values of the default profile. All capabilities not listed here are 0. */
static const struct def {
	const char *page, *field;
	uint32_t max, cur;
} defaults[] = {
	{ "general", "log_max_srq_sz", 15, 15 },
	{ "general", "log_max_qp_sz", 15, 15 },
	{ "general", "log_max_qp", 18, 18 },
	{ "general", "log_max_srq", 16, 16 },
	{ "general", "log_max_cq_sz", 22, 22 },
	{ "general", "log_max_cq", 18, 18 },
	{ "general", "log_max_eq_sz", 22, 22 },
	{ "general", "log_max_eq", 7, 7 },
	{ "general", "log_max_mkey", 22, 22 },
	{ "general", "terminate_scatter_list_mkey", 1, 1 },	/* the mkey 0x100 */
	{ "general", "dump_fill_mkey", 1, 1 },
	{ "general", "max_indirection", 4, 4 },
	{ "general", "fixed_buffer_size", 1, 1 },
	{ "general", "log_max_mrw_sz", 64, 64 },
	{ "general", "log_max_klm_list_size", 16, 16 },
	{ "general", "umr_extended_translation_offset", 1, 1 },
	{ "general", "log_max_ra_req_qp", 4, 4 },
	{ "general", "log_max_ra_res_qp", 4, 4 },
	{ "general", "log_max_ra_req_dc", 4, 4 },
	{ "general", "log_max_ra_res_dc", 4, 4 },
	{ "general", "log_max_dci_stream_channels", 5, 5 },
	{ "general", "log_max_dci_errored_streams", 5, 5 },
	{ "general", "gid_table_size", 0, 0 },		/* 8 entries */
	{ "general", "pkey_table_size", 0, 0 },		/* 128 entries */
	{ "general", "max_qp_cnt", 8, 8 },
	{ "general", "out_of_seq_cnt", 1, 1 },
	{ "general", "retransmission_q_counters", 1, 1 },
	{ "general", "enhanced_error_q_counters", 1, 1 },
	{ "general", "rts2rts_qp_counters_set_id", 1, 1 },
	{ "general", "qp_error_syndrome", 1, 1 },
	{ "general", "qpc_extension", 1, 1 },
	{ "general", "ib_virt", 1, 1 },
	{ "general", "vport_group_manager", 1, 1 },
	{ "general", "local_ca_ack_delay", 16, 16 },
	{ "general", "port_type", 0, 0 },
	{ "general", "num_ports", 1, 1 },
	{ "general", "log_max_msg", 30, 30 },
	{ "general", "cqe_version", 1, 1 },
	{ "general", "compact_address_vector", 1, 1 },
	{ "general", "drain_sigerr", 1, 1 },
	{ "general", "umr_fence", 1, 1 },	/* small fence */
	{ "general", "sctr_data_cqe", 1, 1 },
	{ "general", "dc_req_scat_data_cqe", 1, 1 },
	{ "general", "dct", 1, 0 },		/* off until the driver sets it by SET_HCA_CAP */
	{ "general", "atomic", 1, 1 },
	{ "general", "cq_oi", 1, 1 },
	{ "general", "cq_resize", 1, 1 },
	{ "general", "cq_moderation", 1, 1 },
	{ "general", "cq_eq_remap", 1, 1 },
	{ "general", "block_lb_mc", 1, 1 },
	{ "general", "imaicl", 1, 1 },
	{ "general", "qkv", 1, 1 },
	{ "general", "pkv", 1, 1 },
	{ "general", "set_deth_sqpn", 1, 1 },
	{ "general", "xrc", 1, 1 },
	{ "general", "ud", 1, 1 },
	{ "general", "uc", 1, 1 },
	{ "general", "rc", 1, 1 },
	{ "general", "uar_4k", 1, 0 },
	{ "general", "uar_sz", 5, 5 },
	{ "general", "log_pg_sz", 12, 12 },
	{ "general", "bf", 1, 1 },
	{ "general", "driver_version", 1, 1 },
	{ "general", "mcam_reg", 1, 1 },
	{ "general", "port_module_event", 1, 1 },
	{ "general", "general_notification_event", 1, 1 },
	{ "general", "log_bf_reg_size", 9, 9 },
	{ "general", "max_wqe_sz_sq", 1024, 1024 },
	{ "general", "max_wqe_sz_rq", 512, 512 },
	{ "general", "max_wqe_sz_sq_dc", 512, 512 },
	{ "general", "log_max_mcg", 10, 10 },
	{ "general", "max_qp_mcg", 240, 240 },
	{ "general", "log_max_transport_domain", 16, 16 },
	{ "general", "log_max_pd", 18, 18 },
	{ "general", "log_max_xrcd", 16, 16 },
	{ "general", "log_max_wq_sz", 15, 15 },
	{ "general", "log_max_sq", 10, 10 },
	{ "general", "log_uar_page_sz", 4, 0 },
	{ "general", "device_frequency_mhz", 156, 156 },
	{ "general", "device_frequency_khz", 156250, 156250 },
	{ "general", "num_of_uars_per_page", 1, 1 },
	{ "general", "cqe_128_always", 1, 1 },
	{ "general", "native_port_num", 1, 1 },
	{ "general", "pg", 1, 1 },
	{ "general", "log_max_uctx", 10, 10 },
	{ "general", "uctx_cap", 0x3, 0x3 },		/* RAW_TX, INTERNAL_DEV_RES */
	{ "general", "log_max_umem", 16, 16 },
	{ "general", "umem_uid_0", 1, 1 },
	{ "general", "null_mkey", 1, 1 },
	{ "general", "dp_ordering_ooo_all_rc", 1, 1 },
	{ "general", "dp_ordering_ooo_all_uc", 1, 1 },
	{ "general", "dp_ordering_ooo_all_ud", 1, 1 },
	{ "general", "dp_ordering_ooo_all_xrc", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.send", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.receive", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.write", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.read", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.atomic", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.uc_odp_caps.send", 1, 1 },
	{ "odp", "transport_page_fault_scheme_cap.ud_odp_caps.send", 1, 1 },
	/* Off until the driver sets them by SET_HCA_CAP. */
	{ "odp", "transport_page_fault_scheme_cap.rc_odp_caps.srq_receive", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.send", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.write", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.read", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.atomic", 1, 0 },
	{ "odp", "transport_page_fault_scheme_cap.xrc_odp_caps.srq_receive", 1, 0 },
	{ "general", "hca_cap_2", 1, 1 },
	{ "general_2", "log_min_mkey_entity_size", 12, 12 },
	{ "general_2", "max_mkey_log_entity_size_mtt", 34, 34 },
	{ "general_2", "max_mkey_log_entity_size_fixed_buffer", 40, 40 },
	{ "general_2", "umr_log_entity_size_5", 1, 1 },
	{ "general_2", "dp_ordering_force", 1, 1 },
	{ "atomic", "supported_atomic_req_8B_endianness_mode_1", 1, 1 },
	{ "atomic", "atomic_req_8B_endianness_mode", 1, 0 },
	/* Compare & swap, fetch & add, and both with masks. */
	{ "atomic", "atomic_operations", 0xf, 0xf },
	{ "atomic", "atomic_size_qp", 0x8, 0x8 },	/* 8 bytes */
	{ "atomic", "atomic_size_dc", 0x8, 0x8 },
	/* Events that users may subscribe to, by their types. */
	{ "general", "event_cap", 1, 1 },
	{ "device_event", "user_affiliated_events", OBJECT_EVENTS, OBJECT_EVENTS },
	{ "device_event", "user_unaffiliated_events", PORT_CHANGE, PORT_CHANGE },
	{ "general", "device_memory", 1, 1 },
	{ "device_memory", "memic", 1, 1 },
	{ "device_memory", "log_min_memic_alloc_size", 6, 6 },
	{ "device_memory", "log_max_memic_addr_alignment", 6, 6 },	/* 2^6 * 64 bytes: 4 KiB */
	/*
	 * BAR0 ends with the device memory, and with a window of the same size for each of the two
	 * operations on device memory.
	 */
	{ "device_memory", "memic_bar_start_addr", 0x1fa0000, 0x1fa0000 },
	{ "device_memory", "memic_bar_size", 0x20000, 0x20000 },
	{ "device_memory", "max_memic_size", 0x20000, 0x20000 },
	{ "device_memory", "memic_operations", 0x3, 0x3 },	/* increment, test & set */
};

/*
 * A doorbell or a CQE has the number of a queue pair, of a send queue, of a DC target or of a
 * receive queue, and does not say which. So all but queue pairs have the upper half of the numbers.
 */
#define FIRST_SQ	0x800000
#define FIRST_DCT	0xa00000
#define FIRST_RQ	0xc00000

/* The greatest number of 24 bits is no object's, because all ones mean "none" in many fields. */
#define NO_OBJECT	0xffffff

/*
 * Ranges of object numbers: from @first to before 2^log_cap, which is a capability, or before
 * @limit. An HCA need not have objects of an @optional kind.
 */
static const struct {
	enum obj_kind kind;
	uint32_t first;
	const char *log_cap;
	uint32_t limit;
	bool optional;
} ranges[] = {
	{ OBJ_EQ, 1, "log_max_eq", 0, false },
	{ OBJ_PD, 1, "log_max_pd", 0, false },
	{ OBJ_TD, 1, "log_max_transport_domain", 0, false },
	{ OBJ_XRCD, 1, "log_max_xrcd", 0, false },
	{ OBJ_QCOUNTER, 1, NULL, 256, false },
	{ OBJ_MKEY, 0x10, "log_max_mkey", 0, false },
	{ OBJ_CQ, 1, "log_max_cq", 0, false },
	{ OBJ_SRQ, 1, "log_max_srq", 0, false },
	{ OBJ_QP, 0x40, "log_max_qp", 0, false },
	{ OBJ_SQ, FIRST_SQ, "log_max_sq", 0, false },
	{ OBJ_MEMIC, 0, NULL, 1 << 16, false },
	{ OBJ_RESERVED_LKEY, 1, NULL, 2, false },
	{ OBJ_UCTX, 1, "log_max_uctx", 0, true },
	{ OBJ_UMEM, 1, "log_max_umem", 0, true },
	{ OBJ_TIS, 1, "log_max_tis", 0, true },
	{ OBJ_RQ, FIRST_RQ, "log_max_rq", 0, true },
	{ OBJ_RQT, 1, "log_max_rqt", 0, true },
	{ OBJ_TIR, 1, "log_max_tir", 0, true },
	{ OBJ_FLOW_GROUP, 1, NULL, 1 << 16, false },
	{ OBJ_DCT, FIRST_DCT, NULL, FIRST_DCT + (1 << 18), false },
	{ OBJ_RATE, 1, NULL, 1 << 16, false },
	{ OBJ_OTHER, 1, NULL, 1 << 16, false },
};

/**
 * profile_default_cap() - list the capabilities that the default profile names
 * @eth: of an Ethernet port
 * @i: 0, 1 and so on
 * @page: set to PAGE_*
 *
 * Return: name of the field, NULL if there are no more. A field may be named twice.
 */
const char *profile_default_cap(bool eth, unsigned int i, unsigned int *page)
{
	if (i >= ARRAY_SIZE(defaults))
		return eth ? profile_eth_cap(i - ARRAY_SIZE(defaults), page) : NULL;
	*page = cap_page_find(defaults[i].page) - cap_pages;
	return defaults[i].field;
}

/**
 * cap_memic() - read a current device memory capability of a profile
 * @p: the profile
 * @field: name of the field
 *
 * Return: its value.
 */
uint64_t cap_memic(const struct profile *p, const char *field)
{
	return cap_get(p, true, PAGE_DEV_MEM, field);
}

/**
 * profile_has_memic() - tell whether the HCA has device memory
 * @p: the profile
 */
bool profile_has_memic(const struct profile *p)
{
	return cap_gen(p, "device_memory") && cap_memic(p, "memic");
}

/*
 * Fill the bitmaps of access widths (log2) of each operation on device memory. mlx5_ifc.h has no
 * names for these bytes, but the tests of rdma-core read them. The HCA supports single bytes.
 */
static void profile_memic_op_sizes(struct profile *p)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		uint32_t ops = cap_get(p, i, PAGE_DEV_MEM, "memic_operations");

		p->cap[i][CAP_DEV_MEM][4] = ops >> MEMIC_INCREMENT & 1;
		p->cap[i][CAP_DEV_MEM][6] = ops >> MEMIC_TEST_AND_SET & 1;
	}
}

/* Parts: the PCI device id, the id that the health buffer shows, and the PCI Express link. */
static const struct part {
	unsigned int part, hw_id;
	struct pcie_link link;
} parts[] = {
	{ 4115, 0x209, { 3, 16 } }, { 4117, 0x20b, { 3, 8 } }, { 4119, 0x20d, { 3, 16 } },
	{ 4121, 0x20d, { 4, 16 } }, { 4123, 0x20f, { 4, 16 } }, { 4125, 0x212, { 4, 16 } },
	{ 4127, 0x216, { 4, 8 } }, { 4129, 0x218, { 5, 16 } },
};

static const struct part *profile_part(const struct profile *p)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].part == p->part)
			return &parts[i];
	return NULL;
}

/**
 * profile_hw_id() - the hardware id of the HCA's part
 * @p: the profile
 *
 * Return: the id that the health buffer shows; 0 for a part that the HCA does not know.
 */
uint32_t profile_hw_id(const struct profile *p)
{
	const struct part *part = profile_part(p);

	return part ? part->hw_id : 0;
}

/**
 * profile_pcie_link() - the PCI Express link of the HCA's part
 * @p: the profile
 *
 * Return: the link at its greatest speed and width; generation and lanes are 0 for a part that the
 * HCA does not know.
 */
struct pcie_link profile_pcie_link(const struct profile *p)
{
	const struct part *part = profile_part(p);

	return part ? part->link : (struct pcie_link){ 0 };
}

/**
 * profile_uar_end() - tell how much of BAR0 can have UARs
 * @p: the profile
 *
 * Return: the length, from the start of BAR0, in units of 4 KiB.
 */
uint32_t profile_uar_end(const struct profile *p)
{
	uint64_t memic = profile_has_memic(p) ? cap_memic(p, "memic_bar_start_addr") : UINT64_MAX;

	return memic >> p->log_bar_size ? 1u << (p->log_bar_size - UAR_LOG_SIZE) :
					  memic >> UAR_LOG_SIZE;
}

/* The number of flow counters is in two fields. */
static uint32_t profile_flow_counters(const struct profile *p)
{
	return cap_gen(p, "max_flow_counter_31_16") << 16 | cap_gen(p, "max_flow_counter_15_0");
}

/* The numbers of flow tables and of their entries, which are capabilities of another page. */
static void profile_set_flow_ranges(struct profile *p)
{
	const char *const rx = "flow_table_properties_nic_receive.";
	static const struct {
		enum obj_kind kind;
		const char *field;
	} flows[] = { { OBJ_FLOW_TABLE, "log_max_ft_num" }, { OBJ_FLOW_ENTRY, "log_max_flow" } };
	uint32_t counters;
	char name[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		uint64_t log;

		snprintf(name, sizeof(name), "%s%s", rx, flows[i].field);
		log = cap_get(p, true, PAGE_FLOW_TABLE, name);
		p->range[flows[i].kind] = (struct obj_range){
			.first = 1, .limit = log && log < 24 ? 1u << log : log ? NO_OBJECT : 2,
		};
	}
	counters = profile_flow_counters(p);
	p->range[OBJ_FLOW_COUNTER] = (struct obj_range){
		.first = 1,
		.limit = !counters ? 2 : counters < NO_OBJECT ? counters + 1 : NO_OBJECT,
	};
}

/**
 * profile_set_ranges() - derive the ranges of object numbers from the capabilities
 * @p: the profile
 */
void profile_set_ranges(struct profile *p)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct obj_range *r = &p->range[ranges[i].kind];

		r->first = ranges[i].first;
		r->limit = ranges[i].log_cap ? 1u << cap_gen(p, ranges[i].log_cap) :
					       ranges[i].limit;
		if (ranges[i].kind == OBJ_SQ || ranges[i].kind == OBJ_RQ)
			r->limit += r->first;
		if (r->limit > NO_OBJECT)
			r->limit = NO_OBJECT;
		/*
		 * profile_check() refuses an empty range. Without its capability the command that
		 * creates an object of an optional kind is refused, so the one number in the range
		 * is not used.
		 */
		if (ranges[i].optional && !cap_gen(p, ranges[i].log_cap))
			r->limit = r->first + 1;
	}
	profile_set_flow_ranges(p);
	p->range[OBJ_UAR].first = FIRST_UAR;
	p->range[OBJ_UAR].limit = profile_uar_end(p);
	profile_memic_op_sizes(p);
	p->cap_valid[CAP_ETH] = cap_gen(p, "eth_net_offloads");
	p->cap_valid[CAP_FLOW_TABLE] = cap_gen(p, "nic_flow_table");
	if (p->eth)
		p->cap_valid[CAP_ROCE] = cap_get(p, false, PAGE_GENERAL, "roce");
}

/**
 * profile_default() - make the built-in profile
 * @p: the profile, filled in
 * @eth: an Ethernet port instead of InfiniBand
 *
 * Return: 0, or -EINVAL if the headers lack a field that the table names.
 */
int profile_default(struct profile *p, bool eth)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	strcpy(p->name, "default");
	p->eth = eth;
	p->log_bar_size = 25;
	p->vectors = 32;
	p->boot_pages = 8;
	p->init_pages = 120;
	p->initializing_ms = 20;
	strcpy(p->fw_version, "16.35.4030");
	strcpy(p->psid, "BBL0000000001");
	p->pkey[0] = 0xffff;
	p->gids = 1;
	p->mtu = 4096;
	p->part = 4119;
	p->link_speed = SPEED_EDR;
	/* Traps, SL mapping, system image GUID, extended speeds, CM, and others. */
	p->port_caps = 0x2651e848;
	p->subnet_manager = true;
	p->max_translation_mb = 512;
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		const struct def *d = &defaults[i];

		if (!cap_put(p, false, cap_page_find(d->page), d->field, d->max) ||
		    !cap_put(p, true, cap_page_find(d->page), d->field, d->cur)) {
			fprintf(stderr, "bluebell-hca: mlx5_ifc.h has no capability %s.%s\n",
				d->page, d->field);
			return -EINVAL;
		}
	}
	if (eth && !profile_eth_set(p)) {
		fprintf(stderr, "bluebell-hca: mlx5_ifc.h lacks a capability of Ethernet\n");
		return -EINVAL;
	}
	p->core_clock_khz = cap_gen(p, "device_frequency_khz");
	profile_set_ranges(p);
	return 0;
}
