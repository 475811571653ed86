// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Management datagrams (MADs) that firmware answers: firmware has the port's agents for subnet
 * management (SMA) and performance (PMA; if it has none, see mad_counters.c), and agents that tools
 * of the vendor use. On an Ethernet port firmware has no agents. The RDMA core sends and receives
 * MADs by queue pairs of the types SMI and GSI, and has the driver process each MAD that arrives,
 * each directed-route MAD that this host sends to its own port, and each MAD by which the RDMA core
 * itself reads the counters of a port.
 */

#include <rdma/ib_smi.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "verbs/verbs.h"

/* Bits in op_mod of MAD_IFC: firmware does not check the M_Key, or the B_Key, of the MAD. */
#define IGNORE_MKEY	BIT(0)
#define IGNORE_BKEY	BIT(1)

/* Vendor classes by which tools of the vendor reach firmware over the network. */
#define MGMT_CLASS_FIRMWARE_1	0x09
#define MGMT_CLASS_FIRMWARE_2	0x0a

/* The D bit in the status of a directed-route MAD: the MAD is on its way back. */
#define DIRECTION	BIT(15)

/*
 * Whether firmware may have an agent for a MAD of this class, method and attribute. All other MADs
 * are for consumers of the RDMA core, and so are those that neither firmware nor the driver
 * answers.
 */
static bool mad_is_for_firmware(const struct ib_mad_hdr *mad)
{
	bool get_or_set = mad->method == IB_MGMT_METHOD_GET || mad->method == IB_MGMT_METHOD_SET;

	switch (mad->mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		/* SMInfo is answered by a subnet manager, if one runs on this host. */
		return (get_or_set || mad->method == IB_MGMT_METHOD_TRAP_REPRESS) &&
		       mad->attr_id != IB_SMP_ATTR_SM_INFO;
	case IB_MGMT_CLASS_PERF_MGMT:
	case IB_MGMT_CLASS_CONG_MGMT:
	case MGMT_CLASS_FIRMWARE_1:
	case MGMT_CLASS_FIRMWARE_2:
		return get_or_set;
	default:
		return false;
	}
}

/*
 * Return the op_mod of MAD_IFC: whether firmware skips the check of the M_Key, and of the B_Key, of
 * the MAD. (If a key that firmware checks is wrong, firmware sends a trap.) If @in_wc is NULL, the
 * RDMA core itself reads counters: skip both checks.
 */
static u16 mad_op_mod(int flags, const struct ib_wc *in_wc)
{
	u16 op_mod = 0;

	if (!in_wc || (flags & IB_MAD_IGNORE_MKEY))
		op_mod |= IGNORE_MKEY;
	if (!in_wc || (flags & IB_MAD_IGNORE_BKEY))
		op_mod |= IGNORE_BKEY;
	return op_mod;
}

/*
 * Have firmware answer a datagram. Firmware refuses a datagram for which it has no agent. A refused
 * datagram of performance management is answered with the counters of the vport, and so is each one
 * on an Ethernet port.
 */
static int mad_answer(struct mlx5_ib_dev *dev, u32 port, u16 op_mod, u16 slid,
		      const struct ib_mad *in, struct ib_mad *out)
{
	int err;

	if (dev->caps.ethernet)
		return mlx5_ib_answer_perf_mad(dev, in, out);
	err = mlx5_ib_fw_mad_ifc(dev, port, op_mod, slid, in, out);
	if (err == -EREMOTEIO && in->mad_hdr.mgmt_class == IB_MGMT_CLASS_PERF_MGMT)
		err = mlx5_ib_answer_perf_mad(dev, in, out);
	return err;
}

/**
 * mlx5_ib_process_mad - have firmware answer a management datagram
 * @ibdev: device
 * @flags: enum ib_process_mad_flags
 * @port: number of the port
 * @in_wc: completion of the receive request, made up by the RDMA core if this host sends the MAD to
 *	its own port; NULL if the RDMA core reads counters
 * @in_grh: GRH of the MAD, if the MAD has one; not used
 * @in: the MAD
 * @out: gets the answer
 * @out_size: bytes of @out; left as it is
 * @out_pkey_index: not used: the answer has the P_Key of the MAD
 *
 * Implements process_mad of struct ib_device_ops with MAD_IFC (struct mlx5_ifc_mad_ifc_in_bits),
 * and with QUERY_VPORT_COUNTER if firmware has no agent for performance management, as on an
 * Ethernet port. May sleep.
 *
 * Return: enum ib_mad_result: IB_MAD_RESULT_SUCCESS, to which IB_MAD_RESULT_REPLY is added if @out
 * has an answer, IB_MAD_RESULT_CONSUMED if the MAD has been handled without an answer, and nothing
 * if the MAD is not for firmware; IB_MAD_RESULT_FAILURE if neither firmware nor the driver answers
 * the MAD.
 */
int mlx5_ib_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
			const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index)
{
	u16 slid = in_wc ? ib_lid_cpu16(in_wc->slid) : be16_to_cpu(IB_LID_PERMISSIVE);
	bool ethernet = to_mdev(ibdev)->caps.ethernet;
	const struct ib_mad_hdr *mad = &in->mad_hdr;

	if (ethernet && mad->mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	/* A trap with the source LID 0 comes from firmware itself, which needs no answer to it. */
	if (mad->method == IB_MGMT_METHOD_TRAP && !slid)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	if (!mad_is_for_firmware(mad))
		return IB_MAD_RESULT_SUCCESS;
	if (mad_answer(to_mdev(ibdev), port, mad_op_mod(flags, in_wc), slid, in, out))
		return IB_MAD_RESULT_FAILURE;

	/* There is no answer to a TrapRepress. */
	if (mad->method == IB_MGMT_METHOD_TRAP_REPRESS)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	if (mad->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		out->mad_hdr.status |= cpu_to_be16(DIRECTION);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
