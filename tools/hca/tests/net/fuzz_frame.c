// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of net/: frames of any content are parsed, get checksums, are hashed, tagged and
 * segmented. What is written has to be right when it is read again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "csum.h"
#include "frame.h"
#include "fuzzrig.h"
#include "icrc.h"
#include "rss.h"
#include "segment.h"
#include "vlan.h"

/* A copy with the exact size, so that the sanitizer sees an access beyond the end. */
static uint8_t *copy(const uint8_t *bytes, size_t len, size_t room)
{
	uint8_t *p = malloc(len + room + !(len + room));

	must(p);
	memcpy(p, bytes, len);
	return p;
}

static void check_offsets(const struct frame *f)
{
	must(f->l3 >= ETH_BYTES && f->l3 <= f->len);
	must(f->tags <= FRAME_TAGS);
	if (f->ip_version)
		must(f->l3 < f->l4 && f->l4 <= f->ip_end && f->ip_end <= f->len);
	else
		must(!f->l4 && !f->ip_end && !f->protocol && !f->frag && !f->l4_type);
	if (f->l4_type != L4_NONE)
		must(f->l4 < f->payload && f->payload <= f->l4_end && f->l4_end <= f->ip_end &&
		     !f->frag);
	else
		must(!f->payload && !f->l4_end && !f->sport && !f->dport && !f->tcp_flags);
}

static void try_checksums(uint8_t *bytes, const struct frame *f)
{
	csum_fill_l4(bytes, f);
	csum_fill_ip(bytes, f);
	must(csum_ip_ok(f) == !!f->ip_version);
	must(csum_l4_ok(f) == (f->l4_type != L4_NONE));
	if (f->ip_version)
		csum_packet(f);
}

static void try_icrc(uint8_t *bytes, const struct frame *f)
{
	icrc_fill(bytes, f);
	must(icrc_ok(f) == icrc_covers(f));
}

static void try_hash(const struct frame *f, struct fuzz_in *in)
{
	struct rss rss = { .fn = fuzz_u8(in) % 3, .fields = fuzz_u8(in) & 0x1f,
			   .symmetric = true };
	struct frame back = *f;
	struct rss_hash a, b;

	fuzz_take(in, rss.key, sizeof(rss.key));
	memcpy(back.sip, f->dip, IP_BYTES);
	memcpy(back.dip, f->sip, IP_BYTES);
	back.sport = f->dport;
	back.dport = f->sport;
	a = rss_hash_frame(&rss, f);
	b = rss_hash_frame(&rss, &back);
	must(!(a.fields & ~rss.fields) && a.fields == b.fields);
	/* A field of a pair without the other cannot be symmetric. */
	if (!((rss.fields ^ rss.fields >> 1) & (RSS_SIP | RSS_SPORT)))
		must(a.value == b.value);
	rss.symmetric = false;
	rss_hash_frame(&rss, f);
}

static void try_tags(const struct frame *f, struct fuzz_in *in)
{
	const struct frame_tag tag = { fuzz_u8(in) & 1 ? ETYPE_CTAG : ETYPE_STAG, fuzz_u16(in) };
	uint8_t *bytes = copy(f->data, f->len, TAG_BYTES);
	struct frame tagged;

	must(vlan_insert(bytes, f->len, &tag) == f->len + TAG_BYTES);
	must(frame_parse(&tagged, bytes, f->len + TAG_BYTES, LENGTHS_OF_FRAME));
	must(frame_has_tag(&tagged, tag.type) && tagged.tag[0].tci == tag.tci);
	if (f->tags < FRAME_TAGS)
		must(tagged.l3 == f->l3 + TAG_BYTES && tagged.ip_version == f->ip_version &&
		     tagged.l4_type == f->l4_type);
	must(!memcmp(vlan_strip(bytes), f->data, f->len));
	free(bytes);
}

/* A segment has to be a frame whose lengths and checksums are right. */
static void check_segment(const uint8_t *frame, size_t len, const struct segmenter *s)
{
	struct frame f;

	must(frame_parse(&f, frame, len, LENGTHS_OF_FRAME));
	must(f.ip_version == s->f.ip_version && f.l4_type == s->f.l4_type);
	must(f.payload == s->f.payload && f.ip_end == len && f.l4_end == len);
	must(csum_ip_ok(&f) && csum_l4_ok(&f));
}

static void try_segments(const uint8_t *bytes, size_t len, struct fuzz_in *in)
{
	size_t payload = fuzz_u16(in), mss = fuzz_u16(in), sum = 0, n;
	uint8_t *template = copy(bytes, len, 0), *frame;
	unsigned int limit = 64;
	struct segmenter s;

	if (!segment_start(&s, template, len, payload, mss)) {
		frame = calloc(1, len + (mss < payload ? mss : payload));
		must(frame);
		while (limit-- && (n = segment_next(&s, frame))) {
			segment_seal(&s, frame, len + n, true, true);
			check_segment(frame, len + n, &s);
			sum += n;
			must(s.done == sum);
		}
		must(!segment_done(&s) || sum == payload);
		free(frame);
	}
	free(template);
}

/*
 * The template is the beginning of the frame up to the end of its fourth header, so that the
 * fuzzer need not find the length.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t options[49];
	struct fuzz_in opt = { options, fuzz_take(&in, options, sizeof(options)) };
	uint8_t *bytes = copy(in.p, in.left, 0);
	struct frame f;

	if (!frame_parse(&f, bytes, in.left, LENGTHS_OF_FRAME)) {
		must(in.left < ETH_BYTES);
		free(bytes);
		return 0;
	}
	check_offsets(&f);
	try_hash(&f, &opt);
	try_tags(&f, &opt);
	try_checksums(bytes, &f);
	try_icrc(bytes, &f);
	frame_parse(&f, bytes, in.left, LENGTHS_OF_TEMPLATE);
	check_offsets(&f);
	try_segments(bytes, f.payload ? f.payload : in.left, &opt);
	free(bytes);
	return 0;
}
