/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VLAN tags: put one in front of what a frame has, and take the outermost off.
 */
#ifndef BLUEBELL_VLAN_H
#define BLUEBELL_VLAN_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

size_t vlan_insert(uint8_t *data, size_t len, const struct frame_tag *tag);
uint8_t *vlan_strip(uint8_t *data);

#endif
