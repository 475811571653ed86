// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: the names of states and service types.
 */
#include "qp.h"
#include "util.h"

/**
 * qp_state_name() - name a state
 * @s: the state
 *
 * Return: its usual name.
 */
const char *qp_state_name(enum qp_state s)
{
	static const char *const name[QPS_NUM] = {
		"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR", "SQ_DRAINING"
	};

	return s < QPS_NUM ? name[s] : "?";
}

/**
 * qp_type_name() - name a service type
 * @t: the type
 *
 * Return: its usual name.
 */
const char *qp_type_name(enum qp_type t)
{
	static const char *const name[] = {
		"RC", "UC", "UD", "XRC", "MLX", "DCI", "DCT", "QP0", "QP1", "", "", "", "REG_UMR",
		"", "SYNC_UMR"
	};

	return t < ARRAY_SIZE(name) ? name[t] : "?";
}
