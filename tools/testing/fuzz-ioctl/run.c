// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program. A program begins without an open device, and all that the program has opened and
 * mapped is closed and unmapped at its end, so that each program sees the same state.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ifc.h"
#include "program.h"

#define RDMA_IOCTL _IOWR(RDMA_IOCTL_MAGIC, 1, struct ib_uverbs_ioctl_hdr)
#define DEVICE "/dev/infiniband/uverbs0"
#define MAX_ATTRS 32
#define BUFFER_BYTES 0x2000
#define MAX_RESULTS 64
#define MAX_FILES 256
#define MAX_MAPS 64
#define MAX_MAP_BYTES 0x100000

/* The results of a kind, in the order in which calls returned them. */
static struct {
	unsigned int count;
	uint64_t values[MAX_RESULTS];
} results[NR_KINDS];

static int files[MAX_FILES];
static unsigned int nr_files;
static struct {
	void *addr;
	size_t length;
} maps[MAX_MAPS];
static unsigned int nr_maps;

/* Data of the attributes. The kernel may write as many bytes as a length of 16 bits can say. */
static uint8_t buffers[MAX_ATTRS][0x10000] __attribute__((aligned(64)));
static bool verbose;

/* How often each kind of call was made, and how often it succeeded. */
static struct {
	uint64_t made, succeeded;
} *counts;

/*
 * A program that has opened a queue pair by OPEN_QP does not attach or detach queue pairs: ib_core (7.2) does not
 * support this for such a queue pair, see Documentation/patches.rst.
 */
static bool opened_qp;

static sigjmp_buf fault;
static volatile sig_atomic_t may_fault;

/* --- Results --- */

static void result_add(enum kind kind, uint64_t value)
{
	if (kind == K_none)
		return;
	if (results[kind].count == MAX_RESULTS) {
		memmove(results[kind].values, results[kind].values + 1, (MAX_RESULTS - 1) * sizeof(uint64_t));
		results[kind].count--;
	}
	results[kind].values[results[kind].count++] = value;
}

static uint64_t result_get(enum kind kind, uint64_t newer)
{
	unsigned int count = results[kind].count;

	return count ? results[kind].values[count - 1 - newer % count] : 0;
}

/* The object has been destroyed. Programs may still pass its handle, as gone.N. */
static void result_remove(enum kind kind, uint64_t value)
{
	for (unsigned int i = 0; i < results[kind].count; i++) {
		if (results[kind].values[i] != value)
			continue;
		memmove(results[kind].values + i, results[kind].values + i + 1,
			(results[kind].count - i - 1) * sizeof(uint64_t));
		results[kind].count--;
		result_add(K_gone, value);
		return;
	}
}

static uint64_t value_of(const struct value *value)
{
	switch (value->mode) {
	case V_MEMORY:
		return (uintptr_t)ARENA + value->n;
	case V_RESULT:
		return result_get(value->kind, value->n);
	case V_BAD:
		return BAD_ADDRESS;
	}
	return value->n;
}

static void file_add(int fd, enum kind kind)
{
	if (fd < 3)
		return;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (nr_files < MAX_FILES)
		files[nr_files++] = fd;
	else
		close(fd);
	result_add(kind, fd);
}

/* --- Attributes --- */

static void put_field(uint8_t *buffer, const struct field *field, uint64_t value)
{
	memcpy(buffer + field->off, &value, field->size);
}

static uint64_t get_field(const uint8_t *buffer, const struct field *field)
{
	uint64_t value = 0;

	memcpy(&value, buffer + field->off, field->size);
	return value;
}

static void put_bits(uint8_t *buffer, const struct arg *arg)
{
	if (arg->off + arg->width <= BUFFER_BYTES * 8)
		ifc_set_bits(buffer, arg->off, arg->width, value_of(&arg->value));
}

