// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of an Ethernet port: queue pairs for raw packets, flows to them, and counters of flows.
 */
#include <errno.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "bench.h"

static struct ibv_qp *raw;	/* to which the flows lead */
static struct ibv_flow *flow;
static struct ibv_counters *counters;

static struct ibv_qp *create_raw(struct bench *b, const struct row *row)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = ibv_create_qp(b->pd, &attr);

	if (!qp)
		die(row->name);
	return qp;
}

static void op_create(struct bench *b, const struct row *row)
{
	b->qp = create_raw(b, row);
}

static void op_destroy(struct bench *b, const struct row *row)
{
	if (ibv_destroy_qp(b->qp))
		die(row->name);
	b->qp = NULL;
}

/* The specifications of a flow stand behind its attributes without gaps. */
static void add_spec(struct ibv_flow_attr *attr, const void *spec, uint16_t size)
{
	memcpy((char *)attr + attr->size, spec, size);
	attr->size += size;
	attr->num_of_specs++;
}

/* A flow of all packets to a MAC address that nobody has. Counted if @count is not NULL. */
static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_counters *count)
{
	union {
		struct ibv_flow_attr attr;
		char bytes[256];
	} f = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(f.attr), .port = 1 },
	};
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth),
		.val.dst_mac = { 0x02, 0, 0, 0, 0, 1 },
		.mask.dst_mac = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	struct ibv_flow_spec_counter_action action = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(action), .counters = count,
	};

	add_spec(&f.attr, &eth, sizeof(eth));
	if (count)
		add_spec(&f.attr, &action, sizeof(action));
	return ibv_create_flow(qp, &f.attr);
}

static void make_raw(struct bench *b, const struct row *row)
{
	if (!raw)
		raw = create_raw(b, row);
}

static void op_flow(struct bench *b, const struct row *row)
{
	make_raw(b, row);
	flow = create_flow(raw, NULL);
	if (!flow)
		die(row->name);
}

static void op_destroy_flow(struct bench *b, const struct row *row)
{
	(void)b;
	if (ibv_destroy_flow(flow))
		die(row->name);
	flow = NULL;
}

static void destroy_raw(struct bench *b)
{
	(void)b;
	if (ibv_destroy_qp(raw))
		die("ibv_destroy_qp");
	raw = NULL;
}

static void make_counters(struct bench *b, const struct row *row)
{
	struct ibv_counters_init_attr attr = { 0 };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };

	if (counters)
		return;
	make_raw(b, row);
	counters = ibv_create_counters(b->ctx, &attr);
	if (!counters || ibv_attach_counters_point_flow(counters, &packets, NULL))
		die(row->name);
	flow = create_flow(raw, counters);
	if (!flow)
		die(row->name);
}

static void op_read(struct bench *b, const struct row *row)
{
	uint64_t value;

	(void)b;
	if (ibv_read_counters(counters, &value, 1, 0))
		die(row->name);
}

static void destroy_counters(struct bench *b)
{
	if (ibv_destroy_flow(flow) || ibv_destroy_counters(counters))
		die("ibv_destroy_counters");
	counters = NULL;
	destroy_raw(b);
}

const struct row raw_rows[] = {
	{ "raw QP create", .op = op_create, .after = op_destroy },
	{ "raw QP destroy", .before = op_create, .op = op_destroy },
	{ "flow create", .before = make_raw, .op = op_flow, .after = op_destroy_flow,
	  .finish = destroy_raw },
	{ "flow destroy", .before = op_flow, .op = op_destroy_flow, .finish = destroy_raw },
	{ "flow counters read", .before = make_counters, .op = op_read,
	  .finish = destroy_counters },
	{ 0 }
};
