// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: JSON files that change the default profile.
 */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

static int profile_load_uint(struct json_object *v, const char *key, uint64_t *out, char *why,
			     size_t len)
{
	if (!json_object_is_type(v, json_type_int) || json_object_get_int64(v) < 0)
		return profile_refuse(why, len, "%s is not a number", key);
	*out = json_object_get_int64(v);
	return 0;
}

/* Load a capability: "field": 5, or "field": { "max": 5, "cur": 3 }. */
static int profile_load_cap(struct profile *p, const struct cap_page *pg, const char *field,
			    struct json_object *v, char *why, size_t len)
{
	struct json_object *o;
	uint64_t val[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		o = v;
		if (json_object_is_type(v, json_type_object) &&
		    !json_object_object_get_ex(v, i ? "cur" : "max", &o))
			return profile_refuse(why, len, "%s.%s needs max and cur", pg->name, field);
		if (profile_load_uint(o, field, &val[i], why, len))
			return -EINVAL;
		if (!cap_put(p, i, pg, field, val[i]))
			return profile_refuse(why, len,
					      "%s.%s: no such capability, or %llu does not fit",
					      pg->name, field, (unsigned long long)val[i]);
	}
	return 0;
}

static int profile_load_caps(struct profile *p, struct json_object *caps, char *why, size_t len)
{
	if (!json_object_is_type(caps, json_type_object))
		return profile_refuse(why, len, "caps is not an object");
	json_object_object_foreach(caps, name, fields) {
		const struct cap_page *pg = cap_page_find(name);

		if (!pg || !json_object_is_type(fields, json_type_object))
			return profile_refuse(why, len, "caps.%s: no such page of capabilities",
					      name);
		json_object_object_foreach(fields, field, v) {
			if (profile_load_cap(p, pg, field, v, why, len))
				return -EINVAL;
		}
	}
	return 0;
}

static int profile_load_limits(struct profile *p, struct json_object *limits, char *why, size_t len)
{
	if (!json_object_is_type(limits, json_type_object))
		return profile_refuse(why, len, "limits is not an object");
	json_object_object_foreach(limits, name, v) {
		unsigned int k;
		uint64_t n = 0;

		for (k = 0; k < OBJ_KINDS && strcmp(obj_kind_name[k], name); k++)
			;
		if (k == OBJ_KINDS)
			return profile_refuse(why, len, "limits.%s: no such kind of object", name);
		if (profile_load_uint(v, name, &n, why, len))
			return -EINVAL;
		if (n > p->range[k].limit - p->range[k].first)
			return profile_refuse(why, len,
					      "limits.%s is %llu, the capabilities allow %u", name,
					      (unsigned long long)n,
					      p->range[k].limit - p->range[k].first);
		p->range[k].limit = p->range[k].first + n;
	}
	return 0;
}

/* Load "pkeys": [ "0xffff", "0x8001" ]: strings, as JSON has no hexadecimal numbers. */
static int profile_load_pkeys(struct profile *p, struct json_object *v, char *why, size_t len)
{
	size_t i, n;

	if (!json_object_is_type(v, json_type_array))
		return profile_refuse(why, len, "pkeys is not a list");
	n = json_object_array_length(v);
	if (!n || n > PROFILE_PKEYS)
		return profile_refuse(why, len, "pkeys must have from 1 to %u entries",
				      PROFILE_PKEYS);
	for (i = 0; i < n; i++) {
		const char *s = json_object_get_string(json_object_array_get_idx(v, i));
		char *end = NULL;
		unsigned long pkey = s ? strtoul(s, &end, 0) : 0;

		/* strtoul() takes white space and a sign, which no P_Key has. */
		if (!s || !isdigit((unsigned char)*s) || *end || pkey > 0xffff)
			return profile_refuse(why, len, "pkeys: %s is not a P_Key", s ? s : "null");
		p->pkey[i] = pkey;
	}
	return 0;
}

