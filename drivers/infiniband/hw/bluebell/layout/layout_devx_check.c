// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware commands that a process builds itself (DEVX): what the driver checks in a command, reads
 * from it and changes in it. The table in layout_devx.c says which fields each command has.
 */

#include <linux/kernel.h>
#include <linux/mlx5/qp.h>
#include <linux/string.h>

#include "layout/layout_devx.h"
#include "layout/refuse.h"

/*
 * Whether the field, with the whole dword that contains it, lies in the first @len bytes. True for
 * a field that a row of the table does not have.
 */
static bool devx_has_field(size_t len, struct mlx5_ib_devx_field field)
{
	return round_up(field.offset + field.bits, 32) / BITS_PER_BYTE <= len;
}

static u32 devx_shift(struct mlx5_ib_devx_field field)
{
	return 32 - field.offset % 32 - field.bits;
}

static u32 devx_mask(struct mlx5_ib_devx_field field)
{
	return (u32)GENMASK_ULL(field.bits - 1, 0) << devx_shift(field);
}

/* Read a field of up to 32 bits. A field that a row of the table does not have reads as 0. */
static u32 devx_get(const void *buf, struct mlx5_ib_devx_field field)
{
	const __be32 *dw = buf;

	if (!field.bits)
		return 0;
	return (be32_to_cpu(dw[field.offset / 32]) & devx_mask(field)) >> devx_shift(field);
}

static void devx_set(void *buf, struct mlx5_ib_devx_field field, u32 value)
{
	__be32 *dw = buf;

	if (!field.bits)
		return;
	dw += field.offset / 32;
	*dw &= ~cpu_to_be32(devx_mask(field));
	*dw |= cpu_to_be32(value << devx_shift(field));
}

/* Whether the command is long enough to have the fields that name its object. */
static bool devx_request_has_id(const struct mlx5_ib_devx_cmd *cmd, size_t in_len)
{
	bool has_num = cmd->use != MLX5_IB_DEVX_CREATE || cmd->num_in_request;

	if (has_num && !devx_has_field(in_len, cmd->num))
		return false;
	return devx_has_field(in_len, cmd->type) && devx_has_field(in_len, cmd->table);
}

/* Read a field of a command; the field reads as 0 if the command ends before the field. */
static u32 devx_get_if(const void *in, size_t in_len, struct mlx5_ib_devx_field field)
{
	return devx_has_field(in_len, field) ? devx_get(in, field) : 0;
}

static bool devx_is_denied(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cmd->deny) && cmd->deny[i].bits; i++)
		if (devx_get_if(in, in_len, cmd->deny[i]))
			return true;
	return false;
}

/* Types of general objects that mlx5_ifc.h lacks, with the numbers that rdma-core uses. */
enum {
	DEVX_TYPE_FIRST_HIT_ASO = 0x25,
	DEVX_TYPE_CONNTRACK_ASO = 0x31,
};

/*
 * The rights that a process needs to create a general object of a type. Encryption keys need no
 * rights. Objects of flow steering need CAP_NET_RAW, as flow tables do: DPDK and Open vSwitch run
 * with this capability. An object of another type can be any resource of the device, so it needs
 * CAP_SYS_RAWIO.
 */
static u32 devx_rights_for_type(u32 type)
{
	switch (type) {
	case MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY:
		return 0;
	case MLX5_OBJ_TYPE_GENEVE_TLV_OPT:
	case MLX5_OBJ_TYPE_MATCH_DEFINER:
	case MLX5_OBJ_TYPE_HEADER_MODIFY_ARGUMENT:
	case MLX5_OBJ_TYPE_STC:
	case MLX5_OBJ_TYPE_RTC:
	case MLX5_OBJ_TYPE_STE:
	case MLX5_OBJ_TYPE_MODIFY_HDR_PATTERN:
	case MLX5_GENERAL_OBJECT_TYPES_SAMPLER:
	case MLX5_GENERAL_OBJECT_TYPES_FLOW_METER_ASO:
	case MLX5_GENERAL_OBJECT_TYPES_FLOW_TABLE_ALIAS:
	case DEVX_TYPE_FIRST_HIT_ASO:
	case DEVX_TYPE_CONNTRACK_ASO:
		return MLX5_UCTX_CAP_RAW_TX;
	default:
		return MLX5_UCTX_CAP_INTERNAL_DEV_RES;
	}
}

