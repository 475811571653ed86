/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The function's own state, for the files that make up the HCA: what each owns
 * is grouped and says so. Also the calls by which modules start, reset and stop.
 */
#ifndef BLUEBELL_HCA_PRIV_H
#define BLUEBELL_HCA_PRIV_H

#include <stdio.h>
#include "hca.h"

struct event;
struct json_object;

#define HCA_PAGE_SIZE	4096
#define HCA_MAX_VECTORS	64
#define HCA_CMD_SLOTS	32
#define HCA_CAP_SIZE	4096	/* of the union hca_cap_union */
#define HCA_CAP_TYPES	0x40	/* capability groups by number, MLX5_CAP_GENERAL = 0 … */
#define HCA_VIRT_UARS	2	/* UAR numbers 0 and 1 are the initialization segment's pages */

/* ---- profile.c: what this HCA is ------------------------------------------------- */

struct obj_range {
	uint32_t first;		/* least number handed out */
	uint32_t limit;		/* one more than the greatest */
};

struct profile {
	char name[64];
	bool eth;			/* link layer; false: InfiniBand */
	unsigned int log_bar_size;	/* BAR0, bytes */
	unsigned int vectors;		/* MSI-X */
	unsigned int boot_pages, init_pages;
	char fw_version[32];		/* "16.35.4030" */
	char psid[17];
	uint32_t core_clock_khz;
	struct obj_range range[OBJ_KINDS];
	unsigned int max_pkeys, max_gids;
	/* Capability pages: [0] what can be (max), [1] what is (current, before SET_HCA_CAP). */
	uint8_t cap[2][HCA_CAP_TYPES][HCA_CAP_SIZE];
	bool cap_valid[HCA_CAP_TYPES];
};

int profile_default(struct profile *p, bool eth);
/* Read @path over the default; on refusal -EINVAL and the reason in @why. */
int profile_load(struct profile *p, const char *path, char *why, size_t why_len);
int profile_check(const struct profile *p, char *why, size_t why_len);
bool profile_find_cap(const char *page, const char *field, unsigned int *type, uint32_t *off,
		      uint32_t *width);

/* ---- counters (ctrl.c prints them) ------------------------------------------------ */

struct hca_counters {
	uint64_t db_send, db_bf, db_cq, db_eq;	/* doorbells accepted */
	uint64_t db_drop[DROP_REASONS];
	uint64_t cqes, cqes_err, eqes, irqs;
	uint64_t page_faults, page_faults_failed;	/* raised; resumed with an error */
	uint64_t packets_tx, packets_rx, packets_dropped;
	uint64_t wqes_sq, wqes_rq;
	uint64_t umr, umr_refused;		/* UMR work requests */
	uint64_t cmds, cmds_failed;
	uint64_t reg_reads, reg_writes;
};

/* ---- modules ------------------------------------------------------------------------ */

/*
 * A file that keeps state for each HCA exports one of these; dev.c has the list. init() is called
 * once in list order; reset() at device reset, function reset and TEARDOWN_HCA in reverse order:
 * it frees the file's objects whatever refers to them; exit() at the end, after reset().
 */
struct hca_module {
	const char *name;
	int (*init)(struct hca *hca);
	void (*reset)(struct hca *hca);
	void (*exit)(struct hca *hca);
};

/* HCA core */
extern const struct hca_module cmdif_module, page_module, uar_module, eq_module;
/* objects */
extern const struct hca_module misc_module, mkey_module, cq_module, srq_module, qp_module;
extern const struct hca_module sq_module, memic_module, port_module, fault_module;
/* transport */
extern const struct hca_module transport_module, fabric_module;

/* ---- the function ---------------------------------------------------------------------- */

enum hca_life {
	LIFE_RESET,	/* before ENABLE_HCA */
	LIFE_ENABLED,	/* between ENABLE_HCA and INIT_HCA */
	LIFE_INIT,	/* INIT_HCA done: everything goes */
};

