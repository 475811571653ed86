/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The function that compiled code calls in each basic block. linux/kcov.h declares the function for
 * kernels with KCOV only.
 */
#ifndef TRACE_PC_H
#define TRACE_PC_H

void __sanitizer_cov_trace_pc(void);

#endif
