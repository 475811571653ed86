// SPDX-License-Identifier: GPL-2.0
/*
 * Writes down, as a program for the fuzzer, which calls of verbs a real program makes:
 *
 *	FUZZ_RECORD=FILE LD_PRELOAD=build/fuzz-ioctl/record.so ibv_rc_pingpong
 *
 * Calls that fail are left out. A handle or number that a call has returned is written as KIND.N
 * (program.h), and addresses become addresses in the memory of the fuzzer's programs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fields.h"
#include "program.h"

#define RDMA_IOCTL _IOWR(RDMA_IOCTL_MAGIC, 1, struct ib_uverbs_ioctl_hdr)
#define MAX_RESULTS 64
#define MAX_REGIONS 256
#define REGION_BYTES 0x8000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *output;
static struct {
	unsigned int count;
	uint64_t values[MAX_RESULTS];
} results[NR_KINDS];
/* Each page of which the program has passed an address to the kernel, in the order of first use. */
static uint64_t regions[MAX_REGIONS];
static unsigned int nr_regions;
static int device = -1;

__attribute__((constructor)) static void record_init(void)
{
	const char *path = getenv("FUZZ_RECORD");

	program_init();
	output = path ? fopen(path, "a") : NULL;
}

static void result_add(enum kind kind, uint64_t value)
{
	if (kind != K_none && results[kind].count < MAX_RESULTS)
		results[kind].values[results[kind].count++] = value;
}

static struct value name_value(const struct value *like, uint64_t value)
{
	const uint64_t page = value & ~0xfffull;
	unsigned int i;

	if (like->mode == V_RESULT) {
		for (i = results[like->kind].count; i--;)
			if (results[like->kind].values[i] == value)
				return (struct value){ V_RESULT, like->kind, results[like->kind].count - 1 - i };
	} else if (like->mode == V_MEMORY && value) {
		for (i = 0; i < nr_regions && regions[i] != page; i++)
			;
		if (i == nr_regions && nr_regions < MAX_REGIONS)
			regions[nr_regions++] = page;
		return (struct value){ V_MEMORY, 0, (i * REGION_BYTES + (value & 0xfff)) % ARENA_BYTES };
	}
	return (struct value){ V_NUMBER, 0, value };
}

static void add_arg(struct call *call, struct arg arg, const struct value *def, uint64_t value)
{
	arg.value = name_value(def, value);
	if (memcmp(&arg.value, def, sizeof(*def)))
		call_arg(call, &arg);
}

static const uint8_t *attr_data(const struct ib_uverbs_attr *attr)
{
	return attr->len <= sizeof(attr->data) ? (const uint8_t *)&attr->data : (const uint8_t *)(uintptr_t)attr->data;
}

/* Record the fields of a command that differ from their default, which is 0 for most fields. */
static void record_command(struct call *call, unsigned int index, const struct ifc_struct *s, uint32_t off,
			   const uint8_t *data, uint32_t bits)
{
	static const struct value zero;
	const struct call *known = command_defaults(call->opcode);

	for (const struct ifc_member *m = s->field; m->name; m++) {
		struct arg arg = { .attr = index, .sort = ARG_BITS, .off = off + m->off, .width = m->width };
		const struct value *def;

		if (m->count != 1 || arg.off + m->width > bits || arg.off < 16)
			continue;
		if (m->sub) {
			record_command(call, index, m->sub, arg.off, data, bits);
			continue;
		}
		/* Record long members by dwords: fields of umems are in reserved members. */
		for (; arg.off < off + m->off + m->width; arg.off += arg.width) {
			if (m->width > 64)
				arg.width = 32;
			def = &zero;
			for (unsigned int i = 0; known && i < known->nr_args; i++)
				if (known->args[i].off == arg.off && known->args[i].width == arg.width)
					def = &known->args[i].value;
			add_arg(call, arg, def, ifc_get_bits(data, arg.off, arg.width));
		}
	}
}

static void record_data(struct call *call, const struct attr *attr, unsigned int index,
			const struct ib_uverbs_attr *passed)
{
	const uint8_t *data = attr_data(passed);
	const struct ifc_struct *s;
	char name[80];

	if (attr->command && passed->len >= 2) {
		unsigned int opcode = data[0] << 8 | data[1];

		for (unsigned int i = 0; i < nr_opcodes; i++)
			if (opcodes[i].opcode == opcode)
				call->opcode = i;
		if (call->opcode == NO_OPCODE)
			return;
		snprintf(name, sizeof(name), "%s_in", opcodes[call->opcode].name);
		s = ifc_struct_find(name);
		if (s)
			record_command(call, index, s, 0, data, passed->len * 8);
		return;
	}
	for (unsigned int i = 0; i < attr->nr_fields; i++) {
		const struct field *field = &attr->fields[i];
		struct arg arg = { .attr = index, .sort = ARG_FIELD, .index = i };
		uint64_t value = 0;

		if (field->off + field->size > passed->len || !strcmp(field->name, "response") ||
		    strstr(field->name, "user_handle") || !strcmp(attr->name, "user_handle"))
			continue;
		memcpy(&value, data + field->off, field->size);
		add_arg(call, arg, &field->def, value);
	}
}

