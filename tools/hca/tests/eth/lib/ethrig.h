/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of Ethernet: HCAs on one switch, without a NIC. The tests send frames for them,
 * take what arrives at their vports, and run commands.
 */
#ifndef BLUEBELL_ETHRIG_H
#define BLUEBELL_ETHRIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "hca.h"
#include "ifc.h"

#define LAN_HCAS	3
#define MAC(h)		(0x02b1ebe10000ull + (h))	/* permanent address of HCA @h */
#define BROADCAST	0xffffffffffffull
#define GROUP		0x01005e000001ull

extern struct lan {
	struct event_base *base;
	struct fabric *fabric;
	struct profile *profile;
	struct hca *hca[LAN_HCAS];
	uint8_t event[LAN_HCAS][32];	/* subtypes of the port events of each HCA */
	unsigned int events[LAN_HCAS];
	char why[120];			/* of the last command that was refused */
	uint32_t syndrome;		/* of the last command */
	uint8_t out[4096];		/* of the last command */
} lan;

int lan_up(void **state);
int lan_down(void **state);

/* A frame of @len bytes, whose payload is a pattern. */
struct eth_frame *lan_frame(uint64_t dmac, uint64_t smac, unsigned int len);
/* Send such a frame from HCA @h. */
void lan_send(unsigned int h, uint64_t dmac, uint64_t smac, unsigned int len);
/* Take a frame at HCA @h. Returns the source address, or 0 if there is none. */
uint64_t lan_take(unsigned int h);
/* Take all frames at HCA @h. Returns their number. */
unsigned int lan_count(unsigned int h);

/* Run a command of HCA 0; its output is lan.out. Returns the status. */
uint8_t lan_cmd(uint16_t opcode, uint16_t op_mod, void *in, size_t in_len, size_t out_len);
/* Read, or write and read, a register of HCA @h in place. Returns the status. */
uint8_t lan_reg(unsigned int h, uint16_t id, bool write, void *reg, size_t len);

/* Check that a command is refused with @status by the check that has the number @number. */
#define assert_refused(call, status, number)		\
	do {						\
		assert_int_equal(call, status);		\
		assert_int_equal(lan.syndrome, number);	\
	} while (0)

#endif
