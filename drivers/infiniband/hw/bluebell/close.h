/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a process leaves behind that has closed the device.
 */

#ifndef BLUEBELL_CLOSE_H
#define BLUEBELL_CLOSE_H

struct ib_uverbs_file;

void mlx5_ib_ufile_hw_cleanup(struct ib_uverbs_file *ufile);

#endif /* BLUEBELL_CLOSE_H */
