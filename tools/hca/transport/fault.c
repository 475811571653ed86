// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults: which work may have them, the event that tells software, and PAGE_FAULT_RESUME. The
 * requester and the responder stop and resume the work. A driver chooses one of two schemes before
 * INIT_HCA (odp_cap.mem_page_fault); fault_event.c has the events of both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "caps.h"
#include "cmd.h"
#include "eq.h"
#include "fault.h"
#include "fault_event.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "profile.h"
#include "qp.h"
#include "req.h"

#define TOKEN_MASK	0xffffffu
#define TYPE_WRITE	2	/* MLX5_PAGE_FAULT_RESUME_WRITE */
#define MAX_CANCELLED	1024	/* cancelled faults that are kept for software to answer */

/* A fault that was raised and not resumed. */
struct fault {
	TAILQ_ENTRY(fault) link;
	uint32_t token;
	uint32_t wq;		/* queue number that PAGE_FAULT_RESUME must repeat */
	enum fault_type type;
	struct qp *qp;
	void (*resume)(struct hca *hca, struct qp *qp, bool ok);
	bool cancelled;		/* the queue pair no longer waits for the page */
};

struct faults {
	TAILQ_HEAD(, fault) list;
	unsigned int cancelled;	/* faults in the list that are cancelled */
	uint32_t last;		/* last token that was given out */
	uint32_t ended;		/* token of the fault that ended last; 0: none has */
};

static int fault_init(struct hca *hca)
{
	struct faults *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	TAILQ_INIT(&fs->list);
	hca->faults = fs;
	return 0;
}

static void fault_free(struct faults *fs, struct fault *f)
{
	TAILQ_REMOVE(&fs->list, f, link);
	fs->cancelled -= f->cancelled;
	free(f);
}

static void fault_reset(struct hca *hca)
{
	struct faults *fs = hca->faults;
	struct fault *f;

	while (fs && (f = TAILQ_FIRST(&fs->list)))
		fault_free(fs, f);
}

static void fault_exit(struct hca *hca)
{
	fault_reset(hca);
	free(hca->faults);
	hca->faults = NULL;
}

const struct hca_module fault_module = {
	.name = "fault", .init = fault_init, .reset = fault_reset, .exit = fault_exit,
};

static struct fault *fault_find(struct hca *hca, uint32_t token)
{
	struct faults *fs = hca->faults;
	struct fault *f;

	if (!fs)
		return NULL;
	TAILQ_FOREACH(f, &fs->list, link)
		if (f->token == token)
			return f;
	return NULL;
}

static uint32_t fault_new_token(struct hca *hca)
{
	struct faults *fs = hca->faults;

	if (fs->ended && !fault_find(hca, fs->ended) && inject_token(hca->inject))
		return fs->ended;
	do
		fs->last = (fs->last + 1) & TOKEN_MASK;
	while (!fs->last || fault_find(hca, fs->last));
	return fs->last;
}

/* ---- raising --------------------------------------------------------------------------------- */

/* Which operations can fault, in the scheme in use: struct mlx5_ifc_odp_scheme_cap_bits. */
static const uint8_t *fault_scheme_cap(struct hca *hca)
{
	const uint8_t *cap = hca->cap[CAP_ODP];

	return fault_by_memory(hca) ? IFC_ADDR(odp_cap, cap, memory_page_fault_scheme_cap) :
				      IFC_ADDR(odp_cap, cap, transport_page_fault_scheme_cap);
}

static bool fault_supported(struct hca *hca, const struct qp *qp, enum fault_op op)
{
	const uint8_t *cap = fault_scheme_cap(hca);
	uint32_t bits = 0;

	switch (qp->type) {
	case QPT_RC:
		bits = get_be32(IFC_ADDR(odp_scheme_cap, cap, rc_odp_caps));
		break;
	case QPT_UC:
		bits = get_be32(IFC_ADDR(odp_scheme_cap, cap, uc_odp_caps));
		break;
	case QPT_UD:
		bits = get_be32(IFC_ADDR(odp_scheme_cap, cap, ud_odp_caps));
		break;
	case QPT_XRC:
		bits = get_be32(IFC_ADDR(odp_scheme_cap, cap, xrc_odp_caps));
		break;
	default:
		break;
	}
	return hca_cap_gen(hca, pg) && bits & 0x80000000u >> op;
}

