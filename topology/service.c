/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - the plan, the reports, and announcements of changes. */
#include "topology/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "topology/changes.h"
#include "topology/diff_write.h"
#include "topology/interface_links.h"
#include "topology/service_priv.h"

/* Limit of differences that are logged by name. */
#define MAX_LOGGED 20

/* Interval of new comparisons, since reports expire without an event. */
#define COMPARE_EVERY_US (10 * (int64_t)1000000)

const char *const service_change_names[] = {
	"link_down", "link_up", "speed", "neighbour", "plan", "difference", NULL,
};

struct service *
service_new(const struct service_opts *opts)
{
	struct service *s = xcalloc(1, sizeof *s);

	s->opts = *opts;
	s->seen = observed_new();
	s->found = strtab_new();
	return s;
}

void
service_free(struct service *s)
{
	if (!s)
		return;
	topo_unref(s->plan);
	free(s->plan_file);
	observed_free(s->seen);
	diff_fini(&s->diff);
	strtab_free(s->found);
	free(s);
}

void
service_set_max_age(struct service *s, int64_t max_age_us)
{
	s->opts.max_age_us = max_age_us;
}

struct topo *
service_plan(const struct service *s)
{
	return s->plan;
}

void
service_set_lldp(struct service *s, enum service_lldp state)
{
	s->lldp = state;
}

/* ---- Announcements --------------------------------------------------------------- */

/* A document written to memory. */
struct text {
	char *bytes;
	size_t length;
	FILE *out;
	struct jsonw w;
};

static void
begin_change(struct service *s, struct text *text, int kind)
{
	text->out = open_memstream(&text->bytes, &text->length);
	BUG_ON(!text->out);
	jsonw_init(&text->w, text->out);
	jsonw_flat_object(&text->w, NULL);
	jsonw_str(&text->w, "schema", "antiphase.topology_change/2");
	jsonw_int(&text->w, "at_us", s->now_us);
	jsonw_str(&text->w, "kind", service_change_names[kind]);
	s->n_changes[kind]++;
}

static void
end_change(struct service *s, struct text *text, int kind)
{
	char topic[32];

	jsonw_end(&text->w);
	jsonw_finish(&text->w);
	BUG_ON(fclose(text->out) != 0);
	snprintf(topic, sizeof topic, "t/%s", service_change_names[kind]);
	if (s->opts.announce)
		s->opts.announce(s->opts.ctx, topic, text->bytes);
	free(text->bytes);
}

static void
write_link(struct service *s, struct jsonw *w, uint32_t link)
{
	struct strbuf name = STRBUF_EMPTY;

	if (link == TOPO_NONE)
		return;
	topo_link_name(s->plan, link, &name);
	jsonw_str(w, NULL, name.text);
	strbuf_free(&name);
}

static void
write_peer(struct jsonw *w, const char *key, const struct observed_neighbour *peer)
{
	if (!peer) {
		jsonw_null(w, key);
		return;
	}
	jsonw_object(w, key);
	jsonw_str(w, "node", peer->node);
	jsonw_str(w, "port", peer->port);
	jsonw_str(w, "alias", peer->alias);
	jsonw_end(w);
}

static void
on_seen_change(void *ctx, const struct observed_change *change)
{
	struct service *s = ctx;
	int kind = (int)change->kind;
	struct topo_interface_links at = { TOPO_NONE, TOPO_NONE };
	struct text text;

	log_info("topo", "%s:%s: %s", change->node, change->port,
		 service_change_names[kind]);
	if (s->plan)
		at = topo_interface_links(s->plan, NULL, change->node, change->port);
	begin_change(s, &text, kind);
	jsonw_str(&text.w, "node", change->node);
	jsonw_str(&text.w, "port", change->port);
	jsonw_array(&text.w, "links");
	write_link(s, &text.w, at.tx);
	write_link(s, &text.w, at.rx);
	jsonw_end(&text.w);
	if (change->kind == OBSERVED_SPEED) {
		jsonw_num(&text.w, "before_bps", change->before_bps);
		jsonw_num(&text.w, "after_bps", change->after_bps);
	}
	if (change->kind == OBSERVED_NEIGHBOUR) {
		write_peer(&text.w, "before", change->before);
		write_peer(&text.w, "after", change->after);
	}
	end_change(s, &text, kind);
}

/* True if an earlier report of the node has expired. */
static bool
was_old(const struct service *s, const char *name)
{
	const struct observed_node *node = observed_find(s->seen, name);
	int64_t oldest_us;

	if (!node || !s->opts.max_age_us)
		return false;
	oldest_us = node->has_neighbours && node->neighbours_us < node->heard_us
			    ? node->neighbours_us
			    : node->heard_us;
	return s->now_us - oldest_us > s->opts.max_age_us;
}

int
service_report(struct service *s, struct observed_node *report, int64_t now_us)
{
	s->now_us = now_us;
	report->heard_us = now_us;
	report->neighbours_us = report->has_neighbours ? now_us : 0;
	/* Any report shows that the node is alive. */
	s->is_dirty |= was_old(s, report->name);
	return observed_update(s->seen, report, on_seen_change, s);
}

