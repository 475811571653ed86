// SPDX-License-Identifier: GPL-2.0
/*
 * The names of the reasons for which the HCA ignores a doorbell or drops a frame of RoCE.
 */
#include "count.h"

static const char *const drop_name[DROP_REASONS] = {
	[DROP_NO_UAR] = "no_uar", [DROP_NO_QP] = "no_qp", [DROP_WRONG_UAR] = "wrong_uar",
	[DROP_NO_CQ] = "no_cq", [DROP_NO_EQ] = "no_eq", [DROP_BAD_OFFSET] = "bad_offset",
	[DROP_BAD_SIZE] = "bad_size", [DROP_BAD_STATE] = "bad_state",
	[DROP_NO_MEMIC] = "no_memic", [DROP_NO_BLUEFLAME] = "no_blueflame",
	[DROP_NO_WQE] = "no_wqe", [DROP_BAD_WQE] = "bad_wqe", [DROP_ARM_RECORD] = "arm_record",
};

/**
 * drop_reason_name() - name a reason for which a doorbell was ignored
 * @why: the reason
 *
 * Return: the name that the trace and the control socket use.
 */
const char *drop_reason_name(enum drop_reason why)
{
	return drop_name[why];
}

static const char *const roce_name[ROCE_DROPS] = {
	[ROCE_DROP_HEADER] = "header", [ROCE_DROP_LENGTH] = "length",
	[ROCE_DROP_CHECKSUM] = "checksum", [ROCE_DROP_VLAN] = "vlan", [ROCE_DROP_ICRC] = "icrc",
	[ROCE_DROP_TRANSPORT] = "transport", [ROCE_DROP_MEMORY] = "memory",
	[ROCE_DROP_FULL] = "full", [ROCE_DROP_OFF] = "off",
	[ROCE_DROP_NO_ADDRESS] = "no_address", [ROCE_DROP_NO_FRAME] = "no_frame",
};

/**
 * roce_drop_name() - name a reason for which a frame of RoCE was dropped
 * @why: the reason
 *
 * Return: the name that the trace and the control socket use.
 */
const char *roce_drop_name(enum roce_drop why)
{
	return roce_name[why];
}
