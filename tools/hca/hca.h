/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated HCA's shared vocabulary: the function itself, the objects that
 * firmware commands make, and the calls by which the layers reach each other.
 *
 * Layers, a call goes down or sideways, never up:
 * vfio_user -> pci -> cmdif / uar -> objects -> transport -> fabric.
 */
#ifndef BLUEBELL_HCA_H
#define BLUEBELL_HCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ifc.h"

struct event_base;
struct hca;
struct qp;

/* ---- guest memory (mem.c) --------------------------------------------- */

/* Host address of [iova, iova+len) if one mapped region covers it, else NULL. */
void *mem_ptr(struct hca *hca, uint64_t iova, size_t len, bool write);
/* Copy from/to guest memory; -EFAULT (nothing copied) if any byte is not mapped. */
int mem_read(struct hca *hca, uint64_t iova, void *buf, size_t len);
int mem_write(struct hca *hca, uint64_t iova, const void *buf, size_t len);

/* ---- firmware commands (cmdif.c) --------------------------------------- */

/* One command being executed; in/out are whole mailboxes (header included). */
struct cmd {
	uint16_t opcode;
	uint16_t op_mod;
	uint16_t uid;		/* user id in the command header, 0 for the kernel */
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;		/* zeroed, out_len bytes; status/syndrome are filled by cmdif */
	size_t out_len;
	uint32_t syndrome;	/* set by cmd_fail() */
	char why[120];		/* human reason, for the trace and the log */
};

/* Firmware status codes, as MLX5_CMD_STAT_*_ERR in linux/mlx5/device.h. */
enum cmd_status {
	ST_OK = 0x00, ST_INTERNAL = 0x01, ST_BAD_OP = 0x02, ST_BAD_PARAM = 0x03,
	ST_BAD_SYS_STATE = 0x04, ST_BAD_RES = 0x05, ST_RES_BUSY = 0x06,
	ST_LIM = 0x08, ST_BAD_RES_STATE = 0x09, ST_BAD_INDEX = 0x0a, ST_NO_RES = 0x0f,
	ST_BAD_INP_LEN = 0x50, ST_BAD_OUTP_LEN = 0x51, ST_BAD_QP_STATE = 0x10,
	ST_BAD_PKT = 0x30, ST_BAD_SIZE_OUTS_CQES = 0x40,
};

typedef uint8_t (*cmd_handler)(struct hca *hca, struct cmd *cmd);

struct cmd_desc {
	uint16_t opcode;
	const char *name;	/* "CREATE_QP" */
	uint16_t in_min;	/* least input/output length in bytes: BAD_INP_LEN / BAD_OUTP_LEN */
	uint16_t out_min;
	cmd_handler handler;
};

/* Each object file exports its table, ended by a NULL name; cmdif.c lists the tables. */
extern const struct cmd_desc dev_cmds[], cap_cmds[], page_cmds[], uar_cmds[], eq_cmds[];
extern const struct cmd_desc misc_cmds[], mkey_cmds[], cq_cmds[], srq_cmds[], qp_cmds[], port_cmds[];
extern const struct cmd_desc sq_cmds[], memic_cmds[], fault_cmds[];

/*
 * Refuse the command: record a syndrome that names the check (FILE_ID << 16 | line) and the
 * reason. Returns @status so that handlers write `return cmd_fail(cmd, ST_BAD_RES, "no PD %u", pdn)`.
 */
