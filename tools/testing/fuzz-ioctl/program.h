/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs: the inputs that the fuzzer runs and mutates. A program is a list of calls, and a call
 * names only the values that differ from the defaults of its description in calls.c:
 *
 *	open
 *	alloc_pd
 *	umem_reg len=0x8000
 *	devx_create op=create_cq in.cq_context.log_cq_size=9 in!len=0x40
 *	devx_subscribe fd=event_fd.0 obj=cq.0
 *
 * A value is a number; mem+NUMBER, an address in the memory that programs have; KIND.N, the Nth
 * newest result of the kind, counted from 0, or 0 if there is no result; or bad, an address that is
 * not mapped.
 */
#ifndef FUZZ_IOCTL_PROGRAM_H
#define FUZZ_IOCTL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of results: handles, files, and numbers of the device. */
#define KINDS(X)                                                                                                       \
	X(none) X(ctx) X(async_fd) X(pd) X(pdn) X(ah) X(mr) X(lkey) X(mw) X(channel) X(cq) X(cqn) X(qp) X(qpn)         \
	X(srq) X(srqn) X(xrcd) X(dm) X(dmabuf) X(uar) X(uar_page) X(mmap_off) X(map) X(umem) X(umem_id) X(devx)        \
	X(devx_id) X(td) X(eqn) X(cmd_fd) X(event_fd) X(var) X(pp) X(matcher) X(anchor) X(flow) X(action) X(bfreg)     \
	X(counters) X(file) X(gone)

#define KIND_ENUM(name) K_##name,
enum kind { KINDS(KIND_ENUM) NR_KINDS };

extern const char *const kind_names[NR_KINDS];

enum value_mode { V_NUMBER, V_MEMORY, V_RESULT, V_BAD };

struct value {
	uint8_t mode;	/* enum value_mode */
	uint8_t kind;	/* kind of the result */
	/* number, offset in the memory, or how many newer results of the kind there are */
	uint64_t n;
};

/**
 * struct field - a field of a C structure
 * @name: name of the member; "" for an attribute that is one number
 * @off: offset in bytes
 * @size: size in bytes, 1 to 8
 * @def: default of the field; for a field that a call returns, the kind of the result
 */
struct field {
	const char *name;
	uint16_t off, size;
	struct value def;
};

enum attr_type {
	A_IN,		/* data; up to eight bytes are in the attribute itself */
	A_OUT,		/* a buffer */
	A_HANDLE,	/* an object */
	A_NEW,		/* a new object; the kernel returns the handle */
	A_DESTROY,	/* an object that the call destroys */
	A_FD,		/* an open file */
	A_NEW_FD,	/* a new file */
};

/**
 * struct attr - an attribute of a method
 * @name: name in programs
 * @id: number of the attribute in the kernel's interface
 * @type: enum attr_type
 * @optional: the attribute is passed only if a program names it
 * @command: the data is a command of the device or its answer: a structure of mlx5_ifc.h
 * @len: length of the data in bytes
 * @def: default of a handle or file; the kind of a new one
 * @fields: fields of the data
 * @nr_fields: number of fields
 */
struct attr {
	const char *name;
	uint16_t id;
	uint8_t type;
	bool optional, command;
	uint16_t len;
	struct value def;
	const struct field *fields;
	unsigned int nr_fields;
};

/*
 * For a call that is not a method of the ioctl: @object is NO_OBJECT, @method is enum other_call,
 * and the values are fields of one attribute.
 */
#define NO_OBJECT 0xffff
enum other_call { OTHER_OPEN, OTHER_MMAP, OTHER_MUNMAP, OTHER_STORE, OTHER_READ, OTHER_CLOSE, OTHER_DISCARD };

/**
 * struct description - a kind of call
 * @name: name in programs
 * @object: object of the method, or NO_OBJECT
 * @method: number of the method
 * @attrs: attributes
 * @nr_attrs: number of attributes
 * @opcode: NULL, or an array that ends with NULL: prefixes of the names of the device commands that
 *	the call is meant for
 */
struct description {
	const char *name;
	uint16_t object, method;
	const struct attr *attrs;
	unsigned int nr_attrs;
	const char *const *opcode;
};

extern const struct description descriptions[];
extern const unsigned int nr_descriptions;

/* Commands of the device by opcode, generated from mlx5_ifc.h. */
struct opcode {
	uint16_t opcode;
	const char *name;
};

extern const struct opcode opcodes[];
extern const unsigned int nr_opcodes;

enum meta {
	META_LEN, META_DATA, META_ID, META_FLAGS, META_ELEM, META_ON, META_OFF, NR_METAS
};

enum arg_sort { ARG_FIELD, ARG_BITS, ARG_META };

/**
 * struct arg - a value of a call that is not the default
 * @attr: index of the attribute
 * @sort: enum arg_sort
 * @index: index of the field; for ARG_META, enum meta
 * @off: for ARG_BITS: number of the first bit, in big-endian order
 * @width: for ARG_BITS: number of bits, up to 64
 * @value: the value
 */
struct arg {
	uint8_t attr, sort;
	uint8_t index;
	uint32_t off;
	uint16_t width;
	struct value value;
};

#define MAX_ARGS 48
#define MAX_CALLS 40
#define NO_OPCODE 0xffff

struct call {
	uint16_t description;
	uint16_t opcode;	/* index in opcodes, or NO_OPCODE */
	uint8_t context;	/* how many newer contexts there are */
	uint8_t nr_args;
	struct arg args[MAX_ARGS];
};

struct program {
	unsigned int nr_calls;
	struct call calls[MAX_CALLS];
};

/* program.c */
void program_init(void);
bool program_parse(struct program *program, const char *text, size_t len, unsigned int *bad_line);
size_t program_print(const struct program *program, char *text, size_t size);
int description_find(const char *name, size_t len);
int opcode_find(const char *name, size_t len);
const struct call *command_defaults(unsigned int opcode);
unsigned int command_bytes(unsigned int opcode, bool out);
enum kind command_result(unsigned int opcode);
struct arg *call_arg(struct call *call, const struct arg *like);

/* mutate.c */
void program_mutate(struct program *program, unsigned int seed);
void program_splice(struct program *program, const struct program *other, unsigned int seed);

/* run.c */
#define ARENA ((uint8_t *)0x100000000)
#define ARENA_BYTES 0x100000
#define BAD_ADDRESS 0x7fff00000000

void run_init(void);
void run_program(const struct program *program);
void run_report(void);

/* coverage.c */
void coverage_init(void);
void coverage_start(void);
bool coverage_stop(void);
void coverage_report(void);

#endif
