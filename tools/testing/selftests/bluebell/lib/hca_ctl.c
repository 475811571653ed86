// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The control channel of the emulated HCA: one request line, one answer line of JSON. The guest's
 * end is a virtio-serial port, which one process at a time may open.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca_ctl.h"

#define PORT "/dev/virtio-ports/bluebell.hca"
#define ANSWER_TIMEOUT_MS 10000
/*
 * User ids of objects that belong to no process: the kernel's own, and those that it shares with
 * all users.
 */
#define KERNEL_UID "0"
#define SHARED_UID "65535"
/* Longer than Bluebell keeps freed device memory before it gives the memory back to firmware. */
#define SPARE_MS 250
/* Longer than this time plus the time until the driver's retry, if firmware refuses the memory. */
#define REFUSED_SPARE_MS 2500

/**
 * driver_name - name of the verbs driver, from sysfs and not from the environment
 *
 * The first call of a program looks at the devices; later ones return the same name, also when the
 * driver has been unbound since. So a test that is for one driver cannot run with another one.
 *
 * Return: name of the module that is bound to an RDMA device of mlx5_core, or "none".
 */
const char *driver_name(void)
{
	static char name[64];
	char target[512];
	glob_t links;
	ssize_t n = -1;

	if (name[0])
		return name;
	if (!glob("/sys/bus/auxiliary/devices/*.rdma.*/driver/module", 0, NULL, &links))
		n = readlink(links.gl_pathv[0], target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	globfree(&links);
	snprintf(name, sizeof(name), "%.63s", n < 0 ? "none" : strrchr(target, '/') + 1);
	return name;
}

bool driver_is(const char *name)
{
	return !strcmp(driver_name(), name);
}

/**
 * hca_ctl_present - tell whether this machine is a guest with an emulated HCA
 */
bool hca_ctl_present(void)
{
	return access(PORT, R_OK | W_OK) == 0;
}

static int open_port(void)
{
	int fd, tries;

	for (tries = 0; tries < 2000; tries++) {
		fd = open(PORT, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 || errno != EBUSY)
			return fd;
		usleep(5000);
	}
	return -1;
}

/* Discard the answer to a process that was killed before it could read it. */
static void drain(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

/* Reads one line into a growing buffer; NULL after ANSWER_TIMEOUT_MS without a byte. */
static char *read_line(int fd)
{
	size_t len = 0, size = 65536;
	char *line = malloc(size);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (line) {
		ssize_t n;

		if (poll(&pfd, 1, ANSWER_TIMEOUT_MS) <= 0)
			break;
		n = read(fd, line + len, size - len - 1);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		len += n;
		line[len] = 0;
		if (line[len - 1] == '\n')
			return line;
		if (len + 1 == size) {
			size *= 2;
			line = realloc(line, size);
		}
	}
	free(line);
	return NULL;
}

/* The object that a line of JSON means; NULL, and a message with the end of the line, otherwise. */
static struct json_object *parse(const char *request, const char *line)
{
	struct json_object *answer = json_tokener_parse(line);
	size_t len = strlen(line);

	if (!answer)
		fprintf(stderr, "# hca: '%s': answer of %zu bytes is no JSON: ...%s", request, len,
			line + (len > 200 ? len - 200 : 0));
	return answer;
}

static struct json_object *vrequest(const char *fmt, va_list ap)
{
	struct json_object *answer = NULL;
	char request[256], *line = NULL;
	int fd, len;

	len = vsnprintf(request, sizeof(request) - 1, fmt, ap);
	fd = open_port();
	if (fd < 0)
		return NULL;
	drain(fd);
	request[len] = '\n';
	if (write(fd, request, len + 1) == len + 1)
		line = read_line(fd);
	request[len] = 0;
	if (line)
		answer = parse(request, line);
	else
		fprintf(stderr, "# hca: '%s': no answer (%s)\n", request, strerror(errno));
	free(line);
	close(fd);
	return answer;
}

/**
 * hca_request - ask the HCA
 * @fmt: printf format of the request, without the newline
 *
 * Return: the answer, to be released with json_object_put(), or NULL when there is no channel or
 * the HCA does not answer.
 */
struct json_object *hca_request(const char *fmt, ...)
{
	struct json_object *answer;
	va_list ap;

	va_start(ap, fmt);
	answer = vrequest(fmt, ap);
	va_end(ap);
	return answer;
}

static bool answer_ok(struct json_object *answer)
{
	struct json_object *ok;

	return json_object_object_get_ex(answer, "ok", &ok) && json_object_get_boolean(ok);
}

/**
 * hca_do - make a request of which only the success matters
 * @fmt: printf format of the request, without the newline
 *
 * Return: 0, or -EIO with the HCA's answer on stderr.
 */
int hca_do(const char *fmt, ...)
{
	struct json_object *answer;
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	answer = vrequest(fmt, ap);
	va_end(ap);
	ok = answer && answer_ok(answer);
	if (!ok)
		fprintf(stderr, "# hca: '%s' answered %s\n", fmt,
			answer ? json_object_to_json_string(answer) : "nothing");
	json_object_put(answer);
	return ok ? 0 : -EIO;
}

/* The last census that hca_census_reset() took; a test's children inherit it. */
static struct json_object *baseline;

static struct json_object *census(void)
{
	struct json_object *answer = hca_request("census");
	struct json_object *objects = NULL;

	if (answer && answer_ok(answer) && json_object_object_get_ex(answer, "objects", &objects))
		json_object_get(objects);
	json_object_put(answer);
	return objects;
}

static int total_of(struct json_object *objects, const char *kind)
{
	struct json_object *entry, *total;

	if (!json_object_object_get_ex(objects, kind, &entry) ||
	    !json_object_object_get_ex(entry, "total", &total))
		return 0;
	return json_object_get_int(total);
}

/*
 * Bluebell gives device memory back a moment after it was freed: repeat the census until at most
 * @most allocations are left.
 */
static struct json_object *census_with_memory(int most, int timeout_ms)
{
	struct json_object *now = census();

	for (; now && total_of(now, "memic") > most && timeout_ms > 0; timeout_ms -= 50) {
		json_object_put(now);
		usleep(50000);
		now = census();
	}
	return now;
}

/**
 * hca_census_reset - remember which objects exist in the HCA now
 *
 * The numbers are kept in this process, because the HCA's own baseline belongs to the run as a
 * whole. Waits a moment for freed device memory to be given back.
 *
 * Return: 0 or -EIO.
 */
int hca_census_reset(void)
{
	json_object_put(baseline);
	baseline = census_with_memory(0, SPARE_MS);
	return baseline ? 0 : -EIO;
}

/* Both drivers keep free mkeys for later registrations, so only mkeys in use are compared. */
static bool kind_counts(const char *kind)
{
	return strcmp(kind, "mkey_free");
}

static size_t print_delta(char *text, size_t size, size_t len, const char *kind, int delta)
{
	if (!delta || !kind_counts(kind) || len >= size)
		return len;
	return len + snprintf(text + len, size - len, "%s%s%+d", len ? " " : "", kind, delta);
}

/**
 * hca_census_delta - compare the objects in the HCA with those at hca_census_reset()
 *
 * Return: "" when there is no difference, else a text like "qp+2 cq-1", valid until the next call.
 */
const char *hca_census_delta(void)
{
	static char text[512];
	struct json_object *now;
	size_t len = 0;

	text[0] = 0;
	if (!baseline)
		return "no census";
	now = census_with_memory(total_of(baseline, "memic"), REFUSED_SPARE_MS);
	if (!now)
		return "no census";
	json_object_object_foreach(now, kind, entry) {
		(void)entry;
		len = print_delta(text, sizeof(text), len, kind, total_of(now, kind) -
								 total_of(baseline, kind));
	}
	json_object_object_foreach(baseline, old_kind, old_entry) {
		(void)old_entry;
		if (!json_object_object_get_ex(now, old_kind, NULL))
			len = print_delta(text, sizeof(text), len, old_kind,
					  -total_of(baseline, old_kind));
	}
	json_object_put(now);
	return text;
}

/**
 * hca_census_delta_within - wait until the HCA has the same objects as at hca_census_reset()
 * @ms: how long to wait at most
 *
 * For objects that the driver destroys, or creates again, a moment after the call that caused that.
 *
 * Return: as hca_census_delta().
 */
const char *hca_census_delta_within(unsigned int ms)
{
	const char *delta = hca_census_delta();
	unsigned int waited;

	for (waited = 0; *delta && waited < ms; waited += 20) {
		usleep(20000);
		delta = hca_census_delta();
	}
	return delta;
}

/**
 * hca_census_count - how many objects of a kind exist in the HCA
 * @kind: as the census names it: "qp", "cq", "uar"
 *
 * Return: the number, or -1 when the HCA does not answer.
 */
long hca_census_count(const char *kind)
{
	struct json_object *objects = census();
	long count = objects ? total_of(objects, kind) : -1;

	json_object_put(objects);
	return count;
}

/**
 * hca_census_users - how many objects of a kind belong to user ids of processes
 * @kind: as the census names it: "qp", "cq", "uar"
 *
 * Return: the number, or -1 when the HCA does not answer.
 */
long hca_census_users(const char *kind)
{
	struct json_object *objects = census(), *entry, *by_uid = NULL;
	long count = 0;

	if (!objects)
		return -1;
	if (json_object_object_get_ex(objects, kind, &entry))
		json_object_object_get_ex(entry, "by_uid", &by_uid);
	if (by_uid) {
		json_object_object_foreach(by_uid, uid, n)
			if (strcmp(uid, KERNEL_UID) && strcmp(uid, SHARED_UID))
				count += json_object_get_int64(n);
	}
	json_object_put(objects);
	return count;
}

int hca_commands_reset(void)
{
	return hca_do("commands reset");
}

/**
 * hca_commands - how many firmware commands were executed since hca_commands_reset()
 * @name: of one opcode ("CREATE_QP"), or NULL for all
 *
 * Return: the number, or -1 when the HCA does not answer.
 */
long hca_commands(const char *name)
{
	struct json_object *answer = hca_request("commands");
	struct json_object *value;
	long count = -1;

	if (answer && json_object_object_get_ex(answer, name ? "by_name" : "total", &value)) {
		if (!name)
			count = json_object_get_int64(value);
		else
			count = json_object_object_get_ex(value, name, &value) ?
				json_object_get_int64(value) : 0;
	}
	json_object_put(answer);
	return count;
}

/* Find a number by its name, depth-first, because the HCA groups some of its counters. */
static bool find_number(struct json_object *obj, const char *name, long *value)
{
	if (!json_object_is_type(obj, json_type_object))
		return false;
	json_object_object_foreach(obj, key, member) {
		if (!strcmp(key, name) && json_object_is_type(member, json_type_int)) {
			*value = json_object_get_int64(member);
			return true;
		}
		if (find_number(member, name, value))
			return true;
	}
	return false;
}

/**
 * hca_counter - one of the HCA's counters
 * @name: the counter's name, in whatever group it is, for example the reason of a dropped doorbell
 *	("wrong_uar")
 *
 * Return: its value; 0 when the HCA has no such counter yet, -1 when it does not answer.
 */
long hca_counter(const char *name)
{
	struct json_object *answer = hca_request("counters");
	long value = -1;

	if (answer && answer_ok(answer) && !find_number(answer, name, &value))
		value = 0;
	json_object_put(answer);
	return value;
}

/**
 * hca_cap - one of the HCA's capabilities
 * @page: "general", "atomic", ...
 * @field: as linux/mlx5/mlx5_ifc.h names it
 *
 * Return: its value, or -1 when there is no HCA to ask or it does not answer.
 */
long hca_cap(const char *page, const char *field)
{
	struct json_object *answer = hca_request("cap %s %s", page, field);
	struct json_object *cur;
	long value = -1;

	if (answer && answer_ok(answer) && json_object_object_get_ex(answer, "cur", &cur))
		value = json_object_get_int64(cur);
	json_object_put(answer);
	return value;
}

/**
 * hca_limit - a limit of the HCA's profile
 * @name: as the request "limit" takes it
 *
 * Return: the limit, -1 when there is no HCA to ask or it does not answer.
 */
long hca_limit(const char *name)
{
	struct json_object *answer = hca_request("limit %s", name);
	struct json_object *limit;
	long value = -1;

	if (answer && answer_ok(answer) && json_object_object_get_ex(answer, "limit", &limit))
		value = json_object_get_int64(limit);
	json_object_put(answer);
	return value;
}

/**
 * hca_objects_left - how many more objects of a kind the HCA can create
 * @kind: as the census names it: "qp", "cq", "uar"
 *
 * Return: the number, LONG_MAX when there is no HCA to ask or it does not answer.
 */
long hca_objects_left(const char *kind)
{
	long count = hca_census_count(kind), limit = hca_limit(kind);

	return count >= 0 && limit >= 0 ? limit - count : LONG_MAX;
}

/**
 * hca_inject_cmd - let the HCA refuse one future firmware command
 * @nth: 1 is the next one
 * @status: the firmware status to refuse it with, like "LIM_ERR"
 *
 * Return: 0 or -EIO.
 */
int hca_inject_cmd(unsigned int nth, const char *status)
{
	return hca_do("inject cmd %u %s", nth, status);
}

/**
 * hca_inject_clear - end all injections
 *
 * Return: how many took effect since the last clear, or -EIO.
 */
int hca_inject_clear(void)
{
	struct json_object *answer = hca_request("inject clear");
	struct json_object *fired;
	int ret = -EIO;

	if (answer && answer_ok(answer) && json_object_object_get_ex(answer, "fired", &fired))
		ret = json_object_get_int(fired);
	json_object_put(answer);
	return ret;
}

/**
 * hca_trace_for_each - look at the events that the HCA has recorded, the oldest first
 * @last: only the last @last events; 0 for all
 * @fn: is called with each event
 * @arg: is passed to @fn
 *
 * Return: 0, or -EIO if there is no record.
 */
int hca_trace_for_each(unsigned int last, hca_event_fn *fn, void *arg)
{
	struct json_object *answer = last ? hca_request("trace dump %u", last) :
				     hca_request("trace dump");
	struct json_object *events;
	int ret = -EIO;
	size_t i;

	if (answer && json_object_object_get_ex(answer, "events", &events)) {
		for (i = 0; i < json_object_array_length(events); i++)
			fn(json_object_array_get_idx(events, i), arg);
		ret = 0;
	}
	json_object_put(answer);
	return ret;
}

/**
 * hca_event_is - compare a member of an event with a text
 * @event: the event
 * @key: name of the member
 * @text: to compare with
 *
 * Return: true if the event has the member and it is the text.
 */
bool hca_event_is(struct json_object *event, const char *key, const char *text)
{
	struct json_object *v;

	return json_object_object_get_ex(event, key, &v) &&
	       !strcmp(json_object_get_string(v), text);
}

/**
 * hca_expect - announce what the HCA will refuse or ignore until this test ends
 * @fmt: printf format of the request "expect" without its first word: "refuse CREATE_CQ
 *	BAD_PARAM_ERR 1", "drop wrong_uar 16", "umr"
 *
 * What was announced and does not come fails the test. Without a control channel there is nothing
 * to announce.
 *
 * Return: 0 or -EIO.
 */
int hca_expect(const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return hca_ctl_present() ? hca_do("expect %s", what) : 0;
}

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_string(value) : "";
}

static size_t add_incidents(char *text, size_t size, size_t len, struct json_object *answer,
			    const char *list_name, const char *title)
{
	struct json_object *list, *o;
	size_t i;

	if (!answer || !json_object_object_get_ex(answer, list_name, &list))
		return len;
	for (i = 0; i < json_object_array_length(list) && len < size; i++) {
		o = json_object_array_get_idx(list, i);
		len += snprintf(text + len, size - len, "%s%s: %s %s %s %s%s times %s",
				len ? "; " : "", title, member(o, "kind"), member(o, "name"),
				member(o, "status"), member(o, "count"), member(o, "want"),
				member(o, "why"));
	}
	return len;
}

/**
 * hca_expect_begin - forget what earlier tests announced, and what the HCA has refused so far
 */
void hca_expect_begin(void)
{
	if (!hca_ctl_present())
		return;
	json_object_put(hca_request("expect clear"));
	json_object_put(hca_request("unexpected new"));
}

/**
 * hca_expect_end - end the announcements of a test
 *
 * Return: "" if what was announced has come, and nothing else was refused or ignored since
 * hca_expect_begin(); otherwise a list, valid until the next call.
 */
const char *hca_expect_end(void)
{
	struct json_object *missing, *unexpected;
	static char text[2048];
	size_t len = 0;

	text[0] = 0;
	if (!hca_ctl_present())
		return text;
	missing = hca_request("expect clear");
	unexpected = hca_request("unexpected new");
	len = add_incidents(text, sizeof(text), len, missing, "missing",
			    "announced, but did not come");
	add_incidents(text, sizeof(text), len, unexpected, "list", "not announced");
	json_object_put(missing);
	json_object_put(unexpected);
	return text;
}
