// SPDX-License-Identifier: GPL-2.0
/*
 * The names and numbers of refusals, which the manual lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"

#define MANUAL "../../Documentation/hca-syndromes.rst"	/* tests run in tools/hca */

static void numbers_and_names_are_used_once(void **state)
{
	unsigned int i, j;

	(void)state;
	for (i = 0; i < refusal_names_nr; i++)
		for (j = 0; j < i; j++) {
			assert_int_not_equal(refusal_names[i].number, refusal_names[j].number);
			assert_string_not_equal(refusal_names[i].name, refusal_names[j].name);
		}
}

static void a_number_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(refusal_name(WHY_CQ_SIZE), "CQ_SIZE");
	assert_string_equal(refusal_name(0), "UNNAMED");
}

/* Each row of the manual's tables is "0x0101  NAME". */
static unsigned int check_manual_row(const char *line)
{
	unsigned int number;
	char name[64];

	if (sscanf(line, "0x%x %63s", &number, name) != 2)
		return 0;
	if (strcmp(refusal_name(number), name))
		fail_msg("the manual calls 0x%04x %s, refusal.h %s", number, name,
			 refusal_name(number));
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
	assert_int_equal(rows, refusal_names_nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_names_are_used_once),
		cmocka_unit_test(a_number_has_a_name), cmocka_unit_test(manual_lists_all),
	};

	return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
