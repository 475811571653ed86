/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Orphans: objects that could not be destroyed, or that firmware may have created without an
 * answer, and that have no owner.
 */

#ifndef BLUEBELL_ORPHAN_H
#define BLUEBELL_ORPHAN_H

#include <linux/types.h>

union ib_gid;
struct mlx5_ib_dev;
struct mlx5_ib_fw_attempt;
struct mlx5_ib_queue_mem;
struct mlx5_ib_ucontext;

/* Frees a buffer that is not mapped for the device any more. */
typedef void (*mlx5_ib_free_buffer_t)(const void *buffer);

void mlx5_ib_orphan_adopt(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			  struct mlx5_ib_fw_attempt *attempt, const char *name,
			  struct mlx5_ib_queue_mem *mem, int err);
void mlx5_ib_orphan_adopt_quietly(struct mlx5_ib_dev *dev, u16 uid, const void *cmd,
				  size_t cmd_size, u32 number, struct mlx5_ib_fw_attempt *attempt,
				  const char *name, const struct mlx5_ib_queue_mem *mem);
void mlx5_ib_orphan_adopt_closing(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
				  struct mlx5_ib_fw_attempt *attempt, const char *name,
				  struct mlx5_ib_queue_mem *mem);
void mlx5_ib_orphan_keep_lost(struct mlx5_ib_dev *dev, const char *name,
			      struct mlx5_ib_queue_mem *mem);
void mlx5_ib_orphan_destroy(struct mlx5_ib_dev *dev, u16 opcode, u32 number, const char *name,
			    struct mlx5_ib_queue_mem *mem);
void mlx5_ib_orphan_discard(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			    const char *name, struct mlx5_ib_queue_mem *mem);
void mlx5_ib_orphan_keep(struct mlx5_ib_dev *dev, void *buffer, dma_addr_t dma, size_t bytes,
			 mlx5_ib_free_buffer_t free);
void mlx5_ib_orphans_retry(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context);
int mlx5_ib_orphans_before_attach(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
				  u32 qpn, const union ib_gid *gid);
void mlx5_ib_orphans_leave_context(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context);
int mlx5_ib_init_orphans(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_orphans(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_orphan_log(struct mlx5_ib_dev *dev, const char *name, u32 number, int err);
#endif

#endif /* BLUEBELL_ORPHAN_H */
