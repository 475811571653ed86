// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: checks that the capabilities of a profile fit together. A capability page that
 * contradicts itself can crash mlx5_core.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

#define MAX_LOG_UAR_PAGE 8	/* 1 MiB, the size of the smallest BAR0 */

/* General capabilities and the least and greatest sensible value of each. */
static const struct {
	const char *field;
	uint32_t min, max;
} bounds[] = {
	{ "num_ports", 1, 1 },
	{ "port_type", 0, 1 },
	{ "log_max_qp", 7, 23 },
	{ "log_max_sq", 0, 20 },
	{ "log_max_rq", 0, 20 },
	{ "log_max_tis", 0, 20 },
	{ "log_max_tis_per_sq", 0, 1 },
	{ "log_max_tir", 0, 20 },
	{ "log_max_rqt", 0, 20 },
	{ "log_max_rqt_size", 0, 15 },
	{ "log_max_cq", 2, 24 },
	{ "log_max_eq", 2, 8 },
	{ "log_max_srq", 0, 24 },
	{ "log_max_mkey", 6, 24 },
	{ "log_max_pd", 1, 24 },
	{ "log_max_qp_sz", 1, 15 },
	{ "log_max_srq_sz", 1, 16 },
	{ "log_max_cq_sz", 1, 22 },
	{ "log_max_eq_sz", 8, 22 },
	{ "log_max_wq_sz", 0, 15 },
	{ "log_max_msg", 1, 30 },
	{ "cqe_version", 0, 1 },
	{ "log_bf_reg_size", 9, 9 },
	{ "max_wqe_sz_sq", 64, 1024 },
	{ "max_wqe_sz_rq", 16, 512 },
	{ "log_max_ra_req_qp", 0, 7 },
	{ "log_max_ra_res_qp", 0, 7 },
	{ "log_max_ra_req_dc", 0, 7 },
	{ "log_max_ra_res_dc", 0, 7 },
	{ "log_max_dci_stream_channels", 0, 16 },
	{ "log_max_dci_errored_streams", 0, 8 },
	{ "device_frequency_khz", 1000, 4000000 },
	{ "gid_table_size", 0, 4 },
	{ "pkey_table_size", 0, 5 },
	{ "log_max_klm_list_size", 2, 26 },
	{ "log_max_transport_domain", 1, 24 },
	{ "log_max_xrcd", 1, 24 },
	{ "sq_ts_format", 0, 2 },
	{ "log_max_uctx", 0, 15 },
	{ "log_max_umem", 0, 24 },
	{ "log_uar_page_sz", 0, MAX_LOG_UAR_PAGE },
	{ "log_tag_matching_list_sz", 0, 15 },	/* an XRQ's context has four bits for it */
	/* What the HCA does not model. */
	{ "wq_signature", 0, 0 },
	{ "cd", 0, 0 },
	{ "qp_packet_based", 0, 0 },
	{ "rndv_offload_dc", 0, 0 },
};

/**
 * profile_bound() - tell between which values a general capability is sensible
 * @field: its name
 * @min: set to the least value
 * @max: set to the greatest value
 *
 * Return: false if the capability has no bounds.
 */
bool profile_bound(const char *field, uint32_t *min, uint32_t *max)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bounds) && strcmp(bounds[i].field, field); i++)
		;
	if (i == ARRAY_SIZE(bounds))
		return false;
	*min = bounds[i].min;
	*max = bounds[i].max;
	return true;
}

/**
 * profile_check_bounds() - check the general capabilities that have bounds
 * @p: the profile
 * @why: set to the reason if a value is not sensible
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check_bounds(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		uint32_t v = cap_gen(p, bounds[i].field);

		if (v < bounds[i].min || v > bounds[i].max)
			return profile_refuse(why, len, "%s is %u, must be from %u to %u",
					      bounds[i].field, v, bounds[i].min, bounds[i].max);
	}
	return 0;
}

/* No current capability may exceed its maximum. */
static int profile_check_max(const struct profile *p, char *why, size_t len)
{
	const struct ifc_member *m;
	unsigned int i;

	for (i = 0; i < NR_PAGES; i++) {
		const struct ifc_struct *s = ifc_struct_find(cap_pages[i].strct);

		for (m = s ? s->field : NULL; m && m->name; m++) {
			uint64_t cur, max;

			if (m->reserved || m->width > 64 || m->sub)
				continue;
			cur = ifc_get_bits(p->cap[1][cap_pages[i].type], m->off, m->width);
			max = ifc_get_bits(p->cap[0][cap_pages[i].type], m->off, m->width);
			if (cur > max)
				return profile_refuse(why, len,
						      "%s.%s is %llu, but its maximum is %llu",
						      cap_pages[i].name, m->name,
						      (unsigned long long)cur,
						      (unsigned long long)max);
		}
	}
	return 0;
}

