/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to the big-endian firmware structures of the kernel's mlx5_ifc.h by name of
 * structure and field. The byte order helpers of bytes.h come with it.
 */
#ifndef BLUEBELL_IFC_H
#define BLUEBELL_IFC_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

/* Definitions that mlx5_ifc.h expects from the kernel. */
#define u8 uint8_t
#ifndef BIT
#define BIT(n) (1UL << (n))
#endif
#ifndef BIT_ULL
#define BIT_ULL(n) (1ULL << (n))
#endif
#ifndef BITS_PER_BYTE
#define BITS_PER_BYTE 8
#endif
#ifndef DECLARE_FLEX_ARRAY
#define DECLARE_FLEX_ARRAY(type, name) type name[0]
#endif
#include <mlx5_ifc.h>
#undef u8

/* In mlx5_ifc.h a member u8 x[n] is a field of n bits, so offsets and sizes are in bits. */
static inline uint64_t ifc_get_bits(const void *p, size_t off, size_t width)
{
	const uint8_t *b = (const uint8_t *)p + off / 8;
	size_t skip = off % 8;
	uint64_t v = 0;
	size_t got;

	if (!skip && width == 32)
		return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
	for (got = 0; got < width; skip = 0) {
		size_t n = 8 - skip;

		if (n > width - got)
			n = width - got;
		v = v << n | ((*b >> (8 - skip - n)) & ((1u << n) - 1));
		got += n;
		b++;
	}
	return v;
}

static inline void ifc_set_bits(void *p, size_t off, size_t width, uint64_t v)
{
	uint8_t *b = (uint8_t *)p + off / 8;
	size_t skip = off % 8;

	while (width) {
		size_t n = 8 - skip;
		unsigned int mask;

		if (n > width)
			n = width;
		mask = ((1u << n) - 1) << (8 - skip - n);
		/* A field that is wider than v is filled with zeros in front. */
		*b &= ~mask;
		*b |= ((width - n < 64 ? v >> (width - n) : 0) << (8 - skip - n)) & mask;
		width -= n;
		skip = 0;
		b++;
	}
}

#define IFC_T(typ)		struct mlx5_ifc_##typ##_bits
#define IFC_BITS(typ, fld)	sizeof(((IFC_T(typ) *)0)->fld)
#define IFC_OFF(typ, fld)	offsetof(IFC_T(typ), fld)
/* Size in bytes of a structure, of a union, and of one field. */
#define IFC_SZ(typ)		(sizeof(IFC_T(typ)) / 8)
#define IFC_UN_SZ(typ)		(sizeof(union mlx5_ifc_##typ##_bits) / 8)
#define IFC_FLD_SZ(typ, fld)	(IFC_BITS(typ, fld) / 8)
/* Byte offset of a field, and its address in a buffer (constness follows the buffer's type). */
#define IFC_BYTE(typ, fld)	(IFC_OFF(typ, fld) / 8)
#define IFC_ADDR(typ, p, fld) \
	_Generic((p), const uint8_t *: (const uint8_t *)(p) + IFC_BYTE(typ, fld), \
		 const void *: (const uint8_t *)(p) + IFC_BYTE(typ, fld), \
		 default: (uint8_t *)(uintptr_t)(p) + IFC_BYTE(typ, fld))

/* Read or write a field of up to 32 (64) bits; @fld may have an index: IFC_GET64(x, p, pas[i]). */
#define IFC_GET(typ, p, fld) \
	((uint32_t)ifc_get_bits(p, IFC_OFF(typ, fld), IFC_BITS(typ, fld)))
#define IFC_GET64(typ, p, fld)	ifc_get_bits(p, IFC_OFF(typ, fld), IFC_BITS(typ, fld))
#define IFC_SET(typ, p, fld, v)	ifc_set_bits(p, IFC_OFF(typ, fld), IFC_BITS(typ, fld), v)
#define IFC_SET64(typ, p, fld, v) IFC_SET(typ, p, fld, v)

#endif
