/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device without hardware that executes UMR work requests: it keeps the tables
 * of its memory keys, and goes through them as hardware does.
 */

#ifndef BLUEBELL_KUNIT_MOCK_HCA_H
#define BLUEBELL_KUNIT_MOCK_HCA_H

#include <linux/completion.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mock.h"

/**
 * enum mock_failure - how a work request fails
 * @MOCK_NOT_POSTED: the queue takes none
 * @MOCK_NOT_EXECUTED: it completes in error and has done nothing
 * @MOCK_EXECUTED: it has done all, but completes in error
 * @MOCK_STOPPED: it completes in error, and the queue takes none after it
 */
enum mock_failure {
	MOCK_NOT_POSTED,
	MOCK_NOT_EXECUTED,
	MOCK_EXECUTED,
	MOCK_STOPPED,
};

#define MOCK_NUM_FAILURES	(MOCK_STOPPED + 1)

/**
 * struct mock_hca - what a device has that executes work requests
 * @mock: the device
 * @keys: struct mock_key by index
 * @num_requests: work requests so far
 * @fail: number of the one to fail, from 1; 0 for none
 * @how: how it fails
 * @stopped: the queue takes no requests
 * @hold: keeps the workqueue of paging from running: what it would do is done
 *	by the test itself, for a stub only works in the test's own task
 * @release: ends @hold
 * @stuck: keys that firmware has kept for good, as the test wanted
 */
struct mock_hca {
	struct mock *mock;
	struct xarray keys;
	unsigned int num_requests;
	unsigned int fail;
	enum mock_failure how;
	bool stopped;
	struct work_struct hold;
	struct completion release;
	unsigned int stuck;
};

struct mock_hca *mock_hca_create(struct mock *mock);
void mock_hca_start(struct mock_hca *hca);
void mock_hca_empty_cache(struct mock_hca *hca);
u64 mock_hca_translate(struct mock_hca *hca, u32 mkey, u64 va);
unsigned int mock_hca_num_pages(struct mock_hca *hca);
unsigned int mock_hca_num_free(struct mock_hca *hca);
unsigned int mock_hca_num_in_use(struct mock_hca *hca);

#endif /* BLUEBELL_KUNIT_MOCK_HCA_H */
