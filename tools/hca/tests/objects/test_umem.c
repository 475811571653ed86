// SPDX-License-Identifier: GPL-2.0
/*
 * Umems: what CREATE_UMEM must not accept.
 */
#include "cmd.h"
#include "ifc.h"
#include "mem.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "umem.h"

#define UID		7
#define OTHER_UID	8
#define LOG_PAGE	13
#define PAGE		(1ull << LOG_PAGE)
#define PAGES		4u
#define PAGE_OFFSET	0x1040u		/* of the umem in its first page */
#define OUTSIDE		(RAM_BASE - 0x10000000)	/* no memory, but read_only_memory() */

static uint32_t mem_umem, dbr_umem;

/* ---- umems ----------------------------------------------------------------------------------- */

struct umem_params {
	uint16_t uid;
	unsigned int log_page;
	uint32_t page_offset;
	bool ats;
	uint64_t nmtt;			/* as the command says */
	unsigned int given;		/* as there are */
	uint64_t mtt[PAGES];
};

/* Pages of a umem, in another order than in memory. */
static uint64_t page_at(unsigned int i)
{
	static const unsigned int place[PAGES] = { 5, 1, 8, 2 };

	return RAM_BASE + 0x100000 + place[i] * PAGE;
}

static struct umem_params good_umem(void)
{
	struct umem_params p = {
		.uid = UID, .log_page = LOG_PAGE, .page_offset = PAGE_OFFSET, .nmtt = PAGES,
		.given = PAGES,
	};
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		p.mtt[i] = page_at(i) | UMEM_ACCESS;
	return p;
}

static uint8_t umem_create(const struct umem_params *p, uint32_t *id)
{
	uint8_t in[IFC_SZ(create_umem_in) + 8 * PAGES] = {}, out[IFC_SZ(create_umem_out)];
	unsigned int i;
	uint8_t st;

	IFC_SET(create_umem_in, in, umem.ats, p->ats);
	IFC_SET(create_umem_in, in, umem.log_page_size, p->log_page - 12);
	IFC_SET(create_umem_in, in, umem.page_offset, p->page_offset);
	IFC_SET64(create_umem_in, in, umem.num_of_mtt, p->nmtt);
	for (i = 0; i < p->given; i++)
		put_be64(IFC_ADDR(create_umem_in, in, umem.mtt) + 8 * i, p->mtt[i]);
	st = rig_cmd(MLX5_CMD_OP_CREATE_UMEM, 0, p->uid, in, IFC_SZ(create_umem_in) + 8 * p->given,
		     out, sizeof(out));
	*id = IFC_GET(create_umem_out, out, umem_id);
	return st;
}

static uint32_t umem_new(const struct umem_params *p)
{
	uint32_t id;

	if (umem_create(p, &id) != ST_OK)
		fail_msg("%s", rig.why);
	return id;
}

static uint8_t umem_destroy(uint32_t id, uint16_t uid)
{
	uint8_t in[IFC_SZ(destroy_umem_in)] = {}, out[IFC_SZ(destroy_umem_out)];

	IFC_SET(destroy_umem_in, in, umem_id, id);
	return rig_cmd(MLX5_CMD_OP_DESTROY_UMEM, 0, uid, in, sizeof(in), out, sizeof(out));
}

/* A page that the HCA may only read. */
static uint64_t read_only_memory(void)
{
	assert_int_equal(mem_map_fd(rig.hca, OUTSIDE, PAGE, rig.fd, 0, true, false), 0);
	return OUTSIDE;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct umem_params p;

	rig_setup(state);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_umem, 16);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], umem_uid_0, 1);
	p = good_umem();
	mem_umem = umem_new(&p);
	dbr_umem = umem_new(&p);
	return 0;
}

/* ---- tests of umems -------------------------------------------------------------------------- */

