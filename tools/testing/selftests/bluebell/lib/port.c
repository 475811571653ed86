// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Port 1 of the device, and how a queue pair addresses it: an InfiniBand port by its LID, an
 * Ethernet port by a GID.
 *
 * An Ethernet port is active while its netdev is up and has a carrier. The GID is the link-local
 * address of IPv6 that the kernel makes of the MAC, so the tests need no other IP address. With
 * RoCE version 2 ib_core asks the IP stack for the route to this address.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel_file.h"
#include "port.h"
#include "rdma.h"

/* Room for packets with 4096 bytes of data, as on an InfiniBand port. */
#define NETDEV_MTU 4200
#define HOP_LIMIT 64
#define UP_MS 10000
#define STEP_MS 20
/* Of an address in /proc/net/if_inet6. */
#define SCOPE_LINK 0x20
#define TENTATIVE 0x40

static struct port_gid own_gid;
static bool know_gid;

/**
 * port_is_ethernet - tell whether the port's link layer is Ethernet
 *
 * The answer of the first call is kept, because the driver may be unbound later.
 */
bool port_is_ethernet(void)
{
	static bool known, ethernet;
	char layer[32];

	if (!known && rdma_read_sysfs("ports/1/link_layer", layer, sizeof(layer))) {
		ethernet = !strcmp(layer, "Ethernet");
		known = true;
	}
	return ethernet;
}

/**
 * port_netdev - find the netdev of the port
 * @name: gets the netdev's name
 * @size: bytes of @name
 *
 * Return: whether the port has a netdev.
 */
bool port_netdev(char *name, size_t size)
{
	char pattern[256];
	glob_t found;
	bool has;

	snprintf(pattern, sizeof(pattern), "/sys/class/infiniband/%s/device/net/*",
		 rdma_device_name());
	has = !glob(pattern, 0, NULL, &found);
	if (has)
		snprintf(name, size, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	return has;
}

/*
 * Give a netdev its MTU, and bring it up, unless it is up. The kernel need not look for another
 * host with the same link-local address: the address can be used at once.
 */
static int netdev_up(const char *name)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;
	struct ifreq req = {};
	char path[128];

	if (sock < 0)
		return -errno;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	ret = ioctl(sock, SIOCGIFFLAGS, &req);
	if (!ret && !(req.ifr_flags & IFF_UP)) {
		snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/accept_dad", name);
		write_file(path, "0");
		req.ifr_mtu = NETDEV_MTU;
		ret = ioctl(sock, SIOCSIFMTU, &req);
		if (!ret)
			ret = ioctl(sock, SIOCGIFFLAGS, &req);
		req.ifr_flags |= IFF_UP;
		if (!ret)
			ret = ioctl(sock, SIOCSIFFLAGS, &req);
	}
	ret = ret ? -errno : 0;
	close(sock);
	return ret;
}

/* Whether a netdev has a link-local address of IPv6 that can be used. */
static bool has_link_local(const char *name)
{
	unsigned int scope, flags;
	char line[128], dev[32];
	bool found = false;
	FILE *f;

	f = fopen("/proc/net/if_inet6", "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*x %*x %x %x %31s", &scope, &flags, dev) == 3 &&
			scope == SCOPE_LINK && !(flags & TENTATIVE) && !strcmp(dev, name);
	if (f)
		fclose(f);
	return found;
}

static bool is_active(void)
{
	char state[32];

	return rdma_read_sysfs("ports/1/state", state, sizeof(state)) && strstr(state, "ACTIVE");
}

/* Read an entry of the GID table. Returns false if it is none of RoCE, or not link-local. */
static bool read_gid(unsigned int index, struct port_gid *entry)
{
	char name[64], text[64];

	snprintf(name, sizeof(name), "ports/1/gid_attrs/types/%u", index);
	/* The file of an entry that is empty has no type to show. */
	if (!rdma_read_sysfs(name, text, sizeof(text)) || !strstr(text, "RoCE"))
		return false;
	entry->index = index;
	entry->v1 = !strstr(text, "v2");
	snprintf(name, sizeof(name), "ports/1/gids/%u", index);
	return rdma_read_sysfs(name, text, sizeof(text)) &&
	       inet_pton(AF_INET6, text, entry->gid.raw) == 1 &&
	       entry->gid.raw[0] == 0xfe && entry->gid.raw[1] == 0x80;
}

