/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The HCA, one PCI function: its life cycle, the modules that it consists of, and the calls by
 * which a lower module reaches an upper one. Each module keeps its state behind a pointer to a
 * type that only the module itself defines.
 */
#ifndef BLUEBELL_HCA_H
#define BLUEBELL_HCA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "count.h"
#include "trace.h"

struct cmd_desc;
struct event_base;
struct fabric;
struct hca;
struct link_ops;
struct nic;
struct nic_ops;
struct port_ops;
struct profile;
struct qp_ops;

#define HCA_PAGE_SIZE	4096
#define HCA_MAX_VECTORS	64

/*
 * A module with state for each HCA. init() is called once, in the order of the board's list. The
 * other functions are called in reverse order: reset() at TEARDOWN_HCA, DISABLE_HCA and device
 * reset, to free the module's objects whatever refers to them; restart() at device reset only, for
 * what must be as after power on; exit() at the end, after reset(). Any function may be NULL.
 */
struct hca_module {
	const char *name;
	int (*init)(struct hca *hca);
	void (*reset)(struct hca *hca);
	void (*restart)(struct hca *hca);
	void (*exit)(struct hca *hca);
};

/* How an event queue raises an interrupt. */
struct irq_ops {
	void (*raise)(struct hca *hca, unsigned int vector);
};

/*
 * The functions that receive the doorbells which a UAR page decodes. @bf holds @len bytes: the
 * first 8 of a WQE's control segment (a plain doorbell), or a whole WQE that came through
 * BlueFlame.
 */
struct doorbell_ops {
	void (*send)(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len);
	void (*cq_arm)(struct hca *hca, uint32_t uar, uint64_t val);
	void (*eq)(struct hca *hca, uint32_t uar, uint32_t val, bool arm);
};

/*
 * What an HCA is composed of. board/board.c has the board of the product; the tests of a folder
 * have a board with the modules of that folder and of the folders below.
 */
struct board {
	const struct hca_module *const *modules;	/* ended by NULL */
	const struct cmd_desc *const *cmds;		/* tables of commands, ended by NULL */
	const struct irq_ops *irq;
	const struct doorbell_ops *doorbells;
	const struct qp_ops *qp;			/* qp.h: the transport behind queue pairs */
	const struct link_ops *link;			/* link.h: the link layer of the port */
	const struct nic_ops *nic;	/* nic_ops.h: behind send and receive queues; or NULL */
	const struct port_ops *port;			/* fabric.h: what an operator can change */
	/* A CQE of queue @num could not be written: the queue has to fail. */
	void (*cqe_lost)(struct hca *hca, uint32_t num);
};

enum hca_life {
	LIFE_RESET,	/* before ENABLE_HCA */
	LIFE_ENABLED,	/* between ENABLE_HCA and INIT_HCA */
	LIFE_INIT,	/* INIT_HCA done: all commands but ENABLE_HCA are accepted */
};

struct hca {
	unsigned int index;		/* number of the HCA in this process, from 0 */
	struct event_base *base;	/* of the HCA's thread, which owns this structure */
	const struct board *board;
	struct profile *profile;
	struct fabric *fabric;		/* one for the ports of all HCAs of this process */
	enum hca_life life;
	unsigned int issi;		/* version of the interface that SET_ISSI chose */
	bool hung;			/* injected: handles no command, doorbell or packet, and
					 * posts no event */
	bool fatal;			/* the health buffer shows a firmware fatal error */
	bool unplugged;			/* removed from the bus: reads give all ones */
	bool dma_off;			/* no bus master, or in D3hot: no access to guest memory */
	uint64_t start_ns;		/* when the device clock was 0 */
	char node_desc[64];		/* the driver may change it */
	struct counters count;
	/*
	 * The HCA's thread takes this lock to change what other threads read: capabilities, the
	 * tables of P_Keys and GIDs, attributes of the port. Other threads take the lock to read;
	 * the HCA's thread reads without it. While it is held, no other lock is taken.
	 */
	pthread_mutex_t attr_lock;

	/* core */
	struct trace *trace;
	struct inject *inject;
	struct expect *expect;		/* announced incidents, and incidents not announced */
	struct cmds *cmds;		/* registry of commands */
	struct mem_map *mem;		/* guest memory */
	struct objs *objs;		/* tables of objects by kind */
	uint8_t (*cap)[4096];		/* current capabilities by type; read with hca_cap_gen() */

	/* objects */
	struct pages *pages;		/* pages that the driver gave */
	uint64_t xlt_bytes;		/* of the translation tables of all memory keys and umems */
	struct memics *memics;		/* device memory */
	struct mkey_absent *absent;	/* pages that the latest access did not find */
	struct cqs *cqs;
	struct qps *qps;
	struct mcasts *mcasts;		/* multicast groups */
	struct roce_addresses *roce_addresses;	/* of an Ethernet port */

	/* steering */
	struct steering *steering;	/* the root of the flow tables */

	/* cmd, fabric, transport */
	struct cmdif *cmdif;
	struct fabric_port *fabric_port;
	struct address_tables *addresses;	/* P_Keys and GIDs */
	struct port *port;		/* of InfiniBand */
	struct eth_port *eth;		/* or of Ethernet */
	struct roce *roce;		/* frames that are for queue pairs */
	struct sched *sched;
	struct faults *faults;
	struct req_pool *req_pool;
	struct watches *watches;	/* queues of failed QPs, whose records are polled */
	struct specials *specials;	/* QP0 and QP1 */
	struct dcs *dcs;		/* connections of DC targets */
	uint32_t dc_last_connection;	/* of DC initiators; 0: none was made */
	struct nic *nic;		/* send and receive queues without a queue pair */

	/* pci, control */
	struct pci *pci;
	struct iseg *iseg;
	struct uars *uars;
	struct vfu *vfu;
	struct control *control;
};

struct hca *hca_create(const struct board *board, struct event_base *base, struct fabric *fabric,
		       struct profile *p, unsigned int index);
void hca_destroy(struct hca *hca);
void hca_reset(struct hca *hca);
void hca_free_objects(struct hca *hca);
uint64_t hca_clock(struct hca *hca);
void doorbell_drop(struct hca *hca, enum drop_reason why, uint32_t uar, uint32_t num);

/* Record an event: hca_trace(hca, "cqe", "\"cqn\":%u", cqn). */
#define hca_trace(hca, ...) trace_event((hca)->trace, __VA_ARGS__)

#endif
