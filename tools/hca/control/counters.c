// SPDX-License-Identifier: GPL-2.0
/*
 * The requests "commands" and "counters".
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "cmd.h"
#include "count.h"
#include "hca.h"
#include "request.h"
#include "util.h"

static struct json_object *commands_by_name(struct hca *hca, uint64_t *total)
{
	struct json_object *by = json_object_new_object();
	const uint32_t *counts = cmd_counts(hca);
	unsigned int i;

	for (i = 0; i < CMD_OPCODES; i++) {
		const struct cmd_desc *d = cmd_desc_find(hca, i);
		char hex[12];

		if (!counts[i])
			continue;
		*total += counts[i];
		snprintf(hex, sizeof(hex), "0x%x", i);
		answer_add_num(by, d ? d->name : hex, counts[i]);
	}
	return by;
}

/**
 * request_commands() - the request "commands"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_commands(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o, *by;
	uint64_t total = 0;

	if (n > 1 && !strcmp(w[1], "reset")) {
		cmd_counts_reset(hca);
		return answer_ok();
	}
	if (n > 1)
		return answer_fail("usage: commands [reset]");
	o = answer_ok();
	by = commands_by_name(hca, &total);
	answer_add_num(o, "total", total);
	json_object_object_add(o, "by_name", by);
	return o;
}

/**
 * request_counters() - the request "counters"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_counters(struct hca *hca, unsigned int n, char **w)
{
	const struct counters *c = &hca->count;
	const struct { const char *name; uint64_t v; } list[] = {
		{ "doorbells_send", c->db_send }, { "doorbells_blueflame", c->db_bf },
		{ "doorbells_cq", c->db_cq }, { "doorbells_eq", c->db_eq },
		{ "cqes", c->cqes }, { "cqes_error", c->cqes_err }, { "eqes", c->eqes },
		{ "eqes_lost", c->eqes_lost },
		{ "page_faults", c->page_faults },
		{ "page_faults_failed", c->page_faults_failed },
		{ "page_faults_midway", c->page_faults_midway },
		{ "irqs", c->irqs }, { "packets_tx", c->packets_tx },
		{ "packets_rx", c->packets_rx },
		{ "octets_tx", c->octets_tx }, { "octets_rx", c->octets_rx },
		{ "multicast_tx", c->mcast_tx }, { "multicast_rx", c->mcast_rx },
		{ "packets_dropped", c->packets_dropped },
		{ "packets_corrupted", c->packets_corrupted },
		{ "bad_pkeys", c->bad_pkeys }, { "bad_qkeys", c->bad_qkeys },
		{ "link_downed", c->link_downed },
		{ "rx_steering_discards", c->rx_steering_discards },
		{ "rx_rule_drops", c->rx_rule_drops },
		{ "tx_rule_drops", c->tx_rule_drops },
		{ "rx_queue_not_ready", c->rx_queue_not_ready },
		{ "rx_no_wqe", c->rx_no_wqe }, { "rx_wqe_too_small", c->rx_wqe_too_small },
		{ "rx_buffer_errors", c->rx_buffer_errors },
		{ "wqes_sq", c->wqes_sq }, { "wqes_rq", c->wqes_rq }, { "commands", c->cmds },
		{ "wqes_blueflame", c->wqes_bf },
		{ "blueflame_same_buffer", c->bf_same_buffer },
		{ "umr", c->umr }, { "umr_refused", c->umr_refused },
		{ "umr_reordered", c->umr_reordered },
		{ "remote_invalidations", c->remote_inval },
		{ "commands_failed", c->cmds_failed }, { "register_reads", c->reg_reads },
		{ "register_writes", c->reg_writes },
		{ "register_writes_early", c->reg_early },
		{ "dma_blocked", c->dma_blocked },
	};
	struct json_object *o, *drops = json_object_new_object(), *roce;
	uint64_t sum = 0, total = 0;
	unsigned int i;

	(void)w;
	if (n > 1) {
		json_object_put(drops);
		return answer_fail("usage: counters");
	}
	o = answer_ok();
	for (i = 0; i < ARRAY_SIZE(list); i++)
		answer_add_num(o, list[i].name, list[i].v);
	for (i = 0; i < DROP_REASONS; i++) {
		answer_add_num(drops, drop_reason_name(i), c->db_drop[i]);
		sum += c->db_drop[i];
	}
	answer_add_num(o, "doorbells_dropped", sum);
	roce = json_object_new_object();
	for (i = 0; i < ROCE_DROPS; i++)
		answer_add_num(roce, roce_drop_name(i), c->roce_drop[i]);
	json_object_object_add(o, "roce_dropped_by_reason", roce);
	json_object_object_add(o, "dropped_by_reason", drops);
	json_object_object_add(o, "commands_by_name", commands_by_name(hca, &total));
	return o;
}
