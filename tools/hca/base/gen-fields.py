#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Print a C table of every structure and field of mlx5_ifc.h, for decoding by name.

Only names are taken from the header here; offsets and widths are left to the
compiler (offsetof, sizeof), so that they are those of the header by construction. Fields that
libraries know and the header leaves reserved come from UNLISTED.
"""
import re
import sys


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def matching(text, pos):
    """Index just after the brace that closes the brace at pos."""
    depth = 0
    for i in range(pos, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    raise ValueError("unbalanced braces")


MEMBER = re.compile(r"(u8|struct\s+mlx5_ifc_(\w+)_bits|union\s+mlx5_ifc_(\w+)_bits)"
                    r"\s+(\w+)((?:\s*\[[^]]*\])*)\s*;")
INNER = re.compile(r"(struct|union)\s*\{")
# Structure: name, offset and width in bits of fields that mlx5_ifc.h does not name. The HCA reads
# them by the constants that are mentioned here.
UNLISTED = {
    # CAP_RTS2RTS_QP_UDP_SPORT in core/caps.h
    "cmd_hca_cap": [("rts2rts_qp_udp_sport", 0x151, 1)],
    # RTS2RTS_QP_OPT_95_32 in core/cmd.h
    "rts2rts_qp_in": [("opt_param_mask_95_32", 0x840, 64)],
}
FLEX = re.compile(r"DECLARE_FLEX_ARRAY\([^)]*\)\s*;")


def members(body, prefix=""):
    """Yield (path, kind, substructure or None, array dimensions as the header writes them)."""
    pos = 0
    while pos < len(body):
        m = INNER.match(body, pos)
        if m:
            end = matching(body, m.end() - 1)
            tail = re.match(r"\s*(\w*)((?:\s*\[[^]]*\])*)\s*;", body[end:])
            name = tail.group(1)
            if m.group(1) == "struct" or not name:
                sub = prefix + name + "." if name else prefix
                if not tail.group(2).strip():
                    yield from members(body[m.end():end - 1], sub)
            pos = end + tail.end()
            continue
        m = FLEX.match(body, pos)
        if m:
            pos = m.end()
            continue
        m = MEMBER.match(body, pos)
        if m:
            dims = re.findall(r"\[([^]]*)\]", m.group(5))
            yield (prefix + m.group(4), m.group(1).split()[0], m.group(2), dims)
            pos = m.end()
            continue
        pos += 1


def field(struct, path, kind, sub, dims):
    outer = f"struct mlx5_ifc_{struct}_bits"
    flex = bool(dims) and not dims[0].strip()
    arrays = len(dims) - (1 if kind == "u8" else 0)
    if arrays > 1 or kind == "union":
        return None
    elem = path + ("[0]" if arrays else "")
    # A u8 x[] without a second dimension is a tail of bits, not an array of fields.
    if kind == "u8" and flex and not arrays:
        return None
    width = f"sizeof((({outer} *)0)->{elem})"
    count = "0" if flex else (f"sizeof((({outer} *)0)->{path}) / {width}" if arrays else "1")
    reserved = int(bool(re.match(r"(.*\.)?(reserved|rsvd)", path)))
    return (f'\t{{ "{path}", offsetof({outer}, {path}), {width}, {count}, '
            f'{reserved}, {f"&ifc_{sub}" if sub else "NULL"} }},')


def main():
    structs = {}
    for name in sys.argv[1:]:
        text = strip(open(name, encoding="utf-8").read())
        for m in re.finditer(r"^struct mlx5_ifc_(\w+)_bits\s*\{", text, flags=re.M):
            structs[m.group(1)] = text[m.end():matching(text, m.end() - 1) - 1]
    print('/* Made by gen-fields.py. */\n#include "fields.h"\n')
    for s in structs:
        print(f"static const struct ifc_struct ifc_{s};")
    for s, body in structs.items():
        rows = [field(s, *f) for f in members(body) if not f[2] or f[2] in structs]
        print(f"static const struct ifc_member fields_{s}[] = {{")
        print("\n".join(r for r in rows if r))
        for name, offset, width in UNLISTED.get(s, []):
            print(f'\t{{ "{name}", 0x{offset:x}, {width}, 1, 0, NULL }},')
        print("\t{ NULL, 0, 0, 0, 0, NULL },\n};")
        print(f'static const struct ifc_struct ifc_{s} = {{ "{s}", '
              f"sizeof(struct mlx5_ifc_{s}_bits), fields_{s} }};")
    print("const struct ifc_struct *const ifc_structs[] = {")
    for s in sorted(structs):
        print(f"\t&ifc_{s},")
    print(f"}};\nconst unsigned int ifc_nr_structs = {len(structs)};")


main()