/* The rights that a command needs: they depend on its opcode and on the fields that it sets. */
static u32 devx_rights_for(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len)
{
	const struct mlx5_ib_devx_field st = {
		__mlx5_bit_off(create_qp_in, qpc.st), __mlx5_bit_sz(create_qp_in, qpc.st)
	};
	u32 rights = cmd->rights;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cmd->needs) && cmd->needs[i].rights; i++)
		if (devx_get_if(in, in_len, cmd->needs[i].field))
			rights |= cmd->needs[i].rights;
	if (cmd->opcode == MLX5_CMD_OP_CREATE_GENERAL_OBJECT)
		rights |= devx_rights_for_type(devx_get(in, cmd->type));
	if (cmd->opcode == MLX5_CMD_OP_CREATE_QP &&
	    devx_get_if(in, in_len, st) == MLX5_QP_ST_RAW_ETHERTYPE)
		rights |= MLX5_UCTX_CAP_RAW_TX;
	return rights;
}

/**
 * mlx5_ib_devx_check_cmd - whether a process may send a command
 * @in: the command
 * @in_len: bytes of @in
 * @use: what the process wants to use the command for
 * @rights: MLX5_UCTX_CAP_* that the process had when it opened the device
 * @cmd: gets the command's row in the table of DEVX commands
 *
 * A command on behalf of another PCI function (vhca_tunnel_id) is refused: the driver does not know
 * whose objects the command names.
 *
 * Return: 0; -EINVAL for a command that is unknown, forbidden, for another purpose than @use, too
 * short to have a header or to name its object, or on behalf of another function; or -EPERM for a
 * command that needs rights which are not in @rights, or sets a field that users must not set.
 */
int mlx5_ib_devx_check_cmd(const void *in, size_t in_len, enum mlx5_ib_devx_use use, u32 rights,
			   const struct mlx5_ib_devx_cmd **cmd)
{
	const struct mlx5_ib_devx_cmd *found;
	u32 needed;
	u16 opcode;

	if (in_len < MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr))
		return refuse(NULL, -EINVAL,
			      "DEVX command of %zu bytes is too short for its header", in_len);
	if (MLX5_GET(general_obj_in_cmd_hdr, in, vhca_tunnel_id))
		return refuse(NULL, -EINVAL,
			      "DEVX command for another PCI function: vhca_tunnel_id is not 0");
	opcode = MLX5_GET(general_obj_in_cmd_hdr, in, opcode);
	found = mlx5_ib_devx_find_cmd(opcode);
	if (!found || found->use != use)
		return refuse(NULL, -EINVAL,
			      "DEVX command 0x%x is unknown, forbidden, or for another DEVX method",
			      opcode);
	if (!devx_request_has_id(found, in_len))
		return refuse(NULL, -EINVAL,
			      "DEVX command 0x%x of %zu bytes is too short to name an object",
			      opcode, in_len);
	needed = devx_rights_for(found, in, in_len);
	if (needed & ~rights)
		return refuse(NULL, -EPERM,
			      "DEVX command 0x%x needs%s%s when the process opens the device",
			      opcode, needed & MLX5_UCTX_CAP_RAW_TX ? " CAP_NET_RAW" : "",
			      needed & MLX5_UCTX_CAP_INTERNAL_DEV_RES ? " CAP_SYS_RAWIO" : "");
	if (devx_is_denied(found, in, in_len))
		return refuse(NULL, -EPERM,
			      "DEVX command 0x%x sets a field that no process may set", opcode);
	*cmd = found;
	return 0;
}

/**
 * mlx5_ib_devx_kind_of - find the kind of object that a command is about
 * @in: the command
 * @in_len: bytes of @in
 *
 * Return: enum mlx5_ib_devx_kind; MLX5_IB_DEVX_NO_KIND for a command that is unknown, too short to
 * have a header, or about no object.
 */
u8 mlx5_ib_devx_kind_of(const void *in, size_t in_len)
{
	const struct mlx5_ib_devx_cmd *cmd = NULL;

	if (in_len >= MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr))
		cmd = mlx5_ib_devx_find_cmd(MLX5_GET(general_obj_in_cmd_hdr, in, opcode));
	return cmd ? cmd->kind : MLX5_IB_DEVX_NO_KIND;
}

/*
 * Check that processes may use the service type. They may not use, for example, the types of QP0
 * and QP1, and the type of UMR queue pairs, whose requests can write DMA addresses to keys.
 */
