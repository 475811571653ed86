// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the transport tests: composes HCAs of everything up to the transport, and takes the
 * place of the driver.
 */
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "address.h"
#include "clock.h"
#include "cmd.h"
#include "cq.h"
#include "dc.h"
#include "dct.h"
#include "dispatch.h"
#include "eq.h"
#include "evrig.h"
#include "fabric.h"
#include "fault.h"
#include "hca.h"
#include "ib_link.h"
#include "ifc.h"
#include "looprig.h"
#include "mcast.h"
#include "mem.h"
#include "memic.h"
#include "mkey.h"
#include "object.h"
#include "packet.h"
#include "pairrig.h"
#include "pd.h"
#include "port.h"
#include "profile.h"
#include "qcounter.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
#include "resp.h"
#include "sched.h"
#include "srq.h"
#include "trace.h"
#include "watch.h"
#include "wqe.h"

/* The rig serves fuzzers, too, which are not linked with cmocka. */
#define must(x)	do { if (!(x)) abort(); } while (0)

#define QUEUES		0x10000000ull	/* guest memory for the rig's event and completion queues */
#define QUEUES_LEN	(1u << 20)
#define LOG_CQES	4		/* of 128 bytes */

struct rig rig;
static struct profile profile;
/* Protects the completions and events that the HCAs' threads record in the rig. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- completions and events ------------------------------------------------------------------ */

/* Decode struct mlx5_cqe64, which is the second half of the CQE at @cqe128. */
static void decode_cqe(struct rig_cqe *e, const uint8_t *cqe128)
{
	const uint8_t *cqe = cqe128 + 64;
	struct completion *c = &e->c;

	c->opcode = cqe[63] >> 4;
	c->qpn = get_be32(cqe + 56) & 0xffffff;
	c->s_wqe_opcode = cqe[56];
	c->wqe_counter = get_be16(cqe + 60);
	c->srqn_uidx = get_be32(cqe + 32);
	if (c->opcode == CQE_REQ_ERR || c->opcode == CQE_RESP_ERR) {
		c->error = cqe[52] << 16 | cqe[54] << 8 | cqe[55];
		return;
	}
	e->time = get_be64(cqe + 48);
	c->byte_cnt = get_be32(cqe + 44);
	c->imm_inval_pkey = get_be32(cqe + 36);
	c->is_tm = cqe[40] == 1;
	c->tm.op = cqe[41];
	c->tm.index = get_be16(cqe + 42);
	c->tm.success = cqe[0] >> 7;
	c->tm.hw_phase = get_be16(cqe + 4);
	memcpy(c->tm.header, cqe, TM_HEADER_BYTES);
	if (cqe[63] >> 2 & 3) {
		c->inline_len = c->byte_cnt;
		memcpy(e->data, cqe[63] >> 2 & 1 ? cqe : cqe128, c->byte_cnt);
		c->inline_data = e->data;
	}
	if (cqe[63] >> 2 & 1)
		return;
	c->ml_path = cqe[17];
	c->slid = get_be16(cqe + 22);
	c->src_qp = get_be32(cqe + 24) & 0xffffff;
	c->grh = cqe[24] >> 4 & 1;
	c->sl = cqe[24] & 0xf;
	c->vlan = cqe[29] & 1;
	c->tci = get_be16(cqe + 30);
}

static void take_cqe(struct hca *hca, uint32_t cqn)
{
	struct cq *cq = cq_find(hca, cqn);
	struct rig_cqe *e;
	uint8_t cqe[128];

	must(cq);
	must(!qmem_read(hca, &cq->mem, ((cq->pi - 1) & (cq->cnt - 1)) * sizeof(cqe), cqe,
			sizeof(cqe)));
	pthread_mutex_lock(&lock);
	must(rig.ncqe < RIG_CQES);
	e = &rig.cqe[rig.ncqe++];
	memset(e, 0, sizeof(*e));
	e->cqn = cqn;
	decode_cqe(e, cqe);
	pthread_mutex_unlock(&lock);
	cq->armed = true;
}

static void take_event(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype,
		       const uint8_t *data)
{
	(void)eqn;
	if (!type) {
		take_cqe(hca, get_be32(data + 24));
		return;
	}
	if (rig.on_event && rig.on_event(hca, type, subtype, data))
		return;
	pthread_mutex_lock(&lock);
	must(rig.nevents < 64);
	rig.event[rig.nevents].qpn = get_be32(data + 24);
	rig.event[rig.nevents++].type = type;
	pthread_mutex_unlock(&lock);
}