/*
 * Post the event of a fault. A test may have the write bit cleared in the reported type; @rec->type
 * keeps the reported type, because PAGE_FAULT_RESUME repeats it.
 */
static void fault_post(struct hca *hca, struct fault *rec, const struct page_fault *f)
{
	bool remote_write = f->type == FAULT_REMOTE_WRITE && !fault_by_memory(hca);
	const struct inject_fault *inj = inject_fault(hca->inject, remote_write);
	struct page_fault said = *f;

	if (inj && inj->not_write)
		said.type &= ~TYPE_WRITE;
	rec->type = said.type;
	if (fault_by_memory(hca))
		fault_post_memory(hca, hca->absent, fault_memory_token(rec->token), inj);
	else
		fault_post_transport(hca, &said, rec->token, inj);
}

/**
 * fault_raise() - ask software for a page
 * @hca: the HCA
 * @qp: queue pair that needs the page and waits until @f->resume is called
 * @f: the access whose page is not present
 *
 * Return: a token that names the fault; 0 if the service does not page this kind of work, no event
 * queue subscribed to page faults, or memory is short: then the access is an error.
 */
uint32_t fault_raise(struct hca *hca, struct qp *qp, const struct page_fault *f)
{
	struct faults *fs = hca->faults;
	struct fault *rec;

	if (!fs || !fault_supported(hca, qp, f->op) || !eq_subscribed(hca, EV_PAGE_FAULT))
		return 0;
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return 0;
	rec->token = fault_new_token(hca);
	rec->wq = fault_type_is_remote(f->type) ? rec->token : f->wq;
	rec->qp = qp;
	rec->resume = f->resume;
	TAILQ_INSERT_TAIL(&fs->list, rec, link);
	hca->count.page_faults++;
	hca->count.page_faults_midway += !!f->done;
	hca_trace(hca, "page_fault", "\"qpn\":%u,\"fault\":%u,\"token\":%u,\"wqe\":%u,\"rkey\":%u,"
		  "\"va\":%llu,\"done\":%u,\"len\":%u", qp->obj.num, f->type, rec->token,
		  f->wqe_index, f->rkey, (unsigned long long)f->va, f->done, f->packet_len);
	fault_post(hca, rec, f);
	return rec->token;
}

static void fault_free_oldest_cancelled(struct faults *fs)
{
	struct fault *f;

	TAILQ_FOREACH(f, &fs->list, link)
		if (f->cancelled)
			break;
	if (f)
		fault_free(fs, f);
}

/**
 * fault_cancel() - cancel the fault of a queue pair that was flushed or reset
 * @hca: the HCA
 * @token: of the fault, or 0
 *
 * Software resumes the fault nevertheless, without effect. The HCA keeps a limited number of
 * cancelled faults and forgets the oldest, in case software never resumes them.
 */
void fault_cancel(struct hca *hca, uint32_t token)
{
	struct fault *f = token ? fault_find(hca, token) : NULL;

	if (!f || f->cancelled)
		return;
	f->cancelled = true;
	if (++hca->faults->cancelled > MAX_CANCELLED)
		fault_free_oldest_cancelled(hca->faults);
}

/**
 * fault_forget_qp() - free the faults of a queue pair that is about to be freed
 * @hca: the HCA
 * @qp: the queue pair
 */