static int devx_check_qp(const void *in)
{
	switch (MLX5_GET(create_qp_in, in, qpc.st)) {
	case MLX5_QP_ST_RC:
	case MLX5_QP_ST_UC:
	case MLX5_QP_ST_UD:
	case MLX5_QP_ST_XRC:
	case MLX5_QP_ST_DCI:
	case MLX5_QP_ST_RAW_ETHERTYPE:
		return 0;
	default:
		return refuse(NULL, -EPERM,
			      "DEVX CREATE_QP of service type %u, which processes may not use",
			      MLX5_GET(create_qp_in, in, qpc.st));
	}
}

static u8 devx_mkey_access_mode(const void *in)
{
	const void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	return MLX5_GET(mkc, mkc, access_mode_4_2) << 2 | MLX5_GET(mkc, mkc, access_mode_1_0);
}

/*
 * Check that a process may create a key: an indirect mkey, or a key over a umem. A key over a umem
 * must not be free, UMR must not be able to change it, and it must not cover all addresses
 * (length64). A key in any other access mode could reach memory that is not the process's.
 */
static int devx_check_mkey(const void *in)
{
	const void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	bool may;

	switch (devx_mkey_access_mode(in)) {
	case MLX5_MKC_ACCESS_MODE_MTT:
		may = !MLX5_GET(mkc, mkc, free) && !MLX5_GET(mkc, mkc, umr_en) &&
		      !MLX5_GET(mkc, mkc, length64);
		break;
	case MLX5_MKC_ACCESS_MODE_KLMS:
	case MLX5_MKC_ACCESS_MODE_KSM:
		may = !MLX5_GET(create_mkey_in, in, mkey_umem_valid);
		break;
	default:
		may = false;
	}
	return may ? 0 :
	       refuse(NULL, -EPERM,
		      "DEVX CREATE_MKEY of access mode %u, supported: MTT (1) without free, umr_en and length64, KLM (2) and KSM (3) without umem",
		      devx_mkey_access_mode(in));
}

/*
 * Refuse an XRQ whose offload is not in mlx5_ifc.h: for such an offload the device might read
 * addresses from bits that are reserved in mlx5_ifc.h.
 */
static int devx_check_xrq(const void *in)
{
	u8 offload = MLX5_GET(create_xrq_in, in, xrq_context.offload);

	return offload <= MLX5_XRQC_OFFLOAD_RNDV ? 0 :
	       refuse(NULL, -EPERM, "DEVX CREATE_XRQ with offload %u, at most %u", offload,
		      MLX5_XRQC_OFFLOAD_RNDV);
}

/**
 * mlx5_ib_devx_check_create - check a command that creates an object
 * @cmd: the command's row in the table, from mlx5_ib_devx_check_cmd()
 * @in: the command
 * @in_len: bytes of @in
 * @out_len: bytes that the process has for the answer
 *
 * Return: 0; -EINVAL if the command or the room for the answer is too short; or -EPERM for an
 * object that would give access to what does not belong to the user.
 */
int mlx5_ib_devx_check_create(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len,
			      size_t out_len)
{
	if (!cmd->num_in_request && !devx_has_field(out_len, cmd->num))
		return refuse(NULL, -EINVAL,
			      "DEVX create command with room for %zu bytes of answer: the object's number does not fit",
			      out_len);
	if (in_len < cmd->size)
		return refuse(NULL, -EINVAL,
			      "DEVX command 0x%x of %zu bytes, at least %u are needed", cmd->opcode,
			      in_len, cmd->size);
	switch (cmd->opcode) {
	case MLX5_CMD_OP_CREATE_QP:
		return devx_check_qp(in);
	case MLX5_CMD_OP_CREATE_MKEY:
		return devx_check_mkey(in);
	case MLX5_CMD_OP_CREATE_XRQ:
		return devx_check_xrq(in);
	default:
		return 0;
	}
}

/**
 * mlx5_ib_devx_table_entries - length of the translation table of an indirect mkey
 * @cmd: the row of a command that creates an object
 * @in: the command, checked by mlx5_ib_devx_check_create()
 *
 * Return: how many entries (KLMs or KSMs) the table has room for; 0 for a key over memory, and for
 * an object that is not a key.
 */
u32 mlx5_ib_devx_table_entries(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	if (cmd->opcode != MLX5_CMD_OP_CREATE_MKEY ||
	    devx_mkey_access_mode(in) == MLX5_MKC_ACCESS_MODE_MTT)
		return 0;
	return MLX5_GET(create_mkey_in, in, memory_key_mkey_entry.translations_octword_size);
}

