/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device without hardware: a firmware that counts commands, refuses them on request and remembers
 * the objects that they create; an opened context; and memory of a user to pin.
 */

#ifndef BLUEBELL_KUNIT_MOCK_H
#define BLUEBELL_KUNIT_MOCK_H

#include <kunit/test.h>
#include <linux/math.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/caps.h"

struct mock_hca;

/* Kinds of objects that the firmware of a mock keeps. */
enum mock_kind {
	MOCK_UCTX,
	MOCK_UAR,
	MOCK_PD,
	MOCK_MKEY,
	MOCK_CQ,
	MOCK_QP,
	MOCK_RMP,
	MOCK_XRCD,
	MOCK_XRC_SRQ,
	MOCK_XRQ,
	MOCK_UMEM,
	MOCK_TD,
	MOCK_TIS,
	MOCK_SQ,
	MOCK_RQ,
	MOCK_RQT,
	MOCK_TIR,
	MOCK_NUM_KINDS,
};

/*
 * Set a capability of @target, the struct mlx5_ib_caps of a mock: @field of the
 * capabilities @type, which are laid out as struct mlx5_ifc_@layout_bits. Then all
 * computed values of @target are computed again, so a test that overwrites one of
 * them does so afterwards.
 */
#define MOCK_SET_CAP_OF(target, type, layout, field, value) do {			\
	struct mlx5_ib_caps *_caps = (target);						\
											\
	MLX5_SET(layout, _caps->mdev->caps.hca[type]->cur, field, value);		\
	mlx5_ib_read_caps(_caps->mdev, _caps);						\
} while (0)

/* Does the same as MOCK_SET_CAP_OF() for a general capability, which MLX5_CAP_GEN() reads. */
#define MOCK_SET_CAP(target, field, value) \
	MOCK_SET_CAP_OF(target, MLX5_CAP_GENERAL, cmd_hca_cap, field, value)

/* Does the same as MOCK_SET_CAP_OF() for a capability of RoCE, which MLX5_CAP_ROCE() reads. */
#define MOCK_SET_ROCE_CAP(target, field, value) \
	MOCK_SET_CAP_OF(target, MLX5_CAP_ROCE, roce_cap, field, value)

/*
 * UARs of 4 KiB in a page of the host, and pages of the context of a library that knows such UARs
 * and asks for @bfregs bfregs, two of which are in a UAR.
 */
#define MOCK_PAGE_UARS			(PAGE_SIZE / MLX5_ADAPTER_PAGE_SIZE)
#define MOCK_UAR_PAGES(bfregs)		DIV_ROUND_UP(bfregs, 2 * MOCK_PAGE_UARS)

#define MOCK_USER_PAGES		16
/* The first pages, for the request and the answer of a call; mock_buffer() gives the others. */
#define MOCK_UDATA_PAGES	2

/**
 * struct mock - a device without hardware
 * @test: the running test
 * @dev: the device
 * @context: context of the device, which mock_open() opens
 * @attrs: the call that is being made
 * @live: objects by kind and number
 * @first_number: the least number that an object gets; a test may raise it
 * @num_live: number of objects in @live, by kind
 * @num_commands: commands since the test, or mock_open(), last set it to 0
 * @refuse: number of the command to refuse, from 1; 0 for none
 * @refuse_destroy: refuse all commands that destroy
 * @refuse_err: errno of refusals
 * @lose_destroy: execute all commands that destroy, and answer none of them
 * @lost: the last object of each kind that such a command has destroyed, and that a later command
 *	may name again; 0 for none
 * @ece: options of connection establishment that firmware grants
 * @opcode: opcode of the last command
 * @in: the first bytes of the last command, zeros behind its end
 * @num_pins: calls of mlx5_ib_umem_get() that have not been refused
 * @refuse_pin: number of the call of mlx5_ib_umem_get() to refuse, from 1 for the next call; 0 for
 *	none
 * @num_queue_mems: number of queues in memory of the kernel: the driver's own and those of kernel
 *	consumers
 * @refuse_queue_mem: refuse to allocate memory for such queues
 * @user: address of MOCK_USER_PAGES pages that the user can write
 * @bell: the doorbell registers of the queues of kernel consumers
 * @hca: the part that executes UMRs, if the test has called mock_hca_create()
 */
struct mock {
	struct kunit *test;
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_ucontext *context;
	struct uverbs_attr_bundle *attrs;
	struct xarray live[MOCK_NUM_KINDS];
	u32 first_number;
	unsigned int num_live[MOCK_NUM_KINDS];
	unsigned int num_commands;
	unsigned int refuse;
	bool refuse_destroy;
	int refuse_err;
	bool lose_destroy;
	u32 lost[MOCK_NUM_KINDS];
	u32 ece;
	u16 opcode;
	u32 in[128];
	unsigned int num_pins;
	unsigned int refuse_pin;
	unsigned int num_queue_mems;
	bool refuse_queue_mem;
	unsigned long user;
	u64 bell[8];
	struct mock_hca *hca;
};

int mock_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
	    int out_size, mlx5_ib_fw_send_t send, void *arg);
struct mlx5_ib_caps *mock_caps(struct kunit *test);
struct mock *mock_create(struct kunit *test);
void mock_set_issi(struct mock *mock, u16 issi);
void mock_set_ethernet(struct mlx5_ib_caps *caps);
void mock_set_raw_packets(struct mlx5_ib_caps *caps);
void mock_set_kernel_queues(struct mock *mock);
int mock_init_umr(struct mlx5_ib_dev *dev);
void mock_open(struct mock *mock);
void mock_close(struct mock *mock);
u32 mock_static_uar(const struct mock *mock, u32 number);
atomic_t *mock_give_user(struct mock *mock);
void mock_drop_user(struct mock *mock);
int mock_enter(struct mock *mock);
void mock_leave(struct mock *mock, int idx);
struct ib_udata *mock_udata(struct mock *mock, const void *in, size_t inlen, size_t outlen);
void mock_break_answer(struct mock *mock);
void mock_read_answer(struct mock *mock, void *out, size_t len);
u32 mock_dword(const struct mock *mock, size_t offset);
unsigned long mock_buffer(struct mock *mock, unsigned int page);
unsigned int mock_num_live(struct mock *mock);
long mock_num_pinned(void);

#endif /* BLUEBELL_KUNIT_MOCK_H */
