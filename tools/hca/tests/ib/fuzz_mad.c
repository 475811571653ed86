// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the port's agents: MADs of any content to ports with tables of any length.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzzrig.h"
#include "ifc.h"
#include "mad.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t classes[] = { 0x01, 0x81, 0x04, 0x03, 0x07 };
	static const char desc[64] = "node";
	struct fuzz_in in = { data, size };
	struct port_attrs attrs;
	struct mad_port port = { .guid = 0x1234, .attrs = &attrs, .node_desc = desc };
	uint8_t how = fuzz_u8(&in);
	uint16_t *pkeys;

	port.npkeys = fuzz_u8(&in) % 5 * 32;
	port.gids = fuzz_u8(&in) % (MAD_MAX_GIDS + 1);
	port.view.lid = fuzz_u16(&in);
	port.view.up = how & 1;
	port.view.speed = 1 << how % 4;
	port.view.mtu_cap = 1 + how / 2 % 5;
	port_attrs_init(&attrs, port.view.mtu_cap);
	/* Allocate the exact size, so that the sanitizer sees a read beyond the table's end. */
	pkeys = calloc(port.npkeys + !port.npkeys, sizeof(*pkeys));
	port.pkeys = pkeys;
	while (pkeys && in.left) {
		uint8_t *mad = malloc(MAD_BYTES), *out = malloc(MAD_BYTES);

		fuzz_take(&in, mad, 64);
		memset(mad + 64, how, MAD_BYTES - 64);
		if (how & 0x10) {	/* a class and method that an agent has */
			mad[0] = 1;
			mad[1] = classes[mad[1] % sizeof(classes)];
			mad[3] = mad[3] & 0x83;
			put_be16(mad + 16, mad[17] & 0x3f);
			put_be32(mad + 20, get_be32(mad + 20) % 300);
		}
		memset(out, 0, MAD_BYTES);
		mad_answer(&port, mad, out);
		free(mad);
		free(out);
	}
	free(pkeys);
	return 0;
}
