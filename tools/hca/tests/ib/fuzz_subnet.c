// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the subnet: packets of any content from the hosts to the switch, to subnet
 * administration, and through the switch to the firmware of other HCAs.
 */
#include <string.h>

#include "fabric.h"
#include "fuzzrig.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "sa_record.h"
#include "subnetrig.h"

/* Give @mad a valid header, of a class, a method and an attribute that exist. */
static void shape(uint8_t *mad, uint8_t how)
{
	static const uint16_t attrs[] = {
		SA_CLASS_PORT_INFO, SA_INFORM_INFO, SA_NODE_RECORD, SA_PORT_INFO_RECORD,
		SA_LINK_RECORD, SA_SERVICE_RECORD, SA_PKEY_RECORD, SA_PATH_RECORD,
		SA_MCMEMBER_RECORD, SA_INFORM_INFO_RECORD, SA_SM_INFO_RECORD,
		SA_SWITCH_INFO_RECORD,
	};
	static const uint8_t methods[] = { 1, 2, 0x12, 0x15 };
	uint8_t method = mad[OFF_METHOD], attr = mad[OFF_ATTR + 1];

	mad[OFF_VERSION] = 1;
	if (how & 4) {
		mad[OFF_CLASS] = CLASS_SA;
		mad[OFF_CLASS_VERSION] = 2;
		mad[OFF_METHOD] = methods[method % 4];
		put_be16(mad + OFF_ATTR, attrs[attr % 12]);
	} else {
		mad[OFF_CLASS] = how & 8 ? CLASS_SM_DIRECTED : CLASS_SM_LID;
		mad[OFF_CLASS_VERSION] = 1;
		mad[OFF_METHOD] = method % 4;
		put_be16(mad + OFF_ATTR, 0x10 + attr % 0x11);
		mad[OFF_HOP_POINTER] %= 4;
		mad[OFF_HOP_COUNT] %= 4;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t mad[MAD_BYTES], how, h;

	net_up(!(fuzz_u8(&in) & 1));
	while (in.left) {
		how = fuzz_u8(&in);
		memset(mad, 0, sizeof(mad));
		fuzz_take(&in, mad, how & 0x10 ? sizeof(mad) : 128);
		if (!(how & 0x20))
			shape(mad, how);
		net_send(how % NET_HCAS, how & 4 ? 1 : 0,
			 how & 8 ? LID_PERMISSIVE : how & 0x40 ? 1 + (how & 3) : SWITCH_LID, mad);
		for (h = 0; h < NET_HCAS; h++)
			net_firmware(h);
	}
	net_down();
	return 0;
}
