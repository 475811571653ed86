// SPDX-License-Identifier: GPL-2.0
/*
 * The trace: events with times in a ring of JSON objects, optionally in a file, and
 * the decoding of commands field by field from the table made of mlx5_ifc.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fields.h"
#include "hca_priv.h"
#include "trace.h"

#define RING	16384

struct trace {
	bool on;		/* the ring is filled */
	FILE *file;
	char *ev[RING];
	uint64_t n;		/* events so far */
};

int trace_init(struct hca *hca)
{
	hca->trace = calloc(1, sizeof(*hca->trace));
	return hca->trace ? 0 : -ENOMEM;
}

void trace_exit(struct hca *hca)
{
	unsigned int i;

	for (i = 0; i < RING; i++)
		free(hca->trace->ev[i]);
	if (hca->trace->file)
		fclose(hca->trace->file);
	free(hca->trace);
	hca->trace = NULL;
}

int trace_to_file(struct hca *hca, const char *path)
{
	hca->trace->file = fopen(path, "we");
	if (!hca->trace->file)
		return -errno;
	setvbuf(hca->trace->file, NULL, _IOLBF, 0);
	return 0;
}

void trace_ring(struct hca *hca, bool on)
{
	hca->trace->on = on;
}

bool trace_wanted(struct hca *hca)
{
	return hca->trace && (hca->trace->on || hca->trace->file);
}

/* Takes @line, which is malloc()ed. */
static void emit(struct hca *hca, char *line)
{
	struct trace *t = hca->trace;

	if (t->file)
		fprintf(t->file, "%s\n", line);
	if (!t->on) {
		free(line);
		return;
	}
	free(t->ev[t->n % RING]);
	t->ev[t->n++ % RING] = line;
}

static void head(struct hca *hca, FILE *f, const char *type, uint64_t ns)
{
	fprintf(f, "{\"t\":%llu.%06llu,\"hca\":%u,\"type\":\"%s\"",
		(unsigned long long)(ns / 1000000000), (unsigned long long)(ns / 1000 % 1000000),
		hca->index, type);
}

/**
 * hca_trace() - record an event
 * @hca: the function
 * @type: of event: "doorbell", "cqe", …
 * @fmt: JSON members, as "\"qpn\":%u"; may be empty
 */
