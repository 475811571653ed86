// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verbs as kernel consumers use them: the module kernel_verbs posts the requests, looks at data and
 * completions, and says what is wrong.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "consumer.h"
#include "test.h"

FIXTURE(kernel) {
	int fd;
};

/* Tests of the module; its source says what each does. */
FIXTURE_VARIANT(kernel) {
	const char *test;
};

#define MODULE_TEST(name) FIXTURE_VARIANT_ADD(kernel, name) { .test = #name }

MODULE_TEST(rc_send);
MODULE_TEST(rc_send_imm);
MODULE_TEST(rc_empty);
MODULE_TEST(rc_inline);
MODULE_TEST(rc_gather_and_scatter);
MODULE_TEST(rc_queue_wraps);
MODULE_TEST(rc_chain);
MODULE_TEST(rc_write_and_read);
MODULE_TEST(rc_atomics);
MODULE_TEST(rc_region_without_waiting);
MODULE_TEST(rc_local_invalidate);
MODULE_TEST(rc_remote_invalidate);
MODULE_TEST(rc_page_sizes);
MODULE_TEST(rc_rights);
MODULE_TEST(rc_bad_requests);
MODULE_TEST(rc_full_queues);
MODULE_TEST(rc_local_error);
MODULE_TEST(rc_longer_than_list);
MODULE_TEST(rc_reset);
MODULE_TEST(rc_destroy);
MODULE_TEST(rc_events_softirq);
MODULE_TEST(rc_events_workqueue);
MODULE_TEST(rc_drain_softirq);
MODULE_TEST(rc_drain_workqueue);
MODULE_TEST(rc_solicited);
MODULE_TEST(uc_send);
MODULE_TEST(uc_send_imm);
MODULE_TEST(uc_inline);
MODULE_TEST(ud_datagram);
MODULE_TEST(rc_numbers_used_again);
MODULE_TEST(rc_destroyed_leave_room);
MODULE_TEST(rc_two_cqs);
MODULE_TEST(rc_masked_atomics);
MODULE_TEST(gaps_refused);
MODULE_TEST(gaps_write_and_read);
MODULE_TEST(gaps_local);
MODULE_TEST(gaps_limits);
MODULE_TEST(gaps_again);
MODULE_TEST(gaps_invalidated);
MODULE_TEST(gaps_rights);
MODULE_TEST(ud_multicast);
MODULE_TEST(ud_multicast_refused);
MODULE_TEST(srq_two_queue_pairs);
MODULE_TEST(srq_chain);
MODULE_TEST(srq_full);
MODULE_TEST(srq_bad_requests);
MODULE_TEST(srq_sizes);
MODULE_TEST(srq_limit);
MODULE_TEST(srq_unpolled);
MODULE_TEST(srq_last_wqe_softirq);
MODULE_TEST(srq_last_wqe_workqueue);
MODULE_TEST(srq_datagrams);

FIXTURE_SETUP(kernel)
{
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
	if (strstr(variant->test, "multicast"))
		ASSERT_EQ(0, rdma_loop_groups());
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(kernel)
{
	close(self->fd);
}

static void run_module_test(struct __test_metadata *_metadata, int fd, const char *test)
{
	char report[CONSUMER_REPORT];
	int ret = consumer_run(fd, test, report);

	if (ret == -EOPNOTSUPP)
		SKIP(return, "%s", report[0] ? report : "the driver does not post this request");
	ASSERT_EQ(0, ret) TH_LOG("%s", report);
	if (hca_ctl_present())
		EXPECT_STREQ("", hca_census_delta_within(1000));
}

/* Whether work requests can give a key pages of 16 KiB, or four times the kernel's own pages. */
static bool has_large_pages(void)
{
	long max = hca_cap("general_2", "max_mkey_log_entity_size_mtt");
	int shift = __builtin_ctzl(4 * sysconf(_SC_PAGESIZE));

	return hca_cap("general", "umr_modify_entity_size_disabled") <= 0 &&
	       (max <= 0 || max >= shift);
}

TEST_F(kernel, requests_do_what_they_say)
{
	if (!strcmp(variant->test, "rc_page_sizes") && !has_large_pages())
		SKIP(return, "no work request can give a key pages of this size");
	if (strstr(variant->test, "atomics") &&
	    hca_cap("general", "umr_modify_atomic_disabled") > 0)
		SKIP(return, "no work request can give a key the right to atomic operations");
	run_module_test(_metadata, self->fd, variant->test);
}

/*
 * A kernel consumer attaches and detaches, because ib_core (7.2) does not detach a process's queue
 * pair again after a refusal. Bluebell repeats the refused DETACH_FROM_MCG itself; of a driver that
 * does not, the consumer detaches the queue pair once more.
 */
TEST(firmware_refuses_to_attach_and_to_detach)
{
	int fd;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	fd = consumer_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rdma_loop_groups());
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, hca_do("inject op ATTACH_TO_MCG INT_ERR 1"));
	ASSERT_EQ(0, hca_do("inject op DETACH_FROM_MCG INT_ERR 1"));
	run_module_test(_metadata, fd, "ud_multicast_fails");
	EXPECT_EQ(2, hca_inject_clear());
	close(fd);
}

/* ib_core chooses the moderation by the load; the driver allows that, and sends MODIFY_CQ. */
TEST(moderation_adapts_to_the_load)
{
	int fd;

	if (hca_ctl_present() && hca_cap("general", "cq_moderation") <= 0)
		SKIP(return, "the device does not moderate events");
	fd = consumer_open();
	ASSERT_LE(0, fd);
	if (hca_ctl_present()) {
		ASSERT_EQ(0, hca_census_reset());
		ASSERT_EQ(0, hca_commands_reset());
	}
	run_module_test(_metadata, fd, "rc_moderation");
	/* At least two steps to fewer events, and one to more. */
	if (hca_ctl_present())
		EXPECT_LE(3, hca_commands("MODIFY_CQ"));
	close(fd);
}

TEST_HARNESS_MAIN
