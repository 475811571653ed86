// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: page faults of local memory.
 */
#include "cq.h"
#include "fault.h"
#include "hca.h"
#include "qp.h"
#include "req.h"
#include "sched.h"
#include "wqe.h"

/**
 * req_resume() - continue after a page fault
 * @hca: the HCA
 * @qp: the queue pair
 * @ok: the page is present; otherwise the work request fails with a protection error
 */
static void req_resume(struct hca *hca, struct qp *qp, bool ok)
{
	struct requester *req = qp->req;
	struct send_op *op = req->fault_op;

	req->fault = 0;
	req->fault_op = NULL;
	if (!ok && op) {
		req_fail(hca, qp, op, ERR_PAGE_REFUSED);
		return;
	}
	/* The time that the page took does not count against the peer. */
	req_timer_extend(req);
	if (req->again)
		req_rewind(req, req->una);
	req->again = false;
	sched_kick(hca, &req->run);
}

/*
 * A page of @op's memory is not present, @done bytes into its message. The send queue waits until
 * software has brought the page; returns false if software cannot be asked for it. Answers to READs
 * and atomics that cannot be stored meanwhile are requested again.
 */
static bool req_stall(struct hca *hca, struct qp *qp, struct send_op *op, uint64_t done,
		      uint32_t len)
{
	struct requester *req = qp->req;
	bool answer = op->w.is_read || op->w.is_atomic;
	struct page_fault f = {
		.resume = req_resume, .type = answer ? FAULT_READ : FAULT_SEND, .done = done,
		.packet_len = len,
		.wq = qp->obj.num, .wqe_index = op->idx,
		.op = op->w.is_read ? ODP_READ : op->w.is_atomic ? ODP_ATOMIC :
		      op->w.opcode == WQE_RDMA_WRITE || op->w.opcode == WQE_RDMA_WRITE_IMM ?
		      ODP_WRITE : ODP_SEND,
	};

	if (!req->fault) {
		req->fault = fault_raise(hca, qp, &f);
		req->fault_op = op;
		req->again = false;
	}
	req->again |= answer;
	return req->fault;
}

/**
 * req_held_up() - handle the result of an access to the memory of a work request
 * @hca: the HCA
 * @qp: the queue pair
 * @op: the work request
 * @error: the result
 * @done: bytes of the message before the access
 * @len: bytes of the access
 *
 * Return: true if the send queue has to wait for a page, or has failed.
 */
bool req_held_up(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_error error,
		 uint64_t done, uint32_t len)
{
	if (error == ERR_PAGE_FAULT) {
		/* Software finds the page by the WQE, which tagged buffers do not have. */
		if (!op->rndv && req_stall(hca, qp, op, done, len))
			return true;
		error = ERR_PAGE_REFUSED;
	}
	if (error)
		req_fail(hca, qp, op, error);
	return error;
}
