/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unbind the verbs driver from the device, as removal of the device does, and bind it again.
 */
#ifndef BLUEBELL_BINDING_H
#define BLUEBELL_BINDING_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct binding - a device and its driver
 * @device: name of the auxiliary device
 * @driver: name of the driver that it was bound to when it was found
 */
struct binding {
	char device[128];
	char driver[128];
};

int binding_find(struct binding *b);
int binding_pci(const struct binding *b, char *dir, size_t size);
int binding_probe_function(const struct binding *b);
int binding_reset_function(const struct binding *b);
int binding_do(const struct binding *b, const char *what);
bool binding_wait_device(void);

#endif
