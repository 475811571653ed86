/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The mmap space of a context: what lies at an offset of the command fd.
 */

#ifndef BLUEBELL_MMAP_H
#define BLUEBELL_MMAP_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;
struct vm_area_struct;

int mlx5_ib_init_mmap_export(struct mlx5_ib_dev *dev);
int mlx5_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mlx5_ib_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

#endif /* BLUEBELL_MMAP_H */
