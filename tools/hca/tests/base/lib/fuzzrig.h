/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for fuzzers: the input, from which values are taken one after another. Behind its end all
 * values are 0.
 */
#ifndef BLUEBELL_TESTS_FUZZRIG_H
#define BLUEBELL_TESTS_FUZZRIG_H

#include <stddef.h>
#include <stdint.h>

#define must(x) do { if (!(x)) fuzz_die(#x, __FILE__, __LINE__); } while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t left;
};

void fuzz_die(const char *what, const char *file, int line) __attribute__((noreturn));
/*
 * Extend an input to @len bytes, by pseudo-random bytes computed from the input: so a short input,
 * too, drives as many steps as the fuzzer allows.
 */
struct fuzz_in fuzz_extend(const uint8_t *data, size_t size, uint8_t *buf, size_t len);
size_t fuzz_take(struct fuzz_in *in, void *to, size_t n);
uint8_t fuzz_u8(struct fuzz_in *in);
uint16_t fuzz_u16(struct fuzz_in *in);
uint32_t fuzz_u32(struct fuzz_in *in);

/* What libFuzzer calls for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