void rig_listen_to_faults(bool on)
{
	uint64_t bit = 1ull << EV_PAGE_FAULT;
	unsigned int h;

	for (h = 0; h < 2; h++)
		rig.eq[h]->events[0] = (rig.eq[h]->events[0] & ~bit) | (on ? bit : 0);
}

void rig_cq(unsigned int h, uint32_t cqn)
{
	struct hca *hca = rig.hca[h];
	struct cq *cq = (struct cq *)obj_new_at(hca, OBJ_CQ, cqn, 0, sizeof(*cq));

	if (!cq)		/* exists: another queue pair uses it, too */
		return;
	must(4096ull * (cqn + 1) < QUEUES_LEN);
	cq->hca = hca;
	cq->eqn = rig.eq[h]->obj.num;
	cq->cnt = 1u << LOG_CQES;
	cq->cqe_sz = 128;
	cq->overrun_ok = true;
	cq->armed = true;
	cq->mem = (struct queue_mem){ .npages = 1, .log_page = 12, .len = 128u << LOG_CQES };
	cq->mem.pas = calloc(1, sizeof(uint64_t));
	cq->mem.pas[0] = QUEUES + 4096ull * (cqn + 1);
}

/* ---- up and down ----------------------------------------------------------------------------- */

static const struct hca_module *const objects[] = {
	&eq_module, &pd_module, &qcounter_module, &memic_module, &mkey_module, &cq_module,
	&srq_module, &mcast_module, &qp_module, &dct_module, NULL
};

static const struct hca_module *const ib_modules[] = {
	&fabric_module, &address_module, &port_module, NULL
};

static const struct hca_module *const transport[] = {
	&sched_module, &fault_module, &req_module, &watch_module, &dc_module, &dispatch_module,
	NULL
};

static void ib_path(struct qp_path *path, unsigned int h)
{
	path->rlid = fabric_lid(rig.hca[h]);
}

static const struct rig_net ib_net = {
	.modules = ib_modules, .link = &ib_link, .path = ib_path,
};

static const struct hca_module *modules[32];
static struct board board = {
	.modules = modules, .irq = &evrig_irq_ops, .qp = &transport_qp_ops, .cqe_lost = qp_lost_cqe,
};

/* Put @net between the objects and the transport. */
static void compose(const struct rig_net *net)
{
	const struct hca_module *const *part[] = { objects, net->modules, transport };
	unsigned int i, n = 0;

	for (i = 0; i < 3; i++)
		for (; *part[i]; part[i]++)
			modules[n++] = *part[i];
	modules[n] = NULL;
	must(n < sizeof(modules) / sizeof(*modules));
	board.link = net->link;
	rig.net = net;
}

static void map(struct hca *hca, uint64_t iova, size_t len)
{
	int fd = memfd_create("guest", 0);

	must(fd >= 0);
	must(!ftruncate(fd, len));
	must(!mem_map_fd(hca, iova, len, fd, 0, true, true));
	close(fd);
}

static void hca_up(unsigned int h, struct event_base *base)
{
	struct hca *hca = hca_create(&board, base, rig.fabric, &profile, h);

	must(hca);
	if (getenv("RIG_TRACE"))
		must(!trace_to_file(hca->trace, "/dev/stderr", 0));
	map(hca, RIG_BASE, RIG_MEM);
	map(hca, QUEUES, QUEUES_LEN);
	must(obj_new_at(hca, OBJ_PD, RIG_PD, 0, sizeof(struct obj)));
	must(obj_new_at(hca, OBJ_PD, RIG_PD + 1, 0, sizeof(struct obj)));
	rig.hca[h] = hca;
	rig.mem[h] = mem_ptr(hca, RIG_BASE, RIG_MEM, true);
	rig.eq[h] = evrig_eq(hca, QUEUES, ~(1ull | 1ull << EV_PAGE_FAULT));
}

