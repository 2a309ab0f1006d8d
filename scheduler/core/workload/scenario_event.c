/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_event.c - [event NAME] sections: links and switches that fail, are degraded,
 * or are repaired.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "scheduler/core/workload/scenario_reader.h"
#include "topology/topo.h"

/* ---- Reading --------------------------------------------------------------------- */

int
scenario_event_start(struct scenario_reader *r, const char *name)
{
	struct scenario *s = r->scenario;

	if (!topo_name_is_valid(name))
		return scenario_fail(r,
				     "an event's name has up to %d letters, digits or "
				     "'._-/+@'; '%s' has not",
				     TOPO_MAX_NAME, name);
	for (size_t i = 0; i < s->n_events; i++)
		if (!strcmp(s->events[i].name, name))
			return scenario_fail(
				r, "there is an event '%s' already, on line %u", name,
				s->events[i].line);
	if (s->n_events == SCENARIO_MAX_EVENTS)
		return scenario_fail(r, "more than %d events", SCENARIO_MAX_EVENTS);
	s->events = xreallocarray(s->events, s->n_events + 1, sizeof *s->events);
	s->events[s->n_events++] = (struct scenario_event){
		.name = xstrdup(name), .line = r->line, .time_ns = -1, .share = -1
	};
	r->keys = scenario_event_keys;
	return 0;
}

struct scenario_event *
scenario_event_now(const struct scenario_reader *r)
{
	return &r->scenario->events[r->scenario->n_events - 1];
}

static int
set_time(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &scenario_event_now(r)->time_ns);
}

static int
set_link(struct scenario_reader *r, const char *value)
{
	struct scenario_event *event = scenario_event_now(r);

	event->link = xstrdup(value);
	event->target_line = r->line;
	return 0;
}

static int
set_switch(struct scenario_reader *r, const char *value)
{
	struct scenario_event *event = scenario_event_now(r);

	event->node_name = xstrdup(value);
	event->target_line = r->line;
	return 0;
}

static int
set_state(struct scenario_reader *r, const char *value)
{
	static const char degraded[] = "degraded";
	double share = -1;

	if (!strcmp(value, "down"))
		share = 0;
	else if (!strcmp(value, "up"))
		share = 1;
	else if (strncmp(value, degraded, sizeof degraded - 1) != 0 ||
		 !strchr(" \t", value[sizeof degraded - 1]) ||
		 units_parse_frac(value + sizeof degraded - 1 +
					  strspn(value + sizeof degraded - 1, " \t"),
				  &share) < 0 ||
		 !(share > 0 && share < 1))
		return scenario_fail(
			r,
			"expected down, up, or 'degraded 50 %%', the share "
			"of the capacity that is left, not '%s'",
			value);
	scenario_event_now(r)->share = share;
	return 0;
}

const struct scenario_key scenario_event_keys[] = {
	{ "time", set_time, false },     { "link", set_link, false },
	{ "switch", set_switch, false }, { "state", set_state, false },
	{ NULL, NULL, false },
};

int
scenario_event_finish(struct scenario_reader *r)
{
	const struct scenario_event *event;
	unsigned line = r->line;
	int error = 0;

	if (r->keys != scenario_event_keys)
		return 0;
	event = scenario_event_now(r);
	r->line = event->line;
	if (event->time_ns < 0)
		error = scenario_fail(r, "event '%s' needs 'time = 10 s'", event->name);
	else if (event->share < 0)
		error = scenario_fail(
			r, "event '%s' needs 'state = down', 'up' or 'degraded 50 %%'",
			event->name);
	else if (!event->link == !event->node_name)
		error = scenario_fail(
			r,
			"event '%s' needs either 'link = leaf0:p4' or 'switch = spine1'",
			event->name);
	r->line = line;
	return error;
}

void
scenario_event_fini(struct scenario_event *event)
{
	free(event->name);
	free(event->link);
	free(event->node_name);
}

/* ---- Binding --------------------------------------------------------------------- */

static int
unknown(const struct scenario *s, const struct scenario_event *event,
	const struct topo *topo, const char *what, const char *name, struct err *err)
{
	return err_set(err, s->file, event->target_line, 0,
		       "fabric '%s' has no %s '%s'", topo_name(topo), what, name);
}

/* The link that leaves at the port "leaf0:p4"; else the one that enters there. */
static uint32_t
find_port(const struct topo *topo, const char *text)
{
	const char *colon = strchr(text, ':');
	uint32_t node = TOPO_NONE, entering = TOPO_NONE;

	if (colon) {
		char *name = xstrndup(text, (size_t)(colon - text));

		node = topo_find_node(topo, name);
		free(name);
	}
	for (uint32_t i = 0; node != TOPO_NONE && i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		if (link->from == node && !strcmp(link->from_port, colon + 1))
			return i;
		if (link->to == node && !strcmp(link->to_port, colon + 1))
			entering = i;
	}
	return entering;
}

int
scenario_event_bind(const struct scenario *s, struct scenario_event *event,
		    const struct topo *topo, struct err *err)
{
	event->node = event->links[0] = event->links[1] = TOPO_NONE;
	if (event->node_name) {
		event->node = topo_find_node(topo, event->node_name);
		if (event->node == TOPO_NONE ||
		    topo_node(topo, event->node)->kind != TOPO_SWITCH)
			return unknown(s, event, topo, "switch", event->node_name, err);
	} else if (strchr(event->link, '>')) {
		event->links[0] = topo_find_link(topo, event->link);
		if (event->links[0] == TOPO_NONE)
			return unknown(s, event, topo, "link", event->link, err);
	} else {
		event->links[0] = find_port(topo, event->link);
		if (event->links[0] == TOPO_NONE)
			return unknown(s, event, topo, "cable at the port", event->link,
				       err);
		event->links[1] = topo_link(topo, event->links[0])->reverse;
	}
	return 0;
}
