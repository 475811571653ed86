// SPDX-License-Identifier: GPL-2.0
/*
 * Parse and print the fuzzer's programs (lists of ioctl calls, see program.h). Tables of the
 * firmware commands: their fields, from mlx5_ifc.h, and values of fields with which a command
 * succeeds.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "program.h"

static const char *const meta_names[NR_METAS] = {
	[META_LEN] = "len", [META_DATA] = "data", [META_ID] = "id", [META_FLAGS] = "flags", [META_ELEM] = "elem",
	[META_ON] = "on", [META_OFF] = "off",
};

/*
 * Defaults of commands. in@BYTE is the dword at that byte, for fields that mlx5_ifc.h does not
 * name. The result of a command is the lower 24 bits of the dword behind the header of its answer.
 */
static const struct {
	const char *opcode;
	enum kind result;
	const char *args;
} defaults[] = {
	{ "alloc_pd", K_pdn, "" },
	{ "alloc_transport_domain", K_td, "" },
	{ "alloc_q_counter", K_devx_id, "" },
	{ "alloc_xrcd", K_devx_id, "" },
	{ "alloc_uar", K_uar_page, "" },
	{ "create_cq", K_cqn,
	  "in.cq_context.dbr_umem_valid=1 in@0x14=umem_id.0 in.cq_context.log_cq_size=6 in.cq_context.uar_page=uar_page.0 "
	  "in.cq_context.c_eqn_or_apu_element=eqn.0 in@0x4c=0x8000 in@0x58=umem_id.0 in@0x5c=0x80000000" },
	{ "create_qp", K_qpn,
	  "in.qpc.pm_state=3 in.qpc.pd=pdn.0 in.qpc.log_rq_size=4 in.qpc.log_sq_size=4 in.qpc.uar_page=uar_page.0 "
	  "in.qpc.user_index=0xbbb in.qpc.cqn_snd=cqn.0 in.qpc.cqn_rcv=cqn.0 in.qpc.dbr_umem_valid=1 "
	  "in.qpc.dbr_addr=0x8040 in@0xfc=umem_id.0 in.wq_umem_offset=0x2000 in.wq_umem_id=umem_id.0 in.wq_umem_valid=1" },
	{ "create_mkey", K_lkey,
	  "in.mkey_umem_valid=1 in.memory_key_mkey_entry.pd=pdn.0 in.memory_key_mkey_entry.access_mode_1_0=1 "
	  "in.memory_key_mkey_entry.lr=1 in.memory_key_mkey_entry.lw=1 in.memory_key_mkey_entry.qpn=0xffffff "
	  "in.memory_key_mkey_entry.len=0x1000 in.memory_key_mkey_entry.log_page_size=12 "
	  "in.memory_key_mkey_entry.translations_octword_size=1 in.translations_octword_actual_size=1 in@0x64=umem_id.0" },
	{ "create_xrc_srq", K_srqn,
	  "in.xrc_srq_context_entry.log_xrc_srq_size=4 in.xrc_srq_context_entry.pd=pdn.0 "
	  "in.xrc_srq_context_entry.cqn=cqn.0 in.xrc_srq_context_entry.dbr_umem_valid=1 in.xrc_srq_umem_valid=1" },
	{ "create_rmp", K_srqn,
	  "in.ctx.state=1 in.ctx.wq.wq_type=1 in.ctx.wq.pd=pdn.0 in.ctx.wq.log_wq_stride=5 in.ctx.wq.log_wq_sz=4 "
	  "in.ctx.wq.dbr_umem_valid=1 in.ctx.wq.wq_umem_valid=1 in.ctx.wq.dbr_umem_id=umem_id.0 "
	  "in.ctx.wq.wq_umem_id=umem_id.0 in.ctx.wq.dbr_addr=0x8080 in.ctx.wq.wq_umem_offset=0x4000" },
	{ "create_tis", K_devx_id, "in.ctx.transport_domain=td.0 in.ctx.pd=pdn.0" },
	{ "create_dct", K_devx_id,
	  "in.dct_context_entry.cqn=cqn.0 in.dct_context_entry.srqn_xrqn=srqn.0 in.dct_context_entry.pd=pdn.0 "
	  "in.dct_context_entry.port=1" },
	{ "create_psv", K_devx_id, "in.num_psv=1 in.pd=pdn.0" },
	{ "query_qp", K_none, "in.qpn=qpn.0" },
	{ "query_cq", K_none, "in.cqn=cqn.0" },
	{ "query_rmp", K_none, "in.rmpn=srqn.0" },
	{ "query_xrc_srq", K_none, "in.xrc_srqn=srqn.0" },
	{ "query_mkey", K_none, "in.mkey_index=lkey.0" },
	{ "query_q_counter", K_none, "in.counter_set_id=devx_id.0" },
	{ "query_tis", K_none, "in.tisn=devx_id.0" },
	{ "modify_cq", K_none, "in.cqn=cqn.0 in.cq_context.cq_period=1 in@0xc=1" },
	{ "modify_tis", K_none, "in.tisn=devx_id.0" },
	{ "arm_rq", K_none, "in.srq_number=srqn.0 in.op_mod=1" },
	{ "arm_xrc_srq", K_none, "in.xrc_srqn=srqn.0 in.op_mod=1" },
	{ "qp_2err", K_none, "in.qpn=qpn.0" },
	{ "qp_2rst", K_none, "in.qpn=qpn.0" },
	{ "rst2init_qp", K_none, "in.qpn=qpn.0 in.qpc.pm_state=3 in.qpc.primary_address_path.vhca_port_num=1" },
	{ "init2rtr_qp", K_none,
	  "in.qpn=qpn.0 in.qpc.mtu=3 in.qpc.log_msg_max=20 in.qpc.remote_qpn=qpn.0 "
	  "in.qpc.primary_address_path.rlid=1 in.qpc.min_rnr_nak=12" },
	{ "rtr2rts_qp", K_none,
	  "in.qpn=qpn.0 in.qpc.primary_address_path.ack_timeout=14 in.qpc.retry_count=7 in.qpc.rnr_retry=7" },
	{ "query_hca_cap", K_none, "" },
};