static void umem_is_made_and_destroyed(void **state)
{
	struct umem_params p = good_umem();
	uint64_t before = rig.hca->xlt_bytes;
	uint32_t id;

	(void)state;
	id = umem_new(&p);
	assert_int_not_equal(id, mem_umem);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, id)->uid, UID);
	assert_int_equal(rig.hca->xlt_bytes, before + 8 * PAGES);
	assert_int_equal(umem_destroy(id, OTHER_UID), ST_BAD_RES);
	assert_int_equal(rig.syndrome, WHY_OBJECT_OWNER);
	assert_int_equal(umem_destroy(id, UID), ST_OK);
	assert_int_equal(rig.hca->xlt_bytes, before);
	assert_int_equal(umem_destroy(id, UID), ST_BAD_RES);
	/* The kernel may have umems, and destroys those of all users. */
	p.uid = 0;
	id = umem_new(&p);
	assert_int_equal(umem_destroy(id, UID), ST_BAD_RES);
	assert_int_equal(umem_destroy(id, 0), ST_OK);
	assert_int_equal(umem_destroy(mem_umem, 0), ST_OK);
}

static void umem_refused(const struct umem_params *p, uint8_t status, uint32_t why)
{
	unsigned int before = obj_count(rig.hca, OBJ_UMEM);
	uint32_t id;

	assert_int_equal(umem_create(p, &id), status);
	if (rig.syndrome != why)
		fail_msg("syndrome 0x%x (%s), not 0x%x", rig.syndrome, rig.why, why);
	assert_int_equal(obj_count(rig.hca, OBJ_UMEM), before);
}

static void umem_must_be_offered(void **state)
{
	struct umem_params p = good_umem();
	uint8_t *cap = rig.hca->cap[0];

	(void)state;
	p.ats = true;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_ATS_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, cap, ats, 1);
	umem_new(&p);
	p = good_umem();
	p.uid = 0;
	IFC_SET(cmd_hca_cap, cap, umem_uid_0, 0);
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_NO_UID);
	p.uid = UID;
	rig.profile->range[OBJ_UMEM].limit = obj_count(rig.hca, OBJ_UMEM) + 0x10;
	umem_refused(&p, ST_LIM, WHY_NUMBERS_IN_USE);
	IFC_SET(cmd_hca_cap, cap, log_max_umem, 0);
	umem_refused(&p, ST_BAD_OP, WHY_UMEM_NOT_OFFERED);
}

static void umem_has_as_many_mtts_as_it_says(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.nmtt = 0;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_EMPTY);
	p.nmtt = PAGES + 1;
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p.nmtt = UINT64_MAX;
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p.nmtt = (1ull << 61) + 1;		/* times 8: 8 */
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p = good_umem();
	rig.profile->max_translation_mb = 0;
	umem_refused(&p, ST_LIM, WHY_UMEM_BUDGET);
}

static void umem_begins_in_its_first_page(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.page_offset = PAGE - 1;
	umem_new(&p);
	p.page_offset = PAGE;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_OFFSET);
	/* Pages can be larger than any offset. */
	p.log_page = 36;
	p.page_offset = UINT32_MAX;
	p.mtt[0] = RAM_BASE | UMEM_READ;
	p.nmtt = p.given = 1;
	umem_new(&p);
}

static void umem_has_pages_that_the_hca_reaches(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.mtt[3] |= 0x80;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_MTT_RESERVED);
	p = good_umem();
	p.mtt[3] |= PAGE / 2;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
	p.mtt[3] = OUTSIDE | UMEM_READ;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
	p.mtt[3] = OUTSIDE;		/* neither read nor written */
	umem_new(&p);
	p.mtt[3] = read_only_memory() | UMEM_READ;
	umem_new(&p);
	p.mtt[3] |= UMEM_WRITE;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(umem_is_made_and_destroyed), T(umem_must_be_offered),
		T(umem_has_as_many_mtts_as_it_says), T(umem_begins_in_its_first_page),
		T(umem_has_pages_that_the_hca_reaches),
	};

	return cmocka_run_group_tests_name("umem", tests, NULL, NULL);
}
