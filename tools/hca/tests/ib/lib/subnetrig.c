// SPDX-License-Identifier: GPL-2.0
/*
 * A rig for tests of the subnet: makes HCAs on one fabric, and sends and receives their packets.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "address.h"
#include "eq.h"
#include "evrig.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "looprig.h"
#include "mcast.h"
#include "mem.h"
#include "object.h"
#include "packet.h"
#include "port.h"
#include "profile.h"
#include "sma.h"
#include "subnet.h"
#include "subnetrig.h"

/* The rig serves the fuzzer, too, which is not linked with cmocka. */
#define must(x)	do { if (!(x)) abort(); } while (0)

#define EQ_MEM	0x100000
#define QKEY	0x80010000u

struct net net;
static struct profile profile;

static const struct hca_module *const modules[] = {
	&eq_module, &mcast_module, &fabric_module, &address_module, &port_module, NULL
};

static const struct board board = { .modules = modules, .irq = &evrig_irq_ops };

static void net_event(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype,
		      const uint8_t *data)
{
	unsigned int h = hca->index;

	(void)eqn;
	(void)data;
	if (type == EV_PORT_CHANGE)
		net.event[h][net.events[h]++ % sizeof(net.event[h])] = subtype;
}

static struct hca *net_hca(unsigned int h, struct event_base *base)
{
	struct hca *hca = hca_create(&board, base, net.fabric, &profile, h);
	int fd = memfd_create("guest", 0);

	must(hca && fd >= 0 && !ftruncate(fd, 4096));
	must(!mem_map_fd(hca, EQ_MEM, 4096, fd, 0, true, true));
	close(fd);
	evrig_eq(hca, EQ_MEM, ~1ull);
	return hca;
}

static void net_prepare(void)
{
	unsigned int k;

	memset(&net, 0, sizeof(net));
	memset(&profile, 0, sizeof(profile));
	for (k = 0; k < OBJ_KINDS; k++)
		profile.range[k] = (struct obj_range){ 0x10, 0x1000 };
	profile.cap_valid[CAP_GENERAL] = true;
	profile.pkey[0] = 0xffff;
	profile.pkey[1] = 0x8001;
	profile.gids = 2;
	profile.mtu = 4096;
	profile.part = 4119;
	profile.link_speed = SPEED_EDR;
	profile.port_caps = 0x2651e848;
	evrig_set_handler(net_event);
	net.base = event_base_new();
	net.fabric = fabric_new(&ib_packet_type);
	must(net.base && net.fabric);
}

void net_up(bool manager)
{
	unsigned int h;

	net_prepare();
	must(!subnet_start(net.fabric, net.base, manager));
	for (h = 0; h < NET_HCAS; h++)
		net.hca[h] = net_hca(h, net.base);
}

void net_up_threads(bool manager)
{
	unsigned int h;

	net_prepare();
	for (h = 0; h <= NET_HCAS; h++)
		runner_up(&net.runner[h]);
	must(!subnet_start(net.fabric, loop_base(net.runner[NET_HCAS].loop), manager));
	for (h = 0; h < NET_HCAS; h++)
		net.hca[h] = net_hca(h, loop_base(net.runner[h].loop));
}

void net_down(void)
{
	unsigned int h;

	for (h = 0; h < NET_HCAS; h++) {
		if (!net.hca[h])	/* the test has destroyed it */
			continue;
		hca_free_objects(net.hca[h]);
		hca_destroy(net.hca[h]);
	}
	fabric_free(net.fabric);
	for (h = 0; h <= NET_HCAS && net.runner[h].loop; h++)
		runner_down(&net.runner[h]);
	event_base_free(net.base);
}

/*
 * In the first turn of the event loop an agent answers; in the next, an HCA sees the link that the
 * agent has changed and the packet that it has forwarded; in the third, the agent sees what the HCA
 * has changed.
 */
void net_turn(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		event_base_loop(net.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

void net_send(unsigned int h, unsigned int qpn, uint16_t dlid, const uint8_t *mad)
{
	struct packet *p = packet_alloc(net.fabric);

	must(p);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(net.hca[h]);
	ib_hdr(p)->dlid = dlid;
	p->pkey = 0xffff;
	p->qkey = qpn ? QKEY : 0;
	p->sqpn = qpn;
	p->dqpn = qpn;
	p->head.len = MAD_BYTES;
	memcpy(p->payload, mad, MAD_BYTES);
	fabric_tx(net.hca[h], p);
	net_turn();
}

bool net_take(unsigned int h)
{
	struct packet *p;

	net_turn();
	p = fabric_rx(net.hca[h]);
	if (!p)
		return false;
	memcpy(net.out, p->payload, MAD_BYTES);
	net.out_slid = ib_hdr(p)->slid;
	net.out_dlid = ib_hdr(p)->dlid;
	packet_free(net.fabric, p);
	return true;
}

void net_firmware(unsigned int h)
{
	struct packet *p;

	while ((p = fabric_rx(net.hca[h]))) {
		sma_receive(net.hca[h], p);
		packet_free(net.fabric, p);
	}
	net_turn();
}

void net_smp(uint8_t *mad, uint8_t method, uint16_t attr, uint32_t mod)
{
	memset(mad, 0, MAD_BYTES);
	mad[OFF_VERSION] = 1;
	mad[OFF_CLASS] = CLASS_SM_LID;
	mad[OFF_CLASS_VERSION] = 1;
	mad[OFF_METHOD] = method;
	put_be64(mad + OFF_TID, ++net.tid);
	put_be16(mad + OFF_ATTR, attr);
	put_be32(mad + OFF_MOD, mod);
}

void net_directed(uint8_t *mad, unsigned int hops, const uint8_t *path)
{
	mad[OFF_CLASS] = CLASS_SM_DIRECTED;
	mad[OFF_HOP_POINTER] = 1;
	mad[OFF_HOP_COUNT] = hops;
	put_be16(mad + OFF_DR_SLID, LID_PERMISSIVE);
	put_be16(mad + OFF_DR_DLID, LID_PERMISSIVE);
	memcpy(mad + OFF_INITIAL_PATH + 1, path, hops);
}

void net_sa(uint8_t *mad, uint8_t method, uint16_t attr, uint64_t mask)
{
	net_smp(mad, method, attr, 0);
	mad[OFF_CLASS] = CLASS_SA;
	mad[OFF_CLASS_VERSION] = 2;
	put_be64(mad + OFF_COMPONENTS, mask);
}
