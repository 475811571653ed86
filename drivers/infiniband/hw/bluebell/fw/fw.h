/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware interface: the choke point that every command passes through, and
 * the commands.
 */

#ifndef BLUEBELL_FW_H
#define BLUEBELL_FW_H

#include <linux/mlx5/driver.h>
#include <linux/types.h>

struct mlx5_core_cq;
struct mlx5_eq;
struct mlx5_eq_param;
struct mlx5_ib_dev;
struct mlx5_ib_fault;
struct mlx5_ib_fw_attempt;
struct mlx5_ib_fw_batch;
struct mlx5_ib_roce_address;
union ib_gid;

/* uid of commands that the driver sends for itself: firmware lets them name any owner's objects. */
#define MLX5_IB_KERNEL_UID	0

/*
 * How many asynchronous commands of all users can be in flight: about half of mlx5_core's slots,
 * which are 31 with usual firmware.
 */
#define MLX5_IB_ASYNC_SLOTS	16

/*
 * Sends a command, or lets mlx5_core build and send it; returns 0 or the errno for the caller.
 * See mlx5_ib_fw_exec_via().
 */
typedef int (*mlx5_ib_fw_send_t)(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size, void *arg);

/**
 * struct mlx5_ib_fw_async - where the answer to an asynchronous command goes
 * @ctx: mlx5_core's context of the command: mlx5_cmd_cleanup_async_ctx() waits for the callbacks of
 *	all commands of the context
 * @out: gets the answer; zeroed
 * @out_size: bytes of @out
 * @done: callback of the command, with its result: 0; -EREMOTEIO if firmware has refused the
 *	command (@out has the status); or the errno of a command that mlx5_core has not sent, or
 *	that firmware has not answered. Called in any context
 * @work: for mlx5_core; the argument of @done
 * @dev: device; set when the command is sent
 */
struct mlx5_ib_fw_async {
	struct mlx5_async_ctx *ctx;
	void *out;
	int out_size;
	mlx5_async_cbk_t done;
	struct mlx5_async_work work;
	struct mlx5_ib_dev *dev;
};

/* Whether firmware has refused a command, with answer @out, because the object does not exist. */
static inline bool mlx5_ib_fw_is_unknown(int err, const void *out)
{
	return err == -EREMOTEIO && MLX5_GET(create_cq_out, out, status) ==
				    MLX5_CMD_STAT_BAD_RES_ERR;
}

bool mlx5_ib_fw_device_is_gone(struct mlx5_ib_dev *dev);
int mlx5_ib_fw_exec_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg);
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size);
int mlx5_ib_fw_exec_if_exists(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			      int out_size);
int mlx5_ib_fw_exec_within_limit(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				 void *out, int out_size);
int mlx5_ib_fw_exec_raw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size);
int mlx5_ib_fw_exec_async(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
			  struct mlx5_ib_fw_async *async);
int mlx5_ib_fw_do(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size);
int mlx5_ib_fw_send(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
		    void *arg);
int mlx5_ib_fw_send_if_exists(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
			      int out_size, void *arg);
int mlx5_ib_fw_call_core(struct mlx5_ib_dev *dev, u16 opcode, mlx5_ib_fw_send_t send, void *arg);

int mlx5_ib_fw_query_hca_vport(struct mlx5_ib_dev *dev, u16 opcode, u8 port, u16 index,
			       void *result);
int mlx5_ib_fw_set_hca_vport_caps(struct mlx5_ib_dev *dev, u8 port, u32 caps, u32 select);
int mlx5_ib_fw_access_reg(struct mlx5_ib_dev *dev, u16 reg_id, void *reg, size_t size, bool write);

int mlx5_ib_fw_create_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, void *in, int inlen,
			     u32 *number);
int mlx5_ib_fw_create_within_limit(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, void *in,
				   int inlen, u32 *number);
int mlx5_ib_fw_alloc_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 *number);
int mlx5_ib_fw_query_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number, void *out,
			    int outlen);
int mlx5_ib_fw_query_qp_error(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, void *error);

int mlx5_ib_fw_create_cq(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq, void *in,
			 int inlen);
int mlx5_ib_fw_create_cq_raw(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq, void *in,
			     int inlen, void *out, int outlen);
int mlx5_ib_fw_modify_cq(struct mlx5_ib_dev *dev, u16 uid, u32 cqn, void *in, int inlen);
int mlx5_ib_fw_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_discard_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_fw_attempt *attempt);

int mlx5_ib_fw_create_mkey(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *mkey);

int mlx5_ib_fw_alloc_memic(struct mlx5_ib_dev *dev, u64 range, u32 range_size, u32 size,
			   u32 log_align, u64 *addr);