/* ---- The plan -------------------------------------------------------------------- */

static void
log_plan_change(void *ctx, const char *text)
{
	unsigned *n = ctx;

	if ((*n)++ < MAX_LOGGED)
		log_warn("topo", "plan: %s", text);
}

static void
announce_plan(struct service *s, const struct topo_changes *changes)
{
	struct text text;

	begin_change(s, &text, SERVICE_CHANGE_PLAN);
	jsonw_str(&text.w, "file", s->plan_file);
	jsonw_str(&text.w, "name", topo_name(s->plan));
	jsonw_int(&text.w, "nodes", topo_n_nodes(s->plan));
	jsonw_int(&text.w, "links", topo_n_links(s->plan));
	jsonw_int(&text.w, "nodes_added", changes->n_nodes_added);
	jsonw_int(&text.w, "nodes_removed", changes->n_nodes_removed);
	jsonw_int(&text.w, "nodes_changed", changes->n_nodes_changed);
	jsonw_int(&text.w, "links_added", changes->n_links_added);
	jsonw_int(&text.w, "links_removed", changes->n_links_removed);
	jsonw_int(&text.w, "links_changed", changes->n_links_changed);
	jsonw_int(&text.w, "tiers_changed", changes->n_tiers_changed);
	end_change(s, &text, SERVICE_CHANGE_PLAN);
}

void
service_set_plan(struct service *s, struct topo *plan, const char *file, int64_t now_us)
{
	struct topo_changes changes = { 0 };
	struct topo *before = s->plan;
	unsigned n_logged = 0;

	s->now_us = now_us;
	s->plan = topo_ref(plan);
	s->plan_us = now_us;
	free(s->plan_file);
	s->plan_file = xstrdup(file);
	s->is_dirty = true;
	if (!before)
		return;
	topo_changes_find(before, plan, log_plan_change, &n_logged, &changes);
	if (n_logged > MAX_LOGGED)
		log_warn("topo", "plan: and %u changes more", n_logged - MAX_LOGGED);
	if (!n_logged)
		log_warn("topo", "plan: %s is as it was", file);
	announce_plan(s, &changes);
	topo_unref(before);
}

/* ----Plan and reports ------------------------------------------------------------- */

void
service_compare(struct service *s)
{
	const struct diff_opts opts = { s->now_us, s->opts.max_age_us };

	if (!s->plan ||
	    (!s->is_dirty && s->generation == observed_generation(s->seen) &&
	     s->now_us - s->diff_us < COMPARE_EVERY_US))
		return;
	diff_fini(&s->diff);
	diff_make(s->plan, s->seen, &opts, &s->diff);
	s->is_dirty = false;
	s->generation = observed_generation(s->seen);
	s->is_untold = true;
	s->diff_us = s->now_us;
}

static char *
finding_text(const struct diff_finding *finding)
{
	struct text text;

	text.out = open_memstream(&text.bytes, &text.length);
	BUG_ON(!text.out);
	jsonw_init(&text.w, text.out);
	jsonw_flat_object(&text.w, NULL);
	diff_json_finding(finding, &text.w);
	jsonw_end(&text.w);
	jsonw_finish(&text.w);
	BUG_ON(fclose(text.out) != 0);
	if (text.length && text.bytes[text.length - 1] == '\n')
		text.bytes[text.length - 1] = '\0';
	return text.bytes;
}

/* Differences that appeared or disappeared are already JSON. */
static void
announce_difference(struct service *s, const char *finding, bool is_new)
{
	struct strbuf text = STRBUF_EMPTY;

	log_warn("topo", "%s: %s",
		 is_new ? "differs from the plan" : "as planned again", finding);
	s->n_changes[SERVICE_CHANGE_DIFFERENCE]++;
	strbuf_printf(
		&text,
		"{\"schema\": \"antiphase.topology_change/2\", \"at_us\": %" PRId64
		", \"kind\": \"difference\", \"new\": %s, \"difference\": %s}\n",
		s->now_us, is_new ? "true" : "false", finding);
	if (s->opts.announce)
		s->opts.announce(s->opts.ctx, "t/difference", text.text);
	strbuf_free(&text);
}

void
service_tick(struct service *s, int64_t now_us)
{
	struct strtab *found;

	s->now_us = now_us;
	service_compare(s);
	if (!s->is_untold)
		return;
	s->is_untold = false;
	found = strtab_new();
	for (size_t i = 0; i < s->diff.findings.n; i++) {
		char *text = finding_text(&s->diff.findings.items[i]);

		strtab_intern(found, text);
		if (strtab_find(s->found, text) == STRTAB_NONE)
			announce_difference(s, text, true);
		free(text);
	}
	for (uint32_t i = 0; i < strtab_n(s->found); i++) {
		if (strtab_find(found, strtab_name(s->found, i)) == STRTAB_NONE)
			announce_difference(s, strtab_name(s->found, i), false);
	}
	strtab_free(s->found);
	s->found = found;
}
