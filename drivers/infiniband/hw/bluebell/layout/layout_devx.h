/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Firmware commands that a process builds itself (DEVX): what a process may use each command for,
 * and which field of the command names the object.
 */

#ifndef BLUEBELL_LAYOUT_DEVX_H
#define BLUEBELL_LAYOUT_DEVX_H

#include <linux/mlx5/device.h>
#include <linux/types.h>

/* Dwords of the longest commands that destroy an object, for example DELETE_FLOW_TABLE_ENTRY. */
#define MLX5_IB_DEVX_DESTROY_DW	MLX5_ST_SZ_DW(delete_fte_in)

/**
 * enum mlx5_ib_devx_use - what a process may use a command for
 * @MLX5_IB_DEVX_FORBIDDEN: nothing
 * @MLX5_IB_DEVX_GENERAL: needs no handle of an object
 * @MLX5_IB_DEVX_CREATE: creates an object
 * @MLX5_IB_DEVX_MODIFY: changes an object
 * @MLX5_IB_DEVX_QUERY: reads an object
 * @MLX5_IB_DEVX_DESTROY: nothing: the command destroys an object, and only the driver sends it
 */
enum mlx5_ib_devx_use {
	MLX5_IB_DEVX_FORBIDDEN,
	MLX5_IB_DEVX_GENERAL,
	MLX5_IB_DEVX_CREATE,
	MLX5_IB_DEVX_MODIFY,
	MLX5_IB_DEVX_QUERY,
	MLX5_IB_DEVX_DESTROY,
};

/* Kinds of objects. Two objects of different kinds can have the same number. */
enum mlx5_ib_devx_kind {
	MLX5_IB_DEVX_NO_KIND,
	MLX5_IB_DEVX_MKEY,
	MLX5_IB_DEVX_CQ,
	MLX5_IB_DEVX_QP,
	MLX5_IB_DEVX_XRC_SRQ,
	MLX5_IB_DEVX_DCT,
	MLX5_IB_DEVX_XRQ,
	MLX5_IB_DEVX_Q_COUNTER,
	MLX5_IB_DEVX_SCHEDULING_ELEMENT,
	MLX5_IB_DEVX_PD,
	MLX5_IB_DEVX_MCG,
	MLX5_IB_DEVX_XRCD,
	MLX5_IB_DEVX_TRANSPORT_DOMAIN,
	MLX5_IB_DEVX_VXLAN_PORT,
	MLX5_IB_DEVX_L2_ENTRY,
	MLX5_IB_DEVX_TIR,
	MLX5_IB_DEVX_SQ,
	MLX5_IB_DEVX_RQ,
	MLX5_IB_DEVX_RMP,
	MLX5_IB_DEVX_TIS,
	MLX5_IB_DEVX_RQT,
	MLX5_IB_DEVX_FLOW_TABLE,
	MLX5_IB_DEVX_FLOW_GROUP,
	MLX5_IB_DEVX_FLOW_ENTRY,
	MLX5_IB_DEVX_FLOW_COUNTER,
	MLX5_IB_DEVX_PACKET_REFORMAT,
	MLX5_IB_DEVX_MODIFY_HEADER,
	MLX5_IB_DEVX_GENERAL_OBJECT,
	MLX5_IB_DEVX_NUM_KINDS,
};

/**
 * struct mlx5_ib_devx_kind_info - what the log and events call objects of a kind
 * @name: name of the kind, for the log
 * @event_type: @type of struct mlx5_ib_event_source for such objects; 0 if the device reports no
 *	events of such objects. Also 0 for general objects, whose events have @type of struct
 *	mlx5_ib_devx_id
 */
struct mlx5_ib_devx_kind_info {
	const char *name;
	u16 event_type;
};

/**
 * struct mlx5_ib_devx_field - where a command or its answer has a field
 * @offset: number of the first bit, counted as in struct mlx5_ifc_*_bits
 * @bits: length of the field; 0 for no field. A field of up to 32 bits lies in one dword, a longer
 *	field consists of whole dwords
 */
struct mlx5_ib_devx_field {
	u16 offset;
	u16 bits;
};

