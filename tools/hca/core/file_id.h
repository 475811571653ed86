/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of the source files, for the syndromes of refused commands: number << 16 | line.
 * A new file takes a new number at the end, so that old traces stay readable.
 */
#ifndef BLUEBELL_FILE_ID_H
#define BLUEBELL_FILE_ID_H

enum hca_file_id {
	FILE_EXECUTE = 1, FILE_DEV, FILE_CAPS, FILE_PAGES, FILE_UAR, FILE_EQ, FILE_PD,
	FILE_MKEY_CMD, FILE_CQ_CMD, FILE_SRQ, FILE_QP_CREATE, FILE_PORT, FILE_SQ, FILE_MEMIC,
	FILE_FAULT, FILE_QP_MODIFY, FILE_QCOUNTER, FILE_MCAST, FILE_PORT_REG, FILE_CHECK,
	FILE_QUEUE_MEM, FILE_CMD, FILE_QP,
};

#endif
