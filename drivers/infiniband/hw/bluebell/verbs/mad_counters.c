// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams of performance management on a PCI function for which firmware has no agent, for
 * example on a virtual function, or with an Ethernet port: the driver answers them with the
 * counters of the vport. ib_core sends such datagrams to read the port counters that sysfs shows,
 * and perfquery sends them, too.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "verbs/verbs.h"

/* RespTimeValue of ClassPortInfo: an answer takes at most 4.096 us << 18, about a second. */
#define RESPONSE_TIME	18

/* What a vport counts, in the units of performance management: packets, and words of 4 bytes. */
struct vport_counts {
	u64 rx_unicast;
	u64 rx_multicast;
	u64 rx_data;
	u64 rx_errors;
	u64 tx_unicast;
	u64 tx_multicast;
	u64 tx_data;
	u64 tx_errors;
};

#define COUNT(out, field)	MLX5_GET64(query_vport_counter_out, out, field)

static int mad_read_counts(struct mlx5_ib_dev *dev, struct vport_counts *c)
{
	u32 *out __free(kfree) = kzalloc(MLX5_ST_SZ_BYTES(query_vport_counter_out), GFP_KERNEL);
	int err = out ? mlx5_ib_fw_query_vport_counter(dev, 0, out) : -ENOMEM;

	if (err)
		return err;
	*c = (struct vport_counts){
		.rx_unicast = COUNT(out, received_ib_unicast.packets),
		.rx_multicast = COUNT(out, received_ib_multicast.packets),
		.rx_data = (COUNT(out, received_ib_unicast.octets) +
			    COUNT(out, received_ib_multicast.octets)) / 4,
		.rx_errors = COUNT(out, received_errors.packets),
		.tx_unicast = COUNT(out, transmitted_ib_unicast.packets),
		.tx_multicast = COUNT(out, transmitted_ib_multicast.packets),
		.tx_data = (COUNT(out, transmitted_ib_unicast.octets) +
			    COUNT(out, transmitted_ib_multicast.octets)) / 4,
		.tx_errors = COUNT(out, transmit_errors.packets),
	};
	return 0;
}

/* Shorten a count to 16 or 32 bits: these counters stop at their largest value. */
static __be16 mad_count_16(u64 n)
{
	return cpu_to_be16(min_t(u64, n, U16_MAX));
}

static __be32 mad_count_32(u64 n)
{
	return cpu_to_be32(min_t(u64, n, U32_MAX));
}

static void mad_fill_class_info(struct ib_class_port_info *info)
{
	memset(info, 0, sizeof(*info));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
	ib_set_cpi_resp_time(info, RESPONSE_TIME);
}

static void mad_fill_counters(struct ib_pma_portcounters *pma, const struct vport_counts *c)
{
	*pma = (struct ib_pma_portcounters){
		.port_select = pma->port_select,
		.port_rcv_errors = mad_count_16(c->rx_errors),
		.port_xmit_discards = mad_count_16(c->tx_errors),
		.port_xmit_data = mad_count_32(c->tx_data),
		.port_rcv_data = mad_count_32(c->rx_data),
		.port_xmit_packets = mad_count_32(c->tx_unicast + c->tx_multicast),
		.port_rcv_packets = mad_count_32(c->rx_unicast + c->rx_multicast),
	};
}

static void mad_fill_counters_ext(struct ib_pma_portcounters_ext *pma,
				  const struct vport_counts *c)
{
	*pma = (struct ib_pma_portcounters_ext){
		.port_select = pma->port_select,
		.port_xmit_data = cpu_to_be64(c->tx_data),
		.port_rcv_data = cpu_to_be64(c->rx_data),
		.port_xmit_packets = cpu_to_be64(c->tx_unicast + c->tx_multicast),
		.port_rcv_packets = cpu_to_be64(c->rx_unicast + c->rx_multicast),
		.port_unicast_xmit_packets = cpu_to_be64(c->tx_unicast),
		.port_unicast_rcv_packets = cpu_to_be64(c->rx_unicast),
		.port_multicast_xmit_packets = cpu_to_be64(c->tx_multicast),
		.port_multicast_rcv_packets = cpu_to_be64(c->rx_multicast),
	};
}

static int mad_fill_answer(struct mlx5_ib_dev *dev, struct ib_pma_mad *mad)
{
	__be16 attr = mad->mad_hdr.method == IB_MGMT_METHOD_GET ? mad->mad_hdr.attr_id : 0;
	struct vport_counts counts;
	int err;

	switch (attr) {
	case IB_PMA_CLASS_PORT_INFO:
		mad_fill_class_info((void *)mad->data);
		return 0;
	case IB_PMA_PORT_COUNTERS:
	case IB_PMA_PORT_COUNTERS_EXT:
		break;
	default:
		mad->mad_hdr.status = cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
		return 0;
	}
	err = mad_read_counts(dev, &counts);
	if (err)
		return err;
	if (attr == IB_PMA_PORT_COUNTERS)
		mad_fill_counters((void *)mad->data, &counts);
	else
		mad_fill_counters_ext((void *)mad->data, &counts);
	return 0;
}

/**
 * mlx5_ib_answer_perf_mad - answer a datagram of performance management with the vport's counters
 * @dev: device
 * @in: the datagram, with method Get or Set, which firmware has refused or has no agent for
 * @out: gets the answer
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device whose vports have no counters; -ENOMEM; or the errno of a
 * failed command.
 */
int mlx5_ib_answer_perf_mad(struct mlx5_ib_dev *dev, const struct ib_mad *in, struct ib_mad *out)
{
	struct ib_pma_mad *mad = (struct ib_pma_mad *)out;
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, vport_counters))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "performance MAD: firmware has no agent, and vport_counters is 0");
	*out = *in;
	mad->mad_hdr.status = 0;
	if (in->mad_hdr.base_version != IB_MGMT_BASE_VERSION || in->mad_hdr.class_version != 1)
		mad->mad_hdr.status = cpu_to_be16(IB_MGMT_MAD_STATUS_BAD_VERSION);
	err = mad->mad_hdr.status ? 0 : mad_fill_answer(dev, mad);
	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	return err;
}
