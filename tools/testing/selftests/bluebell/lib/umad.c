// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Management datagrams, which programs send and receive by the files of ib_umad.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "port.h"
#include "rdma.h"
#include "umad.h"

/**
 * umad_is_there - tell whether the kernel has ib_umad
 *
 * Return: true if so.
 */
bool umad_is_there(void)
{
	return !access("/sys/class/infiniband_mad", F_OK);
}

/**
 * umad_find - find the character device of port 1
 * @kind: "umad", or "issm" for that of a subnet manager
 * @path: the path of the device
 * @size: bytes of @path
 *
 * Return: false if there is none.
 */
bool umad_find(const char *kind, char *path, size_t size)
{
	DIR *dir = opendir("/sys/class/infiniband_mad");
	char file[512], name[64];
	struct dirent *entry;
	bool found = false;
	FILE *f;

	while (dir && !found && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, kind, strlen(kind)))
			continue;
		snprintf(file, sizeof(file), "/sys/class/infiniband_mad/%s/ibdev", entry->d_name);
		f = fopen(file, "r");
		if (!f)
			continue;
		found = fscanf(f, "%63s", name) == 1 && !strcmp(name, rdma_device_name());
		fclose(f);
		snprintf(path, size, "/dev/infiniband/%.64s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/**
 * umad_open - open the file of port 1, whose read() does not block
 *
 * Return: the file descriptor or a negative errno.
 */
int umad_open(void)
{
	char path[128];
	int fd;

	if (!umad_find("umad", path, sizeof(path)))
		return -ENODEV;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/**
 * umad_register - register an agent
 * @fd: file of umad_open()
 * @req: what the agent receives; gets its id
 *
 * Return: 0 or a negative errno.
 */
int umad_register(int fd, struct ib_user_mad_reg_req2 *req)
{
	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, req) ? -errno : 0;
}

/**
 * port_number - read a number of port 1 in sysfs
 * @name: of the file, in the port's directory
 *
 * Return: the number, -1 if it cannot be read.
 */
long port_number(const char *name)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "ports/1/%s", name);
	return rdma_read_sysfs(path, text, sizeof(text)) && text[0] ? strtol(text, NULL, 0) : -1;
}

/**
 * own_lid - read the LID of port 1
 *
 * Return: the LID.
 */
uint16_t own_lid(void)
{
	return port_number("lid");
}

/**
 * agent_open - open an agent in a file of its own
 * @a: the agent
 * @qpn: 0 or 1
 * @class: of the requests that it gets; 0 if it only gets answers
 * @oui: of a vendor's class
 * @rmpp: version, 0 without RMPP
 *
 * Return: 0 or a negative errno.
 */
int agent_open(struct agent *a, uint32_t qpn, uint8_t class, uint32_t oui, uint8_t rmpp)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn, .mgmt_class = class, .mgmt_class_version = 1, .oui = oui,
		.rmpp_version = rmpp,
		.method_mask = { 1 << METHOD_GET | 1 << METHOD_SET | 1 << METHOD_SEND },
	};
	int ret;

	a->fd = umad_open();
	if (a->fd < 0)
		return a->fd;
	ret = umad_register(a->fd, &req);
	a->id = req.id;
	if (ret)
		close(a->fd);
	return ret;
}

/**
 * agent_close - close the file of an agent
 * @a: the agent, or one that is closed
 */
void agent_close(struct agent *a)
{
	if (a->fd > 0)
		close(a->fd);
	a->fd = -1;
}

static uint32_t mad_tid;

/* Address a MAD to the port itself by its GID, as an Ethernet port is addressed. */
static void put_own_gid(struct mad *m)
{
	struct ibv_ah_attr attr;

	port_address(&attr, 0);
	m->hdr.grh_present = 1;
	m->hdr.gid_index = attr.grh.sgid_index;
	m->hdr.hop_limit = attr.grh.hop_limit;
	memcpy(m->hdr.gid, &attr.grh.dgid, sizeof(m->hdr.gid));
}

/**
 * mad_init - make a request to the port itself that is not repeated
 * @m: the request
 * @class: management class
 * @method: method
 * @attr: attribute
 * @mod: its modifier
 */
void mad_init(struct mad *m, uint8_t class, uint8_t method, uint16_t attr, uint32_t mod)
{
	bool sm = class == CLASS_SM_LID || class == CLASS_SM_DIRECTED;

	memset(m, 0, sizeof(*m));
	m->hdr.qpn = htobe32(!sm);
	m->hdr.qkey = htobe32(sm ? 0 : QP1_QKEY);
	m->hdr.lid = htobe16(class == CLASS_SM_DIRECTED ? PERMISSIVE_LID : own_lid());
	if (port_is_ethernet())
		put_own_gid(m);
	m->hdr.timeout_ms = PATIENCE_MS;
	m->data[AT_BASE] = 1;
	m->data[AT_CLASS] = class;
	m->data[AT_VERSION] = 1;
	m->data[AT_METHOD] = method;
	put16(m, AT_ATTR, attr);
	put32(m, AT_MOD, mod);
	put32(m, AT_TID + 4, ++mad_tid);
	if (class == CLASS_SM_DIRECTED)
		put32(m, AT_DR_SLID, (uint32_t)PERMISSIVE_LID << 16 | PERMISSIVE_LID);
	if (class >= CLASS_VENDOR && class < CLASS_SM_DIRECTED) {
		m->data[AT_OUI] = OUI >> 16;
		m->data[AT_OUI + 1] = OUI >> 8 & 0xff;
		m->data[AT_OUI + 2] = OUI & 0xff;
		fill(m->data + AT_VENDOR_DATA, MAD_BYTES - AT_VENDOR_DATA, mad_tid);
	}
}

/**
 * mad_send - send a MAD
 * @a: the sender
 * @m: the MAD
 *
 * Return: 0 or a negative errno.
 */
int mad_send(struct agent *a, struct mad *m)
{
	ssize_t n;

	m->hdr.id = a->id;
	n = write(a->fd, m, sizeof(*m));
	return n < 0 ? -errno : n == sizeof(*m) ? 0 : -EMSGSIZE;
}

/**
 * mad_recv - receive a MAD
 * @a: the receiver
 * @m: gets the MAD
 * @timeout_ms: how long to wait for it
 *
 * Return: the number of bytes or a negative errno.
 */
int mad_recv(struct agent *a, struct mad *m, int timeout_ms)
{
	struct pollfd pfd = { .fd = a->fd, .events = POLLIN };
	ssize_t n;

	memset(m, 0, sizeof(*m));
	if (poll(&pfd, 1, timeout_ms) <= 0)
		return -ETIMEDOUT;
	n = read(a->fd, m, sizeof(*m));
	return n < 0 ? -errno : n;
}