#define NR_DEFAULTS (sizeof(defaults) / sizeof(defaults[0]))

/*
 * Tables by index in opcodes: the defaults, the kind of the result, the length of command and
 * answer.
 */
static struct call *known;
static enum kind *results;
static uint16_t *sizes[2];

static const struct ifc_struct *command_struct(unsigned int opcode, const char *suffix)
{
	char name[80];

	if (opcode >= nr_opcodes)
		return NULL;
	snprintf(name, sizeof(name), "%s_%s", opcodes[opcode].name, suffix);
	return ifc_struct_find(name);
}

/* Bytes of a command or of its answer; 0x40 if mlx5_ifc.h does not have the structure. */
unsigned int command_bytes(unsigned int opcode, bool out)
{
	return opcode < nr_opcodes && sizes[out][opcode] ? sizes[out][opcode] : 0x40;
}

const struct call *command_defaults(unsigned int opcode)
{
	return opcode < nr_opcodes ? &known[opcode] : NULL;
}

enum kind command_result(unsigned int opcode)
{
	return opcode < nr_opcodes ? results[opcode] : K_devx_id;
}

int description_find(const char *name, size_t len)
{
	for (unsigned int i = 0; i < nr_descriptions; i++)
		if (strlen(descriptions[i].name) == len && !memcmp(descriptions[i].name, name, len))
			return i;
	return -1;
}

int opcode_find(const char *name, size_t len)
{
	for (unsigned int i = 0; i < nr_opcodes; i++)
		if (strlen(opcodes[i].name) == len && !memcmp(opcodes[i].name, name, len))
			return i;
	return -1;
}