static bool read_mac(uint8_t mac[6])
{
	char name[IFNAMSIZ], path[128], text[32];

	if (!port_netdev(name, sizeof(name)))
		return false;
	snprintf(path, sizeof(path), "device/net/%s/address", name);
	return rdma_read_sysfs(path, text, sizeof(text)) &&
	       sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6;
}

/* Find a link-local GID, of version 2 if there is one, in the entries where ib_core has them. */
static bool find_gid(void)
{
	struct port_gid entry;
	unsigned int i;

	know_gid = false;
	for (i = 0; i < 4; i++) {
		if (!read_gid(i, &entry) || (know_gid && entry.v1))
			continue;
		know_gid = read_mac(entry.mac);
		own_gid = entry;
		if (know_gid && !entry.v1)
			break;
	}
	return know_gid;
}

/**
 * port_up - bring the netdev of an Ethernet port up, and wait until the port is active
 *
 * An InfiniBand port, which the fabric makes active, is left alone.
 *
 * Return: 0 or a negative errno.
 */
int port_up(void)
{
	char name[IFNAMSIZ];
	int ms, ret;

	if (!port_is_ethernet())
		return 0;
	if (!port_netdev(name, sizeof(name)))
		return -ENODEV;
	ret = netdev_up(name);
	for (ms = 0; !ret && !(is_active() && has_link_local(name) && find_gid()); ms += STEP_MS) {
		if (ms >= UP_MS)
			ret = -ETIMEDOUT;
		usleep(STEP_MS * 1000);
	}
	return ret;
}

/**
 * port_own_gid - the address of an Ethernet port
 *
 * Return: the entry that port_up() has found last, in this process or in the one that forked it.
 */
const struct port_gid *port_own_gid(void)
{
	if (!know_gid)
		find_gid();
	return &own_gid;
}

/**
 * port_address - fill in the address of the port
 * @attr: the address, for ibv_modify_qp() or ibv_create_ah()
 * @lid: LID of the port; an Ethernet port has none
 */
void port_address(struct ibv_ah_attr *attr, uint16_t lid)
{
	*attr = (struct ibv_ah_attr){ .port_num = 1 };
	if (!port_is_ethernet()) {
		attr->dlid = lid;
		return;
	}
	attr->is_global = 1;
	attr->grh.dgid = port_own_gid()->gid;
	attr->grh.sgid_index = port_own_gid()->index;
	attr->grh.hop_limit = HOP_LIMIT;
}

/* As port_address(), for the command that modifies a queue pair. */
void port_uv_dest(struct ib_uverbs_qp_dest *dest, uint16_t lid)
{
	struct ibv_ah_attr attr;

	port_address(&attr, lid);
	*dest = (struct ib_uverbs_qp_dest){
		.dlid = attr.dlid, .port_num = attr.port_num, .is_global = attr.is_global,
		.sgid_index = attr.grh.sgid_index, .hop_limit = attr.grh.hop_limit,
	};
	memcpy(dest->dgid, attr.grh.dgid.raw, sizeof(dest->dgid));
}

/* As port_address(), for the command that creates an address handle. */
void port_uv_ah(struct ib_uverbs_ah_attr *ah, uint16_t lid)
{
	struct ibv_ah_attr attr;

	port_address(&attr, lid);
	*ah = (struct ib_uverbs_ah_attr){
		.dlid = attr.dlid, .port_num = attr.port_num, .is_global = attr.is_global,
		.grh = { .sgid_index = attr.grh.sgid_index, .hop_limit = attr.grh.hop_limit },
	};
	memcpy(ah->grh.dgid, attr.grh.dgid.raw, sizeof(ah->grh.dgid));
}