/* Fill in the attribute's data, from the call's arguments and the defaults. Returns the length. */
static unsigned int fill_data(const struct call *call, const struct attr *attr, unsigned int index, uint8_t *buffer)
{
	const struct call *known = attr->command && attr->type == A_IN ? command_defaults(call->opcode) : NULL;
	unsigned int len = attr->command ? command_bytes(call->opcode, attr->type == A_OUT) : attr->len;

	memset(buffer, 0, BUFFER_BYTES);
	if (attr->type == A_OUT)
		return len;
	for (unsigned int i = 0; i < attr->nr_fields; i++)
		put_field(buffer, &attr->fields[i], value_of(&attr->fields[i].def));
	if (attr->command && call->opcode != NO_OPCODE)
		ifc_set_bits(buffer, 0, 16, opcodes[call->opcode].opcode);
	for (unsigned int i = 0; known && i < known->nr_args; i++)
		put_bits(buffer, &known->args[i]);
	for (unsigned int i = 0; i < call->nr_args; i++) {
		const struct arg *arg = &call->args[i];

		if (arg->attr != index)
			continue;
		if (arg->sort == ARG_BITS)
			put_bits(buffer, arg);
		else if (arg->sort == ARG_FIELD && arg->index < attr->nr_fields)
			put_field(buffer, &attr->fields[arg->index], value_of(&arg->value));
	}
	return len;
}

static void change_attr(struct ib_uverbs_attr *attr, enum meta meta, uint64_t value, const uint8_t *buffer)
{
	switch (meta) {
	case META_LEN:
		attr->len = value;
		if (attr->len <= sizeof(attr->data))
			memcpy(&attr->data, buffer, sizeof(attr->data));
		else
			attr->data = (uintptr_t)buffer;
		break;
	case META_DATA:
		attr->data = value;
		break;
	case META_ID:
		attr->attr_id = value;
		break;
	case META_FLAGS:
		attr->flags = value;
		break;
	case META_ELEM:
		attr->attr_data.reserved = value;
		break;
	default:
		break;
	}
}

/* Whether the call passes the attribute. */
static bool attr_wanted(const struct call *call, const struct attr *attr, unsigned int index)
{
	bool wanted = !attr->optional;

	for (unsigned int i = 0; i < call->nr_args; i++) {
		if (call->args[i].attr != index)
			continue;
		wanted = true;
		if (call->args[i].sort == ARG_META && call->args[i].index == META_OFF)
			return false;
	}
	return wanted;
}

static void build_attr(const struct call *call, const struct attr *attr, unsigned int index, struct ib_uverbs_attr *out)
{
	uint8_t *buffer = buffers[index];

	*out = (struct ib_uverbs_attr){ .attr_id = attr->id, .flags = UVERBS_ATTR_F_MANDATORY };
	switch (attr->type) {
	case A_IN:
	case A_OUT:
		out->len = fill_data(call, attr, index, buffer);
		if (attr->type == A_IN && out->len <= sizeof(out->data))
			memcpy(&out->data, buffer, sizeof(out->data));
		else
			out->data = (uintptr_t)buffer;
		break;
	case A_HANDLE:
	case A_DESTROY:
		out->data = value_of(&attr->def);
		break;
	case A_FD:
		out->data_s64 = (int)value_of(&attr->def);
		break;
	}
	for (unsigned int i = 0; i < call->nr_args; i++) {
		const struct arg *arg = &call->args[i];

		if (arg->attr != index)
			continue;
		if (arg->sort == ARG_META)
			change_attr(out, arg->index, value_of(&arg->value), buffer);
		else if (arg->sort == ARG_FIELD && !attr->nr_fields)
			out->data = value_of(&arg->value);
	}
}

/* --- Methods --- */

static void take_results(const struct call *call, const struct attr *attr, const struct ib_uverbs_attr *passed,
			 const uint8_t *buffer)
{
	switch (attr->type) {
	case A_NEW:
		result_add(attr->def.kind, (uint32_t)passed->data);
		break;
	case A_NEW_FD:
		file_add(passed->data_s64, attr->def.kind);
		break;
	case A_DESTROY:
		result_remove(attr->def.kind, passed->data);
		break;
	case A_OUT:
		if (attr->command)
			result_add(command_result(call->opcode), ifc_get_bits(buffer, 0x48, 24));
		for (unsigned int i = 0; i < attr->nr_fields; i++) {
			enum kind kind = attr->fields[i].def.kind;

			if (kind == K_channel)
				file_add(get_field(buffer, &attr->fields[i]), kind);
			else
				result_add(kind, get_field(buffer, &attr->fields[i]));
		}
		break;
	}
}

