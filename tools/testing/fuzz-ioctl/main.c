// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer of the driver's ioctls, with the engine libFuzzer, that runs in a guest: see Documentation/testing.rst.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
				 size_t max_out_size, unsigned int seed);

static struct program program, other;

/* The file in which the program that is being run is kept, in case it makes the kernel crash. */
static int last = -1;

static void report(void)
{
	run_report();
	coverage_report();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *path = getenv("FUZZ_LAST");

	program_init();
	run_init();
	coverage_init();
	if (path)
		last = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	atexit(report);
	return 0;
}

static void keep_last(const uint8_t *data, size_t size)
{
	if (last < 0 || pwrite(last, data, size, 0) != (ssize_t)size || ftruncate(last, size))
		return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int bad_line;

	if (!program_parse(&program, (const char *)data, size, &bad_line))
		return -1;
	if (bad_line && getenv("FUZZ_VERBOSE"))
		fprintf(stderr, "fuzz-ioctl: line %u is no call\n", bad_line);
	keep_last(data, size);
	coverage_start();
	run_program(&program);
	if (!coverage_stop()) {
		report();
		fprintf(stderr, "fuzz-ioctl: the kernel has reported a bug\n");
		abort();
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	unsigned int bad_line;

	program_parse(&program, (const char *)data, size, &bad_line);
	program_mutate(&program, seed);
	return program_print(&program, (char *)data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
				 size_t max_out_size, unsigned int seed)
{
	unsigned int bad_line;

	program_parse(&program, (const char *)data1, size1, &bad_line);
	if (program_parse(&other, (const char *)data2, size2, &bad_line))
		program_splice(&program, &other, seed);
	return program_print(&program, (char *)out, max_out_size);
}
