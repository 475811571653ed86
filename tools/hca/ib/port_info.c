// SPDX-License-Identifier: GPL-2.0
/*
 * PortInfo (InfiniBand Architecture, volume 1, 14.2.5.6), and the M_Key (14.2.4).
 */
#include <string.h>

#include "ib_packet.h"
#include "ifc.h"
#include "mad_format.h"
#include "packet.h"
#include "port_info.h"
#include "profile.h"

/* Offsets in PortInfo. */
enum {
	PI_M_KEY = 0, PI_PREFIX = 8, PI_LID = 16, PI_SM_LID = 18, PI_CAP_MASK = 20,
	PI_M_KEY_LEASE = 26, PI_LOCAL_PORT = 28, PI_WIDTH_ENABLED = 29, PI_WIDTH_SUPPORTED = 30,
	PI_WIDTH_ACTIVE = 31, PI_STATE = 32, PI_PHYS = 33, PI_LMC = 34, PI_SPEED = 35, PI_MTU = 36,
	PI_VL_CAP = 37, PI_VL_HIGH_LIMIT = 38, PI_VL_ARB_HIGH_CAP = 39, PI_VL_ARB_LOW_CAP = 40,
	PI_MTU_CAP = 41, PI_HOQ_LIFE = 42,
	PI_OPERATIONAL_VLS = 43, PI_M_KEY_VIOLATIONS = 44, PI_BAD_PKEYS = 46, PI_BAD_QKEYS = 48,
	PI_GUID_CAP = 50, PI_TIMEOUT = 51, PI_RESPONSE_TIME = 52, PI_THRESHOLDS = 53,
	PI_LATENCY = 56, PI_CAP_MASK2 = 60, PI_EXT_SPEED = 62, PI_EXT_SPEED_ENABLED = 63,
};

#define WIDTHS		3	/* 1x and 4x */
#define WIDTH_2X	16
#define WIDTH_4X	2
#define SPEED_SDR	1
#define SPEED_DDR	2
#define SPEED_QDR	4
#define SPEEDS		(SPEED_SDR | SPEED_DDR | SPEED_QDR)
#define EXT_SPEEDS	15	/* FDR to NDR */
#define VL_CAP_0_3	3
#define NO_CHANGE_SPEED	15
#define NO_CHANGE_EXT	31
#define NO_CHANGE_WIDTH	255
#define RESPONSE_TIME	16
#define LATENCY		270	/* LinkRoundTripLatency of a port of a ConnectX-7; 24 bits */
#define WEIGHT		32	/* of each lane, in units of 64 bytes */
#define VL_MASK		0x0f
#define CLIENT_REREGISTER 0x80
#define MCAST_PKEY_TRAPS_SHIFT 5
#define NS_PER_S	1000000000ull
#define SUBNET_TIMEOUT	18	/* 4.096 us * 2^n */
#define ERROR_THRESHOLDS 0x88	/* LocalPhyErrors and OverrunErrors */

enum { LOW_PRIORITY, HIGH_PRIORITY };

/**
 * mtu_code() - code of an MTU
 * @bytes: the MTU, a power of two from 256
 */
uint8_t mtu_code(unsigned int bytes)
{
	return __builtin_ctz(bytes) - 7;
}

/**
 * port_mtu() - the MTU that a port uses
 * @a: its attributes
 *
 * Return: bytes.
 */
uint16_t port_mtu(const struct port_attrs *a)
{
	return 128u << a->neighbour_mtu;
}

/**
 * port_attrs_init() - attributes of a port as after power on
 * @a: the attributes
 * @mtu_cap: code of the greatest MTU
 */
void port_attrs_init(struct port_attrs *a, uint8_t mtu_cap)
{
	unsigned int i;

	memset(a, 0, sizeof(*a));
	a->gid_prefix = SUBNET_PREFIX;
	a->width_enabled = WIDTHS | WIDTH_2X;
	a->speed_enabled = SPEEDS;
	a->ext_speed_enabled = EXT_SPEEDS;
	a->down_default = PHYS_POLLING;
	a->neighbour_mtu = mtu_cap;
	a->operational_vls = VL_CAP_0_3;
	a->sl_to_vl = SL_TO_VL_DEFAULT;
	for (i = 0; i < DATA_VLS; i++) {
		a->vl_arb[LOW_PRIORITY][2 * i] = i;
		a->vl_arb[LOW_PRIORITY][2 * i + 1] = WEIGHT;
	}
}

