/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Management datagrams, which programs send and receive by the files of ib_umad.
 */
#ifndef BLUEBELL_UMAD_H
#define BLUEBELL_UMAD_H

#include <endian.h>
#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NO_UMAD "the kernel has no ib_umad"	/* why a test is skipped */

#define MAD_BYTES 256
#define QP1_QKEY 0x80010000
#define PERMISSIVE_LID 0xffff
#define PATIENCE_MS 10000

enum {
	CLASS_SM_LID = 0x01, CLASS_PERF = 0x04, CLASS_VENDOR = 0x32, CLASS_NOBODYS = 0x33,
	CLASS_SM_DIRECTED = 0x81,
};

enum {
	METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_SEND = 0x03, METHOD_RESPONSE = 0x80,
	METHOD_GET_RESP = 0x81,
};

enum { SM_NODE_DESC = 0x10, SM_NODE_INFO, SM_GUID_INFO = 0x14, SM_PORT_INFO, SM_PKEY_TABLE };

enum { PM_CLASS_INFO = 0x01, PM_COUNTERS = 0x12, PM_COUNTERS_EXT = 0x1d };

enum { OUI = 0xbeeb11, OTHER_OUI = 0xbeeb12 };

/* Offsets of fields in a MAD, in bytes. */
enum {
	AT_BASE = 0, AT_CLASS, AT_VERSION, AT_METHOD, AT_STATUS, AT_TID = 8, AT_ATTR = 16,
	AT_MOD = 20, AT_RMPP_VERSION = 24, AT_RMPP_TYPE, AT_RMPP_FLAGS, AT_RMPP_SEGMENT = 28,
	AT_RMPP_LENGTH = 32, AT_DR_SLID = 32, AT_DR_DLID = 34, AT_OUI = 37, AT_VENDOR_DATA = 40,
	AT_DATA = 64,
};

/* What ib_umad reads and writes. */
struct mad {
	struct ib_user_mad_hdr hdr;
	uint8_t data[MAD_BYTES];
};

struct agent {
	int fd;
	uint32_t id;
};

static inline uint16_t get16(const struct mad *m, unsigned int at)
{
	uint16_t v;

	memcpy(&v, m->data + at, sizeof(v));
	return be16toh(v);
}

static inline uint32_t get32(const struct mad *m, unsigned int at)
{
	uint32_t v;

	memcpy(&v, m->data + at, sizeof(v));
	return be32toh(v);
}

static inline void put16(struct mad *m, unsigned int at, uint16_t v)
{
	v = htobe16(v);
	memcpy(m->data + at, &v, sizeof(v));
}

static inline void put32(struct mad *m, unsigned int at, uint32_t v)
{
	v = htobe32(v);
	memcpy(m->data + at, &v, sizeof(v));
}

bool umad_is_there(void);
bool umad_find(const char *kind, char *path, size_t size);
int umad_open(void);
int umad_register(int fd, struct ib_user_mad_reg_req2 *req);

long port_number(const char *name);
uint16_t own_lid(void);

int agent_open(struct agent *a, uint32_t qpn, uint8_t class, uint32_t oui, uint8_t rmpp);
void agent_close(struct agent *a);

void mad_init(struct mad *m, uint8_t class, uint8_t method, uint16_t attr, uint32_t mod);
int mad_send(struct agent *a, struct mad *m);
int mad_recv(struct agent *a, struct mad *m, int timeout_ms);

#endif