/* Events for the kernel only: completions, CMD, PAGE_REQUEST and PAGE_FAULT. */
#define KERNEL_EVENTS	(1u << 0x00 | 1u << 0x0a | 1u << 0x0b | 1u << 0x0c)

/*
 * No event may be in both user_affiliated_events and user_unaffiliated_events, and no event for the
 * kernel only in one of them.
 */
static int profile_check_events(const struct profile *p, char *why, size_t len)
{
	uint64_t of_objects = cap_get(p, true, PAGE_DEV_EVENT, "user_affiliated_events");
	uint64_t of_device = cap_get(p, true, PAGE_DEV_EVENT, "user_unaffiliated_events");

	if (!cap_gen(p, "event_cap"))
		return 0;
	if (of_objects & of_device)
		return profile_refuse(why, len,
				      "events 0x%llx are both affiliated and unaffiliated",
				      (unsigned long long)(of_objects & of_device));
	if ((of_objects | of_device) & KERNEL_EVENTS)
		return profile_refuse(why, len, "events 0x%llx are not for users",
				      (unsigned long long)((of_objects | of_device) &
							   KERNEL_EVENTS));
	if (!cap_gen(p, "log_max_uctx"))
		return profile_refuse(why, len,
				      "event_cap is set, but log_max_uctx is 0: there are "
				      "no users");
	return 0;
}

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

/* A umem needs an owner: a user context, or if umem_uid_0 is set, the kernel. */
static int profile_check_users(const struct profile *p, char *why, size_t len)
{
	if (cap_gen(p, "log_max_umem") && !cap_gen(p, "log_max_uctx") && !cap_gen(p, "umem_uid_0"))
		return profile_refuse(why, len,
				      "log_max_umem is set, but log_max_uctx and umem_uid_0 are 0: "
				      "neither a user context nor the kernel could create a umem");
	if (cap_gen(p, "umem_uid_0") && !cap_gen(p, "log_max_umem"))
		return profile_refuse(why, len, "umem_uid_0 is set, but log_max_umem is 0");
	if (cap_get(p, false, PAGE_GENERAL, "general_obj_types") ||
	    cap_get(p, false, PAGE_GENERAL_2, "general_obj_types_127_64"))
		return profile_refuse(why, len,
				      "general_obj_types is set, but there are no general objects");
	return 0;
}

/* Capabilities that need other capabilities. */
static int profile_check_pairs(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 1; i < NR_PAGES; i++) {
		bool on = cap_get(p, false, PAGE_GENERAL, cap_pages[i].enable);

		if (on && !p->cap_valid[cap_pages[i].type])
			return profile_refuse(why, len,
					      "%s is set, but no %s capabilities are given",
					      cap_pages[i].enable, cap_pages[i].name);
	}
	if ((cap_gen(p, "uar_4k") || cap_get(p, false, PAGE_GENERAL, "uar_4k")) &&
	    !cap_gen(p, "num_of_uars_per_page"))
		return profile_refuse(why, len,
				      "uar_4k without num_of_uars_per_page: a UAR would have no "
				      "registers");
	if (cap_get(p, false, PAGE_GENERAL, "log_uar_page_sz") > MAX_LOG_UAR_PAGE)
		return profile_refuse(why, len,
				      "the maximum of log_uar_page_sz is %llu, must be at most %u",
				      (unsigned long long)cap_get(p, false, PAGE_GENERAL,
								  "log_uar_page_sz"),
				      MAX_LOG_UAR_PAGE);
	if (!is_pow2(cap_gen(p, "max_wqe_sz_sq")) || !is_pow2(cap_gen(p, "max_wqe_sz_rq")))
		return profile_refuse(why, len,
				      "max_wqe_sz_sq and max_wqe_sz_rq must be powers of two");
	if (cap_gen(p, "atomic") && !cap_get(p, true, PAGE_ATOMIC, "atomic_operations"))
		return profile_refuse(why, len, "atomic is set, but atomic_operations is 0");
	if (cap_gen(p, "atomic") && !cap_get(p, true, PAGE_ATOMIC, "atomic_size_qp"))
		return profile_refuse(why, len, "atomic is set, but atomic_size_qp is 0");
	if (!cap_gen(p, "rc") && !cap_gen(p, "uc") && !cap_gen(p, "ud"))
		return profile_refuse(why, len, "none of rc, uc, ud is set");
	if (cap_gen(p, "tag_matching") &&
	    (!cap_gen(p, "rc") || !cap_gen(p, "log_tag_matching_list_sz")))
		return profile_refuse(why, len, "tag_matching is set, but rc or "
				      "log_tag_matching_list_sz is 0");
	if (cap_gen(p, "port_type") != p->eth)
		return profile_refuse(why, len, "port_type is %u, but the link is %s",
				      cap_gen(p, "port_type"),
				      p->eth ? "eth" : "ib");
	if (p->core_clock_khz != cap_gen(p, "device_frequency_khz"))
		return profile_refuse(why, len,
				      "the clock runs at %u kHz, device_frequency_khz is %u",
				      p->core_clock_khz, cap_gen(p, "device_frequency_khz"));
	if (p->one_clock && (cap_gen(p, "sq_ts_format") || cap_gen(p, "rq_ts_format")))
		return profile_refuse(why, len, "one_clock is set, but sq_ts_format or "
				      "rq_ts_format has another clock");
	return 0;
}

