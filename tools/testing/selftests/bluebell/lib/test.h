/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What every test file includes: the kernel's own kselftest harness (taken from the kernel's
 * sources at build time), and the few macros that all tests share.
 */
#ifndef BLUEBELL_TEST_H
#define BLUEBELL_TEST_H

#include <fcntl.h>

#include "kselftest_harness.h"

/*
 * Emulation on a busy machine is slow, so the limit is generous; it still ends a test
 * that hangs.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#include "hca_ctl.h"
#include "port.h"
#include "rdma.h"
#include "uv.h"

#define MAX_TESTS 512	/* of a program */

/* The functions of the tests, in whose place announced_test() runs. */
static struct {
	struct __test_metadata *test;
	void (*fn)(struct __test_metadata *test, struct __fixture_variant_metadata *variant);
} test_functions[MAX_TESTS];

/*
 * Runs a test. The test fails if the HCA refuses a command or ignores a doorbell that the test has
 * not announced with hca_expect(), or if the HCA does not do what the test has announced.
 */
static inline void announced_test(struct __test_metadata *_metadata,
				  struct __fixture_variant_metadata *variant)
{
	const char *wrong;
	int i = 0;

	while (test_functions[i].test != _metadata)
		i++;
	hca_expect_begin();
	test_functions[i].fn(_metadata, variant);
	wrong = hca_expect_end();
	EXPECT_STREQ("", wrong);
}

static inline void announce_tests(void)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t;
	int n = 0;

	for (f = __fixture_list; f; f = f->next) {
		for (t = f->tests; t && n < MAX_TESTS; t = t->next, n++) {
			test_functions[n].test = t;
			test_functions[n].fn = t->fn;
			t->fn = announced_test;
		}
	}
}

#undef TEST_HARNESS_MAIN
#define TEST_HARNESS_MAIN \
	int main(int argc, char **argv) \
	{ \
		/* Look up the driver's name before a test unbinds the driver. */ \
		driver_name(); \
		if (port_up()) { \
			fprintf(stderr, "# the port does not become active\n"); \
			return 1; \
		} \
		announce_tests(); \
		return test_harness_run(argc, argv); \
	}

/* Reasons to skip a test. */
#define ONLY_BLUEBELL "only bluebell promises this"
#define NEEDS_FAILURES "needs an HCA that fails on request, and a driver that promises to handle it"
#define NO_HCA_CTL "no control channel to an emulated HCA"
#define NO_XRC "the device has no XRC"
#define NO_ATOMICS "the device has no atomic operations"
#define NO_UC "the device has no UC"
/* Reasons to skip a test on an Ethernet port. */
#define ABOUT_LIDS "this is about LIDs, and an Ethernet port has none"
#define NO_QP0 "an Ethernet port has no QP0, the queue pair of subnet management"
#define ABOUT_PKEYS "this is about P_Keys, and an Ethernet port has only the default one"
/* mlx5_ib does not offer BlueFlame if mlx5_core finds that write combining does not work. */
#define NO_BLUEFLAME "the driver does not offer BlueFlame on this machine"

static inline bool has_blueflame(const struct uv *uv)
{
	return uv->resp.bf_reg_size;
}

/* Let the driver create what it keeps for XRC. */
static inline void use_xrc(struct rdma *r)
{
	struct ibv_xrcd *xrcd = rdma_has_xrc(r->ctx) ? rdma_open_xrcd(r->ctx, -1, O_CREAT) : NULL;

	if (xrcd)
		ibv_close_xrcd(xrcd);
}

/*
 * Reset the census after a pair of queue pairs has been created and destroyed once, because the
 * driver keeps some objects that it creates at first use. Returns false if the device has no queue
 * pairs of this type.
 */
static inline bool census_after_first_use(struct __test_metadata *_metadata, enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };
	struct rdma r;
	struct pair p;
	bool has;

	ASSERT_EQ(0, rdma_open(&r));
	has = type != IBV_QPT_XRC_SEND || rdma_has_xrc(r.ctx);
	if (has) {
		ASSERT_EQ(0, pair_open(&p, &r, &cfg, UV_PAGE));
		pair_close(&p);
	}
	rdma_close(&r);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	return has;
}

/* At the end of a test: no firmware object is left that did not exist at hca_census_reset(). */
#define EXPECT_CENSUS_UNCHANGED() EXPECT_STREQ("", hca_census_delta())

#endif
