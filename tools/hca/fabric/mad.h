/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Management datagrams to the port's own agents: subnet management (SMA) and
 * performance management (PMA). Pure functions of the port's attributes.
 */
#ifndef BLUEBELL_MAD_H
#define BLUEBELL_MAD_H

#include <stdbool.h>
#include <stdint.h>

#define MAD_BYTES	256
#define MAD_MAX_GIDS	128	/* of the longest GID table that a profile can have */
#define MAD_SM_LID	1	/* LID that the port reports as the subnet manager's */
#define MAD_SUBNET_TIMEOUT 18	/* 4.096 us * 2^n */
/* PortInfo.CapabilityMask: traps, SL mapping, system image GUID, extended speeds, CM, … */
#define MAD_CAP_MASK	0x2651e848u
#define MAD_CAP_MASK_SETTABLE ((1u << 1) | (1u << 16) | (1u << 17) | (1u << 18) | (1u << 20))

struct mad_port {
	uint64_t guid;		/* system image, node and port */
	uint8_t gid[MAD_MAX_GIDS][16];	/* entries that are not used are zero */
	unsigned int gids;	/* entries of the GID table */
	uint16_t lid;
	bool up;
	uint32_t cap_mask;
	const uint16_t *pkeys;
	unsigned int npkeys;	/* whole blocks of 32, as a MAD carries them */
	uint16_t bad_pkeys, bad_qkeys;
	unsigned int mtu;	/* bytes */
	const char *node_desc;	/* 64 bytes */
	uint64_t packets_rx, packets_tx, rx_errors;
};

/*
 * Answer the 256-byte MAD @in with @out. A method or attribute that the agent does not have is
 * answered with an error status. Returns false if there is no agent, or if no answer is to be sent.
 */
bool mad_answer(const struct mad_port *port, const uint8_t *in, uint8_t *out);

#endif