uint8_t cmd_fail_at(struct cmd *cmd, uint8_t status, uint32_t syndrome, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define cmd_fail(cmd, status, ...) \
	cmd_fail_at(cmd, status, (uint32_t)HCA_FILE_ID << 16 | __LINE__, __VA_ARGS__)
enum hca_file_id {
	FILE_CMDIF = 1, FILE_DEV, FILE_CAPS, FILE_PAGES, FILE_UAR, FILE_EQ, FILE_MISC,
	FILE_MKEY, FILE_CQ, FILE_SRQ, FILE_QP, FILE_PORT, FILE_SQ, FILE_MEMIC, FILE_FAULT,
};	/* each .c with handlers: #define HCA_FILE_ID FILE_QP */

/* ---- objects (object.c) -------------------------------------------------- */

enum obj_kind {
	OBJ_UAR, OBJ_EQ, OBJ_PD, OBJ_TD, OBJ_XRCD, OBJ_QCOUNTER, OBJ_MKEY, OBJ_CQ, OBJ_SRQ, OBJ_QP,
	OBJ_SQ, OBJ_MEMIC, OBJ_RESERVED_LKEY, OBJ_OTHER, OBJ_KINDS
};

/* First member of every object. Destroying one with refs > 0 is BAD_RES_STATE. */
struct obj {
	enum obj_kind kind;
	uint32_t num;
	uint16_t uid;
	unsigned int refs;	/* objects that point here */
	bool gone;		/* freed by a command; the number stays taken while refs > 0 */
	uint64_t born_ns;
};

extern const char *const obj_kind_name[OBJ_KINDS];
/* Takes the lowest free number of the kind, in [first, limit) of the profile; NULL: full (ST_LIM). */
struct obj *obj_new(struct hca *hca, enum obj_kind kind, uint16_t uid, size_t size);
struct obj *obj_find(struct hca *hca, enum obj_kind kind, uint32_t num);
/* As obj_find(), but an object of another non-zero uid is not found (uid 0 finds all). */
struct obj *obj_find_uid(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid);
/* One reference less; the last one of an object that is gone frees it. @obj may be NULL. */
void obj_put(struct hca *hca, struct obj *obj);
void obj_free(struct hca *hca, struct obj *obj);	/* asserts refs == 0 */
typedef bool (*obj_fn)(struct hca *hca, struct obj *obj, void *arg);	/* false stops */
void obj_for_each(struct hca *hca, enum obj_kind kind, obj_fn fn, void *arg);

/* ---- UAR and doorbells (uar.c decodes, these receive) ------------------- */

/* A BlueFlame or plain send doorbell: first 8 bytes of the control segment; @bf/@bf_len hold the
 * WQE bytes that arrived in the BlueFlame buffer (bf_len 8: a plain doorbell). Bytes as written.
 */
void qp_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len);
/* The same for a send queue that is no queue pair (sq.c); false: @num is none. */
bool sq_send_doorbell(struct hca *hca, uint32_t num, uint32_t uar, const uint8_t *bf,
		      size_t bf_len);
/* CQ doorbell register at 0x20 of UAR @uar: 8 bytes, big endian as written (host order here). */
void cq_arm_doorbell(struct hca *hca, uint32_t uar, uint64_t val);
void eq_doorbell(struct hca *hca, uint32_t uar, uint32_t val, bool arm);
/* A doorbell that is ignored: counted by reason and traced. */
enum drop_reason {
	DROP_NO_UAR, DROP_NO_QP, DROP_WRONG_UAR, DROP_NO_CQ, DROP_NO_EQ, DROP_BAD_OFFSET,
	DROP_BAD_SIZE, DROP_BAD_STATE, DROP_NO_MEMIC, DROP_REASONS
};
void doorbell_drop(struct hca *hca, enum drop_reason why, uint32_t uar, uint32_t num);

/* ---- event queues (eq.c) -------------------------------------------------- */

/* Post an EQE (28 bytes of event data) on an EQ by number / to all async EQs that subscribed. */
void eq_post(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype, const void *data28);
void eq_post_async(struct hca *hca, uint8_t type, uint8_t subtype, const void *data28);

/* ---- memory keys (mkey.c) -------------------------------------------------- */

