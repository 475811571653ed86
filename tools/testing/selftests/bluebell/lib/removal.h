/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Remove the device while a process works with it.
 */
#ifndef BLUEBELL_REMOVAL_H
#define BLUEBELL_REMOVAL_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "binding.h"
#include "test.h"

/**
 * device_has - tell whether the device has a feature, and leave no context open
 * @_metadata: of the test
 * @has: tells whether an open context has the feature
 */
static inline bool device_has(struct __test_metadata *_metadata,
			      bool (*has)(struct ibv_context *ctx))
{
	struct rdma r;
	bool ret;

	ASSERT_EQ(0, rdma_open(&r));
	ret = has(r.ctx);
	rdma_close(&r);
	return ret;
}

/**
 * remove_device_during - unbind the driver while a child process works, then bind it again
 * @_metadata: of the test
 * @work: runs in the child until the child is killed; @round counts from 0 to 3
 */
static inline void remove_device_during(struct __test_metadata *_metadata,
					void (*work)(unsigned int round))
{
	struct binding b;
	unsigned int i;
	pid_t pid;

	/*
	 * Until its mappings are removed, the process rings doorbells of destroyed queues, which
	 * the HCA drops.
	 */
	ASSERT_EQ(0, hca_expect("drop any any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	if (hca_ctl_present())
		EXPECT_EQ(0, hca_census_reset());
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, binding_do(&b, "bind"));
		ASSERT_TRUE(binding_wait_device());
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(i);
			_exit(1);
		}
		usleep(300000 + rand() % 100000);
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		EXPECT_EQ(0, binding_do(&b, "unbind"));
		if (hca_ctl_present())
			EXPECT_CENSUS_UNCHANGED();
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	EXPECT_EQ(0, binding_do(&b, "bind"));
	EXPECT_TRUE(binding_wait_device());
}

#endif