static bool same_place(const struct arg *a, const struct arg *b)
{
	return a->attr == b->attr && a->sort == b->sort &&
	       (a->sort == ARG_BITS ? a->off == b->off && a->width == b->width : a->index == b->index);
}

/*
 * The call's argument for the same place as @like. If there is none, @like is added; NULL if the
 * call is full.
 */
struct arg *call_arg(struct call *call, const struct arg *like)
{
	for (unsigned int i = 0; i < call->nr_args; i++)
		if (same_place(&call->args[i], like))
			return &call->args[i];
	if (call->nr_args == MAX_ARGS)
		return NULL;
	call->args[call->nr_args] = *like;
	return &call->args[call->nr_args++];
}

/* --- From text --- */

static bool parse_value(const char *text, struct value *value)
{
	const char *dot = strchr(text, '.');
	char *end;

	*value = (struct value){ V_NUMBER, 0, 0 };
	if (!strcmp(text, "bad")) {
		value->mode = V_BAD;
		return true;
	}
	if (!strncmp(text, "mem+", 4)) {
		value->mode = V_MEMORY;
		text += 4;
	} else if (dot) {
		value->mode = V_RESULT;
		for (unsigned int i = 0; i < NR_KINDS; i++)
			if (strlen(kind_names[i]) == (size_t)(dot - text) &&
			    !memcmp(kind_names[i], text, dot - text))
				value->kind = i;
		if (!value->kind)
			return false;
		text = dot + 1;
	}
	value->n = strtoull(text, &end, 0);
	return end != text && !*end;
}

/* Parse the FIELD of a structure: of the kernel's interface, or of a command of the device. */
static bool parse_field(const struct call *call, const struct attr *attr, const char *name, struct arg *arg)
{
	const struct ifc_member *member;
	const struct ifc_struct *ifc;

	if (attr->command) {
		ifc = command_struct(call->opcode, attr->type == A_IN ? "in" : "out");
		member = ifc ? ifc_member_find(ifc, name, &arg->off) : NULL;
		if (!member || member->width > 64)
			return false;
		arg->sort = ARG_BITS;
		arg->width = member->width;
		return true;
	}
	arg->sort = ARG_FIELD;
	for (unsigned int i = 0; i < attr->nr_fields; i++) {
		arg->index = i;
		if (!strcmp(attr->fields[i].name, name))
			return true;
	}
	return false;
}

/*
 * Parse a place: ATTRIBUTE, ATTRIBUTE.FIELD, ATTRIBUTE!META, ATTRIBUTE@BYTE, ATTRIBUTE:BIT:WIDTH;
 * or FIELD, in a call that is not a method.
 */
static bool parse_place(const struct call *call, const struct description *d, char *text, struct arg *arg)
{
	char *rest = text + strcspn(text, ".!@:");
	char sort = *rest;

	if (d->object == NO_OBJECT && d->nr_attrs == 1)
		return parse_field(call, &d->attrs[0], text, arg);
	*rest = 0;
	for (arg->attr = 0; arg->attr < d->nr_attrs; arg->attr++)
		if (!strcmp(d->attrs[arg->attr].name, text))
			break;
	if (arg->attr == d->nr_attrs)
		return false;
	if (sort)
		rest++;
	switch (sort) {
	case '!':
		arg->sort = ARG_META;
		for (arg->index = 0; arg->index < NR_METAS; arg->index++)
			if (!strcmp(meta_names[arg->index], rest))
				return true;
		return false;
	case '@':
		arg->sort = ARG_BITS;
		arg->off = strtoul(rest, NULL, 0) * 8;
		arg->width = 32;
		return true;
	case ':':
		arg->sort = ARG_BITS;
		return sscanf(rest, "%i:%hi", (int *)&arg->off, (short *)&arg->width) == 2 && arg->width &&
		       arg->width <= 64;
	case '.':
		return parse_field(call, &d->attrs[arg->attr], rest, arg);
	}
	/* A handle or a file is its attribute's only value, and takes the place of field 0. */
	arg->sort = ARG_FIELD;
	return !d->attrs[arg->attr].nr_fields || parse_field(call, &d->attrs[arg->attr], "", arg);
}

