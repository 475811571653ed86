// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of work queue elements, from golden bytes and from malformed ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ifc.h"
#include "qp.h"
#include "wqe.h"

static struct send_wqe w;

static void load(const char *hex)
{
	unsigned int n = 0, v;
	int used;

	memset(&w, 0xee, sizeof(w));
	while (sscanf(hex, " %2x%n", &v, &used) == 1) {
		w.raw[n++] = v;
		hex += used;
	}
}

static void control_segment_fields(void **state)
{
	(void)state;
	/* 4a: fence 2, ce 2, solicited */
	load("00 12 34 0b  00 ab cd 02  00 00 00 4a  de ad be ef"
	     "00 00 00 40  00 00 11 22  00 00 7f 00 00 00 10 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_int_equal(w.opcode, WQE_SEND_IMM);
	assert_int_equal(w.idx, 0x1234);
	assert_int_equal(w.qpn, 0xabcd);
	assert_int_equal(w.ds, 2);
	assert_int_equal(w.fence, FENCE_READS);
	assert_true(w.cqe);
	assert_true(w.solicited);
	assert_int_equal(w.imm, 0xdeadbeef);
	assert_int_equal(w.nseg, 1);
	assert_int_equal(w.len, 0x40);
	assert_int_equal(w.seg[0].lkey, 0x1122);
	assert_true(w.seg[0].addr == 0x7f0000001000ull);
}

static void completion_only_on_error(void **state)
{
	(void)state;
	load("00 00 00 0a  00 00 01 01  00 00 00 00  00 00 00 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_false(w.cqe);
	assert_int_equal(w.nseg, 0);
	w.raw[11] = 1 << 2;	/* completion on the first error only */
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_false(w.cqe);
	w.raw[11] = 3 << 2;
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_true(w.cqe);
}

static void ds_must_be_valid(void **state)
{
	(void)state;
	load("00 00 00 0a  00 00 01 00  00 00 00 00  00 00 00 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
	w.raw[7] = 0x40;
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
	w.raw[7] = 0x81;
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
}

static void write_with_inline_and_pointer(void **state)
{
	(void)state;
	load("00 00 00 08  00 00 01 04  00 00 00 08  00 00 00 00"
	     "00 00 00 12 34 56 78 90  00 00 ab 7a  00 00 00 00"
	     "80 00 00 05  68 65 6c 6c  6f 00 00 00  00 00 00 00"
	     "00 00 00 10  00 00 00 99  00 00 00 00 00 00 20 00");
	assert_int_equal(wqe_parse_send(&w, QPT_UC), 0);
	assert_true(w.raddr == 0x1234567890ull);
	assert_int_equal(w.rkey, 0xab7a);
	assert_int_equal(w.nseg, 2);
	assert_int_equal(w.len, 21);
	assert_memory_equal(w.seg[0].inl, "hello", 5);
	assert_null(w.seg[1].inl);
}

static void inline_data_must_end_in_the_wqe(void **state)
{
	(void)state;
	load("00 00 00 0a  00 00 01 02  00 00 00 08  00 00 00 00"
	     "80 00 00 0c  68 65 6c 6c  6f 00 00 00  00 00 00 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_int_equal(w.len, 12);
	w.raw[19] = 0x0d;
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
	w.raw[16] = 0xff;
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
}

static void inline_data_is_no_destination(void **state)
{
	(void)state;
	load("00 00 00 10  00 00 01 03  00 00 00 08  00 00 00 00"
	     "00 00 00 12 34 56 78 90  00 00 ab 7a  00 00 00 00"
	     "80 00 00 05  68 65 6c 6c  6f 00 00 00  00 00 00 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
}

static void atomics(void **state)
{
	(void)state;
	load("00 00 00 11  00 00 01 04  00 00 00 08  00 00 00 00"
	     "00 00 00 00 00 00 10 00  00 00 ab 7a  00 00 00 00"
	     "00 00 00 00 00 00 00 07  00 00 00 00 00 00 00 09"
	     "00 00 00 08  00 00 00 99  00 00 00 00 00 00 20 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_true(w.is_atomic);
	assert_true(w.swap_add == 7);
	assert_true(w.compare == 9);
	assert_true(w.compare_mask == ~0ull);
	w.raw[51] = 4;		/* a result of 4 bytes */
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
	w.raw[51] = 8;
	w.raw[7] = 2;		/* the atomic segment is cut off */
	assert_int_equal(wqe_parse_send(&w, QPT_RC), -EINVAL);
	load("00 00 00 14  00 00 01 05  00 00 00 08  00 00 00 00"
	     "00 00 00 00 00 00 10 00  00 00 ab 7a  00 00 00 00"
	     "00 00 00 00 00 00 00 07  00 00 00 00 00 00 00 09"
	     "00 00 00 00 00 00 00 ff  00 00 00 00 00 00 ff 00"
	     "00 00 00 08  00 00 00 99  00 00 00 00 00 00 20 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_true(w.swap_mask == 0xff);
	assert_true(w.compare_mask == 0xff00);
}

static void opcodes_by_service(void **state)
{
	static const struct { uint8_t op; bool rc, uc, ud, umr; } row[] = {
		{ WQE_NOP, true, true, true, true }, { WQE_SEND, true, true, true, false },
		{ WQE_SEND_INVAL, true, false, false, false },
		{ WQE_RDMA_WRITE, true, true, false, false },
		{ WQE_RDMA_READ, true, false, false, false },
		{ WQE_ATOMIC_FA, true, false, false, false }, { WQE_UMR, true, true, false, true },
		{ 0x02, false, false, false, false }, { 0xff, false, false, false, false },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		load("00 00 00 00  00 00 01 0c  00 00 00 08  00 00 00 00");
		memset(w.raw + 16, 0, 200);
		w.raw[3] = row[i].op;
		w.raw[8 + 16 * 3 + 3] = 0;
		/* A terminator where data segments begin: an atomic then has no result. */
		put_be32(w.raw + 16 * 2 + 4, LKEY_TERMINATE);
		if (row[i].op == WQE_ATOMIC_FA)
			put_be32(w.raw + 16 * 3, 8), put_be32(w.raw + 16 * 4 + 4, LKEY_TERMINATE);
		assert_int_equal(!wqe_parse_send(&w, QPT_RC), row[i].rc);
		assert_int_equal(!wqe_parse_send(&w, QPT_UC), row[i].uc);
		assert_int_equal(!wqe_parse_send(&w, QPT_UD), row[i].ud);
		assert_int_equal(!wqe_parse_send(&w, QPT_REG_UMR), row[i].umr);
	}
}

static void address_vectors(void **state)
{
	(void)state;
	load("00 00 00 0a  00 00 01 05  00 00 00 08  00 00 00 00"
	     "11 11 11 11 00 00 00 00  80 00 01 23  03 05 00 09"
	     "00 00 00 00 00 00 00 00  00 00 42 07  4a b1 23 45"
	     "fe 80 00 00 00 00 00 00  00 00 00 00 00 00 00 01"
	     "00 00 00 40  00 00 00 99  00 00 00 00 00 00 20 00");
	assert_int_equal(wqe_parse_send(&w, QPT_UD), 0);
	assert_int_equal(w.av.qkey, 0x11111111);
	assert_int_equal(w.av.dqpn, 0x123);
	assert_int_equal(w.av.path.sl, 3);
	assert_int_equal(w.av.path.mlid, 5);
	assert_int_equal(w.av.path.rlid, 9);
	assert_true(w.av.path.grh);
	assert_int_equal(w.av.path.tclass, 0x42);
	assert_int_equal(w.av.path.hop_limit, 7);
	assert_int_equal(w.av.path.src_gid_index, 0xab);
	assert_int_equal(w.av.path.flow_label, 0x12345);
	assert_int_equal(w.av.path.dgid[15], 1);
	assert_int_equal(w.len, 0x40);
	w.raw[7] = 3;		/* cut off in the middle */
	assert_int_equal(wqe_parse_send(&w, QPT_UD), -EINVAL);
	w.raw[7] = 2;
	w.raw[24] = 0;		/* the short form has 16 bytes */
	assert_int_equal(wqe_parse_send(&w, QPT_UD), 0);
	assert_false(w.av.path.grh);
	w.raw[7] = 1;
	assert_int_equal(wqe_parse_send(&w, QPT_UD), -EINVAL);
}

static void zero_count_is_two_gigabytes(void **state)
{
	(void)state;
	load("00 00 00 0a  00 00 01 02  00 00 00 08  00 00 00 00"
	     "00 00 00 00  00 00 00 99  00 00 00 00 00 00 20 00");
	assert_int_equal(wqe_parse_send(&w, QPT_RC), 0);
	assert_true(w.len == 1ull << 31);
}

static void receive_list_ends_at_the_terminator(void **state)
{
	uint8_t b[64] = {};
	struct recv_wqe r;

	(void)state;
	put_be32(b, 0x100);
	put_be32(b + 4, 0x99);
	put_be64(b + 8, 0x2000);
	put_be32(b + 20, LKEY_TERMINATE);
	put_be32(b + 32, 0x5555);	/* left from an earlier use */
	assert_int_equal(wqe_parse_recv(&r, b, sizeof(b), 0), 0);
	assert_int_equal(r.nseg, 1);
	assert_int_equal(r.len, 0x100);
	put_be32(b + 20, 0x98);
	put_be32(b + 16, 1);
	assert_int_equal(wqe_parse_recv(&r, b, 48, 0), 0);	/* ends with the stride */
	assert_int_equal(r.nseg, 3);
	assert_int_equal(wqe_parse_recv(&r, b, 48, 16), 0);	/* after a signature */
	assert_int_equal(r.nseg, 2);
	put_be32(b + 16, 0x80000004u);
	assert_int_equal(wqe_parse_recv(&r, b, 48, 0), -EINVAL);
}

static void number_of_wqebbs(void **state)
{
	(void)state;
	assert_int_equal(wqe_bbs(1), 1);
	assert_int_equal(wqe_bbs(4), 1);
	assert_int_equal(wqe_bbs(5), 2);
	assert_int_equal(wqe_bbs(63), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_segment_fields),
		cmocka_unit_test(completion_only_on_error), cmocka_unit_test(ds_must_be_valid),
		cmocka_unit_test(write_with_inline_and_pointer),
		cmocka_unit_test(inline_data_must_end_in_the_wqe),
		cmocka_unit_test(inline_data_is_no_destination), cmocka_unit_test(atomics),
		cmocka_unit_test(opcodes_by_service), cmocka_unit_test(address_vectors),
		cmocka_unit_test(zero_count_is_two_gigabytes),
		cmocka_unit_test(receive_list_ends_at_the_terminator),
		cmocka_unit_test(number_of_wqebbs),
	};

	return cmocka_run_group_tests_name("wqe", tests, NULL, NULL);
}
