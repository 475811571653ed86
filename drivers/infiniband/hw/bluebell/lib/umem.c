// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of processes, pinned for the device.
 */

#include <kunit/static_stub.h>
#include <linux/kmemleak.h>
#include <linux/overflow.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/umem.h"

/**
 * mlx5_ib_umem_get - pin memory of the calling process
 * @dev: device that will access the memory
 * @addr: user address
 * @size: bytes
 * @access: enum ib_access_flags; what the device may do with the memory
 *
 * With this function the driver pins all memory that a process names by an address, except the
 * buffer of a new CQ (cq.c). ib_core pins buffers that a process names by an attribute of the call,
 * and exporters pin their dma-bufs. Pages that are pinned here count against RLIMIT_MEMLOCK. May
 * sleep.
 *
 * Return: the pinned memory, which ib_umem_release() releases; or an ERR_PTR: -EINVAL for a range
 * that is empty or wraps, -EOVERFLOW on a 32-bit host for a range beyond 32 bits, -EPERM if
 * RLIMIT_MEMLOCK is 0, -ENOMEM beyond RLIMIT_MEMLOCK or if there is no memory, -EFAULT for memory
 * that the process does not have or may not write to, -EOPNOTSUPP if DMA needs the bounce buffers
 * of a confidential guest.
 */
struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umem_get, dev, addr, size, access);
	if (overflows_type(addr, unsigned long) || overflows_type(size, size_t))
		return ERR_PTR(refuse(dev->mdev, -EOVERFLOW,
				      "memory of %llu bytes at %#llx: addresses have 32 bits here",
				      size, addr));
	return ib_umem_get_va(&dev->ib_dev, addr, size, access);
}

/**
 * mlx5_ib_undo_pin - release the memory of a region that could not be created
 * @umem: the memory
 * @err: errno of mlx5_ib_create_mr()
 *
 * After -ENOTRECOVERABLE the device may still reach the memory, which then stays pinned for good.
 * May sleep.
 */
void mlx5_ib_undo_pin(struct ib_umem *umem, int err)
{
	if (err == -ENOTRECOVERABLE)
		kmemleak_not_leak(umem);
	else
		ib_umem_release(umem);
}
