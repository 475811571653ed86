// SPDX-License-Identifier: GPL-2.0
/*
 * Steering: the way of a frame from the root through the flow tables. Each table sends the
 * frame on to one other table of a higher level at most, so that the way ends.
 */
#include <string.h>

#include "flow.h"
#include "flow_counter.h"
#include "frame.h"
#include "hca.h"
#include "match.h"
#include "steer.h"

/* Add the TIRs of an entry to the copies. Returns the table that the entry names, or NULL. */
static struct flow_table *take_dests(struct hca *hca, const struct flow_entry *e,
				     struct steer_result *r)
{
	struct flow_table *next = NULL;
	unsigned int i;

	for (i = 0; i < e->dests; i++) {
		if (e->dest[i].type == FLOW_TO_TABLE) {
			next = flow_table_find(hca, e->dest[i].id);
		} else if (r->copies < STEER_COPIES) {
			r->copy[r->copies].tirn = e->dest[i].id;
			r->copy[r->copies].flow_tag = e->tag;
			r->copies++;
		}
	}
	return next;
}

static void count(struct hca *hca, const struct flow_entry *e, uint64_t octets)
{
	unsigned int i;

	for (i = 0; i < e->counters; i++)
		flow_counter_add(hca, e->counter[i], octets);
}

/*
 * Write down the fields of a frame. Rules look at headers whatever the lengths in them say, as long
 * as the frame holds the headers. Only the transport, checksums and receive side scaling need to
 * know where a packet ends.
 */
static void image_of(const struct frame *f, uint8_t image[MATCH_BYTES])
{
	bool is_ip = f->ethertype == ETYPE_IPV4 || f->ethertype == ETYPE_IPV6;
	struct frame loose;

	if (is_ip && f->l4_type == L4_NONE) {
		frame_parse(&loose, f->data, f->len, LENGTHS_OF_TEMPLATE);
		f = &loose;
	}
	match_image(f, image);
}

/**
 * steer() - find out what rules do with a frame
 * @hca: the HCA
 * @type: the tables that the frame passes
 * @f: the frame, parsed
 * @r: the result
 *
 * A frame that a rule has sent to a TIR and to a table is delivered to the TIR, whatever the table
 * does with the other copy.
 */
void steer(struct hca *hca, enum flow_type type, const struct frame *f, struct steer_result *r)
{
	struct flow_table *t = flow_root(hca, type);
	uint8_t image[MATCH_BYTES];

	*r = (struct steer_result){ .verdict = STEER_MISS };
	image_of(f, image);
	while (t) {
		const struct flow_entry *e = flow_entry_match(t, image);

		if (e)
			count(hca, e, f->len);
		r->tables++;
		r->table = t->obj.num;
		r->verdict = e && e->action & FLOW_DROP ? STEER_DROP : STEER_MISS;
		t = e ? take_dests(hca, e, r) : flow_table_find(hca, t->miss_id);
	}
	if (r->copies)
		r->verdict = STEER_DELIVER;
}

/**
 * steer_drops() - tell whether rules drop a frame that goes on otherwise
 * @hca: the HCA
 * @type: the tables that the frame passes: of frames that are sent, or of RoCE
 * @data: the frame
 * @len: bytes of it
 *
 * Rules count the frame.
 */
bool steer_drops(struct hca *hca, enum flow_type type, const uint8_t *data, size_t len)
{
	struct steer_result r;
	struct frame f;

	if (!flow_root(hca, type) || !frame_parse(&f, data, len, LENGTHS_OF_FRAME))
		return false;
	steer(hca, type, &f, &r);
	return r.verdict == STEER_DROP;
}
