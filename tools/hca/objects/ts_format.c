// SPDX-License-Identifier: GPL-2.0
/*
 * The formats of time stamps in CQEs.
 */
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "ts_format.h"

/**
 * ts_format_ok() - tell whether a queue may have a format of time stamps
 * @hca: the HCA
 * @cap: the capability sq_ts_format or rq_ts_format
 * @format: ts_format in the context of the queue
 */
bool ts_format_ok(struct hca *hca, unsigned int cap, unsigned int format)
{
	if (hca->profile->one_clock)	/* then ts_format is a reserved field */
		return !format;
	switch (format) {
	case MLX5_TIMESTAMP_FORMAT_FREE_RUNNING:
		return cap != MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME;
	case MLX5_TIMESTAMP_FORMAT_DEFAULT:
		return true;
	case MLX5_TIMESTAMP_FORMAT_REAL_TIME:
		return cap != MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING;
	default:
		return false;
	}
}

/**
 * ts_format_real_time() - tell which clock gives the time stamps
 * @cap: the capability sq_ts_format or rq_ts_format
 * @format: ts_format in the context of the queue, which the capability offers
 *
 * The default format selects the real-time clock if the capability offers it.
 *
 * Return: true for the real-time clock, false for the free-running one.
 */
bool ts_format_real_time(unsigned int cap, unsigned int format)
{
	if (format == MLX5_TIMESTAMP_FORMAT_DEFAULT)
		return cap != MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING;
	return format == MLX5_TIMESTAMP_FORMAT_REAL_TIME;
}
