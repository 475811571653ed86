// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage of the driver by KCOV. It guides libFuzzer, and tells which functions were reached.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"

#define TRACE_WORDS (1 << 18)
#define COUNTERS (1 << 15)
#define MODULE "bluebell"

/*
 * libFuzzer takes each counter for a feature of the input, and tells eight ranges of the value of a
 * counter apart.
 */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static uint64_t *trace;
static int kmsg = -1;

struct function {
	uint64_t address;
	char name[80];
	bool reached;
};

static struct function *functions;
static unsigned int nr_functions;
static uint8_t *seen;		/* a bit for each address from that of the first function */
static uint64_t seen_bytes;

/*
 * Whether the symbol comes from the tracepoints of trace.h, from the compiler, or from the module
 * macros.
 */
static bool is_generated(const char *name)
{
	static const char *const prefixes[] = {
		"__pfx_", "__traceiter_", "__probestub_", "__bpf_trace_", "trace_event_raw_event_", "trace_raw_output_",
		"perf_trace_", "trace_event_get_offsets_", "__SCT__", "do_trace_event_raw_event_", "do_perf_trace_",
		"_sub_I_", "_sub_D_", "asan.module_", "cleanup_module", "init_module",
	};

	for (unsigned int i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return strstr(name, ".cold") != NULL;
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	return f->address < g->address ? -1 : f->address > g->address;
}

static void read_functions(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512], type, module[80];
	struct function f = {};

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long address;

		if (sscanf(line, "%llx %c %79s [%79[^]]]", &address, &type, f.name, module) != 4 ||
		    strcmp(module, MODULE) || (type != 't' && type != 'T') || is_generated(f.name))
			continue;
		/*
		 * The names of gcc's copies of a function end in .isra.0 and the like: take this
		 * suffix off.
		 */
		f.name[strcspn(f.name, ".")] = 0;
		f.address = address;
		functions = realloc(functions, (nr_functions + 1) * sizeof(f));
		functions[nr_functions++] = f;
	}
	if (file)
		fclose(file);
	if (!nr_functions || !functions[0].address) {
		fprintf(stderr, "fuzz-ioctl: cannot find the functions of " MODULE " in /proc/kallsyms\n");
		exit(2);
	}
	qsort(functions, nr_functions, sizeof(f), compare_functions);
	seen_bytes = functions[nr_functions - 1].address - functions[0].address + 0x10000;
	seen = calloc(1, seen_bytes / 8 + 1);
}

static void mark_function(uint64_t pc)
{
	uint64_t off = pc - functions[0].address;
	unsigned int low = 0, high = nr_functions;

	if (off >= seen_bytes || seen[off / 8] & 1 << off % 8)
		return;
	seen[off / 8] |= 1 << off % 8;
	while (high - low > 1) {
		unsigned int mid = (low + high) / 2;

		if (functions[mid].address <= pc)
			low = mid;
		else
			high = mid;
	}
	functions[low].reached = true;
}

void coverage_init(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR);

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, TRACE_WORDS)) {
		perror("fuzz-ioctl: cannot use /sys/kernel/debug/kcov");
		exit(2);
	}
	trace = mmap(NULL, TRACE_WORDS * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (trace == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC)) {
		perror("fuzz-ioctl: cannot start KCOV");
		exit(2);
	}
	read_functions();
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	lseek(kmsg, 0, SEEK_END);
}

void coverage_start(void)
{
	__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
}

/* Whether the kernel has reported a bug since the last call. */
static bool kernel_reported(void)
{
	static const char *const signs[] = {
		"BUG: ", "WARNING: ", "KASAN: ", "UBSAN: ", "KFENCE: ", "Oops", "general protection fault", "refcount_t: ",
		"INFO: ", "list_add corruption", "list_del corruption", "ODEBUG: ", "DMA-API: ",
	};
	char line[2048];
	bool found = false;
	ssize_t n;

	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		for (unsigned int i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
			found |= strstr(line, signs[i]) != NULL;
	}
	return found;
}

/* Take what was traced since coverage_start() as features. Returns false if the kernel has reported a bug. */
bool coverage_stop(void)
{
	uint64_t n = __atomic_load_n(&trace[0], __ATOMIC_RELAXED), last = 0;

	for (uint64_t i = 1; i <= n && i < TRACE_WORDS; i++) {
		uint64_t pc = trace[i], edge = (pc ^ last << 1) * 0x9e3779b97f4a7c15;
		uint8_t *counter = &counters[edge >> 49];

		if (*counter < 255)
			++*counter;
		last = pc;
		mark_function(pc);
	}
	return !kernel_reported();
}

static void print_functions(const char *title, bool reached)
{
	unsigned int column = 0;

	printf("%s:\n", title);
	for (unsigned int i = 0; i < nr_functions; i++) {
		size_t len = strlen(functions[i].name);

		if (functions[i].reached != reached)
			continue;
		if (column && column + len > 116) {
			printf("\n");
			column = 0;
		}
		printf("%s%s", column ? " " : "  ", functions[i].name);
		column += len + 1 + !column;
	}
	printf("\n");
}

void coverage_report(void)
{
	unsigned int reached = 0;

	for (unsigned int i = 0; i < nr_functions; i++)
		reached += functions[i].reached;
	print_functions("Functions of " MODULE " that were reached", true);
	print_functions("Functions of " MODULE " that were not reached", false);
	printf("Reached %u of %u functions of " MODULE ".\n", reached, nr_functions);
	fflush(stdout);
}
