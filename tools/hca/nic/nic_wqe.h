/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The WQEs of send queues: decoding of what follows the control segment, from bytes that were
 * copied from guest memory before. Nothing here accesses the HCA or guest memory.
 */
#ifndef BLUEBELL_NIC_WQE_H
#define BLUEBELL_NIC_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "wqe.h"

/* Opcodes that queue pairs do not have, as MLX5_OPCODE_*. */
enum nic_opcode { WQE_LSO = 0x0e, WQE_ENHANCED_MPSW = 0x29 };

struct nic_wqe {
	struct send_wqe w;	/* the caller fills @w.raw */
	bool ip_csum, l4_csum;	/* write these checksums */
	uint16_t mss;		/* LSO: bytes of payload in a segment */
	const uint8_t *header;	/* the first bytes of the frame, in @w.raw */
	uint16_t header_len;
	bool insert_tag;	/* the device inserts @tag in front of the tags of the frame */
	struct frame_tag tag;
	uint64_t len;		/* bytes of header and data, without @tag */
	bool several;		/* each data segment is a frame of its own */
};

int nic_wqe_parse(struct nic_wqe *n);

#endif
