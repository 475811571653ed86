/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The attribute PortInfo, of the port of an HCA and of each port of the switch: what a subnet
 * manager may set, and the check of the M_Key, which is a part of PortInfo.
 */
#ifndef BLUEBELL_PORT_INFO_H
#define BLUEBELL_PORT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric.h"

#define SUBNET_PREFIX	0xfe80000000000000ull	/* the default prefix */
#define PORT_CAP_SM	(1u << 1)	/* CapabilityMask: a subnet manager is here */
#define PORT_CAP_LATENCY (1u << 24)	/* tells the latency of its link */
#define PORT_CAP_MCAST_PKEY_TRAPS (1u << 29)	/* can suppress traps of multicast P_Keys */
#define PORT_CAP2_EXTENDED 0x2	/* CapabilityMask2: the port has PortInfoExtended */
#define PORT_CAP2_2X	0x10	/* CapabilityMask2: links can be 2x wide */
#define VL_ARB_ENTRIES	8	/* of each of the two tables of VL arbitration */

/* What a subnet manager sets and the port only keeps. */
struct port_attrs {
	uint64_t m_key;
	uint64_t m_key_expiry_ns;	/* end of a lease that a violation began, or 0 */
	uint64_t gid_prefix;
	uint16_t m_key_lease;		/* seconds, 0: without end */
	uint16_t m_key_violations;
	uint16_t sm_lid;
	uint8_t m_key_protect;
	uint8_t sm_sl;
	uint8_t width_enabled, speed_enabled, ext_speed_enabled;
	uint8_t down_default;
	uint8_t neighbour_mtu;
	uint8_t vl_high_limit, operational_vls, hoq_life;
	uint8_t subnet_timeout;
	uint8_t mcast_pkey_traps;	/* 1: suppressed. The port sends no traps of P_Keys */
	uint8_t error_thresholds;
	uint64_t sl_to_vl;		/* as SL_TO_VL_DEFAULT */
	uint8_t vl_arb[2][2 * VL_ARB_ENTRIES];	/* of low and high priority: lanes, weights */
};

/* The properties of a port in PortInfo that are not in port_attrs. */
struct port_view {
	uint16_t lid;
	uint8_t lmc;
	bool up;
	bool disabled;
	enum port_state state;
	uint32_t cap_mask;
	uint16_t cap_mask2;
	uint8_t speed;			/* enum link_speed */
	bool of_switch;
	uint8_t local_port;		/* LocalPortNum: the port at which the request arrived */
	uint8_t mtu_cap;		/* code: 1 is 256 bytes */
	uint16_t bad_pkeys, bad_qkeys;
	uint8_t gids;
};

/* What a Set of PortInfo asks for beside port_attrs. */
struct port_wish {
	uint16_t lid;
	uint8_t lmc;
	enum port_state state;		/* 0: no change */
	uint8_t phys;			/* 0: no change */
	bool reregister;		/* clients have to register again */
};

enum { PHYS_POLLING = 2, PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

/* What the M_Key of a request allows. */
enum m_key_check { M_KEY_OK, M_KEY_HIDDEN, M_KEY_DENIED };

uint8_t mtu_code(unsigned int bytes);
uint16_t port_mtu(const struct port_attrs *a);
void port_attrs_init(struct port_attrs *a, uint8_t mtu_cap);
void port_attrs_manage(struct port_attrs *a);
void port_attrs_manage_link(struct port_attrs *a);
void port_info_get(const struct port_attrs *a, const struct port_view *v, uint8_t *data);
bool port_info_valid(const struct port_view *v, bool has_lid, const uint8_t *data);
void port_info_wish(const uint8_t *data, struct port_wish *w);
void port_info_take(struct port_attrs *a, const uint8_t *data);
bool port_vl_arb_get(const struct port_attrs *a, uint32_t mod, uint8_t *data);
bool port_vl_arb_set(struct port_attrs *a, uint32_t mod, const uint8_t *data);
enum m_key_check port_m_key_check(struct port_attrs *a, const uint8_t *mad, uint64_t now_ns);

#endif
