// SPDX-License-Identifier: GPL-2.0
/*
 * Structures of mlx5_ifc.h as JSON: every field that is neither reserved nor zero.
 */
#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "fields.h"
#include "ifc.h"

#define MAX_ELEMS 16	/* maximum number of elements of an array that are printed */

static bool decode_bits_zero(const uint8_t *p, uint64_t off, uint64_t width)
{
	while (width) {
		unsigned int n = width > 64 ? 64 : width;

		if (ifc_get_bits(p, off, n))
			return false;
		off += n;
		width -= n;
	}
	return true;
}

static void decode_value(FILE *f, const uint8_t *p, uint64_t off, uint32_t width)
{
	uint64_t v;

	if (width > 64) {
		fputc('"', f);
		for (; width >= 8; width -= 8, off += 8)
			fprintf(f, "%02x", (unsigned int)ifc_get_bits(p, off, 8));
		fputc('"', f);
		return;
	}
	v = ifc_get_bits(p, off, width);
	if (width > 32)
		fprintf(f, "\"0x%llx\"", (unsigned long long)v);
	else
		fprintf(f, "%llu", (unsigned long long)v);
}

static void decode_members(FILE *f, const struct ifc_struct *s, const uint8_t *p, uint64_t base,
			   uint64_t end, bool *first);

static void decode_elem(FILE *f, const struct ifc_member *fl, const uint8_t *p, uint64_t off,
			uint64_t end)
{
	bool first = true;

	if (!fl->sub) {
		decode_value(f, p, off, fl->width);
		return;
	}
	fputc('{', f);
	decode_members(f, fl->sub, p, off, end, &first);
	fputc('}', f);
}

/*
 * Print bytes as text if they are printable characters with only zeros behind them, else in
 * hexadecimal.
 */
static void decode_bytes(FILE *f, const uint8_t *p, uint64_t n)
{
	uint64_t len = strnlen((const char *)p, n), i;
	bool text = true;

	for (i = 0; i < len; i++)
		text &= p[i] >= ' ' && p[i] <= '~' && p[i] != '"' && p[i] != '\\';
	for (i = len; i < n; i++)
		text &= !p[i];
	fputc('"', f);
	for (i = 0; i < (text ? len : n); i++)
		fprintf(f, text ? "%c" : "%02x", p[i]);
	fputc('"', f);
}

static void decode_array(FILE *f, const struct ifc_member *fl, const uint8_t *p, uint64_t off,
			 uint64_t n, uint64_t end)
{
	uint64_t i;

	fputc('[', f);
	for (i = 0; i < n && i < MAX_ELEMS; i++) {
		if (i)
			fputc(',', f);
		decode_elem(f, fl, p, off + i * fl->width, end);
	}
	if (n > MAX_ELEMS)
		fprintf(f, ",\"and %llu more\"", (unsigned long long)(n - MAX_ELEMS));
	fputc(']', f);
}

static void decode_members(FILE *f, const struct ifc_struct *s, const uint8_t *p, uint64_t base,
			   uint64_t end, bool *first)
{
	const struct ifc_member *fl;

	for (fl = s->field; fl->name; fl++) {
		uint64_t off = base + fl->off;
		uint64_t n = fl->count;

		if (!n && off < end)
			n = (end - off) / fl->width;
		if (fl->reserved || !n || off + n * fl->width > end ||
		    decode_bits_zero(p, off, n * fl->width))
			continue;
		fprintf(f, "%s\"%s\":", *first ? "" : ",", fl->name);
		*first = false;
		if (fl->width == 8 && n > 1 && off % 8 == 0 && !fl->sub)
			decode_bytes(f, p + off / 8, n);
		else if (fl->count == 1)
			decode_elem(f, fl, p, off, end);
		else
			decode_array(f, fl, p, off, n, end);
	}
}

/**
 * decode_string() - print a string in quotes, with its quotes and backslashes escaped
 * @f: stream
 * @s: the string, without control characters
 */
void decode_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++)
		fprintf(f, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	fputc('"', f);
}

/**
 * decode_struct() - print the fields of a structure that are not zero
 * @f: stream
 * @s: the structure's description
 * @p: the structure
 * @len: bytes of the structure that @p points to
 */
void decode_struct(FILE *f, const struct ifc_struct *s, const uint8_t *p, size_t len)
{
	bool first = true;

	decode_members(f, s, p, 0, len * 8, &first);
}
