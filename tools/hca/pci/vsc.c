// SPDX-License-Identifier: GPL-2.0
/*
 * The vendor-specific capability: a gateway. A driver locks the gateway with a value that it has
 * read from the counter, and then, through the gateway, locks the semaphore of resets, so that only
 * one function resets firmware.
 */
#include "vsc.h"

enum {
	VSC_CONTROL = 0x4, VSC_COUNTER = 0x8, VSC_LOCK = 0xc, VSC_ADDR = 0x10, VSC_DATA = 0x14,
};

#define SPACE_SEMAPHORES	0xa
#define SPACE_SUPPORTED		0x20000000	/* in the control register: the space exists */
#define SEMAPHORE_RESET		0x20	/* address of the semaphore of resets */
#define ADDR_DONE		0x80000000	/* written: store @data; read: the load is done */
#define ADDR_SYNDROME		0x40000000	/* the access has failed */
#define ADDR_MASK		0x3fffffff

/* A lock is taken if it is free. The value 0 frees it. */
static void vsc_lock(uint32_t *owner, uint32_t val)
{
	if (!*owner || !val)
		*owner = val;
}

/* The driver has written the address: read or write at this address. */
static void vsc_access(struct vsc *vsc, uint32_t val)
{
	uint32_t addr = val & ADDR_MASK;

	vsc->addr = addr;
	if (vsc->space != SPACE_SEMAPHORES || addr != SEMAPHORE_RESET)
		vsc->addr |= ADDR_SYNDROME;
	else if (val & ADDR_DONE)
		vsc_lock(&vsc->reset_owner, vsc->data);
	else
		vsc->data = vsc->reset_owner;
	/* The flag changes when the access is done. */
	vsc->addr |= ~val & ADDR_DONE;
}

/**
 * vsc_reset() - free the locks when the HCA is reset
 * @vsc: the gateway
 */
void vsc_reset(struct vsc *vsc)
{
	*vsc = (struct vsc){ .counter = vsc->counter };
}

/**
 * vsc_read() - read a register
 * @vsc: the gateway; each read of the counter gives another value
 * @off: bytes from the start of the capability
 *
 * Return: its value.
 */
uint32_t vsc_read(struct vsc *vsc, unsigned int off)
{
	switch (off) {
	case VSC_CONTROL:
		return vsc->space | (vsc->space == SPACE_SEMAPHORES ? SPACE_SUPPORTED : 0);
	case VSC_COUNTER:
		return ++vsc->counter ? vsc->counter : ++vsc->counter;
	case VSC_LOCK:
		return vsc->owner;
	case VSC_ADDR:
		return vsc->addr;
	case VSC_DATA:
		return vsc->data;
	default:
		return 0;
	}
}

/**
 * vsc_write() - write a register
 * @vsc: the gateway
 * @off: bytes from the start of the capability
 * @val: the value
 */
void vsc_write(struct vsc *vsc, unsigned int off, uint32_t val)
{
	switch (off) {
	case VSC_CONTROL:
		vsc->space = val;
		break;
	case VSC_LOCK:
		vsc_lock(&vsc->owner, val);
		break;
	case VSC_ADDR:
		vsc_access(vsc, val);
		break;
	case VSC_DATA:
		vsc->data = val;
		break;
	default:
		break;
	}
}
