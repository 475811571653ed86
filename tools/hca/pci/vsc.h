/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The vendor-specific capability in config space: a gateway to address spaces of the HCA. The only
 * space here is that of the semaphores which the drivers of several functions share.
 */
#ifndef BLUEBELL_VSC_H
#define BLUEBELL_VSC_H

#include <stdint.h>

#define VSC_SIZE	0x18	/* bytes of the capability, header included */

/**
 * struct vsc - registers of the gateway
 * @space: number of the address space that is chosen
 * @counter: last value that a driver has read, by which the driver identifies itself
 * @owner: value by which the gateway is locked; 0: not locked
 * @addr: address of the last access, with flag and syndrome
 * @data: of the last access
 * @reset_owner: value by which the semaphore of resets is locked; 0: not locked
 */
struct vsc {
	uint16_t space;
	uint32_t counter;
	uint32_t owner;
	uint32_t addr;
	uint32_t data;
	uint32_t reset_owner;
};

void vsc_reset(struct vsc *vsc);
uint32_t vsc_read(struct vsc *vsc, unsigned int off);
void vsc_write(struct vsc *vsc, unsigned int off, uint32_t val);

#endif