/**
 * port_attrs_manage() - set what the subnet manager of the switch sets at a port that has a LID
 * @a: the attributes
 */
void port_attrs_manage(struct port_attrs *a)
{
	a->sm_lid = SWITCH_LID;
	a->subnet_timeout = SUBNET_TIMEOUT;
}

/**
 * port_attrs_manage_link() - set what the subnet manager of the switch sets at an end of a link
 * @a: the attributes of the port
 */
void port_attrs_manage_link(struct port_attrs *a)
{
	a->error_thresholds = ERROR_THRESHOLDS;
}

static uint8_t port_widths(const struct port_view *v)
{
	return v->cap_mask2 & PORT_CAP2_2X ? WIDTHS | WIDTH_2X : WIDTHS;
}

/*
 * Which of SDR, DDR and QDR a port can use, as PTYS has it: an HDR port lacks DDR, and an NDR port
 * lacks QDR, too, unless it is a port of a switch.
 */
static uint8_t port_speeds(const struct port_view *v)
{
	switch (v->speed) {
	case SPEED_HDR:
		return SPEED_SDR | SPEED_QDR;
	case SPEED_NDR:
		return SPEED_SDR | (v->of_switch ? SPEED_QDR : 0);
	default:
		return SPEEDS;
	}
}

/* The extended speeds that a port can use, a bit each: its own speed and all slower speeds. */
static uint8_t port_ext_speeds(const struct port_view *v)
{
	return 2 * v->speed - 1;
}

/**
 * port_info_get() - make the attribute PortInfo
 * @a: what a subnet manager has set
 * @v: the other properties of the port
 * @data: 64 bytes, set to the attribute
 */
void port_info_get(const struct port_attrs *a, const struct port_view *v, uint8_t *data)
{
	uint8_t phys = v->disabled ? PHYS_DISABLED : v->up ? PHYS_LINK_UP : PHYS_POLLING;

	memset(data, 0, SMP_DATA_BYTES);
	put_be64(data + PI_M_KEY, a->m_key);
	put_be64(data + PI_PREFIX, a->gid_prefix);
	put_be16(data + PI_LID, v->lid);
	put_be16(data + PI_SM_LID, a->sm_lid);
	put_be32(data + PI_CAP_MASK, v->cap_mask);
	put_be16(data + PI_M_KEY_LEASE, a->m_key_lease);
	data[PI_LOCAL_PORT] = v->local_port;
	data[PI_WIDTH_ENABLED] = a->width_enabled & port_widths(v);
	data[PI_WIDTH_SUPPORTED] = port_widths(v);
	data[PI_WIDTH_ACTIVE] = v->up ? WIDTH_4X : 0;
	data[PI_STATE] = port_speeds(v) << 4 | v->state;
	data[PI_PHYS] = phys << 4 | a->down_default;
	data[PI_LMC] = a->m_key_protect << 6 | v->lmc;
	/* A port without QDR has 0 here: only its extended speed is active. */
	data[PI_SPEED] = (port_speeds(v) & SPEED_QDR) << 4 | (a->speed_enabled & port_speeds(v));
	data[PI_MTU] = a->neighbour_mtu << 4 | a->sm_sl;
	data[PI_VL_CAP] = VL_CAP_0_3 << 4;
	data[PI_VL_HIGH_LIMIT] = a->vl_high_limit;
	data[PI_VL_ARB_HIGH_CAP] = VL_ARB_ENTRIES;
	data[PI_VL_ARB_LOW_CAP] = VL_ARB_ENTRIES;
	data[PI_MTU_CAP] = v->mtu_cap;
	data[PI_HOQ_LIFE] = a->hoq_life;
	data[PI_OPERATIONAL_VLS] = a->operational_vls << 4;
	put_be16(data + PI_M_KEY_VIOLATIONS, a->m_key_violations);
	put_be16(data + PI_BAD_PKEYS, v->bad_pkeys);
	put_be16(data + PI_BAD_QKEYS, v->bad_qkeys);
	data[PI_GUID_CAP] = v->gids;
	data[PI_TIMEOUT] = a->subnet_timeout;
	if (v->cap_mask & PORT_CAP_MCAST_PKEY_TRAPS)
		data[PI_TIMEOUT] |= a->mcast_pkey_traps << MCAST_PKEY_TRAPS_SHIFT;
	data[PI_RESPONSE_TIME] = RESPONSE_TIME;
	data[PI_THRESHOLDS] = a->error_thresholds;
	if (v->cap_mask & PORT_CAP_LATENCY)
		put_be32(data + PI_LATENCY, LATENCY);
	put_be16(data + PI_CAP_MASK2, v->cap_mask2);
	data[PI_EXT_SPEED] = (v->up ? v->speed : 0) << 4 | port_ext_speeds(v);
	data[PI_EXT_SPEED_ENABLED] = a->ext_speed_enabled & port_ext_speeds(v);
}