/* The command of uverbs that a call of UVERBS_METHOD_INVOKE_WRITE makes; -1 for another method. */
static int uverbs_command(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id != UVERBS_OBJECT_DEVICE || hdr->method_id != UVERBS_METHOD_INVOKE_WRITE)
		return -1;
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_WRITE_CMD)
			return hdr->attrs[i].data;
	return -1;
}

static int run_method(const struct call *call, const struct description *d, int fd, uint16_t object, uint16_t method)
{
	uint64_t space[(sizeof(struct ib_uverbs_ioctl_hdr) + MAX_ATTRS * sizeof(struct ib_uverbs_attr)) / 8];
	struct ib_uverbs_ioctl_hdr *hdr = (void *)space;
	unsigned int from[MAX_ATTRS], n = 0;
	int command, ret;

	for (unsigned int i = 0; i < d->nr_attrs && i < MAX_ATTRS; i++) {
		if (!attr_wanted(call, &d->attrs[i], i))
			continue;
		build_attr(call, &d->attrs[i], i, &hdr->attrs[n]);
		from[n++] = i;
	}
	*hdr = (struct ib_uverbs_ioctl_hdr){
		.length = sizeof(*hdr) + n * sizeof(hdr->attrs[0]), .object_id = object, .method_id = method,
		.num_attrs = n, .driver_id = RDMA_DRIVER_MLX5,
	};
	command = uverbs_command(hdr);
	if (opened_qp &&
	    (command == IB_USER_VERBS_CMD_ATTACH_MCAST || command == IB_USER_VERBS_CMD_DETACH_MCAST))
		return -EPERM;
	ret = ioctl(fd, RDMA_IOCTL, hdr) ? -errno : 0;
	opened_qp |= !ret && command == IB_USER_VERBS_CMD_OPEN_QP;
	for (unsigned int i = 0; !ret && i < n; i++)
		take_results(call, &d->attrs[from[i]], &hdr->attrs[i], buffers[from[i]]);
	return ret;
}

/* --- Calls that are not methods --- */

static int run_open(const struct call *call, const struct description *d)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	file_add(fd, K_ctx);
	return run_method(call, d, fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
}

static int run_mmap(int fd, uint64_t offset, uint64_t length, int prot, int flags)
{
	void *addr;

	if (nr_maps == MAX_MAPS || !length || length > MAX_MAP_BYTES)
		return -ENOMEM;
	/*
	 * Without MAP_FIXED, which is cut off, nothing is mapped over the memory of this process.
	 */
	addr = mmap(NULL, length, prot & 7, flags & 3, fd, offset);
	if (addr == MAP_FAILED)
		return -errno;
	maps[nr_maps].addr = addr;
	maps[nr_maps++].length = length;
	result_add(K_map, (uintptr_t)addr);
	return 0;
}

/* The address of the eight bytes at @offset of a mapping; NULL if they are not in a mapping. */
static uint8_t *map_address(uint64_t map, uint64_t offset)
{
	for (unsigned int i = 0; i < nr_maps; i++)
		if ((uintptr_t)maps[i].addr == map && offset + 8 <= maps[i].length && offset + 8 > offset)
			return (uint8_t *)maps[i].addr + offset;
	return NULL;
}

static int run_munmap(uint64_t map, uint64_t length)
{
	for (unsigned int i = 0; i < nr_maps; i++)
		if ((uintptr_t)maps[i].addr == map && length <= maps[i].length)
			return munmap(maps[i].addr, length) ? -errno : 0;
	return -ENOENT;
}

static void catch_fault(int sig)
{
	if (may_fault)
		siglongjmp(fault, 1);
	_exit(3);
}

static int run_store(uint64_t map, uint64_t offset, uint64_t value)
{
	uint8_t *address = map_address(map, offset & ~7ull);

	if (!address)
		return -ENOENT;
	if (sigsetjmp(fault, 1)) {
		may_fault = 0;
		return -EFAULT;
	}
	may_fault = 1;
	*(volatile uint64_t *)address = value;
	may_fault = 0;
	return 0;
}

