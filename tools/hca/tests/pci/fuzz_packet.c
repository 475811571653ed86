// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the receiving side: packets of any content from the fabric to connected queue pairs,
 * requests and answers, with and without receive WQEs and work in progress.
 */
#include <string.h>

#include "corerig.h"
#include "dct.h"
#include "fabric.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "qp.h"
#include "worldrig.h"
#include "wqe.h"

#define MAX_PACKETS	32

static uint8_t service_of(const struct qp *qp)
{
	return qp->type == QPT_UD ? BTH_UD : qp->type == QPT_UC ? BTH_UC :
	       qp->type == QPT_XRC ? BTH_XRC : BTH_RC;
}

/*
 * To the DC target: CONNECT, DISCONNECT, or an operation of a connection of the DC initiator, which
 * has one of two numbers.
 */
static void fill_dc(struct packet *p, struct fuzz_in *in)
{
	static const uint8_t ops[] = { BTH_CONNECT, BTH_CONNECT, BTH_DISCONNECT };
	uint8_t how = fuzz_u8(in);

	p->dqpn = world.dct;
	p->sqpn = world.qp[WORLD_DCI];
	p->dc_connection = 1 + (how & 1);
	p->dc_key = WORLD_DC_KEY + !(how & 0x0e);
	p->psn = how >> 4;
	p->opcode = BTH_DC | (how & 0x10 ? p->opcode % 0x1c : ops[how % 3]);
}

/* Make the packet that the queue pair expects next, but for the fields that @how changes. */
static void fill(struct packet *p, struct fuzz_in *in, const struct qp *qp, uint8_t how)
{
	uint8_t op = fuzz_u8(in);

	ib_hdr(p)->slid = ib_hdr(p)->dlid = fabric_lid(core.hca);
	p->opcode = how & 1 ? op : service_of(qp) | op % 0x1c;
	p->pkey = 0xffff;
	p->dqpn = qp->obj.num;
	p->psn = how & 2 ? psn_add(qp->next_rcv_psn, fuzz_u8(in) - 8) : qp->next_rcv_psn;
	if (how & 4)
		p->psn = psn_add(qp->last_acked_psn, fuzz_u8(in) % 8);
	p->ack_req = how & 8;
	p->solicited = how & 16;
	p->qkey = qp->qkey;
	p->sqpn = world.qp[WORLD_UD];
	p->xrc_srqn = world.xrc_srq;
	p->va = WORLD_DATA + fuzz_u16(in);
	p->rkey = world.key[fuzz_u8(in) % WORLD_KEYS];
	p->dma_len = fuzz_u16(in);
	p->swap_add = fuzz_u32(in);
	p->compare = fuzz_u8(in);
	p->swap_mask = p->compare_mask = ~0ull;
	p->syndrome = fuzz_u8(in);
	p->msn = fuzz_u8(in);
	p->imm = p->rkey;
	p->head.len = fuzz_u8(in) & 1 ? fuzz_u16(in) % (PKT_MTU_MAX + 1) : qp->mtu;
	if (p->head.len > PKT_MTU_MAX)
		p->head.len = PKT_MTU_MAX;
	fuzz_take(in, p->payload, 16);
	if (qp->type == QPT_DCI)
		fill_dc(p, in);
}

/* Give the packet an address, a key or a length that no port would send. */
static void spoil(struct packet *p, struct fuzz_in *in)
{
	switch (fuzz_u8(in) % 8) {
	case 0:
		p->pkey = fuzz_u16(in);
		break;
	case 1:
		p->qkey = fuzz_u32(in);
		break;
	case 2:
		p->dqpn = fuzz_u8(in) & 1 ? fuzz_u8(in) % 4 : fuzz_u32(in) & 0xffffff;
		break;
	case 3:
		ib_hdr(p)->dlid = ib_hdr(p)->slid = fuzz_u16(in);
		break;
	case 4:
		ib_hdr(p)->grh = true;
		fuzz_take(in, ib_hdr(p)->dgid, 16);
		break;
	case 5:
		p->va = (uint64_t)fuzz_u32(in) << 32 | fuzz_u32(in);
		p->dma_len = fuzz_u32(in);
		break;
	case 6:
		p->xrc_srqn = world_live(OBJ_SRQ, fuzz_u8(in));
		p->rkey = fuzz_u32(in);
		break;
	default:
		p->head.len = fuzz_u8(in);
		break;
	}
}

static void step_packet(struct fuzz_in *in)
{
	const struct qp *qp = qp_find(core.hca, world_live(OBJ_QP, fuzz_u8(in)));
	struct packet *p = qp ? packet_alloc(core.fabric) : NULL;
	uint8_t how = fuzz_u8(in), n;

	if (!p)
		return;
	fill(p, in, qp, how);
	for (n = how >> 6; n; n--)
		spoil(p, in);
	fabric_tx(core.hca, p);
}

static void post(uint64_t ring, uint64_t record, unsigned int n, bool linked)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint8_t *w = core.ram + ring + i % 16 * 64;

		memset(w, 0, 64);
		put_be16(w + 2, (i + 1) % 16);
		put_be32(w + 16 * linked, 4096);
		put_be32(w + 16 * linked + 4, world.key[i % 2 ? WORLD_PAGED : WORLD_FLAT]);
		put_be64(w + 16 * linked + 8, WORLD_DATA + 256 * i);
		put_be32(w + 16 * linked + 20, LKEY_TERMINATE);
	}
	put_be32(core.ram + record, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t buf[2048];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	unsigned int n, i;
	uint8_t wqes = fuzz_u8(&in);

	world_up();
	for (i = 0; i < WORLD_SRQ; i++)
		post(world.ring[i], world.record[i], wqes % 18, false);
	post(world.srq_ring, world.srq_record, wqes % 18, true);
	for (n = 0; in.left && n < MAX_PACKETS; n++) {
		step_packet(&in);
		if (fuzz_u8(&in) & 1)
			world_pass(1);
	}
	world_pass(8);
	world_down();
	return 0;
}