/**
 * struct mlx5_ib_devx_cmd - a command: a row of the table of DEVX commands
 * @opcode: MLX5_CMD_OP_*
 * @use: enum mlx5_ib_devx_use
 * @kind: enum mlx5_ib_devx_kind, of the object that the command is about
 * @num_in_request: for a command that creates an object: whether @num is a field of the command, or
 *	of the answer
 * @size: for a command that creates an object: the minimum length of the command in bytes; 0 if the
 *	command need only be long enough to have a header, the fields that name the object, and
 *	@umem. For a command that destroys an object: the length of the command in bytes; 0 stands
 *	for the length of DEALLOC_PD, which most such commands have
 * @rights: MLX5_UCTX_CAP_* that the sender must have had when it opened the device. The driver
 *	checks them, because not all firmware does, see mlx5_ib_create_uctx()
 * @num: number of the object
 * @type: field that has the type of the object, for kinds whose numbers are unique only within a
 *	type: the type of a general object, the table type of a flow table or a part of it, the
 *	hierarchy of a scheduling element
 * @table: number of the flow table that the object belongs to
 * @umem: bits that say that the memory of the object is a umem. The driver sets them, because the
 *	device would otherwise read DMA addresses from the command
 * @uar: index of the UAR that has the doorbells of the object
 * @deny: fields that must be 0
 * @needs: fields that must be 0 unless the sender has the rights given with the field
 *	(MLX5_UCTX_CAP_*)
 * @same: for a command that destroys an object: fields to copy from the command that has created
 *	the object, where they have the same offsets
 */
struct mlx5_ib_devx_cmd {
	u16 opcode;
	u8 use;
	u8 kind;
	bool num_in_request;
	u16 size;
	u32 rights;
	struct mlx5_ib_devx_field num;
	struct mlx5_ib_devx_field type;
	struct mlx5_ib_devx_field table;
	struct mlx5_ib_devx_field umem[2];
	struct mlx5_ib_devx_field uar;
	struct mlx5_ib_devx_field deny[2];
	struct {
		struct mlx5_ib_devx_field field;
		u32 rights;
	} needs[3];
	struct mlx5_ib_devx_field same[2];
};

/**
 * struct mlx5_ib_devx_id - identifies an object of the device
 * @kind: enum mlx5_ib_devx_kind
 * @num: as in struct mlx5_ib_devx_cmd
 * @type: as in struct mlx5_ib_devx_cmd; 0 for a kind without types
 * @table: as in struct mlx5_ib_devx_cmd; 0 for a kind without tables
 */
struct mlx5_ib_devx_id {
	u8 kind;
	u32 num;
	u32 type;
	u32 table;
};

extern const struct mlx5_ib_devx_kind_info mlx5_ib_devx_kinds[MLX5_IB_DEVX_NUM_KINDS];

const struct mlx5_ib_devx_cmd *mlx5_ib_devx_find_cmd(u16 opcode);
const struct mlx5_ib_devx_cmd *mlx5_ib_devx_destroy_cmd(const struct mlx5_ib_devx_cmd *cmd);
int mlx5_ib_devx_check_cmd(const void *in, size_t in_len, enum mlx5_ib_devx_use use, u32 rights,
			   const struct mlx5_ib_devx_cmd **cmd);
int mlx5_ib_devx_check_create(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len,
			      size_t out_len);
u8 mlx5_ib_devx_kind_of(const void *in, size_t in_len);
u32 mlx5_ib_devx_table_entries(const struct mlx5_ib_devx_cmd *cmd, const void *in);
u32 mlx5_ib_devx_num_klms(const struct mlx5_ib_devx_cmd *cmd, const void *in);
u32 mlx5_ib_devx_num_created(const struct mlx5_ib_devx_cmd *cmd, const void *in);
u32 mlx5_ib_devx_num_counters(const struct mlx5_ib_devx_cmd *cmd, const void *in);
int mlx5_ib_devx_use_umem(const struct mlx5_ib_devx_cmd *cmd, void *in, size_t in_len);
bool mlx5_ib_devx_read_uar(const struct mlx5_ib_devx_cmd *cmd, const void *in, size_t in_len,
			   u32 *page);
void mlx5_ib_devx_read_id(const struct mlx5_ib_devx_cmd *cmd, const void *in, const void *out,
			  struct mlx5_ib_devx_id *id);
bool mlx5_ib_devx_names(const struct mlx5_ib_devx_cmd *cmd, const void *in,
			const struct mlx5_ib_devx_id *id);
size_t mlx5_ib_devx_fill_destroy(const struct mlx5_ib_devx_cmd *created_by,
				 const struct mlx5_ib_devx_id *id, const void *create_in,
				 size_t create_len, u32 *in);

#endif /* BLUEBELL_LAYOUT_DEVX_H */
