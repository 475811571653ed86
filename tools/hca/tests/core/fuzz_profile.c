// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of profiles: settings of the right form with values of any kind, and words of a profile in
 * any order. If a profile is accepted, all that the HCA takes for granted about it has to be true.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fields.h"
#include "fuzzrig.h"
#include "ifc.h"
#include "profile.h"

#define TEXT_MAX	8192

static const char *const words[] = {
	"{", "}", "[", "]", ":", ",", "\"", "true", "null", "0", "1", "-1", "4294967295", "0x7fff",
	"1e99", "{\"name\":\"x\",", "{\"caps\":{", "{\"limits\":{", "\"general\":{", "\"odp\":{",
	"\"atomic\":{", "\"roce\":{", "\"device_mem\":{", "\"general_2\":{", "\"vectors\":",
	"\"log_bar_size\":", "\"boot_pages\":", "\"init_pages\":", "\"gids\":", "\"mtu\":",
	"\"pkeys\":[", "\"link\":\"ib\"", "\"link\":\"eth\"", "\"psid\":\"", "\"fw_version\":\"",
	"\"command_delay_us\":", "\"max_translation_mb\":", "{\"max\":", "\"cur\":", "}}",
	"\"uar\":", "\"qp\":", "\"mkey\":", "\"eq\":", "\"memic\":", "256", "4096", "32", "20",
	"16",
};

/*
 * The name of the capability that two bytes of the input choose: a capability page, and a field of
 * that page.
 */
static const char *cap_name(uint8_t page, uint8_t index)
{
	static const char *const structs[] = {
		"cmd_hca_cap", "odp_cap", "atomic_caps", "device_mem_cap", "cmd_hca_cap_2",
	};
	const struct ifc_struct *s = ifc_struct_find(structs[page % 5]);
	unsigned int n = 0;

	while (s && s->field[n].name)
		n++;
	return n ? s->field[(index * 7u + page) % n].name : "";
}

/* ---- text of the right form ------------------------------------------------------------------ */

static size_t add_pkeys(char *text, unsigned int n)
{
	size_t len = sprintf(text, "[\"0xffff\"");

	while (n--)
		len += sprintf(text + len, ",\"0x%x\"", 0x8000 + n);
	return len + sprintf(text + len, "]");
}

static size_t add_value(char *text, struct fuzz_in *in)
{
	static const char *const values[] = {
		"0", "1", "-1", "31", "32", "64", "255", "4096", "4294967295", "4294967296", "1e99",
		"null", "true", "\"x\"", "\"16.35.4030\"", "{}", "[]",
	};
	uint8_t how = fuzz_u8(in);

	switch (how % 8) {
	case 0:
		return add_pkeys(text, fuzz_u8(in) % 48);
	case 1:
		return sprintf(text, "{\"max\":%u,\"cur\":%u}", fuzz_u8(in), fuzz_u8(in));
	case 2:
		return sprintf(text, "%u", fuzz_u8(in));
	case 3:
		return sprintf(text, "%u", fuzz_u32(in));
	default:
		return sprintf(text, "%s", values[how / 8 % (sizeof(values) / sizeof(*values))]);
	}
}

static size_t add_caps(char *text, struct fuzz_in *in)
{
	static const char *const pages[] = {
		"general", "odp", "atomic", "device_mem", "general_2",
	};
	uint8_t page = fuzz_u8(in) % 5, n = fuzz_u8(in) % 6;
	size_t len = sprintf(text, "{\"%s\":{", pages[page]);

	while (n--) {
		len += sprintf(text + len, "\"%s\":", cap_name(page, fuzz_u8(in)));
		len += add_value(text + len, in);
		len += sprintf(text + len, "%s", n ? "," : "");
	}
	return len + sprintf(text + len, "}}");
}

static size_t expand_settings(struct fuzz_in *in, char *text)
{
	static const char *const names[] = {
		"caps", "caps", "caps", "limits", "pkeys", "name", "link", "psid", "fw_version",
		"vectors", "log_bar_size", "boot_pages", "init_pages", "gids", "mtu", "comment",
		"command_delay_us", "command_timeout_ms", "max_translation_mb",
		"log_min_ack_timeout",
	};
	uint8_t n = 1 + fuzz_u8(in) % 6, name;
	size_t len = sprintf(text, "{");

	while (n-- && len < TEXT_MAX - 2048) {
		name = fuzz_u8(in) % (sizeof(names) / sizeof(*names));
		len += sprintf(text + len, "\"%s\":", names[name]);
		if (!strcmp(names[name], "caps"))
			len += add_caps(text + len, in);
		else if (!strcmp(names[name], "limits"))
			len += sprintf(text + len, "{\"%s\":%u}",
				       obj_kind_name[fuzz_u8(in) % OBJ_KINDS], fuzz_u16(in));
		else
			len += add_value(text + len, in);
		len += sprintf(text + len, "%s", n ? "," : "");
	}
	return len + sprintf(text + len, "}");
}

/* Expand the input to words of a profile in any order. */
static size_t expand_words(struct fuzz_in *in, char *text)
{
	size_t len = 0;

	while (in->left && len < TEXT_MAX - 256) {
		uint8_t b = fuzz_u8(in);

		if (b < 0x80)
			text[len++] = b;
		else if (b < 0xc0)
			len += sprintf(text + len, "%s",
				       words[(b - 0x80) % (sizeof(words) / sizeof(*words))]);
		else
			len += sprintf(text + len, "\"%s\":", cap_name(b, fuzz_u8(in)));
	}
	return len;
}

/* The HCA sizes its arrays by these limits, so an accepted profile must keep within them. */
static void check_accepted(const struct profile *p)
{
	unsigned int k;

	must(p->vectors >= 1 && p->vectors <= 64);
	must(p->gids <= 128);
	must(p->mtu >= 256 && p->mtu <= 4096);
	must(memchr(p->name, 0, sizeof(p->name)));
	must(memchr(p->fw_version, 0, sizeof(p->fw_version)));
	for (k = 0; k < OBJ_KINDS; k++)
		must(p->range[k].first <= p->range[k].limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile p;
	static char text[TEXT_MAX], path[32], why[200];
	static uint8_t buf[512];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	bool words = fuzz_u8(&in) & 0x80;
	size_t len = words ? expand_words(&in, text) : expand_settings(&in, text);
	int fd = memfd_create("profile", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(!profile_default(&p, false));
	if (!profile_load(&p, path, why, sizeof(why)))
		check_accepted(&p);
	must(memchr(why, 0, sizeof(why)));
	close(fd);
	return 0;
}