struct hca {
	unsigned int index;		/* of the HCAs in this process, 0 first */
	struct event_base *base;	/* the process's loop: timers and sockets go here */
	struct profile *profile;
	enum hca_life life;
	bool hung;			/* inject hang: commands and doorbells are not looked at */
	bool fatal;			/* health buffer says so */
	bool unplugged;

	struct vfu *vfu;		/* vfio_user.c: connection, interrupts */
	struct mem_map *mem;		/* mem.c */
	struct pci *pci;		/* pci.c: config space */
	struct iseg *iseg;		/* iseg.c: initialization segment, health, clock */
	struct cmdif *cmdif;		/* cmdif.c: command queue */
	struct pages *pages;		/* pages.c: pages the driver gave */
	struct uars *uars;		/* uar.c: BlueFlame assembly */
	struct eqs *eqs;		/* eq.c */
	struct objs *objs;		/* object.c: tables by kind */
	struct trace *trace;		/* trace.c: ring */
	struct ctrl *ctrl;		/* ctrl.c: control socket, injections, baseline */

	/* Current capabilities: profile's, narrowed by SET_HCA_CAP. Read with hca_cap(). */
	uint8_t (*cap)[HCA_CAP_SIZE];	/* [HCA_CAP_TYPES] */

	struct memics *memics;		/* memic.c: device memory */
	void *misc, *mkeys, *cqs, *srqs, *qps;	/* object files' own state, each cast by its owner */
	void *port;			/* port.c */
	void *faults;			/* fault.c */
	void *fabric_port;		/* fabric.c */
	void *transport;		/* transport */

	struct hca_counters count;
};

extern struct hca **hca_all;	/* of this process */
extern unsigned int hca_nr;

/* Current capability field of group MLX5_CAP_GENERAL (cmd_hca_cap). */
#define hca_cap_gen(hca, fld)	IFC_GET(cmd_hca_cap, (hca)->cap[0], fld)
#define hca_cap_atomic(hca, fld) IFC_GET(atomic_caps, (hca)->cap[3], fld)
#define HCA_CAP_ODP	2	/* struct mlx5_ifc_odp_cap_bits */

struct hca *hca_create(struct event_base *base, struct profile *p, unsigned int index);
void hca_destroy(struct hca *hca);
/* As after power on; objects gone, command interface stopped, interrupts kept. */
void hca_reset(struct hca *hca);
/* Objects only: TEARDOWN_HCA. */
void hca_free_objects(struct hca *hca);

/* Device clock, in ticks of profile->core_clock_khz, that CQE timestamps and the timer show. */
uint64_t hca_clock(struct hca *hca);

/* Health buffer: put a syndrome (MLX5_INITIAL_SEG_HEALTH_SYNDROME_*) and stop working. */
void hca_set_fatal(struct hca *hca, uint8_t synd, uint16_t ext_synd);

/* ---- interrupts (vfio_user.c, pci.c) --------------------------------------------------- */

void msix_raise(struct hca *hca, unsigned int vector);

/* ---- objects (object.c) ------------------------------------------------------------------ */

unsigned int obj_count(struct hca *hca, enum obj_kind kind);
/* As obj_new() with a number of the caller's choice; NULL if it is taken or memory is short. */
struct obj *obj_new_at(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid, size_t size);

/* ---- injections (ctrl.c) that other files ask about ---------------------------------------- */

/*
 * cq_complete() asks first: true means that the completion is dropped, or kept and delivered
 * later through cq_complete_now(), which does not ask.
 */
bool inject_cqe(struct hca *hca, uint32_t cqn, const struct completion *c);
const char *inject_umr(struct hca *hca, bool privileged);
void cq_complete_now(struct hca *hca, uint32_t cqn, const struct completion *c);

/* ---- port.c --------------------------------------------------------------------------------- */

void port_set_link(struct hca *hca, bool up);

#endif