static const struct ib_uverbs_attr *passed_attr(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

static void record_attr(struct call *call, const struct attr *attr, unsigned int index,
			const struct ib_uverbs_attr *passed)
{
	struct arg meta = { .attr = index, .sort = ARG_META };
	unsigned int before = call->nr_args, len;

	if (!passed) {
		meta.index = META_OFF;
		if (!attr->optional && attr->type != A_OUT)
			call_arg(call, &meta);
		return;
	}
	if (attr->type == A_IN)
		record_data(call, attr, index, passed);
	else if (attr->type == A_HANDLE || attr->type == A_DESTROY || attr->type == A_FD)
		add_arg(call, (struct arg){ .attr = index }, &attr->def, passed->data);
	len = attr->command ? command_bytes(call->opcode, attr->type == A_OUT) : attr->len;
	if ((attr->type == A_IN || attr->type == A_OUT) && passed->len != len) {
		meta.index = META_LEN;
		meta.value.n = passed->len;
		call_arg(call, &meta);
	} else if (attr->optional && call->nr_args == before) {
		meta.index = META_ON;
		call_arg(call, &meta);
	}
}

static void take_results(const struct call *call, const struct attr *attr, const struct ib_uverbs_attr *passed)
{
	if (!passed)
		return;
	if (attr->type == A_NEW || attr->type == A_NEW_FD)
		result_add(attr->def.kind, (uint32_t)passed->data);
	if (attr->type != A_OUT || !passed->data)
		return;
	if (attr->command && passed->len >= 12)
		result_add(command_result(call->opcode), ifc_get_bits((void *)(uintptr_t)passed->data, 0x48, 24));
	for (unsigned int i = 0; i < attr->nr_fields; i++) {
		const struct field *field = &attr->fields[i];
		uint64_t value = 0;

		if (field->off + field->size > passed->len)
			continue;
		memcpy(&value, (uint8_t *)(uintptr_t)passed->data + field->off, field->size);
		result_add(field->def.kind, value);
	}
}

static bool same_method(const struct description *d, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *cmd;

	if (d->object == NO_OBJECT)
		return d->method == OTHER_OPEN && hdr->object_id == UVERBS_OBJECT_DEVICE &&
		       hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
	if (d->object != hdr->object_id || d->method != hdr->method_id)
		return false;
	if (d->object != UVERBS_OBJECT_DEVICE || d->method != UVERBS_METHOD_INVOKE_WRITE)
		return true;
	cmd = passed_attr(hdr, UVERBS_ATTR_WRITE_CMD);
	/* The command that modifies a queue pair and the extended one begin with the same structure. */
	return cmd && (cmd->data == d->attrs[0].fields[0].def.n ||
		       (cmd->data == IB_USER_VERBS_CMD_MODIFY_QP && !strncmp(d->name, "qp_", 3)));
}

static void write_call(const struct call *call)
{
	static struct program program;
	char text[8192];

	program.nr_calls = 1;
	program.calls[0] = *call;
	fwrite(text, program_print(&program, text, sizeof(text)), 1, output);
	fflush(output);
}

static void describe_call(struct call *call, const struct description *d, const struct ib_uverbs_ioctl_hdr *hdr)
{
	*call = (struct call){ .description = d - descriptions, .opcode = NO_OPCODE };
	for (unsigned int i = 0; i < d->nr_attrs; i++)
		if (strcmp(d->attrs[i].name, "cmd"))
			record_attr(call, &d->attrs[i], i, passed_attr(hdr, d->attrs[i].id));
}

/* @hdr: the ioctl's header as it was before the call; @after: as the kernel has left it */
static void record_method(const struct ib_uverbs_ioctl_hdr *hdr, const struct ib_uverbs_ioctl_hdr *after)
{
	static struct call best, call;
	const struct description *d, *found = NULL;

	/* Descriptions of one command differ in their defaults: take the closest one. */
	for (d = descriptions; d < descriptions + nr_descriptions; d++) {
		if (!same_method(d, hdr))
			continue;
		describe_call(&call, d, hdr);
		if (!found || call.nr_args < best.nr_args)
			best = call;
		found = d;
	}
	if (!found) {
		fprintf(output, "# object %#x method %#x\n", hdr->object_id, hdr->method_id);
		return;
	}
	write_call(&best);
	d = &descriptions[best.description];
	for (unsigned int i = 0; i < d->nr_attrs; i++)
		take_results(&best, &d->attrs[i], passed_attr(after, d->attrs[i].id));
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int fd, unsigned long request, void *arg);
	struct ib_uverbs_ioctl_hdr *before = NULL;
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!next)
		next = dlsym(RTLD_NEXT, "ioctl");
	if (request == RDMA_IOCTL && output) {
		before = malloc(((struct ib_uverbs_ioctl_hdr *)arg)->length);
		memcpy(before, arg, ((struct ib_uverbs_ioctl_hdr *)arg)->length);
	}
	ret = next(fd, request, arg);
	if (before && !ret) {
		pthread_mutex_lock(&lock);
		device = fd;
		record_method(before, arg);
		pthread_mutex_unlock(&lock);
	}
	free(before);
	return ret;
}

static void record_mmap(uint64_t length, int prot, int flags, uint64_t offset)
{
	const struct description *d = &descriptions[description_find("mmap", 4)];
	const uint64_t values[] = { offset, length, prot, flags & 3 };
	struct call call = { .opcode = NO_OPCODE, .description = d - descriptions };

	for (unsigned int i = 0; i < d->attrs[0].nr_fields; i++)
		add_arg(&call, (struct arg){ .index = i }, &d->attrs[0].fields[i].def, values[i]);
	write_call(&call);
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	static void *(*next)(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
	void *result;

	if (!next)
		next = dlsym(RTLD_NEXT, "mmap");
	result = next(addr, length, prot, flags, fd, offset);
	if (output && fd >= 0 && fd == device && result != MAP_FAILED) {
		pthread_mutex_lock(&lock);
		record_mmap(length, prot, flags, offset);
		pthread_mutex_unlock(&lock);
	}
	return result;
}
