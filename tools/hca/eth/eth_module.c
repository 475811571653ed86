// SPDX-License-Identifier: GPL-2.0
/*
 * The module of an Ethernet port: a copper cable of one metre with QSFP28 ends. Its memory is that
 * of SFF-8636, revision 2.10a: a lower half, and the upper page 0. There are no other pages ("flat
 * memory"), as usual for a cable without electronics.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "eth_module.h"
#include "eth_port.h"
#include "hca.h"
#include "ifc.h"

#define MODULE_BYTES	256
#define I2C_ADDRESS	0x50

/* status of MCIA, as MLXSW_REG_MCIA_STATUS_* of the driver for switches */
enum { MCIA_GOOD = 0, MCIA_NOT_CONNECTED = 3, MCIA_I2C_ERROR = 9 };

/* Offsets in the memory, and values. */
enum {
	SFF_ID = 0, SFF_REVISION = 1, SFF_STATUS = 2, SFF_UPPER = 128, SFF_CONNECTOR = 130,
	SFF_COMPLIANCE = 131, SFF_BIT_RATE = 140, SFF_COPPER_METRES = 146, SFF_TECHNOLOGY = 147,
	SFF_VENDOR = 148, SFF_PART = 168, SFF_VENDOR_REV = 184, SFF_SUM_BASE = 191,
	SFF_LINK_CODES = 192, SFF_SERIAL = 196, SFF_DATE = 212, SFF_BIT_RATE_250M = 222,
	SFF_SUM_EXT = 223,
};

#define ID_QSFP28		0x11
#define REVISION_2_10		0x08
#define STATUS_FLAT_MEMORY	0x04
#define CONNECTOR_NONE		0x23	/* the cable cannot be taken off */
#define COMPLIANCE_EXTENDED	0x80	/* see the link codes */
#define BIT_RATE_ABOVE		0xff	/* above 25.4 Gb/s, see SFF_BIT_RATE_250M */
#define TECHNOLOGY_COPPER	0xa0	/* without equalizers */
#define LINK_100G_CR4		0x0b
#define RATE_250M		103	/* 25.75 Gb/s on a lane */

/* Text is padded with blanks. */
static void put_text(uint8_t *to, size_t len, const char *text)
{
	memset(to, ' ', len);
	memcpy(to, text, strnlen(text, len));
}

static uint8_t sum(const uint8_t *p, size_t len)
{
	uint8_t s = 0;

	while (len--)
		s += *p++;
	return s;
}

static void module_memory(const struct hca *hca, uint8_t mem[MODULE_BYTES])
{
	char serial[17];

	memset(mem, 0, MODULE_BYTES);
	mem[SFF_ID] = ID_QSFP28;
	mem[SFF_REVISION] = REVISION_2_10;
	mem[SFF_STATUS] = STATUS_FLAT_MEMORY;
	mem[SFF_UPPER] = ID_QSFP28;
	mem[SFF_CONNECTOR] = CONNECTOR_NONE;
	mem[SFF_COMPLIANCE] = COMPLIANCE_EXTENDED;
	mem[SFF_BIT_RATE] = BIT_RATE_ABOVE;
	mem[SFF_COPPER_METRES] = 1;
	mem[SFF_TECHNOLOGY] = TECHNOLOGY_COPPER;
	put_text(mem + SFF_VENDOR, 16, "Bluebell");
	put_text(mem + SFF_PART, 16, "BBL-100G-CR4-1M");
	put_text(mem + SFF_VENDOR_REV, 2, "A1");
	mem[SFF_SUM_BASE] = sum(mem + SFF_UPPER, SFF_SUM_BASE - SFF_UPPER);
	mem[SFF_LINK_CODES] = LINK_100G_CR4;
	snprintf(serial, sizeof(serial), "BBL%06u", hca->index);
	put_text(mem + SFF_SERIAL, 16, serial);
	put_text(mem + SFF_DATE, 8, "260101");
	mem[SFF_BIT_RATE_250M] = RATE_250M;
	mem[SFF_SUM_EXT] = sum(mem + SFF_LINK_CODES, SFF_SUM_EXT - SFF_LINK_CODES);
}

/**
 * eth_check_mcia() - refuse what no access to a module can mean
 * @hca: the HCA
 * @cmd: the command
 * @in: the register
 * @write: the command writes it
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t eth_check_mcia(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write)
{
	unsigned int size = IFC_GET(mcia_reg, in, size);

	(void)hca;
	(void)write;
	if (IFC_GET(mcia_reg, in, module))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX, "there is no module %u",
				IFC_GET(mcia_reg, in, module));
	if (!size || size > MCIA_DATA_BYTES)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE, "size is %u, must be 1 to %u",
				size, MCIA_DATA_BYTES);
	return ST_OK;
}

/* Whether the module has all of the bytes that the register asks for. */
static bool module_has(const uint8_t *reg)
{
	return IFC_GET(mcia_reg, reg, i2c_device_address) == I2C_ADDRESS &&
	       !IFC_GET(mcia_reg, reg, page_number) &&
	       IFC_GET(mcia_reg, reg, device_address) + IFC_GET(mcia_reg, reg, size) <=
	       MODULE_BYTES;
}

/**
 * eth_read_mcia() - read some bytes of the memory of the module
 * @hca: the HCA
 * @out: the register, with the address and the size that eth_check_mcia() has accepted
 */
void eth_read_mcia(struct hca *hca, uint8_t *out)
{
	uint8_t mem[MODULE_BYTES];

	IFC_SET(mcia_reg, out, status, MCIA_GOOD);
	if (!hca->eth->cable) {
		IFC_SET(mcia_reg, out, status, MCIA_NOT_CONNECTED);
	} else if (!module_has(out)) {
		IFC_SET(mcia_reg, out, status, MCIA_I2C_ERROR);
	} else {
		module_memory(hca, mem);
		memcpy(out + MCIA_DATA, mem + IFC_GET(mcia_reg, out, device_address),
		       IFC_GET(mcia_reg, out, size));
	}
}