void hca_trace(struct hca *hca, const char *type, const char *fmt, ...)
{
	char *line = NULL;
	size_t len;
	va_list ap;
	FILE *f;

	if (!trace_wanted(hca))
		return;
	f = open_memstream(&line, &len);
	if (!f)
		return;
	head(hca, f, type, hca_now_ns());
	if (*fmt)
		fputc(',', f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('}', f);
	fclose(f);
	emit(hca, line);
}

char *trace_dump(struct hca *hca, unsigned int n)
{
	struct trace *t = hca->trace;
	char *out = NULL;
	size_t len;
	uint64_t i;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		return NULL;
	if (n > RING || n > t->n)
		n = t->n < RING ? t->n : RING;
	fputc('[', f);
	for (i = t->n - n; i < t->n; i++)
		fprintf(f, "%s%s", i == t->n - n ? "" : ",", t->ev[i % RING]);
	fputc(']', f);
	fclose(f);
	return out;
}

/* ---- decoding ------------------------------------------------------------------------ */

#define MAX_ELEMS 16	/* of an array, that are shown */

static bool bits_zero(const uint8_t *p, uint64_t off, uint64_t width)
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

static void print_value(FILE *f, const uint8_t *p, uint64_t off, uint32_t width)
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

static void decode(FILE *f, const struct ifc_struct *s, const uint8_t *p, uint64_t base,
		   uint64_t end, bool *first);

static void decode_elem(FILE *f, const struct ifc_member *fl, const uint8_t *p, uint64_t off,
			uint64_t end)
{
	bool first = true;

	if (!fl->sub) {
		print_value(f, p, off, fl->width);
		return;
	}
	fputc('{', f);
	decode(f, fl->sub, p, off, end, &first);
	fputc('}', f);
}

/* Bytes: text if they are, up to the first zero, else hexadecimal. */
static void print_bytes(FILE *f, const uint8_t *p, uint64_t n)
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

static void decode(FILE *f, const struct ifc_struct *s, const uint8_t *p, uint64_t base,
		   uint64_t end, bool *first)
{
	const struct ifc_member *fl;

	for (fl = s->field; fl->name; fl++) {
		uint64_t off = base + fl->off;
		uint64_t n = fl->count;

		if (!n && off < end)
			n = (end - off) / fl->width;
		if (fl->reserved || !n || off + n * fl->width > end ||
		    bits_zero(p, off, n * fl->width))
			continue;
		fprintf(f, "%s\"%s\":", *first ? "" : ",", fl->name);
		*first = false;
		if (fl->width == 8 && n > 1 && off % 8 == 0 && !fl->sub)
			print_bytes(f, p + off / 8, n);
		else if (fl->count == 1)
			decode_elem(f, fl, p, off, end);
		else
			decode_array(f, fl, p, off, n, end);
	}
}

/* Commands whose structures have another name than theirs in small letters. */
static const char *struct_base(const char *cmd_name)
{
	static const char *const alias[][2] = {
		{ "ACCESS_REG", "access_register" }, { "2RST_QP", "qp_2rst" },
		{ "2ERR_QP", "qp_2err" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(alias) / sizeof(*alias); i++)
		if (!strcmp(alias[i][0], cmd_name))
			return alias[i][1];
	return cmd_name;
}

const struct ifc_struct *cmd_struct(const char *cmd_name, const char *half)
{
	char name[80];
	unsigned int i;

	cmd_name = struct_base(cmd_name);
	for (i = 0; cmd_name[i] && i < sizeof(name) - 8; i++)
		name[i] = tolower((unsigned char)cmd_name[i]);
	snprintf(name + i, sizeof(name) - i, "_%s", half);
	return ifc_struct_find(name);
}

static void decode_half(FILE *f, const char *cmd_name, const char *half, const uint8_t *p,
			size_t len)
{
	const struct ifc_struct *s = cmd_struct(cmd_name, half);
	bool first = true;

	fprintf(f, ",\"%s\":{", half);
	if (s)
		decode(f, s, p, 0, len * 8, &first);
	fputc('}', f);
}

static void print_quoted(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++)
		fprintf(f, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	fputc('"', f);
}

/**
 * trace_cmd() - record a firmware command
 * @hca: the function
 * @cmd: with its output filled in
 * @name: of the opcode
 * @slot: of the command queue
 * @start_ns: when it began
 */
void trace_cmd(struct hca *hca, const struct cmd *cmd, const char *name, unsigned int slot,
	       uint64_t start_ns)
{
	uint8_t status = cmd->out_len ? cmd->out[0] : 0;
	char *line = NULL;
	size_t len;
	FILE *f;

	if (!trace_wanted(hca))
		return;
	f = open_memstream(&line, &len);
	if (!f)
		return;
	head(hca, f, "cmd", start_ns);
	fprintf(f, ",\"op\":\"%s\",\"opcode\":\"0x%x\",\"op_mod\":%u,\"uid\":%u,\"slot\":%u,"
		"\"ns\":%llu,\"status\":%u", name, cmd->opcode, cmd->op_mod, cmd->uid, slot,
		(unsigned long long)(hca_now_ns() - start_ns), status);
	if (status) {
		fprintf(f, ",\"syndrome\":\"0x%x\",\"why\":", cmd->syndrome);
		print_quoted(f, cmd->why);
	}
	decode_half(f, name, "in", cmd->in, cmd->in_len);
	decode_half(f, name, "out", cmd->out, cmd->out_len);
	fputc('}', f);
	fclose(f);
	emit(hca, line);
}
