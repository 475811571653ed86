// SPDX-License-Identifier: GPL-2.0
/*
 * Changes programs: adds calls and the calls that these need, removes and moves calls, and gives
 * arguments other values.
 */
#include <string.h>

#include "fields.h"
#include "program.h"

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static bool one_in(uint32_t n)
{
	return !rnd(n);
}

static uint64_t random_number(unsigned int bits)
{
	static const uint64_t special[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 63, 64, 127, 128, 255, 256, 0x3ff, 0x400, 0xfff, 0x1000, 0x1001, 0x2000,
		0x7fff, 0x8000, 0xffff, 0x10000, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, 0xffffffffffffffff,
	};
	uint64_t n;

	switch (rnd(4)) {
	case 0:
	case 1:
		n = special[rnd(sizeof(special) / sizeof(special[0]))];
		break;
	case 2:
		n = 1ull << rnd(bits);
		break;
	default:
		rnd(0);
		n = state;
		break;
	}
	return bits < 64 ? n & ((1ull << bits) - 1) : n;
}

static struct value random_value(const struct value *old, unsigned int bits)
{
	struct value value = *old;

	switch (rnd(8)) {
	case 0:
		/* A result of any kind: it may replace a result of another kind. */
		return (struct value){ V_RESULT, 1 + rnd(NR_KINDS - 1), rnd(3) };
	case 1:
	case 2:
		if (old->mode == V_RESULT)
			return (struct value){ V_RESULT, old->kind, rnd(4) };
		break;
	case 3:
		if (old->mode == V_MEMORY || (bits == 64 && one_in(2)))
			return (struct value){ V_MEMORY, 0, one_in(2) ? rnd(0x100) << 12 : rnd(ARENA_BYTES) };
		break;
	case 4:
		if (bits == 64)
			return (struct value){ V_BAD, 0, 0 };
		break;
	case 5:
		if (old->mode == V_NUMBER) {
			value.n += one_in(2) ? 1 + rnd(16) : -(uint64_t)(1 + rnd(16));
			return value;
		}
		break;
	case 6:
		if (old->mode == V_NUMBER) {
			value.n ^= 1ull << rnd(bits);
			return value;
		}
		break;
	}
	return (struct value){ V_NUMBER, 0, random_number(bits) };
}

/* --- Calls --- */

static bool insert_call(struct program *program, unsigned int at, const struct call *call)
{
	if (program->nr_calls == MAX_CALLS)
		return false;
	memmove(&program->calls[at + 1], &program->calls[at], (program->nr_calls - at) * sizeof(*call));
	program->calls[at] = *call;
	program->nr_calls++;
	return true;
}

static void remove_call(struct program *program, unsigned int at)
{
	program->nr_calls--;
	memmove(&program->calls[at], &program->calls[at + 1], (program->nr_calls - at) * sizeof(program->calls[0]));
}

static bool opcode_fits(const struct description *d, unsigned int opcode)
{
	for (const char *const *prefix = d->opcode; *prefix; prefix++)
		if (!strncmp(opcodes[opcode].name, *prefix, strlen(*prefix)))
			return true;
	return false;
}

/* Mostly a command that the method is meant for, and mostly one that has defaults. */
static unsigned int random_opcode(const struct description *d)
{
	bool any = one_in(16), any_args = one_in(3);

	for (unsigned int tries = 0; tries < 2000; tries++) {
		unsigned int opcode = rnd(nr_opcodes);

		if ((any || opcode_fits(d, opcode)) && (any_args || command_defaults(opcode)->nr_args))
			return opcode;
	}
	return rnd(nr_opcodes);
}

