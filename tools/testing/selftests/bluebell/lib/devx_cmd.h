/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX methods by ioctl(), without libmlx5: objects, commands, umems and events, as a malicious
 * program could ask for them.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef BLUEBELL_DEVX_CMD_H
#define BLUEBELL_DEVX_CMD_H

#include <stdbool.h>
#include <stdint.h>

/* Reasons to skip a test. */
#define NO_USER_IDS "the device has no user ids"
#define NO_UMEMS "the device has no umems"

/* Opcodes of the device. */
enum {
	DEVX_QUERY_HCA_CAP = 0x100,
	DEVX_CREATE_MKEY = 0x200,
	DEVX_QUERY_MKEY = 0x201,
	DEVX_CREATE_CQ = 0x400,
	DEVX_QUERY_CQ = 0x402,
	DEVX_MODIFY_CQ = 0x403,
	DEVX_CREATE_QP = 0x500,
	DEVX_RST2INIT_QP = 0x502,
	DEVX_INIT2RTR_QP = 0x503,
	DEVX_RTR2RTS_QP = 0x504,
	DEVX_2ERR_QP = 0x507,
	DEVX_2RST_QP = 0x50a,
	DEVX_QUERY_QP = 0x50b,
	DEVX_ALLOC_Q_COUNTER = 0x771,
	DEVX_QUERY_Q_COUNTER = 0x773,
	DEVX_ALLOC_PD = 0x800,
	DEVX_DEALLOC_PD = 0x801,
	DEVX_ATTACH_TO_MCG = 0x806,
	DEVX_ALLOC_XRCD = 0x80e,
	DEVX_ALLOC_TD = 0x816,
	DEVX_QUERY_RMP = 0x90f,
	DEVX_CREATE_FLOW_TABLE = 0x930,
	DEVX_ALLOC_FLOW_COUNTER = 0x939,
	DEVX_QUERY_FLOW_COUNTER = 0x93b,
	DEVX_CREATE_GENERAL_OBJECT = 0xa00,
	DEVX_CREATE_UMEM = 0xa08,
};

#define DEVX_IN_BYTES 0x110	/* of the longest command without a list of pages */
#define DEVX_OUT_BYTES 0x1010	/* of QUERY_HCA_CAP */

/**
 * struct devx_cmd - a command and its answer, as the device sees them
 * @in: the command
 * @in_len: bytes of @in that are passed
 * @out: the answer
 * @out_len: bytes of @out that are passed
 */
struct devx_cmd {
	uint8_t in[DEVX_IN_BYTES];
	uint32_t in_len;
	uint8_t out[DEVX_OUT_BYTES];
	uint32_t out_len;
};

bool devx_has_user_ids(void);
bool devx_has_umems(void);

void devx_start(struct devx_cmd *cmd, uint16_t opcode);
void devx_put(struct devx_cmd *cmd, unsigned int byte, uint32_t value);
uint32_t devx_get(const struct devx_cmd *cmd, unsigned int byte);
void devx_start_klm_mkey(struct devx_cmd *cmd, uint32_t pdn);
bool devx_refused_by_firmware(const struct devx_cmd *cmd, int ret);

int devx_general(int fd, struct devx_cmd *cmd);
int devx_create(int fd, struct devx_cmd *cmd, uint32_t *handle);
int devx_alloc(int fd, uint16_t opcode, uint32_t *handle);
int devx_modify(int fd, uint32_t handle, struct devx_cmd *cmd);
int devx_query(int fd, uint32_t handle, struct devx_cmd *cmd);
int devx_destroy(int fd, uint32_t handle);
int devx_query_eqn(int fd, uint32_t vector, uint32_t *eqn);

/* A request for a umem; @bitmap and @dmabuf are left out if they are 0. */
struct devx_umem {
	uint64_t addr, len;
	uint32_t access;
	uint64_t bitmap;
	int dmabuf;
	uint32_t handle, id;
};

/* Returns a file from which answers to commands can be read, or -errno. */
int devx_open_cmd_file(int fd);
int devx_query_async(int fd, uint32_t handle, const struct devx_cmd *cmd, uint64_t out_len,
		     int file, uint64_t wr_id);

/* Events of the device, by their types. */
enum {
	DEVX_EVENT_COMP = 0x00,
	DEVX_EVENT_PATH_MIG = 0x01,
	DEVX_EVENT_COMM_EST = 0x02,
	DEVX_EVENT_SQ_DRAINED = 0x03,
	DEVX_EVENT_CQ_ERROR = 0x04,
	DEVX_EVENT_PORT_CHANGE = 0x09,
	DEVX_EVENT_CMD = 0x0a,
	DEVX_EVENT_PAGE_REQUEST = 0x0b,
	DEVX_EVENT_PAGE_FAULT = 0x0c,
	DEVX_EVENT_SRQ_LIMIT = 0x14,
	DEVX_EVENT_TEMP_WARN = 0x17,
};

#define DEVX_MAX_TYPES 300

/**
 * struct devx_subscription - a request for events
 * @channel: of devx_open_channel()
 * @has_obj: for events of the object @obj, else of the device
 * @obj: handle of the object
 * @types: of events
 * @len: bytes of @types
 * @has_cookie: pass @cookie
 * @cookie: is returned with each event
 * @has_eventfd: pass @eventfd
 * @eventfd: is signalled by each event
 */
struct devx_subscription {
	int channel;
	bool has_obj;
	uint32_t obj;
	uint16_t types[DEVX_MAX_TYPES];
	uint32_t len;
	bool has_cookie;
	uint64_t cookie;
	bool has_eventfd;
	uint32_t eventfd;
};

/* Returns a file from which events can be read, or -errno. */
int devx_open_channel(int fd, uint32_t flags);
int devx_subscribe(int fd, const struct devx_subscription *s);
int devx_subscribe_obj(int fd, int channel, uint32_t obj, uint16_t type, uint64_t cookie);

int devx_reg_umem(int fd, struct devx_umem *umem);
int devx_dereg_umem(int fd, uint32_t handle);

#endif
