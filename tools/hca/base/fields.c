// SPDX-License-Identifier: GPL-2.0
/*
 * Finding structures and fields of mlx5_ifc.h by name in the table made from it.
 */
#include <stdlib.h>
#include <string.h>

#include "fields.h"

static int ifc_compare_name(const void *key, const void *elem)
{
	return strcmp(key, (*(const struct ifc_struct *const *)elem)->name);
}

/**
 * ifc_struct_find() - look a structure up
 * @name: the structure's name, without "mlx5_ifc_" before and "_bits" behind
 *
 * Return: the structure's description, NULL if the header has no structure of that name.
 */
const struct ifc_struct *ifc_struct_find(const char *name)
{
	const struct ifc_struct *const *s;

	s = bsearch(name, ifc_structs, ifc_nr_structs, sizeof(*ifc_structs), ifc_compare_name);
	return s ? *s : NULL;
}

/**
 * ifc_member_find() - look a field up
 * @s: structure to start from
 * @path: name, or names with dots between them
 * @off: where to put the offset in bits from the start of @s
 *
 * Return: the field, NULL if there is no such field.
 */
const struct ifc_member *ifc_member_find(const struct ifc_struct *s, const char *path,
					 uint32_t *off)
{
	const struct ifc_member *f;

	for (f = s->field; f->name; f++) {
		size_t n = strlen(f->name);

		if (strncmp(path, f->name, n))
			continue;
		if (!path[n]) {
			*off = f->off;
			return f;
		}
		if (path[n] == '.' && f->sub) {
			const struct ifc_member *in = ifc_member_find(f->sub, path + n + 1, off);

			if (in) {
				*off += f->off;
				return in;
			}
		}
	}
	return NULL;
}