static void rig_prepare(void **state, const struct rig_net *net)
{
	unsigned int k;

	/* A test that failed before its end has left the rig up. */
	if (rig.fabric)
		rig_down(state);
	memset(&rig, 0, sizeof(rig));
	compose(net);
	for (k = 0; k < OBJ_KINDS; k++)
		profile.range[k] = (struct obj_range){ 0x40, 0x1000 };
	profile.cap_valid[CAP_ATOMIC] = true;
	profile.cap_valid[CAP_GENERAL] = true;
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], imaicl, 1);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], atomic, 1);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], max_wqe_sz_sq, 1024);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], max_wqe_sz_sq_dc, 512);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], compact_address_vector, 1);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], log_max_mcg, 10);
	IFC_SET(cmd_hca_cap, profile.cap[1][CAP_GENERAL], max_qp_mcg, 240);
	profile.pkey[0] = 0xffff;
	profile.pkey[1] = 0x8001;
	profile.pkey[2] = 0x0001;
	profile.gids = 3;
	profile.mtu = 4096;
	IFC_SET(atomic_caps, profile.cap[1][CAP_ATOMIC], atomic_req_8B_endianness_mode, 1);
	IFC_SET(atomic_caps, profile.cap[1][CAP_ATOMIC], atomic_operations, 0xf);
	evrig_set_handler(take_event);
	if (net->profile)
		net->profile(&profile);
	rig.fabric = fabric_new(net->type ? net->type : &ib_packet_type);
	must(!net->start || !net->start(rig.fabric));
}

void rig_up_on(const struct rig_net *net)
{
	rig_prepare(NULL, net);
	rig.base = event_base_new();
	hca_up(0, rig.base);
	hca_up(1, rig.base);
}

int rig_up(void **state)
{
	(void)state;
	rig_up_on(&ib_net);
	return 0;
}

int rig_up_threads(void **state)
{
	unsigned int h;

	rig_prepare(state, &ib_net);
	for (h = 0; h < 2; h++) {
		runner_up(&rig.runner[h]);
		hca_up(h, loop_base(rig.runner[h].loop));
	}
	return 0;
}

void rig_start(void)
{
	runner_start(&rig.runner[0], "hca 0");
	runner_start(&rig.runner[1], "hca 1");
}

static void rig_stop(void)
{
	unsigned int h;

	for (h = 0; h < 2 && rig.runner[h].loop; h++)
		runner_stop(&rig.runner[h]);
}

