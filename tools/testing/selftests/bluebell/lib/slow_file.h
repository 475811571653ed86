/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A file whose pages come when the test says so, as those of a user's own file system may.
 */
#ifndef BLUEBELL_SLOW_FILE_H
#define BLUEBELL_SLOW_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* @fd is the file, open for reading; @pid the process that serves it. */
struct slow_file {
	int fd;
	int reads;
	int release;
	pid_t pid;
};

int slow_file_open(struct slow_file *f, size_t size);
int slow_file_wait_read(struct slow_file *f, int timeout_ms);
void slow_file_release(struct slow_file *f);
void slow_file_close(struct slow_file *f);

#endif
