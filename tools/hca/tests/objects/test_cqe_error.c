// SPDX-License-Identifier: GPL-2.0
/*
 * The syndromes of failed work requests, which the manual lists by cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cqe_error.h"
#include "util.h"

#define MANUAL "../../Documentation/hca-errors.rst"	/* tests run in tools/hca */

static const struct {
	const char *name;
	enum cqe_error error;
} errors[] = {
#define CQE_ERROR(name, synd, vendor, hw) { #name, ERR_##name },
	CQE_ERRORS(CQE_ERROR)
#undef CQE_ERROR
};

/* UMR requests that fail have one vendor syndrome, and each cause has another hardware syndrome. */
static void vendor_and_hardware_syndrome_name_one_cause(void **state)
{
	unsigned int i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		assert_int_not_equal(cqe_error_vendor(errors[i].error), 0);
		for (j = 0; j < i; j++) {
			if (cqe_error_vendor(errors[i].error) != cqe_error_vendor(errors[j].error))
				continue;
			assert_int_equal(cqe_error_syndrome(errors[i].error), SYND_MW_BIND);
			if (cqe_error_hw(errors[i].error) == cqe_error_hw(errors[j].error))
				fail_msg("%s and %s have the same", errors[i].name, errors[j].name);
		}
	}
}

/* Each row of the manual's tables is "NAME  0x04  0x52  147  seen  …". */
static unsigned int check_manual_row(const char *line)
{
	unsigned int i, synd, vendor, hw;
	char name[64], from[8];

	if (sscanf(line, "%63s 0x%x 0x%x %u %7s", name, &synd, &vendor, &hw, from) != 5)
		return 0;
	if (strcmp(from, "seen") && strcmp(from, "ours"))
		fail_msg("%s is from %s", name, from);
	for (i = 0; i < ARRAY_SIZE(errors) && strcmp(errors[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(errors))
		fail_msg("cqe_error.h has no %s", name);
	if ((synd | vendor << 8 | hw << 16) != errors[i].error)
		fail_msg("%s is 0x%x/0x%x/%u in the manual, 0x%x in cqe_error.h", name, synd,
			 vendor, hw, errors[i].error);
	return 1;
}

static void manual_lists_all(void **state)
{
	FILE *f = fopen(MANUAL, "r");
	unsigned int rows = 0;
	char line[200];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		rows += check_manual_row(line);
	fclose(f);
	assert_int_equal(rows, ARRAY_SIZE(errors));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vendor_and_hardware_syndrome_name_one_cause),
		cmocka_unit_test(manual_lists_all),
	};

	return cmocka_run_group_tests_name("cqe_error", tests, NULL, NULL);
}
