// SPDX-License-Identifier: GPL-2.0
/*
 * The names of the reasons for which the HCA refuses a command.
 */
#include "refusal.h"
#include "util.h"

#define REFUSAL_NAME(number, name) { number, #name },
const struct refusal_name refusal_names[] = { REFUSALS(REFUSAL_NAME) };
#undef REFUSAL_NAME

const unsigned int refusal_names_nr = ARRAY_SIZE(refusal_names);

/**
 * refusal_name() - find the name of a refusal
 * @number: the syndrome of a command
 *
 * Return: the name, as "CQ_SIZE"; "UNNAMED" for a number that is not in the list.
 */
const char *refusal_name(uint32_t number)
{
	unsigned int i;

	for (i = 0; i < refusal_names_nr; i++)
		if (refusal_names[i].number == number)
			return refusal_names[i].name;
	return "UNNAMED";
}