int rig_down(void **state)
{
	unsigned int h;

	(void)state;
	rig_stop();
	hca_destroy(rig.hca[0]);
	hca_destroy(rig.hca[1]);
	fabric_free(rig.fabric);
	rig.fabric = NULL;
	if (rig.base)
		event_base_free(rig.base);
	for (h = 0; h < 2 && rig.runner[h].loop; h++)
		runner_down(&rig.runner[h]);
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

uint64_t rig_alloc(unsigned int h, size_t len)
{
	uint64_t at = rig.brk[h];

	rig.brk[h] += (len + 63) & ~63ull;
	must(rig.brk[h] <= RIG_MEM);
	return RIG_BASE + at;
}

void *rig_ptr(unsigned int h, uint64_t addr)
{
	return rig.mem[h] + (addr - RIG_BASE);
}

uint32_t rig_mkey(unsigned int h, uint64_t addr, uint64_t len, unsigned int access)
{
	struct mkey *mk = (struct mkey *)obj_new(rig.hca[h], OBJ_MKEY, 0, sizeof(*mk));
	uint8_t *c = mk->mkc;

	IFC_SET(mkc, c, mkey_7_0, 0x7a);
	IFC_SET(mkc, c, lr, !!(access & MK_LOCAL_READ));
	IFC_SET(mkc, c, lw, !!(access & MK_LOCAL_WRITE));
	IFC_SET(mkc, c, rr, !!(access & MK_REMOTE_READ));
	IFC_SET(mkc, c, rw, !!(access & MK_REMOTE_WRITE));
	IFC_SET(mkc, c, a, !!(access & MK_ATOMIC));
	IFC_SET(mkc, c, qpn, 0xffffff);
	IFC_SET(mkc, c, pd, RIG_PD);
	IFC_SET64(mkc, c, start_addr, addr);
	IFC_SET64(mkc, c, len, len);
	mkey_decode(mk);
	return mk->obj.num << 8 | 0x7a;
}

struct mkey *rig_umr_key(unsigned int h, unsigned int octowords, uint8_t mode)
{
	uint32_t key = rig_mkey(h, 0, 0, MK_LOCAL_READ);
	struct mkey *mk = mkey_find(rig.hca[h], key);

	IFC_SET(mkc, mk->mkc, access_mode_1_0, mode & 3);
	IFC_SET(mkc, mk->mkc, access_mode_4_2, mode >> 2);
	IFC_SET(mkc, mk->mkc, umr_en, 1);
	IFC_SET(mkc, mk->mkc, free, 1);
	IFC_SET(mkc, mk->mkc, log_page_size, 12);
	mkey_decode(mk);
	mk->nent = mode == MKM_MTT ? 2 * octowords : octowords;
	mk->mtt = mode == MKM_MTT ? calloc(mk->nent, sizeof(*mk->mtt)) : NULL;
	mk->klm = mode == MKM_MTT ? NULL : calloc(mk->nent, sizeof(*mk->klm));
	return mk;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

struct qp *rig_qp(unsigned int h, enum qp_type type, uint32_t cqn)
{
	struct qp *qp = (struct qp *)obj_new(rig.hca[h], OBJ_QP, 0, sizeof(*qp));
	uint64_t ring;

	must(qp);
	rig.brk[h] = (rig.brk[h] + 4095) & ~4095ull;
	ring = rig_alloc(h, 8192);
	qp->type = type;
	qp->uar = RIG_UAR;
	qp->pdn = RIG_PD;
	qp->user_index = 0x1000 + qp->obj.num;
	qp->cqe_version1 = true;
	qp->mem.pas = calloc(2, sizeof(uint64_t));
	qp->mem.pas[0] = ring;
	qp->mem.pas[1] = ring + 4096;
	qp->mem.npages = 2;
	qp->mem.log_page = 12;
	qp->mem.len = 8192;
	qp->has_sq = true;
	qp->rq_cnt = 64;
	qp->rq_shift = 6;
	qp->sq_off = 4096;
	qp->sq_cnt = 64;
	qp->dbr.addr = rig_alloc(h, 8);
	qp->cqn_snd = cqn;
	qp->cqn_rcv = cqn + 1;
	rig_cq(h, cqn);
	rig_cq(h, cqn + 1);
	qp->mtu = type == QPT_UD ? 4096 : 1024;
	qp->log_msg_max = 20;
	qp->qkey = 0x1111;
	qp->rre = qp->rwe = qp->rae = true;
	qp->atomic_mode = ATOMIC_8B;
	qp->retry_count = 7;
	qp->rnr_retry = 7;
	qp->min_rnr_nak = 12;
	qp->max_rd_atomic = 4;
	qp->max_dest_rd_atomic = 4;
	qp->path.ack_timeout = 8;
	qp->log_ack_req_freq = 8;
	qp->drain_event = true;
	transport_qp_ops.state(rig.hca[h], qp, QPS_RST, QPS_RST);
	return qp;
}

void rig_state(unsigned int h, struct qp *qp, enum qp_state now)
{
	qp_set_state(rig.hca[h], qp, now);
}

void rig_free_qp(unsigned int h, struct qp *qp)
{
	transport_qp_ops.destroy(rig.hca[h], qp);
	free(qp->mem.pas);
	obj_free(rig.hca[h], &qp->obj);
}

struct srq *rig_srq(unsigned int h, enum srq_kind kind, uint32_t pdn)
{
	uint32_t num = RIG_SRQ + obj_count(rig.hca[h], OBJ_SRQ);
	struct srq *s = (struct srq *)obj_new_at(rig.hca[h], OBJ_SRQ, num, 0, sizeof(*s));

	s->kind = kind;
	s->cyclic = kind == SRQ_RMP;
	s->mem.pas = calloc(1, sizeof(uint64_t));
	s->mem.pas[0] = rig_alloc(h, 4096);
	s->mem.npages = 1;
	s->mem.log_page = 12;
	s->mem.len = 64 * RIG_SRQ_WQES;
	s->cnt = RIG_SRQ_WQES;
	s->shift = 6;
	s->dbr.addr = rig_alloc(h, 8);
	s->pdn = pdn;
	return s;
}

void rig_srq_recv(unsigned int h, struct srq *srq, uint64_t addr, uint32_t len, uint32_t lkey)
{
	uint8_t *rec = rig_ptr(h, srq->dbr.addr);
	uint32_t n = get_be32(rec);
	uint8_t *w = rig_ptr(h, srq->mem.pas[0] + n % RIG_SRQ_WQES * 64);

	put_be32(w + 16, len);
	put_be32(w + 20, lkey);
	put_be64(w + 24, addr);
	put_be32(w + 32, 0);
	put_be32(w + 36, LKEY_TERMINATE);
	put_be32(rec, n + 1);
}

static void to_rts(unsigned int h, struct qp *qp)
{
	rig_state(h, qp, QPS_INIT);
	rig_state(h, qp, QPS_RTR);
	rig_state(h, qp, QPS_RTS);
}

void rig_connect(struct qp *a, unsigned int ha, struct qp *b, unsigned int hb)
{
	a->remote_qpn = b->obj.num;
	b->remote_qpn = a->obj.num;
	rig.net->path(&a->path, hb);
	rig.net->path(&b->path, ha);
	a->next_send_psn = b->next_rcv_psn = 0xfffffe;	/* so that the PSN wraps around soon */
	b->next_send_psn = a->next_rcv_psn = 100;
	to_rts(ha, a);
	to_rts(hb, b);
}

static void qcounter_cmd(unsigned int h, uint16_t opcode, const uint8_t *in, uint8_t *out)
{
	const struct cmd_desc *d = qcounter_cmds;
	struct cmd cmd = { .in = in, .out = out };

	while (d->opcode != opcode)
		d++;
	must(!d->handler(rig.hca[h], &cmd));
}

void rig_count(unsigned int h, struct qp *qp)
{
	uint8_t in[IFC_SZ(alloc_q_counter_in)] = { 0 }, out[IFC_SZ(alloc_q_counter_out)] = { 0 };

	qcounter_cmd(h, MLX5_CMD_OP_ALLOC_Q_COUNTER, in, out);
	qp->counter_set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
}

const uint8_t *rig_counts(unsigned int h, const struct qp *qp)
{
	static uint8_t out[IFC_SZ(query_q_counter_out)];
	uint8_t in[IFC_SZ(query_q_counter_in)] = { 0 };

	IFC_SET(query_q_counter_in, in, counter_set_id, qp->counter_set);
	qcounter_cmd(h, MLX5_CMD_OP_QUERY_Q_COUNTER, in, out);
	return out;
}

static uint16_t *tail_of(unsigned int h, const struct qp *qp)
{
	return &rig.tail[h][qp->obj.num % RIG_QPS];
}

uint16_t rig_put(unsigned int h, struct qp *qp, const void *wqe, unsigned int ds)
{
	uint16_t *t = tail_of(h, qp), idx = *t;
	uint8_t b[1024];
	unsigned int i;

	memcpy(b, wqe, ds * 16);
	put_be32(b, (get_be32(b) & 0xff0000ff) | idx << 8);
	put_be32(b + 4, qp->obj.num << 8 | ds);
	for (i = 0; i < ds; i++)
		memcpy(rig_ptr(h, qp->mem.pas[1] + ((idx * 64u + i * 16) & 4095)), b + i * 16, 16);
	rig.last[h][qp->obj.num % RIG_QPS] = idx;
	*t += wqe_bbs(ds);
	return idx;
}

void rig_show(unsigned int h, struct qp *qp)
{
	put_be32(rig_ptr(h, qp->dbr.addr + DBR_SND), *tail_of(h, qp));
}

void rig_ring_wqe(unsigned int h, struct qp *qp, uint16_t idx)
{
	uint8_t db[8];

	memcpy(db, rig_ptr(h, qp->mem.pas[1] + idx * 64u % 4096), sizeof(db));
	put_be32(db + 4, qp->obj.num << 8 | db[7]);
	qp_send_doorbell(rig.hca[h], qp->uar, db, sizeof(db));
}

void rig_ring(unsigned int h, struct qp *qp)
{
	rig_ring_wqe(h, qp, rig.last[h][qp->obj.num % RIG_QPS]);
}

uint16_t rig_send(unsigned int h, struct qp *qp, const void *wqe, unsigned int ds)
{
	uint16_t idx = rig_put(h, qp, wqe, ds);

	rig_show(h, qp);
	rig_ring(h, qp);
	return idx;
}

void rig_recv(unsigned int h, struct qp *qp, uint64_t addr, uint32_t len, uint32_t lkey)
{
	uint8_t *rec = rig_ptr(h, qp->dbr.addr + DBR_RCV);
	uint32_t n = get_be32(rec);
	uint8_t *w = rig_ptr(h, qp->mem.pas[0] + (n % 64) * 64);

	put_be32(w, len);
	put_be32(w + 4, lkey);
	put_be64(w + 8, addr);
	put_be32(w + 16, 0);
	put_be32(w + 20, LKEY_TERMINATE);
	put_be32(rec, (n + 1) & 0xffff);
}

/* ---- WQEs ------------------------------------------------------------------------------------ */

void wq_ctrl(struct rig_wqe *w, uint8_t opcode, bool signaled, uint32_t imm)
{
	memset(w, 0, sizeof(*w));
	put_be32(w->b, opcode);
	w->b[11] = signaled ? 2 << 2 : 0;
	put_be32(w->b + 12, imm);
	w->ds = 1;
}

void wq_raddr(struct rig_wqe *w, uint64_t addr, uint32_t rkey)
{
	uint8_t *p = w->b + 16 * w->ds++;

	put_be64(p, addr);
	put_be32(p + 8, rkey);
}

void wq_atomic(struct rig_wqe *w, uint64_t swap_add, uint64_t compare)
{
	uint8_t *p = w->b + 16 * w->ds++;

	put_be64(p, swap_add);
	put_be64(p + 8, compare);
}

void wq_data(struct rig_wqe *w, uint64_t addr, uint32_t len, uint32_t lkey)
{
	uint8_t *p = w->b + 16 * w->ds++;

	put_be32(p, len);
	put_be32(p + 4, lkey);
	put_be64(p + 8, addr);
}

void wq_inline(struct rig_wqe *w, const void *data, uint32_t len)
{
	uint8_t *p = w->b + 16 * w->ds;

	put_be32(p, len | 0x80000000u);
	memcpy(p + 4, data, len);
	w->ds += (len + 4 + 15) / 16;
}

void wq_av(struct rig_wqe *w, uint16_t dlid, uint32_t qpn, uint32_t qkey, const uint8_t *dgid)
{
	uint8_t *p = w->b + 16 * w->ds;

	put_be32(p, qkey);
	put_be32(p + 8, qpn | 0x80000000u);
	put_be16(p + 14, dlid);
	if (dgid) {
		put_be32(p + 28, 1u << 30 | 0x12345);
		p[26] = 0x42;
		p[27] = 9;
		memcpy(p + 32, dgid, 16);
	}
	w->ds += 3;
}

/* ---- running --------------------------------------------------------------------------------- */

unsigned int rig_wait(unsigned int n, unsigned int ms)
{
	uint64_t end = clock_now_ns() + ms * 1000000ull;
	unsigned int come;

	do {
		pthread_mutex_lock(&lock);
		come = rig.ncqe;
		pthread_mutex_unlock(&lock);
		usleep(200);
	} while (come < n && clock_now_ns() < end);
	return come;
}

unsigned int rig_run(unsigned int n, unsigned int ms)
{
	uint64_t end = clock_now_ns() + ms * 1000000ull;

	while (rig.ncqe < n && clock_now_ns() < end) {
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		usleep(20);
	}
	return rig.ncqe;
}

void rig_settle(void)
{
	uint64_t tx;
	unsigned int quiet = 0;

	while (quiet < 30) {
		tx = rig.hca[0]->count.packets_tx + rig.hca[1]->count.packets_tx + rig.ncqe;
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		usleep(100);
		if (tx == rig.hca[0]->count.packets_tx + rig.hca[1]->count.packets_tx + rig.ncqe)
			quiet++;
		else
			quiet = 0;
	}
}

struct rig_cqe *rig_cqe(uint32_t cqn, unsigned int i)
{
	unsigned int n;

	for (n = 0; n < rig.ncqe; n++)
		if (rig.cqe[n].cqn == cqn && !i--)
			return &rig.cqe[n];
	return NULL;
}

unsigned int rig_events(uint8_t type)
{
	unsigned int i, n = 0;

	for (i = 0; i < rig.nevents; i++)
		n += rig.event[i].type == type;
	return n;
}
