// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX methods by ioctl(), without libmlx5.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "devx_cmd.h"
#include "hca_ctl.h"
#include "uv.h"

/* Whether contexts can have a user id, without which a process has no objects of DEVX. */
bool devx_has_user_ids(void)
{
	return hca_cap("general", "log_max_uctx");
}

bool devx_has_umems(void)
{
	return devx_has_user_ids() && hca_cap("general", "log_max_umem");
}

/* Start a command. Its fields are 0 until devx_put() sets them. */
void devx_start(struct devx_cmd *cmd, uint16_t opcode)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->in_len = sizeof(cmd->in);
	cmd->out_len = sizeof(cmd->out);
	devx_put(cmd, 0, (uint32_t)opcode << 16);
}

/* Set bits of the dword that begins at @byte. */
void devx_put(struct devx_cmd *cmd, unsigned int byte, uint32_t value)
{
	uint32_t dword;

	memcpy(&dword, cmd->in + byte, sizeof(dword));
	dword |= htobe32(value);
	memcpy(cmd->in + byte, &dword, sizeof(dword));
}

/* The dword of the answer that begins at @byte. */
uint32_t devx_get(const struct devx_cmd *cmd, unsigned int byte)
{
	uint32_t dword;

	memcpy(&dword, cmd->out + byte, sizeof(dword));
	return be32toh(dword);
}

/* Start the creation of a free indirect mkey, in a protection domain. */
void devx_start_klm_mkey(struct devx_cmd *cmd, uint32_t pdn)
{
	devx_start(cmd, DEVX_CREATE_MKEY);
	devx_put(cmd, 0x10, 0x40008600);	/* free, umr_en, lr, access_mode KLM */
	devx_put(cmd, 0x14, 0xffffff00);	/* no QP */
	devx_put(cmd, 0x1c, pdn);
	devx_put(cmd, 0x44, 4);			/* translations_octword_size */
}

/*
 * True if firmware has refused the command, and the driver has passed on its status and syndrome.
 */
bool devx_refused_by_firmware(const struct devx_cmd *cmd, int ret)
{
	return ret == -EREMOTEIO && cmd->out[0] && devx_get(cmd, 4);
}

static struct ib_uverbs_attr attr_handle(uint16_t id, uint32_t handle)
{
	return (struct ib_uverbs_attr){
		.attr_id = id, .flags = UVERBS_ATTR_F_MANDATORY, .data = handle,
	};
}

static struct ib_uverbs_attr attr_buf(uint16_t id, void *buf, uint32_t len)
{
	return (struct ib_uverbs_attr){
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)buf,
	};
}

/* A command of up to eight bytes travels in the attribute itself. */
static struct ib_uverbs_attr attr_cmd(uint16_t id, const struct devx_cmd *cmd)
{
	struct ib_uverbs_attr attr = attr_buf(id, (void *)cmd->in, cmd->in_len);

	if (cmd->in_len <= sizeof(attr.data))
		memcpy(&attr.data, cmd->in, cmd->in_len);
	return attr;
}

static struct ib_uverbs_attr attr_value(uint16_t id, uint64_t value, uint32_t len)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY,
	};

	attr.data = value;
	return attr;
}

/* Send a command that names no object. */
int devx_general(int fd, struct devx_cmd *cmd)
{
	struct ib_uverbs_attr attrs[] = {
		attr_cmd(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, cmd),
		attr_buf(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, cmd->out, cmd->out_len),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, attrs, 2);
}

int devx_create(int fd, struct devx_cmd *cmd, uint32_t *handle)
{
	struct ib_uverbs_attr attrs[] = {
		attr_handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0),
		attr_cmd(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, cmd),
		attr_buf(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, cmd->out, cmd->out_len),
	};
	int ret;

	ret = uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, attrs, 3);
	*handle = attrs[0].data;
	return ret;
}

/* Create an object by a command that names nothing, such as a protection domain. */
int devx_alloc(int fd, uint16_t opcode, uint32_t *handle)
{
	struct devx_cmd cmd;

	devx_start(&cmd, opcode);
	cmd.in_len = 16;
	cmd.out_len = 16;
	return devx_create(fd, &cmd, handle);
}

/* Modify an object. @handle may also be that of a CQ, a QP or an SRQ of verbs. */
int devx_modify(int fd, uint32_t handle, struct devx_cmd *cmd)
{
	struct ib_uverbs_attr attrs[] = {
		attr_handle(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle),
		attr_cmd(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, cmd),
		attr_buf(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, cmd->out, cmd->out_len),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, attrs, 3);
}