int mlx5_ib_fw_dealloc_memic(struct mlx5_ib_dev *dev, u64 addr, u32 size,
			     struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_modify_memic(struct mlx5_ib_dev *dev, u16 op_mod, u64 addr, u8 op, u64 *op_addr);

int mlx5_ib_fw_create_qp(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *qpn, u32 *ece);
int mlx5_ib_fw_modify_qp(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 qpn, const void *qpc,
			 u32 opt_mask, u32 ece, u32 *granted);

int mlx5_ib_fw_modify_wq(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 num, u8 cur, u64 bitmask,
			 const void *context);
int mlx5_ib_fw_query_wq_state(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 num, u8 *state);
int mlx5_ib_fw_create_dct(struct mlx5_ib_dev *dev, u16 uid, const void *dctc, u32 *dctn, u32 *ece);

int mlx5_ib_fw_arm_rmp(struct mlx5_ib_dev *dev, u16 uid, u32 rmpn, u16 limit);
int mlx5_ib_fw_arm_xrq(struct mlx5_ib_dev *dev, u16 uid, u32 xrqn, u16 limit);
int mlx5_ib_fw_arm_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, u32 srqn, u16 limit);

void mlx5_ib_fw_name_mcg(u32 *in, u16 opcode, u32 qpn, const union ib_gid *gid);
int mlx5_ib_fw_attach_mcg(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, const union ib_gid *gid);
int mlx5_ib_fw_detach_mcg(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, const union ib_gid *gid,
			  struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_mad_ifc(struct mlx5_ib_dev *dev, u8 port, u16 op_mod, u16 remote_lid,
		       const void *in_mad, void *out_mad);

int mlx5_ib_fw_query_q_counter(struct mlx5_ib_dev *dev, u8 set_id, void *out);

struct mlx5_eq *mlx5_ib_fw_create_eq(struct mlx5_ib_dev *dev, struct mlx5_eq_param *param);
int mlx5_ib_fw_destroy_eq(struct mlx5_ib_dev *dev, struct mlx5_eq *eq);
int mlx5_ib_fw_add_rate(struct mlx5_ib_dev *dev, u16 uid, void *rate, bool dedicated, u16 *index);
void mlx5_ib_fw_remove_rate(struct mlx5_ib_dev *dev, u16 index);
int mlx5_ib_fw_page_fault_resume(struct mlx5_ib_dev *dev, const struct mlx5_ib_fault *fault,
				 bool error);

/* fw_vport.c */
int mlx5_ib_fw_query_vport_counter(struct mlx5_ib_dev *dev, u16 vport, void *out);
int mlx5_ib_fw_query_vport_speed(struct mlx5_ib_dev *dev, u64 *speed);
int mlx5_ib_fw_query_vf_vport(struct mlx5_ib_dev *dev, u16 vport, void *out);
int mlx5_ib_fw_modify_vf_vport(struct mlx5_ib_dev *dev, u16 vport, void *in);

/* fw_roce.c */
int mlx5_ib_fw_query_nic_vport(struct mlx5_ib_dev *dev, void *out);
int mlx5_ib_fw_switch_roce(struct mlx5_ib_dev *dev, bool on);
int mlx5_ib_fw_switch_loopback(struct mlx5_ib_dev *dev, bool on);
int mlx5_ib_fw_set_roce_address(struct mlx5_ib_dev *dev, u8 port, u16 index,
				const struct mlx5_ib_roce_address *address);

/* fw_destroy.c */
void mlx5_ib_fw_name_object(u32 *in, u16 opcode, u32 number);
int mlx5_ib_fw_destroy_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen,
			   struct mlx5_ib_fw_attempt *attempt, mlx5_ib_fw_send_t first, void *arg);
int mlx5_ib_fw_send_destroy(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen,
			    struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_destroy_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt);
bool mlx5_ib_fw_pause(unsigned int *ms);
bool mlx5_ib_fw_try_again(int err, unsigned int *ms);
int mlx5_ib_fw_destroy_repeat(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_destroy_or_log(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      const char *what);
bool mlx5_ib_fw_attempt_begin(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt,
			      const void *in, int inlen);
int mlx5_ib_fw_attempt_end(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt, int err);
void mlx5_ib_fw_attempt_move(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *to,
			     struct mlx5_ib_fw_attempt *from);
void mlx5_ib_fw_attempt_forget(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt);
void mlx5_ib_fw_attempt_replaced(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt);
int mlx5_ib_fw_check_exists(const struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			    const char *what, u32 number);
bool mlx5_ib_fw_is_noted(struct mlx5_ib_dev *dev, const void *destroy);
void mlx5_ib_fw_number_taken(struct mlx5_ib_dev *dev, const void *destroy);
int mlx5_ib_init_fw_attempts(struct mlx5_ib_dev *dev);

/* fw_batch.c */
/*
 * Takes the result of a command that mlx5_ib_fw_batch_destroy() has sent for @object: 0; -EREMOTEIO
 * if firmware has refused to destroy the object; or the errno of a command that was not sent or not
 * answered. May sleep.
 */
typedef void (*mlx5_ib_fw_batch_done_t)(struct mlx5_ib_dev *dev, void *object, int err);

struct mlx5_ib_fw_batch *mlx5_ib_fw_batch_alloc(struct mlx5_ib_dev *dev);
void mlx5_ib_fw_batch_destroy(struct mlx5_ib_fw_batch *batch, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt, mlx5_ib_fw_batch_done_t done,
			      void *object);
void mlx5_ib_fw_batch_wait(struct mlx5_ib_fw_batch *batch);
void mlx5_ib_fw_batch_free(struct mlx5_ib_fw_batch *batch);

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_fw_errno(int err);
#endif

#endif /* BLUEBELL_FW_H */
