/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A mock device that executes UMRs: it keeps the translation tables of its memory keys and
 * walks them as hardware does.
 */

#ifndef BLUEBELL_KUNIT_MOCK_HCA_H
#define BLUEBELL_KUNIT_MOCK_HCA_H

#include <linux/completion.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mock.h"

/**
 * enum mock_failure - how a UMR fails
 * @MOCK_NOT_POSTED: the queue does not accept the UMR
 * @MOCK_NOT_EXECUTED: the UMR completes in error and has changed nothing
 * @MOCK_EXECUTED: the UMR completes in error, but has changed the key
 * @MOCK_STOPPED: the UMR completes in error, and the queue accepts no further UMR
 */
enum mock_failure {
	MOCK_NOT_POSTED,
	MOCK_NOT_EXECUTED,
	MOCK_EXECUTED,
	MOCK_STOPPED,
};

#define MOCK_NUM_FAILURES	(MOCK_STOPPED + 1)

/**
 * struct mock_hca - the part of a mock device that executes UMRs
 * @mock: the device
 * @keys: struct mock_key by index
 * @num_requests: number of UMRs so far
 * @num_posted: UMRs that the queue has accepted and that the driver has not waited for; none is
 *	left at the end, because the device would still read what the UMR points at
 * @fail: number of the UMR to fail, from 1; 0 for none
 * @how: how that UMR fails
 * @stopped: the queue accepts no UMRs
 * @restarts: a UMR that fails, or that names a key by a wrong variant, stops the queue until the
 *	driver has waited for its restart
 * @hold: work item that blocks the workqueue of paging, whose other work items the test runs
 *	itself: static stubs take effect only in the test's own task
 * @release: ends @hold
 * @stuck: number of keys that firmware has kept for good, because the test refused their
 *	destruction
 */
struct mock_hca {
	struct mock *mock;
	struct xarray keys;
	unsigned int num_requests;
	int num_posted;
	unsigned int fail;
	enum mock_failure how;
	bool stopped;
	bool restarts;
	struct work_struct hold;
	struct completion release;
	unsigned int stuck;
};

int mock_hca_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		mlx5_ib_fw_send_t send, void *arg);
struct mock_hca *mock_hca_create(struct mock *mock);
void mock_hca_start(struct mock_hca *hca);
void mock_hca_empty_pool(struct mock_hca *hca);
u64 mock_hca_translate(struct mock_hca *hca, u32 mkey, u64 va);
u64 mock_hca_dma_addr(struct mock_hca *hca, u32 mkey, u64 va);
u32 mock_hca_entry_key(struct mock_hca *hca, u32 mkey, unsigned long index);
const void *mock_hca_mkc(struct mock_hca *hca, unsigned long index);
unsigned int mock_hca_num_pages(struct mock_hca *hca);
unsigned int mock_hca_num_free(struct mock_hca *hca);
unsigned int mock_hca_num_in_use(struct mock_hca *hca);
unsigned int mock_hca_num_slots(struct mock_hca *hca, bool published);

#endif /* BLUEBELL_KUNIT_MOCK_HCA_H */
