/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collisions_print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/live/collisions.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/live.h"
#include "topology/topo.h"

/* Links with a line. */
#define MAX_LINES 8

static bool
find(const struct screen *screen, const struct contention *found,
     const struct contention_link *link, struct collisions *ret_collisions)
{
	*ret_collisions = (struct collisions){ 0 };
	if (screen->topo)
		collisions_find(screen->live, screen->topo, screen->routes,
				screen->opts.paths, found, link, ret_collisions);
	return ret_collisions->n > 0;
}

static const char *
node(const struct screen *screen, uint32_t id)
{
	return id == TOPO_NONE ? NULL : topo_node(screen->topo, id)->name;
}

/* Whether the path of any flow was inferred. */
static bool
has_inferred(const struct screen *screen)
{
	return screen->opts.paths && screen->opts.paths->links.n > 0;
}

static bool
is_inferred(const struct collision_flow *flow)
{
	return flow->margin > 0;
}

/* "room over spine1 (source port 1025)". */
static void
add_room(const struct screen *screen, const struct collision_flow *flow,
	 struct strbuf *out)
{
	if (flow->n_paths < 2) {
		strbuf_puts(out, "no other path");
		return;
	}
	if (flow->room_via == TOPO_NONE) {
		strbuf_printf(out, "no room on the other %u path%s", flow->n_paths - 1,
			      flow->n_paths == 2 ? "" : "s");
		return;
	}
	strbuf_printf(out, "room over %s", node(screen, flow->room_via));
	if (flow->room_port)
		strbuf_printf(out, " (source port %u)", flow->room_port);
}

void
collisions_add(const struct screen *screen, const struct contention *found,
	       const struct contention_link *link, struct strbuf *out)
{
	struct collisions meeting;

	if (find(screen, found, link, &meeting))
		strbuf_printf(
			out, "  flows here, by %santiphase's hash with seed %lld:\n",
			has_inferred(screen) ? "the switches' counters, or else " : "",
			(long long)screen->ecmp_seed);
	for (size_t i = 0; i < meeting.n; i++) {
		const struct collision_flow *flow = &meeting.flows[i];

		strbuf_printf(out, "    %s: %s > %s over %s, ",
			      live_job_name(screen->live, flow->job),
			      node(screen, flow->source),
			      node(screen, flow->destination), node(screen, flow->via));
		if (is_inferred(flow))
			strbuf_printf(out, "inferred (%.1f standard errors); ",
				      flow->margin);
		else
			strbuf_printf(out, "source port %u%s; ", flow->port,
				      has_inferred(screen) ? " (assumed)" : "");
		add_room(screen, flow, out);
		strbuf_putc(out, '\n');
	}
	collisions_fini(&meeting);
}

static bool
has_choice(const struct collisions *meeting)
{
	for (size_t i = 0; i < meeting->n; i++)
		if (meeting->flows[i].n_paths > 1)
			return true;
	return false;
}

/*
 * "A h0 > h2 and B h1 > h3 (assumed) take spine0;
 *   for A there is room over spine1 (source port 1025)".
 */
static void
add_line(const struct screen *screen, const struct collisions *meeting,
	 struct strbuf *out)
{
	const struct collision_flow *movable = NULL;

	for (size_t i = 0; i < meeting->n; i++) {
		const struct collision_flow *flow = &meeting->flows[i];

		strbuf_printf(
			out, "%s%s %s > %s%s",
			i == 0               ? ""
			: i + 1 < meeting->n ? ", "
					     : " and ",
			live_job_name(screen->live, flow->job),
			node(screen, flow->source), node(screen, flow->destination),
			has_inferred(screen) && !is_inferred(flow) ? " (assumed)" : "");
		if (!movable && flow->room_via != TOPO_NONE)
			movable = flow;
	}
	strbuf_printf(out, " take %s", node(screen, meeting->flows[0].via));
	if (movable) {
		strbuf_printf(out, ";\n  for %s there is ",
			      live_job_name(screen->live, movable->job));
		add_room(screen, movable, out);
	} else {
		strbuf_puts(out, "; no other path has room");
	}
}

/* What the paths in the lines rest on. */
static void
add_basis(const struct screen *screen, size_t n_assumed, struct strbuf *out)
{
	if (has_inferred(screen))
		strbuf_puts(out, "Paths are inferred from the switches' counters.\n");
	if (n_assumed)
		strbuf_printf(out, "%s assumed: antiphase's hash with seed %lld.\n",
			      has_inferred(screen) ? "Those marked are" : "Paths are",
			      (long long)screen->ecmp_seed);
}

void
collisions_add_all(const struct screen *screen, const struct contention *found,
		   const struct contention_link *const *links, size_t n,
		   struct strbuf *out)
{
	VEC(char *) lines = VEC_EMPTY;
	size_t n_assumed = 0;

	for (size_t i = 0; i < n && lines.n < MAX_LINES; i++) {
		struct collisions meeting;
		struct strbuf line = STRBUF_EMPTY;
		bool is_new = links[i]->over_ms > 0 &&
			      find(screen, found, links[i], &meeting);

		if (!is_new)
			continue;
		add_line(screen, &meeting, &line);
		is_new = has_choice(&meeting);
		for (size_t k = 0; k < lines.n; k++)
			is_new &= strcmp(lines.items[k], line.text) != 0;
		if (is_new) {
			strbuf_printf(out, "%s: %s\n", links[i]->name, line.text);
			vec_push(&lines, line.text);
			for (size_t k = 0; k < meeting.n; k++)
				n_assumed += !is_inferred(&meeting.flows[k]);
		} else {
			strbuf_free(&line);
		}
		collisions_fini(&meeting);
	}
	if (lines.n)
		add_basis(screen, n_assumed, out);
	for (size_t k = 0; k < lines.n; k++)
		free(lines.items[k]);
	vec_free(&lines);
}

static void
put_flow(const struct screen *screen, const struct contention_link *link,
	 const struct collision_flow *flow, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "link", link->name);
	jsonw_str(w, "job", live_job_name(screen->live, flow->job));
	jsonw_str(w, "from", node(screen, flow->source));
	jsonw_str(w, "to", node(screen, flow->destination));
	jsonw_int(w, "port", flow->port);
	jsonw_str(w, "via", node(screen, flow->via));
	jsonw_str(w, "basis", is_inferred(flow) ? "inferred" : "computed");
	if (is_inferred(flow))
		jsonw_rounded(w, "margin", flow->margin, 1);
	else
		jsonw_null(w, "margin");
	jsonw_int(w, "paths", flow->n_paths);
	jsonw_str(w, "room_via", node(screen, flow->room_via));
	jsonw_int(w, "room_port", flow->room_port);
	jsonw_end(w);
}

void
collisions_json(const struct screen *screen, const struct contention *found,
		const struct contention_link *const *links, size_t n, struct jsonw *w)
{
	jsonw_array(w, "collisions");
	for (size_t i = 0; i < n; i++) {
		struct collisions meeting;

		if (!find(screen, found, links[i], &meeting))
			continue;
		for (size_t k = 0; k < meeting.n; k++)
			put_flow(screen, links[i], &meeting.flows[k], w);
		collisions_fini(&meeting);
	}
	jsonw_end(w);
}