/* Of quality of service the HCA has packet pacing only. */
static int profile_check_qos(const struct profile *p, char *why, size_t len)
{
	static const char *const others[] = {
		"esw_scheduling", "esw_bw_share", "esw_rate_limit", "nic_sq_scheduling",
		"nic_bw_share", "nic_rate_limit", "packet_pacing_req_ud", "packet_pacing_req_uc",
	};
	unsigned int i;

	if (!cap_gen(p, "qos"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (cap_get(p, true, PAGE_QOS, others[i]))
			return profile_refuse(why, len, "%s is set, which the HCA does not model",
					      others[i]);
	if (cap_get(p, true, PAGE_QOS, "packet_pacing") &&
	    (cap_get(p, true, PAGE_QOS, "packet_pacing_rate_table_size") < 2 ||
	     !cap_get(p, true, PAGE_QOS, "packet_pacing_min_rate") ||
	     cap_get(p, true, PAGE_QOS, "packet_pacing_min_rate") >
	     cap_get(p, true, PAGE_QOS, "packet_pacing_max_rate")))
		return profile_refuse(why, len,
				      "packet_pacing is set, but packet_pacing_rate_table_size is "
				      "below 2, packet_pacing_min_rate is 0, or "
				      "packet_pacing_max_rate is below packet_pacing_min_rate");
	return 0;
}

/**
 * profile_check_memic() - check that device memory is in the BAR
 * @p: the profile
 * @why: set to the reason if it is not
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check_memic(const struct profile *p, char *why, size_t len)
{
	uint64_t start = cap_memic(p, "memic_bar_start_addr");
	uint64_t size = cap_memic(p, "memic_bar_size");
	uint64_t max = cap_memic(p, "max_memic_size");
	uint64_t min = cap_memic(p, "log_min_memic_alloc_size");
	uint64_t align = cap_memic(p, "log_max_memic_addr_alignment");
	uint64_t bar = 1ull << p->log_bar_size, end = start + (1 + MEMIC_OPS) * size;

	if (!cap_gen(p, "device_memory"))
		return 0;
	if (!profile_has_memic(p))
		return profile_refuse(why, len,
				      "device_memory is set, but memic, the only kind of it, "
				      "is not");
	if (!size || size % HCA_PAGE_SIZE || start % HCA_PAGE_SIZE)
		return profile_refuse(why, len,
				      "memic_bar_start_addr 0x%llx, memic_bar_size 0x%llx: "
				      "not whole pages", (unsigned long long)start,
				      (unsigned long long)size);
	if (start < (uint64_t)HCA_PAGE_SIZE * (FIRST_UAR + 1) || start > bar || end > bar)
		return profile_refuse(why, len,
				      "memic_bar_start_addr 0x%llx: memory and operations end at "
				      "0x%llx, the BAR at 0x%llx", (unsigned long long)start,
				      (unsigned long long)end, (unsigned long long)bar);
	if (!max || max > size)
		return profile_refuse(why, len, "max_memic_size is 0x%llx, memic_bar_size 0x%llx",
				      (unsigned long long)max, (unsigned long long)size);
	if (1ull << min < MEMIC_UNIT || 1ull << min > max)
		return profile_refuse(why, len,
				      "log_min_memic_alloc_size is %llu, has to be from 6 to what "
				      "max_memic_size allows", (unsigned long long)min);
	if (align > 25 || (uint64_t)MEMIC_UNIT << align > size || start % (MEMIC_UNIT << align))
		return profile_refuse(why, len,
				      "log_max_memic_addr_alignment is %llu, must be at most 25; "
				      "2^(6 + this) bytes must not exceed memic_bar_size and must "
				      "divide memic_bar_start_addr", (unsigned long long)align);
	if (cap_memic(p, "memic_operations") >> MEMIC_OPS)
		return profile_refuse(why, len,
				      "memic_operations is 0x%llx, but there are %u operations",
				      (unsigned long long)cap_memic(p, "memic_operations"),
				      MEMIC_OPS);
	return 0;
}

#define PORT_CAP_MASK2	(1u << 15)	/* of CapabilityMask */

static int profile_check_port(const struct profile *p, char *why, size_t len)
{
	unsigned int gids = 8u << cap_gen(p, "gid_table_size");

	/* The management agents are members of the default partition. */
	if ((p->pkey[0] | 0x8000) != 0xffff)
		return profile_refuse(why, len, "pkeys[0] is 0x%x, must be 0xffff or 0x7fff",
				      p->pkey[0]);
	if (!p->gids || p->gids > gids)
		return profile_refuse(why, len, "gids is %u, must be from 1 to %u", p->gids, gids);
	if (p->virtual_functions > 127)
		return profile_refuse(why, len, "virtual_functions is %u, at most 127 are possible",
				      p->virtual_functions);
	if (p->virtual_functions && !cap_gen(p, "vport_group_manager"))
		return profile_refuse(why, len,
				      "there are virtual_functions, but vport_group_manager is 0");
	if (p->vport_speed > 0xffff)
		return profile_refuse(why, len, "vport_speed is %u, the field has 16 bits",
				      p->vport_speed);
	if (p->port_caps_2 && !(p->port_caps & PORT_CAP_MASK2))
		return profile_refuse(why, len,
				      "port_caps_2 is 0x%x, but bit 15 of port_caps, which announces "
				      "it, is not set", p->port_caps_2);
	if (!p->eth && (!is_pow2(p->mtu) || p->mtu < 256 || p->mtu > 4096))
		return profile_refuse(why, len, "mtu is %u, must be 256, 512, 1024, 2048 or 4096",
				      p->mtu);
	return 0;
}

static int profile_check_device(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	if (p->log_bar_size < 20 || p->log_bar_size > 32)
		return profile_refuse(why, len, "log_bar_size is %u, must be from 20 to 32",
				      p->log_bar_size);
	if (cap_gen(p, "uar_sz") != p->log_bar_size - 20)
		return profile_refuse(why, len, "uar_sz says 2^%u MB, the BAR has 2^%u bytes",
				      cap_gen(p, "uar_sz"), p->log_bar_size);
	if (!profile_hw_id(p))
		return profile_refuse(why, len,
				      "part is %u, must be the PCI device ID of a ConnectX-4 to 7",
				      p->part);
	if (p->cycle_numbers && p->highest_numbers)
		return profile_refuse(why, len, "both cycle_numbers and highest_numbers are set");
	if (!p->vectors || p->vectors > HCA_MAX_VECTORS)
		return profile_refuse(why, len, "%u vectors, must be from 1 to %u", p->vectors,
				      HCA_MAX_VECTORS);
	if (p->range[OBJ_UAR].limit > 1u << (p->log_bar_size - 12))
		return profile_refuse(why, len, "%u UAR pages do not fit the BAR",
				      p->range[OBJ_UAR].limit);
	if (profile_has_memic(p) &&
	    p->range[OBJ_UAR].limit > cap_memic(p, "memic_bar_start_addr") / HCA_PAGE_SIZE)
		return profile_refuse(why, len, "%u UAR pages reach into device memory",
				      p->range[OBJ_UAR].limit);
	if (p->command_delay_us > 1000000)
		return profile_refuse(why, len,
				      "command_delay_us is %u, at most a second is allowed",
				      p->command_delay_us);
	if (p->command_timeout_ms >> 20)
		return profile_refuse(why, len,
				      "command_timeout_ms is %u, the register has 20 bits",
				      p->command_timeout_ms);
	if (p->log_min_ack_timeout > 31)
		return profile_refuse(why, len,
				      "log_min_ack_timeout is %u, a queue pair has 31 at most",
				      p->log_min_ack_timeout);
	for (i = 0; i < OBJ_KINDS; i++)
		if (p->range[i].limit <= p->range[i].first)
			return profile_refuse(why, len, "no object of kind %s is possible",
					      obj_kind_name[i]);
	return 0;
}

/**
 * profile_check() - check that the capabilities of a profile fit together
 * @p: profile
 * @why: set to the reason if they do not
 * @why_len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check(const struct profile *p, char *why, size_t why_len)
{
	static int (*const checks[])(const struct profile *p, char *why, size_t len) = {
		profile_check_bounds, profile_check_max, profile_check_pairs, profile_check_port,
		profile_check_device, profile_check_memic, profile_check_users,
		profile_check_events, profile_check_qos, profile_check_eth, profile_check_roce,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(checks); i++)
		if (checks[i](p, why, why_len))
			return -EINVAL;
	return 0;
}