/**
 * mlx5_ib_devx_num_klms - length of an indirect mkey's table of KLMs, pieces of other keys
 * @cmd: the row of a command that creates an object
 * @in: the command, checked by mlx5_ib_devx_check_create()
 *
 * Return: how many KLMs the table has room for; 0 for a table of KSMs, for a key over memory, and
 * for an object that is not a key.
 */
u32 mlx5_ib_devx_num_klms(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	if (cmd->opcode != MLX5_CMD_OP_CREATE_MKEY ||
	    devx_mkey_access_mode(in) != MLX5_MKC_ACCESS_MODE_KLMS)
		return 0;
	return MLX5_GET(create_mkey_in, in, memory_key_mkey_entry.translations_octword_size);
}

/**
 * mlx5_ib_devx_num_created - how many objects a command creates
 * @cmd: the row of a command that creates an object
 * @in: the command, checked by mlx5_ib_devx_check_create()
 *
 * One handle can stand for a bulk of flow counters, or for a range of general objects: one command
 * creates them all, and one destroys them all. ALLOC_FLOW_COUNTER has two fields for the size of a
 * bulk, and the driver does not know which of them firmware reads. So count by the field with the
 * larger size.
 *
 * Return: the number of objects.
 */
u32 mlx5_ib_devx_num_created(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	switch (cmd->opcode) {
	case MLX5_CMD_OP_ALLOC_FLOW_COUNTER:
		return max(MLX5_FC_BULK_NUM_FCS(MLX5_GET(alloc_flow_counter_in, in,
							 flow_counter_bulk)),
			   1U << MLX5_GET(alloc_flow_counter_in, in, flow_counter_bulk_log_size));
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
		return 1U << MLX5_GET(general_obj_in_cmd_hdr, in, op_param.create.log_obj_range);
	default:
		return 1;
	}
}

/**
 * mlx5_ib_devx_num_counters - how many flow counters a command creates at least
 * @cmd: the row of a command that creates an object
 * @in: the command, checked by mlx5_ib_devx_check_create()
 *
 * A flow rule may name a counter of the bulk that the command creates, but not one behind the bulk,
 * which may be another user's. Firmware that does not know flow_counter_bulk_log_size ignores the
 * field, and no capability says so. So this function takes the field with the smaller size.
 *
 * Return: the number of counters; 0 for a command that creates none.
 */
u32 mlx5_ib_devx_num_counters(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	u32 num, log_size;

	if (cmd->opcode != MLX5_CMD_OP_ALLOC_FLOW_COUNTER)
		return 0;
	num = max(MLX5_FC_BULK_NUM_FCS(MLX5_GET(alloc_flow_counter_in, in, flow_counter_bulk)), 1U);
	log_size = MLX5_GET(alloc_flow_counter_in, in, flow_counter_bulk_log_size);
	return log_size ? min(num, 1U << log_size) : num;
}

/* Whether the command can carry DMA addresses, of pages or of a doorbell record. */
static bool devx_has_memory(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	switch (cmd->opcode) {
	case MLX5_CMD_OP_CREATE_MKEY:
		/* In other modes the translation entries name other keys. */
		return devx_mkey_access_mode(in) == MLX5_MKC_ACCESS_MODE_MTT;
	case MLX5_CMD_OP_MODIFY_CQ:
		return MLX5_GET(modify_cq_in, in, op_mod) != MLX5_MODIFY_CQ_IN_OP_MOD_MODIFY_CQ;
	default:
		return true;
	}
}

/**
 * mlx5_ib_devx_use_umem - set the bits that say that the memory of an object is a umem
 * @cmd: the row of a command that creates or changes an object
 * @in: the command, which is changed; checked by mlx5_ib_devx_check_create() if it creates an
 *	object
 * @in_len: bytes of @in
 *
 * Without these bits the device reads DMA addresses from the command, so a process could have the
 * device access any memory.
 *
 * Return: 0, or -EINVAL for a command that is too short to have the bits.
 */