/* Whether the call returns a result of this kind. */
static bool produces(const struct call *call, enum kind kind)
{
	const struct description *d = &descriptions[call->description];

	if (d->object == NO_OBJECT)
		return d->method == OTHER_OPEN ? kind == K_ctx : d->method == OTHER_MMAP && kind == K_map;
	for (unsigned int i = 0; i < d->nr_attrs; i++) {
		const struct attr *attr = &d->attrs[i];

		if ((attr->type == A_NEW || attr->type == A_NEW_FD) && attr->def.kind == kind)
			return true;
		if (attr->type == A_OUT && attr->command && d->opcode && call->opcode != NO_OPCODE &&
		    command_result(call->opcode) == kind)
			return true;
		for (unsigned int j = 0; attr->type == A_OUT && j < attr->nr_fields; j++)
			if (attr->fields[j].def.kind == kind)
				return true;
	}
	return false;
}

static void add_call(struct program *program, unsigned int *at, struct call *call, unsigned int depth);

/* Add a call that returns a result of this kind, unless an earlier call does. */
static void add_need(struct program *program, unsigned int *at, enum kind kind, unsigned int depth)
{
	struct call call = { .opcode = NO_OPCODE };

	for (unsigned int i = 0; i < *at; i++)
		if (produces(&program->calls[i], kind))
			return;
	if (!depth || kind == K_gone || kind == K_file)
		return;
	for (unsigned int tries = 0; tries < 300; tries++) {
		const struct description *d;

		call.description = rnd(nr_descriptions);
		d = &descriptions[call.description];
		call.opcode = d->opcode ? random_opcode(d) : NO_OPCODE;
		if (produces(&call, kind)) {
			add_call(program, at, &call, depth - 1);
			return;
		}
	}
}

static void add_value_need(struct program *program, unsigned int *at, const struct value *value, unsigned int depth)
{
	if (value->mode == V_RESULT && value->kind)
		add_need(program, at, value->kind, depth);
}

/* Add a call at *@at, and before it the calls that return the results that its defaults name. */
static void add_call(struct program *program, unsigned int *at, struct call *call, unsigned int depth)
{
	const struct description *d = &descriptions[call->description];
	const struct call *known = command_defaults(call->opcode);

	if (d->object != NO_OBJECT || d->method != OTHER_OPEN)
		add_need(program, at, K_ctx, depth);
	for (unsigned int i = 0; i < d->nr_attrs; i++) {
		const struct attr *attr = &d->attrs[i];

		if (attr->optional || attr->type == A_OUT || attr->type == A_NEW || attr->type == A_NEW_FD)
			continue;
		add_value_need(program, at, &attr->def, depth);
		for (unsigned int j = 0; j < attr->nr_fields; j++)
			add_value_need(program, at, &attr->fields[j].def, depth);
	}
	for (unsigned int i = 0; d->opcode && known && i < known->nr_args; i++)
		add_value_need(program, at, &known->args[i].value, depth);
	if (insert_call(program, *at, call))
		++*at;
}

static void mutate_add(struct program *program)
{
	unsigned int at = one_in(2) ? program->nr_calls : rnd(program->nr_calls + 1);
	struct call call = { .description = rnd(nr_descriptions), .opcode = NO_OPCODE };
	const struct description *d = &descriptions[call.description];

	if (d->opcode)
		call.opcode = random_opcode(d);
	add_call(program, &at, &call, 6);
}

/* --- Arguments --- */

/* Choose a place in a command: mostly a field of mlx5_ifc.h, else any dword. */
static bool random_command_place(const struct call *call, struct arg *arg)
{
	const struct call *known = command_defaults(call->opcode);
	const struct ifc_struct *s;
	char name[80];

	arg->sort = ARG_BITS;
	if (known && known->nr_args && one_in(3)) {
		unsigned int attr = arg->attr;

		*arg = known->args[rnd(known->nr_args)];
		arg->attr = attr;
		return true;
	}
	arg->width = 32;
	arg->off = 32 * rnd(command_bytes(call->opcode, false) / 4 + 2);
	if (call->opcode == NO_OPCODE || one_in(4))
		return true;
	if (strlen(opcodes[call->opcode].name) > 70)
		return false;
	strcpy(name, opcodes[call->opcode].name);
	strcat(name, "_in");
	arg->off = 0;
	for (s = ifc_struct_find(name); s;) {
		unsigned int count = 0;
		const struct ifc_member *m;

		while (s->field[count].name)
			count++;
		if (!count)
			return false;
		m = &s->field[rnd(count)];
		arg->off += m->off;
		s = m->sub;
		arg->width = m->width;
	}
	return arg->width && arg->width <= 64;
}