void fault_forget_qp(struct hca *hca, const struct qp *qp)
{
	struct faults *fs = hca->faults;
	struct fault *f, *next;

	for (f = fs ? TAILQ_FIRST(&fs->list) : NULL; f; f = next) {
		next = TAILQ_NEXT(f, link);
		if (f->qp == qp)
			fault_free(fs, f);
	}
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Let a queue pair go on after a fault, unless the fault was cancelled: then no queue waits. */
static void fault_answer(struct hca *hca, const struct fault *f, bool error)
{
	hca_trace(hca, "resume", "\"qpn\":%u,\"token\":%u,\"error\":%s", f->qp->obj.num, f->token,
		  error ? "true" : "false");
	if (error)
		hca->count.page_faults_failed++;
	if (!f->cancelled)
		f->resume(hca, f->qp, !error);
}

static uint8_t fault_end(struct hca *hca, struct fault *f, bool error)
{
	struct fault was = *f;

	hca->faults->ended = f->token;
	fault_free(hca->faults, f);
	fault_answer(hca, &was, error);
	return ST_OK;
}

/*
 * Process the answer to an event that is not the last event of its fault. Software may give such an
 * answer only to report an error, and answers the last event, too, before or afterwards.
 */
static uint8_t fault_fail_early(struct hca *hca, struct cmd *cmd, uint32_t token, bool error)
{
	struct fault *f = fault_find(hca, token), was;

	if (!error)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FAULT_NOT_LAST,
				"an event of page fault 0x%x that is not its last is answered "
				"without an error", token);
	if (!f)
		return ST_OK;
	was = *f;
	fault_cancel(hca, token);
	fault_answer(hca, &was, true);
	return ST_OK;
}

/* Process an answer of the transport scheme, which repeats the queue and the type of the event. */
static uint8_t fault_resume_transport(struct hca *hca, struct cmd *cmd, const uint8_t *info)
{
	uint32_t token = IFC_GET(trans_page_fault_info, info, fault_token);
	struct fault *f = fault_find(hca, token);

	if (IFC_GET(trans_page_fault_info, info, reserved_at_20))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FAULT_SCHEME,
				"the token has more than 24 bits, as those of the memory scheme");
	if (!f)
		return cmd_fail(cmd, ST_BAD_RES, WHY_FAULT_UNKNOWN,
				"there is no page fault with token 0x%x", token);
	if (IFC_GET(trans_page_fault_info, info, page_fault_type) != f->type ||
	    IFC_GET(trans_page_fault_info, info, wq_number) != f->wq)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FAULT_MISMATCH,
				"page fault 0x%x has type %u and queue 0x%x", token, f->type,
				f->wq);
	return fault_end(hca, f, IFC_GET(trans_page_fault_info, info, error));
}

/*
 * Process an answer of the memory scheme, which has the token alone. A fault ends with the answer
 * to its last event.
 */
static uint8_t fault_resume_memory(struct hca *hca, struct cmd *cmd, const uint8_t *info)
{
	uint64_t token = (uint64_t)IFC_GET(mem_page_fault_info, info, fault_token_47_32) << 32 |
			 IFC_GET(mem_page_fault_info, info, fault_token_31_0);
	struct fault *f = fault_find(hca, token & TOKEN_MASK);

	if (IFC_GET(mem_page_fault_info, info, reserved_at_1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FAULT_SCHEME,
				"a type and a queue are named, as in the transport scheme");
	if (token == fault_memory_token_early(token & TOKEN_MASK) &&
	    (token & TOKEN_MASK) <= hca->faults->last)
		return fault_fail_early(hca, cmd, token & TOKEN_MASK,
					IFC_GET(mem_page_fault_info, info, error));
	if (!f || token != fault_memory_token(f->token))
		return cmd_fail(cmd, ST_BAD_RES, WHY_FAULT_UNKNOWN,
				"there is no page fault with token 0x%llx",
				(unsigned long long)token);
	return fault_end(hca, f, IFC_GET(mem_page_fault_info, info, error));
}

static uint8_t page_fault_resume(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *info = IFC_ADDR(page_fault_resume_in, cmd->in, page_fault_info);

	return fault_by_memory(hca) ? fault_resume_memory(hca, cmd, info) :
				      fault_resume_transport(hca, cmd, info);
}

const struct cmd_desc fault_cmds[] = {
	CMD(PAGE_FAULT_RESUME, page_fault_resume, page_fault_resume, .flags = CMD_KERNEL),
	{}
};