static bool parse_arg(struct call *call, const struct description *d, char *text)
{
	char *value = strchr(text, '=');
	struct arg arg = {}, *place;
	int opcode;

	if (!value)
		return false;
	*value++ = 0;
	if (!strcmp(text, "op")) {
		opcode = opcode_find(value, strlen(value));
		call->opcode = opcode < 0 ? NO_OPCODE : opcode;
		return opcode >= 0;
	}
	if (!strcmp(text, "ctx")) {
		call->context = strtoul(value, NULL, 0);
		return true;
	}
	if (!parse_place(call, d, text, &arg) || !parse_value(value, &arg.value))
		return false;
	place = call_arg(call, &arg);
	if (place)
		place->value = arg.value;
	return true;
}

static bool parse_args(struct call *call, const struct description *d, char *text)
{
	char *save, *word;

	for (word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
		if (!parse_arg(call, d, word))
			return false;
	return true;
}

static bool parse_call(struct call *call, char *line)
{
	size_t len = strcspn(line, " \t");
	int d = description_find(line, len);

	call->description = d;
	call->opcode = NO_OPCODE;
	call->context = 0;
	call->nr_args = 0;
	return d >= 0 && parse_args(call, &descriptions[d], line + len);
}

/**
 * program_parse() - read a program
 * @program: gets the calls
 * @text: the program as text, without a terminating 0
 * @len: bytes of @text
 * @bad_line: the first line that is not a call, counted from 1; 0 if there is none
 *
 * Lines that are not calls are left out, so that any text is a program.
 *
 * Return: whether the program has a call.
 */
bool program_parse(struct program *program, const char *text, size_t len, unsigned int *bad_line)
{
	const char *end = text + len;
	unsigned int number = 0;
	char line[2048];

	program->nr_calls = 0;
	*bad_line = 0;
	while (text < end && program->nr_calls < MAX_CALLS) {
		const char *eol = memchr(text, '\n', end - text) ?: end;
		size_t n = eol - text;

		number++;
		if (n >= sizeof(line))
			n = sizeof(line) - 1;
		memcpy(line, text, n);
		line[n] = 0;
		text = eol + 1;
		if (!n || line[0] == '#')
			continue;
		if (parse_call(&program->calls[program->nr_calls], line))
			program->nr_calls++;
		else if (!*bad_line)
			*bad_line = number;
	}
	return program->nr_calls;
}

/* --- To text --- */

/* Write the path of the field at @off to @path. Returns false if there is no such field. */
static bool ifc_path(const struct ifc_struct *s, uint32_t off, uint32_t width, char *path, size_t size)
{
	for (const struct ifc_member *m = s->field; m->name; m++) {
		int n;

		if (m->count != 1 || off < m->off || off >= m->off + m->width)
			continue;
		n = snprintf(path, size, "%s", m->name);
		if (!m->sub && off == m->off && width == m->width)
			return true;
		if (!m->sub || (size_t)n + 2 > size)
			continue;
		path[n] = '.';
		if (ifc_path(m->sub, off - m->off, width, path + n + 1, size - n - 1))
			return true;
	}
	return false;
}

static int print_place(const struct call *call, const struct description *d, const struct arg *arg, char *text,
		       size_t size)
{
	const struct attr *attr = &d->attrs[arg->attr];
	const struct ifc_struct *ifc;
	char path[200];

	switch (arg->sort) {
	case ARG_META:
		return snprintf(text, size, " %s!%s", attr->name, meta_names[arg->index]);
	case ARG_BITS:
		ifc = attr->command ? command_struct(call->opcode, attr->type == A_IN ? "in" : "out") : NULL;
		if (ifc && ifc_path(ifc, arg->off, arg->width, path, sizeof(path)))
			return snprintf(text, size, " %s.%s", attr->name, path);
		if (arg->width == 32 && !(arg->off % 8))
			return snprintf(text, size, " %s@0x%x", attr->name, arg->off / 8);
		return snprintf(text, size, " %s:0x%x:%d", attr->name, arg->off, arg->width);
	}
	if (d->object == NO_OBJECT && d->nr_attrs == 1)
		return snprintf(text, size, " %s", attr->fields[arg->index].name);
	if (!attr->nr_fields || !attr->fields[arg->index].name[0])
		return snprintf(text, size, " %s", attr->name);
	return snprintf(text, size, " %s.%s", attr->name, attr->fields[arg->index].name);
}

static int print_value(const struct value *value, char *text, size_t size)
{
	switch (value->mode) {
	case V_MEMORY:
		return snprintf(text, size, "=mem+0x%llx", (unsigned long long)value->n);
	case V_RESULT:
		return snprintf(text, size, "=%s.%llu", kind_names[value->kind], (unsigned long long)value->n);
	case V_BAD:
		return snprintf(text, size, "=bad");
	}
	return snprintf(text, size, value->n < 10 ? "=%llu" : "=0x%llx", (unsigned long long)value->n);
}

static size_t print_call(const struct call *call, char *text, size_t size)
{
	const struct description *d = &descriptions[call->description];
	size_t n = snprintf(text, size, "%s", d->name);

	if (call->context && n < size)
		n += snprintf(text + n, size - n, " ctx=%d", call->context);
	if (call->opcode != NO_OPCODE && n < size)
		n += snprintf(text + n, size - n, " op=%s", opcodes[call->opcode].name);
	for (unsigned int i = 0; i < call->nr_args && n < size; i++) {
		n += print_place(call, d, &call->args[i], text + n, size - n);
		if (n < size)
			n += print_value(&call->args[i].value, text + n, size - n);
	}
	if (n < size)
		n += snprintf(text + n, size - n, "\n");
	return n;
}

/* Write down as many of the program's calls as fit. Returns the length. */
size_t program_print(const struct program *program, char *text, size_t size)
{
	size_t len = 0;

	for (unsigned int i = 0; i < program->nr_calls; i++) {
		size_t n = print_call(&program->calls[i], text + len, size - len);

		if (n >= size - len)
			break;
		len += n;
	}
	return len;
}

static void defaults_init(unsigned int index)
{
	const struct description *d = &descriptions[description_find("devx_create", 11)];
	int opcode = opcode_find(defaults[index].opcode, strlen(defaults[index].opcode));
	char text[2048];

	if (opcode < 0) {
		fprintf(stderr, "fuzz-ioctl: mlx5_ifc.h has no command %s\n", defaults[index].opcode);
		exit(2);
	}
	/*
	 * The attributes of all methods that carry a command have the same names, so the
	 * description of devx_create can parse the arguments of any opcode.
	 */
	snprintf(text, sizeof(text), "%s", defaults[index].args);
	known[opcode].opcode = opcode;
	results[opcode] = defaults[index].result;
	if (!parse_args(&known[opcode], d, text)) {
		fprintf(stderr, "fuzz-ioctl: %s has no field '%s'\n", defaults[index].opcode, text);
		exit(2);
	}
}

void program_init(void)
{
	known = calloc(nr_opcodes, sizeof(*known));
	results = calloc(nr_opcodes, sizeof(*results));
	sizes[0] = calloc(nr_opcodes, sizeof(*sizes[0]));
	sizes[1] = calloc(nr_opcodes, sizeof(*sizes[1]));
	for (unsigned int i = 0; i < nr_opcodes; i++) {
		const struct ifc_struct *in = command_struct(i, "in"), *out = command_struct(i, "out");

		results[i] = K_devx_id;
		sizes[0][i] = in ? in->bits / 8 : 0;
		sizes[1][i] = out ? out->bits / 8 : 0;
	}
	for (unsigned int i = 0; i < NR_DEFAULTS; i++)
		defaults_init(i);
}