/* Load a mask of at most @bits bits, such as "port_caps": "0x2651e848". */
static int profile_load_hex(uint32_t *to, unsigned int bits, const char *key, struct json_object *v,
			    char *why, size_t len)
{
	const char *s = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
	unsigned long long n;
	char *end;

	n = strtoull(s, &end, 16);
	if (!isxdigit((unsigned char)*s) || *end || n >> bits)
		return profile_refuse(why, len, "%s: \"%s\" is no mask of %u bits", key, s, bits);
	*to = n;
	return 0;
}

static int profile_load_speed(struct profile *p, struct json_object *v, char *why, size_t len)
{
	static const struct { const char *name; uint8_t speed; } speeds[] = {
		{ "fdr", SPEED_FDR }, { "edr", SPEED_EDR }, { "hdr", SPEED_HDR },
		{ "ndr", SPEED_NDR },
	};
	const char *s = json_object_get_string(v);
	unsigned int i;

	for (i = 0; s && i < ARRAY_SIZE(speeds); i++)
		if (!strcmp(speeds[i].name, s)) {
			p->link_speed = speeds[i].speed;
			return 0;
		}
	return profile_refuse(why, len, "link_speed must be fdr, edr, hdr or ndr");
}

/* Load a setting of the port that is neither a number nor true or false. */
static int profile_load_port(struct profile *p, const char *key, struct json_object *v, char *why,
			     size_t len)
{
	uint32_t mask = p->port_caps_2;
	int err;

	if (!strcmp(key, "pkeys"))
		return profile_load_pkeys(p, v, why, len);
	if (!strcmp(key, "link_speed"))
		return profile_load_speed(p, v, why, len);
	if (!strcmp(key, "port_caps"))
		return profile_load_hex(&p->port_caps, 32, key, v, why, len);
	if (strcmp(key, "port_caps_2"))
		return profile_refuse(why, len, "%s: no such setting", key);
	err = profile_load_hex(&mask, 16, key, v, why, len);
	p->port_caps_2 = mask;
	return err;
}

/* Find the setting @key if its value is true or false; NULL for every other name. */
static bool *profile_bool(struct profile *p, const char *key)
{
	const struct { const char *name; bool *at; } bools[] = {
		{ "map_memic", &p->map_memic }, { "refuse_busy_uars", &p->refuse_busy_uars },
		{ "no_write_combining", &p->no_write_combining }, { "one_clock", &p->one_clock },
		{ "cycle_numbers", &p->cycle_numbers }, { "highest_numbers", &p->highest_numbers },
		{ "subnet_manager", &p->subnet_manager },
		{ "no_performance_agent", &p->no_performance_agent },
		{ "one_bar", &p->one_bar }, { "pack_memic_ops", &p->pack_memic_ops },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bools); i++)
		if (!strcmp(bools[i].name, key))
			return bools[i].at;
	return NULL;
}

static int profile_load_bool(bool *to, const char *key, struct json_object *v, char *why,
			     size_t len)
{
	if (!json_object_is_type(v, json_type_boolean))
		return profile_refuse(why, len, "%s is not true or false", key);
	*to = json_object_get_boolean(v);
	return 0;
}

