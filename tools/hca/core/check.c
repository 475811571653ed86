// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that the handlers of several commands share.
 */
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "uar_page.h"

/**
 * ifc_first_set() - find a field that should be zero and is not
 * @p: the structure
 * @f: fields of the structure
 * @n: number of fields
 *
 * Return: name of the first field with a bit set, or NULL.
 */
const char *ifc_first_set(const void *p, const struct ifc_field *f, size_t n)
{
	size_t i, bit;

	for (i = 0; i < n; i++)
		for (bit = 0; bit < f[i].width; bit += 32) {
			size_t w = f[i].width - bit < 32 ? f[i].width - bit : 32;

			if (ifc_get_bits(p, f[i].off + bit, w))
				return f[i].name;
		}
	return NULL;
}

/**
 * check_offered() - refuse a command that sets a field of a feature that the HCA does not have
 * @cmd: the command
 * @why: the refusal
 * @prefix: what the reason in words has before the name of the field: "tirc.", or ""
 * @p: the structure
 * @f: fields of the structure that must be zero
 * @n: number of fields
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t check_offered(struct cmd *cmd, enum cmd_refusal why, const char *prefix, const void *p,
		      const struct ifc_field *f, size_t n)
{
	const char *name = ifc_first_set(p, f, n);

	if (!name)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, why, "%s%s is set, which is not supported", prefix,
			name);
}

/*
 * Refuse a number that leads to no object, or to an object that the command's user id may not use.
 */
static uint8_t check_found(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
			   const struct obj *found)
{
	const struct obj *o = obj_find(hca, kind, num);

	if (found)
		return ST_OK;
	if (!o || o->gone)
		return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_UNKNOWN, "%s 0x%x does not exist",
				obj_kind_name[kind], num);
	return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_OWNER,
			"%s 0x%x belongs to DEVX uid %u, not %u", obj_kind_name[kind], num, o->uid,
			cmd->uid);
}

/**
 * check_obj() - find an object that a command is about, or that a context names
 * @hca: the HCA
 * @cmd: the command; unless it is the kernel's, its uid has to own the object
 * @kind: of object
 * @num: its number
 * @o: the object, NULL on failure
 *
 * Return: ST_OK, or ST_BAD_RES if there is no such object that the command may use.
 */
uint8_t check_obj(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		  struct obj **o)
{
	*o = obj_find_own(hca, kind, num, cmd->uid);
	return check_found(hca, cmd, kind, num, *o);
}

/**
 * check_shared() - find an object that a context names, and that several users can share
 * @hca: the HCA
 * @cmd: the command; unless it is the kernel's, the object is shared or its uid owns the object
 * @kind: of object
 * @num: its number
 * @o: the object, NULL on failure
 *
 * Return: ST_OK, or ST_BAD_RES if there is no such object that the command may use.
 */
uint8_t check_shared(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		     struct obj **o)
{
	*o = obj_find_shared(hca, kind, num, cmd->uid);
	return check_found(hca, cmd, kind, num, *o);
}

/**
 * check_uar() - find the object of a UAR that a context names
 * @hca: the HCA
 * @cmd: the command; unless it is the kernel's, its uid has to own the UAR
 * @num: number of the UAR, any of its page
 * @o: the object, NULL on failure
 *
 * Return: ST_OK, or ST_BAD_RES if there is no such UAR that the command may use.
 */
uint8_t check_uar(struct hca *hca, struct cmd *cmd, uint32_t num, struct obj **o)
{
	return check_obj(hca, cmd, OBJ_UAR, uar_first(hca, num), o);
}

/**
 * check_destroy() - find the object that a command destroys
 * @hca: the HCA
 * @cmd: the command
 * @kind: of object
 * @num: its number
 * @o: the object
 *
 * Return: ST_OK; ST_BAD_RES if there is no such object that the command may use, but, as cards do,
 * ST_BAD_RES_STATE for a QP or a CQ; ST_BAD_RES_STATE while other objects refer to the object.
 */
uint8_t check_destroy(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		      struct obj **o)
{
	uint8_t st = check_obj(hca, cmd, kind, num, o);

	if (st)
		return kind == OBJ_QP || kind == OBJ_CQ ? ST_BAD_RES_STATE : st;
	if ((*o)->refs)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
				"%s 0x%x has %u references", obj_kind_name[kind], num, (*o)->refs);
	return ST_OK;
}