static bool port_lid_valid(uint16_t lid)
{
	return lid && lid < LID_MCAST_FIRST;
}

/* A Set moves a port from INIT to ARMED, from ARMED to ACTIVE, and from any state to DOWN. */
static bool port_state_valid(const struct port_view *v, uint8_t state)
{
	if (!state || state == PORT_DOWN)
		return true;
	return (state == PORT_ARMED && v->state >= PORT_INIT && v->state <= PORT_ARMED) ||
	       (state == PORT_ACTIVE && v->state >= PORT_ARMED);
}

/**
 * port_info_valid() - check what a Set asks for
 * @v: the port
 * @has_lid: the port has a LID, unlike an external port of a switch
 * @data: the attribute
 *
 * Return: false if a value is not possible: the whole Set has no effect then.
 */
bool port_info_valid(const struct port_view *v, bool has_lid, const uint8_t *data)
{
	uint8_t mtu = data[PI_MTU] >> 4, vls = data[PI_OPERATIONAL_VLS] >> 4;
	uint8_t phys = data[PI_PHYS] >> 4, speed = data[PI_SPEED] & 15;
	uint8_t width = data[PI_WIDTH_ENABLED], ext = data[PI_EXT_SPEED_ENABLED] & 31;

	if (has_lid && (!port_lid_valid(get_be16(data + PI_LID)) ||
			!port_lid_valid(get_be16(data + PI_SM_LID))))
		return false;
	if (!port_state_valid(v, data[PI_STATE] & 15) || phys > PHYS_DISABLED || phys == 1)
		return false;
	if (width != NO_CHANGE_WIDTH && (width & ~port_widths(v)))
		return false;
	if ((speed != NO_CHANGE_SPEED && (speed & ~port_speeds(v))) ||
	    (ext != NO_CHANGE_EXT && (ext & ~port_ext_speeds(v))))
		return false;
	return mtu <= v->mtu_cap && vls <= VL_CAP_0_3;
}

/**
 * port_info_wish() - get the changes to the link and the LID that a Set asks for
 * @data: the attribute, which is valid
 * @w: set to the changes
 */
void port_info_wish(const uint8_t *data, struct port_wish *w)
{
	w->lid = get_be16(data + PI_LID);
	w->lmc = data[PI_LMC] & 7;
	w->state = data[PI_STATE] & 15;
	w->phys = data[PI_PHYS] >> 4;
	w->reregister = data[PI_TIMEOUT] & CLIENT_REREGISTER;
}

static void port_take(uint8_t *to, uint8_t val, uint8_t no_change)
{
	if (val && val != no_change)
		*to = val;
}

/**
 * port_info_take() - store the values of a Set that port_info_wish() does not get
 * @a: the attributes, changed
 * @data: the attribute, which is valid
 */