/* Set @arg to a place of the call and its default. Returns the width of the place in bits, or 0. */
static unsigned int random_place(const struct call *call, struct arg *arg)
{
	const struct description *d = &descriptions[call->description];
	const struct attr *attr;

	*arg = (struct arg){ .attr = rnd(d->nr_attrs) };
	attr = &d->attrs[arg->attr];
	if (d->object != NO_OBJECT && one_in(6)) {
		arg->sort = ARG_META;
		arg->index = rnd(NR_METAS);
		arg->value.n = attr->command ? command_bytes(call->opcode, attr->type == A_OUT) : attr->len;
		return arg->index == META_DATA ? 64 : 16;
	}
	if (attr->type == A_OUT || attr->type == A_NEW || attr->type == A_NEW_FD)
		return 0;
	if (attr->command)
		return random_command_place(call, arg) ? arg->width : 0;
	if (attr->nr_fields) {
		arg->index = rnd(attr->nr_fields);
		arg->value = attr->fields[arg->index].def;
		return attr->fields[arg->index].size * 8;
	}
	if (attr->type == A_IN) {
		arg->sort = ARG_BITS;
		arg->width = 32;
		arg->off = attr->len >= 4 ? 32 * rnd(attr->len / 4) : 0;
		return 32;
	}
	arg->value = attr->def;
	return 32;
}

static void mutate_args(struct program *program)
{
	struct call *call = &program->calls[rnd(program->nr_calls)];
	unsigned int changes = 1 + (one_in(3) ? rnd(4) : 0);
	const struct description *d = &descriptions[call->description];

	if (d->opcode && one_in(12)) {
		call->opcode = random_opcode(d);
		return;
	}
	if (call->nr_args && one_in(4)) {
		unsigned int i = rnd(call->nr_args);

		call->args[i] = call->args[--call->nr_args];
		return;
	}
	if (one_in(20)) {
		call->context = rnd(3);
		return;
	}
	while (changes--) {
		unsigned int bits = 0;
		struct arg arg, *place;

		for (unsigned int tries = 0; !bits && tries < 20; tries++)
			bits = random_place(call, &arg);
		place = bits ? call_arg(call, &arg) : NULL;
		if (place)
			place->value = random_value(&place->value, bits);
	}
}

static void mutate_move(struct program *program)
{
	unsigned int from = rnd(program->nr_calls), to = rnd(program->nr_calls);
	struct call call = program->calls[from];

	if (one_in(2))
		remove_call(program, from);
	insert_call(program, to < program->nr_calls ? to : program->nr_calls, &call);
}

static void seed(unsigned int n)
{
	state = (n + 1) * 0x9e3779b97f4a7c15;
	rnd(0);
}

void program_mutate(struct program *program, unsigned int n)
{
	unsigned int changes;

	seed(n);
	for (changes = 1 + rnd(3); changes; changes--) {
		unsigned int what = rnd(10);

		if (!program->nr_calls || what < 3)
			mutate_add(program);
		else if (what < 4)
			mutate_move(program);
		else if (what < 5 && program->nr_calls > 1)
			remove_call(program, rnd(program->nr_calls));
		else
			mutate_args(program);
	}
}

/* Continue a program with the end of another, or with a copy of some of its calls. */
void program_splice(struct program *program, const struct program *other, unsigned int n)
{
	unsigned int from, at;

	seed(n);
	from = rnd(other->nr_calls);
	at = one_in(2) ? program->nr_calls : rnd(program->nr_calls + 1);
	for (; from < other->nr_calls && insert_call(program, at++, &other->calls[from]); from++)
		if (one_in(8))
			break;
}
