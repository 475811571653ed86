// SPDX-License-Identifier: GPL-2.0
/*
 * The forwarding database: a hash table of addresses. Every sending thread looks an address up and
 * refreshes another, under one lock that is held for a few instructions.
 *
 * The entries of a port are also in a list of that port, in the order in which the port has used
 * them, so that the oldest entry is found at once. Nothing runs when an entry grows old: a lookup
 * takes no notice of an old entry, and a new entry takes the place of the port's oldest entry if
 * that is old.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "eth_fdb.h"

#define FDB_BUCKETS	4096	/* a power of two */

struct fdb_entry {
	LIST_ENTRY(fdb_entry) hash;
	TAILQ_ENTRY(fdb_entry) age;
	uint64_t mac;
	uint64_t used_ns;
	unsigned int port;
};

struct fdb_port {
	TAILQ_HEAD(fdb_age, fdb_entry) entries;	/* the longest unused first */
	unsigned int n;
};

struct eth_fdb {
	pthread_mutex_t lock;
	unsigned int ports, limit;
	uint64_t age_ns;
	LIST_HEAD(, fdb_entry) bucket[FDB_BUCKETS];
	struct fdb_port port[];
};

/**
 * eth_fdb_new() - make an empty database
 * @ports: number of ports, which are numbered from 1
 * @limit: entries of a port
 * @age_ns: for how long an entry is valid after its last use
 *
 * Return: the database, or NULL if memory is short.
 */
struct eth_fdb *eth_fdb_new(unsigned int ports, unsigned int limit, uint64_t age_ns)
{
	struct eth_fdb *db = calloc(1, sizeof(*db) + (ports + 1) * sizeof(db->port[0]));
	unsigned int i;

	if (!db)
		return NULL;
	pthread_mutex_init(&db->lock, NULL);
	db->ports = ports;
	db->limit = limit;
	db->age_ns = age_ns;
	for (i = 0; i <= ports; i++)
		TAILQ_INIT(&db->port[i].entries);
	return db;
}

static unsigned int fdb_hash(uint64_t mac)
{
	return mac * 0x9e3779b97f4a7c15ull >> 52;
}

static struct fdb_entry *fdb_lookup(struct eth_fdb *db, uint64_t mac)
{
	struct fdb_entry *e;

	LIST_FOREACH(e, &db->bucket[fdb_hash(mac)], hash)
		if (e->mac == mac)
			return e;
	return NULL;
}

static void fdb_leave_port(struct eth_fdb *db, struct fdb_entry *e)
{
	TAILQ_REMOVE(&db->port[e->port].entries, e, age);
	db->port[e->port].n--;
}

static void fdb_join_port(struct eth_fdb *db, struct fdb_entry *e, unsigned int port, uint64_t now)
{
	e->port = port;
	e->used_ns = now;
	TAILQ_INSERT_TAIL(&db->port[port].entries, e, age);
	db->port[port].n++;
}

static void fdb_remove(struct eth_fdb *db, struct fdb_entry *e)
{
	fdb_leave_port(db, e);
	LIST_REMOVE(e, hash);
	free(e);
}

/* Whether the port may have one more entry, perhaps after its oldest entry has gone. */
static bool fdb_has_room(struct eth_fdb *db, unsigned int port, uint64_t now)
{
	struct fdb_entry *oldest = TAILQ_FIRST(&db->port[port].entries);

	if (oldest && now - oldest->used_ns > db->age_ns)
		fdb_remove(db, oldest);
	return db->port[port].n < db->limit;
}

static void fdb_add(struct eth_fdb *db, uint64_t mac, unsigned int port, uint64_t now)
{
	struct fdb_entry *e = fdb_has_room(db, port, now) ? malloc(sizeof(*e)) : NULL;

	if (!e)
		return;
	e->mac = mac;
	LIST_INSERT_HEAD(&db->bucket[fdb_hash(mac)], e, hash);
	fdb_join_port(db, e, port, now);
}

/**
 * eth_fdb_learn() - note that an address sends by a port
 * @db: the database
 * @mac: the address, which is not a multicast address
 * @port: number of the port; if it has as many entries as it may, the address is not learned, and
 *	an entry of the address at another port is removed
 * @now: the time in nanoseconds
 */
void eth_fdb_learn(struct eth_fdb *db, uint64_t mac, unsigned int port, uint64_t now)
{
	struct fdb_entry *e;

	pthread_mutex_lock(&db->lock);
	e = fdb_lookup(db, mac);
	if (e && e->port == port) {
		fdb_leave_port(db, e);
		fdb_join_port(db, e, port, now);
	} else {
		if (e)
			fdb_remove(db, e);
		fdb_add(db, mac, port, now);
	}
	pthread_mutex_unlock(&db->lock);
}

/**
 * eth_fdb_find() - find the port of an address
 * @db: the database
 * @mac: the address
 * @now: the time in nanoseconds
 *
 * Return: the number of the port, or 0 if it is unknown.
 */
unsigned int eth_fdb_find(struct eth_fdb *db, uint64_t mac, uint64_t now)
{
	unsigned int port = 0;
	struct fdb_entry *e;

	pthread_mutex_lock(&db->lock);
	e = fdb_lookup(db, mac);
	if (e && now - e->used_ns <= db->age_ns)
		port = e->port;
	pthread_mutex_unlock(&db->lock);
	return port;
}

static void fdb_forget_port(struct eth_fdb *db, unsigned int port)
{
	struct fdb_entry *e;

	while ((e = TAILQ_FIRST(&db->port[port].entries)))
		fdb_remove(db, e);
}

/**
 * eth_fdb_forget() - remove the entries of a port, because its link went down
 * @db: the database
 * @port: number of the port
 */
void eth_fdb_forget(struct eth_fdb *db, unsigned int port)
{
	pthread_mutex_lock(&db->lock);
	fdb_forget_port(db, port);
	pthread_mutex_unlock(&db->lock);
}

/**
 * eth_fdb_count() - count the entries of a port, with those that are too old
 * @db: the database
 * @port: number of the port
 */
unsigned int eth_fdb_count(struct eth_fdb *db, unsigned int port)
{
	unsigned int n;

	pthread_mutex_lock(&db->lock);
	n = db->port[port].n;
	pthread_mutex_unlock(&db->lock);
	return n;
}

/**
 * eth_fdb_free() - free a database
 * @db: the database
 */
void eth_fdb_free(struct eth_fdb *db)
{
	unsigned int i;

	for (i = 0; i <= db->ports; i++)
		fdb_forget_port(db, i);
	pthread_mutex_destroy(&db->lock);
	free(db);
}