enum mkey_access {
	MK_LOCAL_READ = 1, MK_LOCAL_WRITE = 2, MK_REMOTE_READ = 4, MK_REMOTE_WRITE = 8,
	MK_ATOMIC = 16,
};
struct mkey {
	struct obj obj;		/* obj.num is the index (24 bit) */
	uint8_t variant;	/* low byte of the key */
	bool free;		/* revoked or not yet filled (mkc.free) */
	bool length64;		/* covers the whole address space */
	bool remote_inval_ok;	/* en_rinval */
	bool umr_en;
	uint8_t mode;		/* MLX5_MKC_ACCESS_MODE_* PA 0, MTT 1, KLM 2, … */
	unsigned int access;	/* enum mkey_access; local read is not implied */
	uint32_t pdn, qpn;	/* qpn 0xffffff: any */
	uint64_t start, len;
	uint64_t memic_addr;	/* MEMIC mode: of byte 0 in BAR0; the key itself starts at 0 */
	struct obj *memic;	/* the allocation that it lies in */
	unsigned int log_page;	/* MTT mode */
	uint32_t nent;		/* translation entries allocated */
	uint64_t *mtt;		/* MTT mode: page addresses, and MTT_READ and MTT_WRITE of mkey.h */
	struct klm { uint32_t bcount, key; uint64_t va; } *klm;
	uint32_t *bound;	/* keys that a process bound this one to: a reference on each */
	uint32_t nbound;
	uint8_t mkc[64];	/* context as given, for QUERY_MKEY */
	/* PSV/signature are not modelled: caps say so */
};
struct mkey *mkey_find(struct hca *hca, uint32_t key);	/* key with variant; NULL if wrong or free */
/*
 * Check and copy through a key. @pdn must match; @access every needed bit. Returns 0, or a reason:
 */
enum mk_result {
	MK_OK = 0, MK_BAD_KEY, MK_BAD_PD, MK_BAD_ACCESS, MK_OUT_OF_RANGE, MK_FAULT,
	MK_NOT_PRESENT,		/* allowed, but software has to bring the page in first (fault.c) */
};
enum mk_result mkey_check(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			  uint64_t len, unsigned int access);
enum mk_result mkey_read(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			 void *buf, size_t len, unsigned int access);
enum mk_result mkey_write(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			  const void *buf, size_t len, unsigned int access);
/* Host pointer for an aligned 8-byte atomic, NULL with *res set on refusal. */
void *mkey_atomic_ptr(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
		      size_t len, enum mk_result *res);

/* ---- completion queues (cq.c) ---------------------------------------------- */

struct queue_mem {		/* a page list of a CQ/EQ/QP/SRQ buffer */
	uint64_t *pas;
	uint32_t npages;
	unsigned int log_page;
	uint32_t offset;	/* of the first entry in the first page, bytes */
	size_t len;
};
int qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len);
int qmem_write(struct hca *hca, const struct queue_mem *m, size_t off, const void *buf, size_t len);

/* What a completion says; cq.c builds the CQE (64 or 128 byte, owner bit, signature). */
struct completion {
	uint8_t opcode;		/* MLX5_CQE_* */
	uint8_t syndrome, vendor_syndrome;	/* error CQEs */
	uint32_t qpn;
	uint16_t wqe_counter;
	uint8_t s_wqe_opcode;	/* of the WQE, requester completions */
	uint32_t byte_cnt;
	uint32_t imm_inval_pkey; /* host order */
	uint32_t srqn_uidx;	/* 24 bits: srqn or user index */
	uint32_t src_qp;	/* UD */
	uint16_t slid;
	uint8_t sl, ml_path;
	bool grh;
	bool solicited;		/* responder: event wanted even if armed for solicited only */
	const uint8_t *inline_data;	/* scatter to CQE: up to 32 or 64 bytes */
	uint8_t inline_len;
};
struct cq;			/* in cq.c / cq.h */
void cq_complete(struct hca *hca, uint32_t cqn, const struct completion *c);

/* ---- queue pairs ------------------------------------------------------------ */
/* struct qp, struct srq: qp.h. qp.c: commands and state machine; req.c, resp.c: transport. */

/* ---- fabric (fabric.c) -------------------------------------------------------- */
/* Packets between ports: packet.h. LIDs are assigned here. */

/* ---- the function --------------------------------------------------------------- */

uint64_t hca_now_ns(void);
void hca_trace(struct hca *hca, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));	/* fmt gives JSON members: "\"qpn\":%u" */

#endif