int devx_query(int fd, uint32_t handle, struct devx_cmd *cmd)
{
	struct ib_uverbs_attr attrs[] = {
		attr_handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle),
		attr_cmd(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, cmd),
		attr_buf(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, cmd->out, cmd->out_len),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, attrs, 3);
}

int devx_destroy(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr = attr_handle(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, &attr, 1);
}

/* Get the number of the event queue of a completion vector. */
int devx_query_eqn(int fd, uint32_t vector, uint32_t *eqn)
{
	struct ib_uverbs_attr attrs[] = {
		attr_value(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, vector, sizeof(vector)),
		attr_buf(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, eqn, sizeof(*eqn)),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, attrs, 2);
}

static int open_file(int fd, uint16_t object, uint16_t method, struct ib_uverbs_attr *attrs,
		     unsigned int n)
{
	int ret = uv_ioctl(fd, object, method, attrs, n);

	return ret ?: (int)attrs[0].data_s64;
}

int devx_open_cmd_file(int fd)
{
	struct ib_uverbs_attr attr = attr_handle(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, 0);

	return open_file(fd, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
			 MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, &attr, 1);
}

static struct ib_uverbs_attr attr_file(uint16_t id, int file)
{
	struct ib_uverbs_attr attr = attr_handle(id, 0);

	attr.data_s64 = file;
	return attr;
}

/* Query an object. The answer can be read from @file. */
int devx_query_async(int fd, uint32_t handle, const struct devx_cmd *cmd, uint64_t out_len,
		     int file, uint64_t wr_id)
{
	struct ib_uverbs_attr attrs[] = {
		attr_handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, handle),
		attr_cmd(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, cmd),
		attr_file(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, file),
		attr_value(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, wr_id, sizeof(wr_id)),
		attr_value(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, out_len, sizeof(out_len)),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, attrs,
			5);
}

int devx_open_channel(int fd, uint32_t flags)
{
	struct ib_uverbs_attr attrs[] = {
		attr_handle(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, 0),
		attr_value(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, flags, sizeof(flags)),
	};

	return open_file(fd, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
			 MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, attrs, 2);
}

int devx_subscribe(int fd, const struct devx_subscription *s)
{
	struct ib_uverbs_attr attrs[5] = {
		attr_file(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, s->channel),
		attr_buf(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, (void *)s->types, s->len),
	};
	unsigned int n = 2;

	if (s->len <= sizeof(attrs[1].data))
		memcpy(&attrs[1].data, s->types, s->len);
	if (s->has_obj)
		attrs[n++] = attr_handle(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, s->obj);
	if (s->has_cookie)
		attrs[n++] = attr_value(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, s->cookie,
					sizeof(s->cookie));
	if (s->has_eventfd)
		attrs[n++] = attr_value(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, s->eventfd,
					sizeof(s->eventfd));
	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, attrs, n);
}

/* Subscribe to one type of event of one object. */
int devx_subscribe_obj(int fd, int channel, uint32_t obj, uint16_t type, uint64_t cookie)
{
	const struct devx_subscription s = {
		.channel = channel, .has_obj = true, .obj = obj, .types = { type },
		.len = sizeof(type), .has_cookie = true, .cookie = cookie,
	};

	return devx_subscribe(fd, &s);
}

/* An attribute that the distribution's rdma/mlx5_user_ioctl_cmds.h does not have yet. */
#define UMEM_REG_DMABUF_FD (MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP + 1)

int devx_reg_umem(int fd, struct devx_umem *umem)
{
	struct ib_uverbs_attr attrs[7] = {
		attr_handle(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0),
		attr_value(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, umem->addr, sizeof(umem->addr)),
		attr_value(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, umem->len, sizeof(umem->len)),
		attr_value(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, umem->access, sizeof(umem->access)),
		attr_buf(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->id, sizeof(umem->id)),
	};
	unsigned int n = 5;
	int ret;

	if (umem->bitmap)
		attrs[n++] = attr_value(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, umem->bitmap,
					sizeof(umem->bitmap));
	if (umem->dmabuf) {
		attrs[n] = attr_handle(UMEM_REG_DMABUF_FD, 0);
		attrs[n++].data_s64 = umem->dmabuf;
	}
	ret = uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, attrs, n);
	umem->handle = attrs[0].data;
	return ret;
}

int devx_dereg_umem(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr = attr_handle(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, handle);

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, &attr, 1);
}