static int profile_load_setting(struct profile *p, const char *key, struct json_object *v,
				char *why, size_t len)
{
	const struct { const char *name; unsigned int *to; } nums[] = {
		{ "log_bar_size", &p->log_bar_size }, { "vectors", &p->vectors },
		{ "boot_pages", &p->boot_pages }, { "init_pages", &p->init_pages },
		{ "objects_per_page", &p->objects_per_page },
		{ "gids", &p->gids }, { "mtu", &p->mtu },
		{ "command_delay_us", &p->command_delay_us },
		{ "command_timeout_ms", &p->command_timeout_ms },
		{ "initializing_ms", &p->initializing_ms },
		{ "log_min_ack_timeout", &p->log_min_ack_timeout },
		{ "max_translation_mb", &p->max_translation_mb },
		{ "virtual_functions", &p->virtual_functions },
		{ "min_wqe_inline_mode", &p->min_wqe_inline_mode },
		{ "vport_speed", &p->vport_speed }, { "part", &p->part },
	};
	const struct { const char *name; char *to; size_t size; } strs[] = {
		{ "name", p->name, sizeof(p->name) }, { "psid", p->psid, sizeof(p->psid) },
		{ "fw_version", p->fw_version, sizeof(p->fw_version) },
		{ "node_description", p->node_description, sizeof(p->node_description) },
	};
	unsigned int i;
	uint64_t n = 0;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		if (strcmp(nums[i].name, key))
			continue;
		if (profile_load_uint(v, key, &n, why, len))
			return -EINVAL;
		if (n > UINT32_MAX)
			return profile_refuse(why, len, "%s is %llu, has at most 32 bits", key,
					      (unsigned long long)n);
		*nums[i].to = n;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(strs); i++) {
		if (strcmp(strs[i].name, key))
			continue;
		snprintf(strs[i].to, strs[i].size, "%s", json_object_get_string(v));
		return 0;
	}
	if (profile_bool(p, key))
		return profile_load_bool(profile_bool(p, key), key, v, why, len);
	/* caps, limits and link are read elsewhere; comment is for the reader of the file. */
	if (!strcmp(key, "caps") || !strcmp(key, "limits") || !strcmp(key, "comment") ||
	    !strcmp(key, "link"))
		return 0;
	return profile_load_port(p, key, v, why, len);
}

/**
 * profile_load_settings() - read all of a profile but capabilities and limits
 * @p: the default profile, changed; if @top names a link layer, first set to the default profile of
 *	that link layer
 * @top: the profile
 * @why: set to the reason for a refusal
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL. The settings have not been checked.
 */
int profile_load_settings(struct profile *p, struct json_object *top, char *why, size_t len)
{
	struct json_object *v;

	if (!json_object_is_type(top, json_type_object))
		return profile_refuse(why, len, "not a JSON object");
	if (json_object_object_get_ex(top, "link", &v)) {
		const char *s = json_object_get_string(v);

		if (!s || (strcmp(s, "ib") && strcmp(s, "eth")))
			return profile_refuse(why, len, "link must be ib or eth");
		profile_default(p, !strcmp(s, "eth"));
	}
	json_object_object_foreach(top, key, val) {
		if (profile_load_setting(p, key, val, why, len))
			return -EINVAL;
	}
	return 0;
}

static int profile_load_json(struct profile *p, struct json_object *top, char *why, size_t len)
{
	struct json_object *v;

	if (profile_load_settings(p, top, why, len))
		return -EINVAL;
	if (json_object_object_get_ex(top, "caps", &v) && profile_load_caps(p, v, why, len))
		return -EINVAL;
	if (p->log_bar_size < 20 || p->log_bar_size > 32)
		return profile_refuse(why, len, "log_bar_size is %u, must be from 20 to 32",
				      p->log_bar_size);
	p->core_clock_khz = cap_gen(p, "device_frequency_khz");
	if (profile_check_bounds(p, why, len))
		return -EINVAL;
	profile_set_ranges(p);
	if (json_object_object_get_ex(top, "limits", &v) && profile_load_limits(p, v, why, len))
		return -EINVAL;
	return profile_check(p, why, len);
}

/**
 * profile_load() - change the default profile as a file says
 * @p: the default profile, changed
 * @path: of the file
 * @why: set to the reason for a refusal
 * @why_len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_load(struct profile *p, const char *path, char *why, size_t why_len)
{
	struct json_object *top = json_object_from_file(path);
	int err;

	if (!top)
		return profile_refuse(why, why_len, "%s", json_util_get_last_err());
	err = profile_load_json(p, top, why, why_len);
	json_object_put(top);
	return err;
}