/* Whether the file is one of the program's: the fuzzer has files of its own. */
static bool is_file(int fd)
{
	for (unsigned int i = 0; i < nr_files; i++)
		if (files[i] == fd)
			return true;
	return false;
}

static int run_close(int fd)
{
	for (unsigned int i = 0; i < nr_files; i++) {
		if (files[i] != fd)
			continue;
		files[i] = files[--nr_files];
		for (unsigned int kind = 0; kind < NR_KINDS; kind++)
			if (kind == K_ctx || kind == K_async_fd || kind == K_channel || kind == K_dmabuf || kind == K_cmd_fd ||
			    kind == K_event_fd || kind == K_file)
				result_remove(kind, fd);
		return close(fd) ? -errno : 0;
	}
	return -EBADF;
}

static int run_discard(uint64_t addr, uint64_t length)
{
	uint64_t start = (uintptr_t)ARENA;

	addr &= ~0xfffull;
	if (addr < start || length > ARENA_BYTES || addr + length > start + ARENA_BYTES)
		return -EINVAL;
	return madvise((void *)addr, length, MADV_DONTNEED) ? -errno : 0;
}

static int run_other(const struct call *call, const struct description *d, int fd)
{
	uint64_t v[8];

	if (d->method == OTHER_OPEN)
		return run_open(call, d);
	fill_data(call, &d->attrs[0], 0, buffers[0]);
	memcpy(v, buffers[0], sizeof(v));
	switch (d->method) {
	case OTHER_MMAP:
		return run_mmap(fd, v[0], v[1], v[2], v[3]);
	case OTHER_MUNMAP:
		return run_munmap(v[0], v[1]);
	case OTHER_STORE:
		return run_store(v[0], v[1], v[2]);
	case OTHER_READ:
		if (!is_file(v[0]))
			return -EBADF;
		return read(v[0], buffers[1], v[1] < BUFFER_BYTES ? v[1] : BUFFER_BYTES) < 0 ? -errno : 0;
	case OTHER_CLOSE:
		return run_close(v[0]);
	case OTHER_DISCARD:
		return run_discard(v[0], v[1]);
	}
	return -ENOSYS;
}

/* --- The program --- */

static void run_call(const struct call *call)
{
	const struct description *d = &descriptions[call->description];
	int fd = result_get(K_ctx, call->context), ret;

	if (d->object == NO_OBJECT)
		ret = run_other(call, d, fd);
	else
		ret = run_method(call, d, fd, d->object, d->method);
	counts[call->description].made++;
	counts[call->description].succeeded += !ret;
	if (verbose)
		printf("%-20s %s\n", d->name, ret ? strerror(-ret) : "ok");
}

static void clean_up(void)
{
	for (unsigned int i = 0; i < nr_maps; i++)
		munmap(maps[i].addr, maps[i].length);
	while (nr_files)
		close(files[--nr_files]);
	nr_maps = 0;
	opened_qp = false;
	for (unsigned int kind = 0; kind < NR_KINDS; kind++)
		results[kind].count = 0;
	madvise(ARENA, ARENA_BYTES, MADV_DONTNEED);
}

void run_program(const struct program *program)
{
	file_add(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), K_file);
	for (unsigned int i = 0; i < program->nr_calls; i++)
		run_call(&program->calls[i]);
	clean_up();
}

void run_init(void)
{
	struct sigaction action = { .sa_handler = catch_fault, .sa_flags = SA_NODEFER };

	counts = calloc(nr_descriptions, sizeof(*counts));
	verbose = getenv("FUZZ_VERBOSE") != NULL;
	if (verbose)
		setlinebuf(stdout);
	if (mmap(ARENA, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
	    ARENA) {
		perror("fuzz-ioctl: mmap");
		exit(2);
	}
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

void run_report(void)
{
	printf("Calls (succeeded of made):\n");
	for (unsigned int i = 0; i < nr_descriptions; i++)
		printf("  %-18s %8llu %8llu%s", descriptions[i].name, (unsigned long long)counts[i].succeeded,
		       (unsigned long long)counts[i].made, i % 3 == 2 || i + 1 == nr_descriptions ? "\n" : "");
}