int mlx5_ib_devx_use_umem(const struct mlx5_ib_devx_cmd *cmd, void *in, size_t in_len)
{
	unsigned int i;

	if (!devx_has_memory(cmd, in))
		return 0;
	for (i = 0; i < ARRAY_SIZE(cmd->umem) && cmd->umem[i].bits; i++) {
		if (!devx_has_field(in_len, cmd->umem[i]))
			return refuse(NULL, -EINVAL,
				      "DEVX command 0x%x of %zu bytes is too short to name a umem",
				      cmd->opcode, in_len);
		devx_set(in, cmd->umem[i], 1);
	}
	return 0;
}

/**
 * mlx5_ib_devx_read_uar - read which UAR has the doorbells of an object
 * @cmd: the row of the command that creates the object
 * @in: the command
 * @in_len: bytes of @in
 * @page: gets the index of the UAR in the device
 *
 * Return: true; false for a command that has no field for a UAR, or is too short to name one.
 */
bool mlx5_ib_devx_read_uar(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len,
			   u32 *page)
{
	if (!cmd->uar.bits || !devx_has_field(in_len, cmd->uar))
		return false;
	*page = devx_get(in, cmd->uar);
	return true;
}

/**
 * mlx5_ib_devx_read_id - read which object a command has created, or names
 * @cmd: the command's row in the table
 * @in: the command; mlx5_ib_devx_check_cmd() has checked that it is long enough
 * @out: the answer; not used for a command that creates no object
 * @id: gets the object
 */
void mlx5_ib_devx_read_id(const struct mlx5_ib_devx_cmd *cmd, const void *in, const void *out,
			  struct mlx5_ib_devx_id *id)
{
	bool answered = cmd->use == MLX5_IB_DEVX_CREATE && !cmd->num_in_request;

	*id = (struct mlx5_ib_devx_id){
		.kind = cmd->kind,
		.num = devx_get(answered ? out : in, cmd->num),
		.type = devx_get(in, cmd->type),
		.table = devx_get(in, cmd->table),
	};
}

/**
 * mlx5_ib_devx_names - whether a command names an object
 * @cmd: the row of a command that changes or queries an object
 * @in: the command; mlx5_ib_devx_check_cmd() has checked that it is long enough
 * @id: the object
 *
 * Return: true if the command names @id.
 */
bool mlx5_ib_devx_names(const struct mlx5_ib_devx_cmd *cmd, const void *in,
			const struct mlx5_ib_devx_id *id)
{
	struct mlx5_ib_devx_id named;

	mlx5_ib_devx_read_id(cmd, in, NULL, &named);
	return named.kind == id->kind && named.num == id->num && named.type == id->type &&
	       named.table == id->table;
}

/*
 * Copy a field dword by dword, because devx_get() reads at most 32 bits. A field of more than 32
 * bits consists of whole dwords.
 */
static void devx_copy_field(u32 *to, const void *from, size_t from_len,
			    struct mlx5_ib_devx_field field)
{
	struct mlx5_ib_devx_field part;
	u16 done;

	for (done = 0; done < field.bits; done += part.bits) {
		part.offset = field.offset + done;
		part.bits = min(field.bits - done, 32);
		if (devx_has_field(from_len, part))
			devx_set(to, part, devx_get(from, part));
	}
}

/**
 * mlx5_ib_devx_fill_destroy - build the command that destroys an object
 * @created_by: the table row of the command that has created the object
 * @id: the object, as mlx5_ib_devx_read_id() has filled it in
 * @create_in: the command that has created the object
 * @create_len: bytes of @create_in
 * @in: gets the command, without a user id; MLX5_IB_DEVX_DESTROY_DW dwords
 *
 * Return: bytes of the command.
 */
size_t mlx5_ib_devx_fill_destroy(const struct mlx5_ib_devx_cmd *created_by,
				 const struct mlx5_ib_devx_id *id, const void *create_in,
				 size_t create_len, u32 *in)
{
	const struct mlx5_ib_devx_cmd *cmd = mlx5_ib_devx_destroy_cmd(created_by);
	unsigned int i;

	memset(in, 0, MLX5_IB_DEVX_DESTROY_DW * sizeof(*in));
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, cmd->opcode);
	for (i = 0; i < ARRAY_SIZE(cmd->same) && cmd->same[i].bits; i++)
		devx_copy_field(in, create_in, create_len, cmd->same[i]);
	devx_set(in, cmd->num, id->num);
	devx_set(in, cmd->type, id->type);
	devx_set(in, cmd->table, id->table);
	/* Most commands that destroy an object are as long as DEALLOC_PD. */
	return cmd->size ?: MLX5_ST_SZ_BYTES(dealloc_pd_in);
}