void port_info_take(struct port_attrs *a, const uint8_t *data)
{
	a->m_key = get_be64(data + PI_M_KEY);
	a->gid_prefix = get_be64(data + PI_PREFIX);
	a->sm_lid = get_be16(data + PI_SM_LID);
	a->m_key_lease = get_be16(data + PI_M_KEY_LEASE);
	a->m_key_protect = data[PI_LMC] >> 6;
	a->sm_sl = data[PI_MTU] & 15;
	port_take(&a->width_enabled, data[PI_WIDTH_ENABLED], NO_CHANGE_WIDTH);
	port_take(&a->speed_enabled, data[PI_SPEED] & 15, NO_CHANGE_SPEED);
	port_take(&a->ext_speed_enabled, data[PI_EXT_SPEED_ENABLED] & 31, NO_CHANGE_EXT);
	port_take(&a->down_default, data[PI_PHYS] & 15, 0);
	port_take(&a->neighbour_mtu, data[PI_MTU] >> 4, 0);
	port_take(&a->operational_vls, data[PI_OPERATIONAL_VLS] >> 4, 0);
	a->vl_high_limit = data[PI_VL_HIGH_LIMIT];
	a->hoq_life = data[PI_HOQ_LIFE];
	a->subnet_timeout = data[PI_TIMEOUT] & 31;
	a->mcast_pkey_traps = data[PI_TIMEOUT] >> MCAST_PKEY_TRAPS_SHIFT & 3;
	a->error_thresholds = data[PI_THRESHOLDS];
	if (!get_be16(data + PI_M_KEY_VIOLATIONS))
		a->m_key_violations = 0;
}

/*
 * The upper half of the modifier selects a block of 32 entries: 1 and 2 of the low-priority table,
 * 3 and 4 of the high-priority table. The tables here are shorter than 32 entries, so only blocks 1
 * and 3 exist.
 */
static int port_vl_arb_table(uint32_t mod)
{
	switch (mod >> 16) {
	case 1:
		return LOW_PRIORITY;
	case 3:
		return HIGH_PRIORITY;
	default:
		return -1;
	}
}

/**
 * port_vl_arb_get() - make the attribute VLArbitrationTable (14.2.5.9)
 * @a: what a subnet manager has set
 * @mod: modifier of the request
 * @data: 64 bytes, which are 0; set to the attribute
 *
 * Return: false if @mod selects a block that the port does not have.
 */
bool port_vl_arb_get(const struct port_attrs *a, uint32_t mod, uint8_t *data)
{
	int table = port_vl_arb_table(mod);

	if (table < 0)
		return false;
	memcpy(data, a->vl_arb[table], sizeof(a->vl_arb[table]));
	return true;
}

/**
 * port_vl_arb_set() - store a block of VLArbitrationTable
 * @a: the attributes, changed
 * @mod: modifier of the request
 * @data: the attribute; entries that the table does not have are ignored
 *
 * The table has no effect: the links of the fabric are never busy.
 *
 * Return: false if @mod selects a block that the port does not have.
 */
bool port_vl_arb_set(struct port_attrs *a, uint32_t mod, const uint8_t *data)
{
	int table = port_vl_arb_table(mod);
	unsigned int i;

	if (table < 0)
		return false;
	for (i = 0; i < 2 * VL_ARB_ENTRIES; i += 2) {
		a->vl_arb[table][i] = data[i] & VL_MASK;
		a->vl_arb[table][i + 1] = data[i + 1];
	}
	return true;
}

/*
 * A violation starts the lease. If no request with the right key comes before the lease ends, the
 * subnet manager is taken for dead, and every node may read the key.
 */
static void port_m_key_violated(struct port_attrs *a, uint64_t now_ns)
{
	if (a->m_key_violations < UINT16_MAX)
		a->m_key_violations++;
	if (a->m_key_lease && !a->m_key_expiry_ns)
		a->m_key_expiry_ns = now_ns + a->m_key_lease * NS_PER_S;
}

/**
 * port_m_key_check() - check the M_Key of a request
 * @a: attributes of the port
 * @mad: the request
 * @now_ns: the time
 *
 * Volume 1, 14.2.4.1 to 14.2.4.3.
 *
 * Return: M_KEY_HIDDEN if a Get is answered without the M_Key, M_KEY_DENIED if the request is to be
 * dropped.
 */
enum m_key_check port_m_key_check(struct port_attrs *a, const uint8_t *mad, uint64_t now_ns)
{
	bool get = mad[OFF_METHOD] == METHOD_GET;

	if (a->m_key_expiry_ns && now_ns >= a->m_key_expiry_ns) {
		a->m_key_protect = 0;
		a->m_key_expiry_ns = 0;
	}
	if (!a->m_key || get_be64(mad + OFF_M_KEY) == a->m_key) {
		a->m_key_expiry_ns = 0;
		return M_KEY_OK;
	}
	if (get && a->m_key_protect < 2)
		return a->m_key_protect ? M_KEY_HIDDEN : M_KEY_OK;
	port_m_key_violated(a, now_ns);
	return M_KEY_DENIED;
}
