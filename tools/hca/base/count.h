/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an HCA counts. The control socket prints the counters.
 */
#ifndef BLUEBELL_COUNT_H
#define BLUEBELL_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/* Why the HCA ignored a doorbell. */
enum drop_reason {
	DROP_NO_UAR, DROP_NO_QP, DROP_WRONG_UAR, DROP_NO_CQ, DROP_NO_EQ, DROP_BAD_OFFSET,
	DROP_BAD_SIZE, DROP_BAD_STATE, DROP_NO_MEMIC, DROP_NO_BLUEFLAME, DROP_NO_WQE,
	DROP_BAD_WQE, DROP_ARM_RECORD, DROP_REASONS
};

/* Why a frame of RoCE was dropped. Those after ROCE_DROP_SENT were not sent. */
enum roce_drop {
	ROCE_DROP_HEADER, ROCE_DROP_LENGTH, ROCE_DROP_CHECKSUM, ROCE_DROP_VLAN, ROCE_DROP_ICRC,
	ROCE_DROP_TRANSPORT, ROCE_DROP_MEMORY, ROCE_DROP_FULL, ROCE_DROP_SENT,
	ROCE_DROP_OFF = ROCE_DROP_SENT, ROCE_DROP_NO_ADDRESS, ROCE_DROP_NO_FRAME, ROCE_DROPS
};

struct counters {
	uint64_t db_send, db_bf, db_cq, db_eq;	/* doorbells accepted */
	uint64_t db_drop[DROP_REASONS];
	uint64_t wqes_bf;		/* WQEs executed from a BlueFlame buffer */
	uint64_t bf_same_buffer;	/* BlueFlame writes that did not alternate the buffers */
	uint64_t cqes, cqes_err, eqes, irqs;
	uint64_t eqes_lost;		/* events that found their event queue full */
	uint64_t page_faults, page_faults_failed;	/* raised; resumed with an error */
	uint64_t page_faults_midway;	/* raised after a part of the message was transferred */
	/*
	 * Atomic, because the switch's agents read these in the switch's thread, and because the
	 * sender's thread counts a packet to a port whose link is down as dropped at that port.
	 */
	_Atomic uint64_t packets_tx, packets_rx, packets_dropped;
	_Atomic uint64_t octets_tx, octets_rx;		/* bytes of these, from LRH to ICRC */
	_Atomic uint64_t mcast_tx, mcast_rx;		/* packets to multicast groups, among packets_* */
	_Atomic uint64_t mcast_octets_tx, mcast_octets_rx;
	_Atomic uint64_t packets_corrupted;	/* arrived with a wrong CRC, and were dropped */
	_Atomic uint64_t bad_pkeys, bad_qkeys;	/* packets dropped for a wrong P_Key or Q_Key */
	_Atomic uint64_t link_downed;		/* how often the port's link went down */
	/* Frames that arrived at an Ethernet port and were dropped: */
	uint64_t rx_steering_discards;		/* no steering rule led to a receive queue */
	uint64_t rx_wqe_too_small;		/* longer than the oldest receive WQE */
	uint64_t rx_rule_drops, tx_rule_drops;	/* a steering rule says so */
	uint64_t rx_queue_not_ready;		/* the receive queue is in RST or in error */
	uint64_t rx_no_wqe;			/* no receive WQE was posted */
	uint64_t rx_buffer_errors;		/* the buffers could not be written */
	uint64_t roce_drop[ROCE_DROPS];
	uint64_t wqes_sq, wqes_rq;
	uint64_t umr, umr_refused;		/* UMR work requests */
	uint64_t umr_reordered;			/* executed before an older UMR of the same mkey */
	uint64_t remote_inval;			/* mkeys that a peer's SEND invalidated */
	uint64_t cmds, cmds_failed;
	uint64_t reg_reads, reg_writes;
	uint64_t reg_early;			/* writes ignored while firmware initialized */
	uint64_t dma_blocked;		/* DMA refused: function no bus master, or not in D0 */
};

/* Packets that arrived and were dropped, which performance management counts as receive errors. */
static inline uint64_t count_rx_errors(const struct counters *c)
{
	return c->packets_dropped + c->packets_corrupted;
}

const char *drop_reason_name(enum drop_reason why);
const char *roce_drop_name(enum roce_drop why);

#endif
