/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The in-process fabric: one switch that joins the ports of all HCAs of this process. The fabric
 * gives out GUIDs, carries packets, and queues packets at the port that they go to. All its links
 * are of one type, that of its packets. InfiniBand's switch is in this folder, Ethernet's in eth/.
 *
 * Each HCA may have an event loop, and so a thread, of its own, and the switch has one. Unless said
 * otherwise, the thread of an HCA calls the functions about that HCA, and the thread of the switch
 * calls the functions for the switch's agents.
 */
#ifndef BLUEBELL_FABRIC_H
#define BLUEBELL_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct event_base;
struct fabric;
struct forward;
struct hca;
struct hca_module;
struct impair;
struct packet;
struct packet_head;
struct packet_type;

#define SWITCH_LID	64	/* of the switch's port 0, if the fabric has a subnet manager */
#define SWITCH_GUID	0x02b1ebe100000001ull

/* States of a port, as in PortInfo. */
enum port_state { PORT_DOWN = 1, PORT_INIT = 2, PORT_ARMED = 3, PORT_ACTIVE = 4 };

/* LIDs of a port: 2^@lmc of them from @base, whose low @lmc bits are 0. */
struct lids {
	uint16_t base;
	uint8_t lmc;
};

/* The functions of the switch's port 0. */
struct fabric_agent {
	/* A packet came to the switch by @port; the fabric frees it afterwards. */
	void (*receive)(void *arg, unsigned int port, const struct packet *p);
	/* The link of @port went up or down. Called twice if it went down and came up again. */
	void (*port_changed)(void *arg, unsigned int port, bool up);
	void (*free)(void *arg);
};

/* What an operator can change at a port. A function is NULL if the port has no such thing. */
struct port_ops {
	void (*set_link)(struct hca *hca, bool up);
	bool (*set_lids)(struct hca *hca, uint16_t lid, uint8_t lmc);
	bool (*set_pkey)(struct hca *hca, unsigned int index, uint16_t pkey);
};

struct fabric *fabric_new(const struct packet_type *type);
void fabric_set_switch(struct fabric *f, void *sw, void (*release)(void *sw));
void *fabric_switch(const struct fabric *f);
void fabric_free(struct fabric *f);
void fabric_leave_unmanaged(struct fabric *f);
bool fabric_managed(const struct fabric *f);
void fabric_set_capture(struct fabric *f, struct capture *c);
struct capture *fabric_capture(const struct fabric *f);

/* For the switch's agents. */
int fabric_set_agent(struct fabric *f, struct event_base *base, const struct fabric_agent *agent,
		     void *arg);
bool fabric_move_lids(struct fabric *f, unsigned int port, const struct lids *from,
		      const struct lids *to);
struct forward *fabric_forward(struct fabric *f);
struct hca *fabric_peer(const struct fabric *f, unsigned int port);
void fabric_route(struct fabric *f, unsigned int from, struct packet *p);
void fabric_send(struct fabric *f, unsigned int port, struct packet *p);
bool fabric_busy(struct fabric *f, unsigned int port);
void fabric_set_far_link(struct hca *hca, bool up);

/* Identity and state of an HCA's port. Any thread may read it. */
unsigned int fabric_port_number(const struct hca *hca);
uint16_t fabric_lid(struct hca *hca);
uint64_t fabric_guid(struct hca *hca);
bool fabric_set_lids(struct hca *hca, uint16_t lid, uint8_t lmc);
uint8_t fabric_lmc(struct hca *hca);
uint8_t fabric_path_bits(struct hca *hca, uint16_t bits);
uint16_t fabric_mtu(struct hca *hca);
uint16_t fabric_link_mtu(struct hca *hca);
void fabric_set_mtu(struct hca *hca, bool far, uint16_t mtu);
void fabric_set_lanes(struct hca *hca, bool far, uint64_t sl_to_vl);
enum port_state fabric_state(struct hca *hca, bool far);
bool fabric_set_state(struct hca *hca, bool far, enum port_state state);

bool fabric_link(struct hca *hca);
void fabric_set_link(struct hca *hca, bool up);
void fabric_inject_drop(struct hca *hca, unsigned int skip, unsigned int count);
struct impair *fabric_impair(struct hca *hca);

/* For the layers above the fabric, which send and receive packets of any type. */
void fabric_record(struct fabric *f, const struct packet_head *h);
bool fabric_put(struct fabric *f, unsigned int from, unsigned int to, struct packet_head *h,
		bool waited);
bool fabric_waits(struct hca *hca, unsigned int port);
struct packet_head *fabric_take(struct hca *hca);

/* For the layers above an InfiniBand fabric. */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca));
void fabric_set_link_told(struct hca *hca, void (*told)(struct hca *hca, bool up));
void fabric_poll(struct hca *hca);
void fabric_tx(struct hca *hca, struct packet *p);
struct packet *fabric_rx(struct hca *hca);
bool fabric_rx_pending(struct hca *hca);
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid);

extern const struct hca_module fabric_module;

#endif
