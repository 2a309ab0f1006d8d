/* SPDX-License-Identifier: Apache-2.0 */
/* run_report_events.c - events of links and switches in the report of one run. */
#include <math.h>

#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "sim/run/run_report.h"

/* Means that differ by less are the same in the table. */
#define SAME_FRAC 1e-3

static void
put_state(struct table *t, double share)
{
	if (share > 0 && share < 1)
		table_cell(t, "%.4g %%", 100 * share);
	else
		table_cell(t, "%s", share > 0 ? "up" : "down");
}

static void
put_ms(struct table *t, double ns)
{
	if (ns > 0)
		table_cell(t, "%.2f", ns / 1e6);
	else
		table_cell(t, "-");
}

static bool
is_affected(const struct experiment_span *span)
{
	return span->is_waiting || !(span->before_ns > 0) != !(span->after_ns > 0) ||
	       fabs(span->after_ns - span->before_ns) > SAME_FRAC * span->before_ns;
}

/* The cells of the event itself, or blanks. */
static void
put_event(struct table *t, const struct experiment_event *e, bool is_first)
{
	const struct scenario_event *event = e->event;

	if (!is_first) {
		for (int i = 0; i < 5; i++)
			table_cell(t, "%s", "");
		return;
	}
	table_cell(t, "%s", event->name);
	table_cell(t, "%.3f", (double)event->time_ns / 1e9);
	table_cell(t, "%s", event->link ? event->link : event->node_name);
	put_state(t, event->share);
	if (e->has_happened)
		table_cell(t, "%u", e->n_moved);
	else
		table_cell(t, "-");
}

static void
put_rows(const struct run_report *r, const struct experiment_event *e, struct table *t)
{
	bool is_first = true;

	for (size_t j = 0; j < r->experiment->n_jobs && e->has_happened; j++) {
		const struct experiment_span *span = &e->spans[j];

		if (!r->experiment->jobs[j].is_placed || !is_affected(span))
			continue;
		put_event(t, e, is_first);
		is_first = false;
		table_cell(t, "%s", r->scenario->workload.jobs[j].name);
		put_ms(t, span->before_ns);
		put_ms(t, span->after_ns);
		table_cell(t, "%s", span->is_waiting ? "waits for a path" : "");
	}
	if (!is_first)
		return;
	put_event(t, e, true);
	table_cell(t, "%s", e->has_happened ? "no job" : "not reached");
	table_cell(t, "%s", "");
	table_cell(t, "%s", "");
	table_cell(t, "%s", "");
}

void
run_report_events(const struct run_report *r, FILE *out)
{
	static const char *const headings[] = { "EVENT",      "%TIME s", "LINK, SWITCH",
						"STATE",      "%MOVED",  "JOB",
						"%BEFORE ms", "%AFTER",  "",
						NULL };
	struct table t;

	if (!r->experiment->n_events)
		return;
	fputc('\n', out);
	table_init(&t, headings);
	for (size_t i = 0; i < r->experiment->n_events; i++)
		put_rows(r, &r->experiment->events[i], &t);
	table_print(&t, out);
	table_fini(&t);
}

static void
json_us(struct jsonw *w, const char *key, double ns)
{
	jsonw_rounded(w, key, ns > 0 ? ns / 1e3 : NAN, 3);
}

void
run_report_events_json(const struct run_report *r, struct jsonw *w)
{
	if (!r->experiment->n_events)
		return;
	jsonw_array(w, "events");
	for (size_t i = 0; i < r->experiment->n_events; i++) {
		const struct experiment_event *e = &r->experiment->events[i];

		jsonw_object(w, NULL);
		jsonw_str(w, "event", e->event->name);
		jsonw_rounded(w, "time_us", (double)e->event->time_ns / 1e3, 3);
		jsonw_str(w, "link", e->event->link);
		jsonw_str(w, "switch", e->event->node_name);
		jsonw_num(w, "capacity_share", e->event->share);
		jsonw_bool(w, "happened", e->has_happened);
		jsonw_int(w, "flows_moved", e->n_moved);
		jsonw_array(w, "jobs");
		for (size_t j = 0; j < r->experiment->n_jobs; j++) {
			if (!r->experiment->jobs[j].is_placed)
				continue;
			jsonw_flat_object(w, NULL);
			jsonw_str(w, "job", r->scenario->workload.jobs[j].name);
			json_us(w, "iteration_before_us", e->spans[j].before_ns);
			json_us(w, "iteration_after_us", e->spans[j].after_ns);
			jsonw_bool(w, "waits_for_path", e->spans[j].is_waiting);
			jsonw_end(w);
		}
		jsonw_end(w);
		jsonw_end(w);
	}
	jsonw_end(w);
}
