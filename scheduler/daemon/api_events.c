/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_events.c - GET /api/v1/events: links that have changed, after each scan.
 *
 * A digest of each link's last event is kept. Comparing all links takes too long for
 * one go, so it is done in steps; meanwhile no scan replaces the last one, unless the
 * fabric is replaced.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"

/* Of an event; a listener's unread data is HTTP_MAX_WAITING at most. */
#define MAX_EVENT_LINKS 64
#define LINKS_A_STEP    1024
/* Links that were in no event for 1 to 2 times this long are forgotten. */
#define FORGET_NS INT64_C(3600000000000)
/* With more links, as senders may invent them, those that are gone are forgotten at once. */
#define CROWDED_LINKS (2 * LIVE_MAX_INTERFACES)

struct link_digest {
	uint64_t digest;
	bool is_known, is_used; /* Used: since forget(). */
};

struct api_events {
	struct api *api;                 /* Borrowed. */
	struct strtab *names;            /* Owned. Links. */
	VEC(struct link_digest) digests; /* By number in 'names'. */
	int64_t scanned_ns;              /* The last scan that was sent. */
	bool is_gathering;               /* The next scan is being compared: */
	size_t next;                     /* the next link of it, */
	VEC(size_t) changed;             /* the first links that changed, */
	size_t n_left_out;               /* and how many more did. */
	int64_t forgot_ns;
	size_t n_known; /* Of the digests. */
};

static uint64_t
mix(uint64_t digest, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return rng_mix(digest ^ bits);
}

/* A digest of what is sent of a link. */
static uint64_t
digest_of(const struct contention_link *link)
{
	const double sent[] = { link->now_bps,
				link->peak_bps,
				link->mean_bps,
				link->other_bps,
				link->capacity_bps,
				link->is_up,
				(double)link->known_ms,
				(double)link->over_ms,
				(double)link->since_ms,
				(double)link->total_ce,
				(double)link->total_retransmits,
				(double)link->queue_bytes,
				(double)link->n_jobs };
	uint64_t digest = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
		digest = mix(digest, sent[i]);
	for (size_t i = 0; i < link->n_jobs; i++) {
		digest = mix(digest, link->jobs[i].job);
		digest = mix(digest, link->jobs[i].now_bps);
		digest = mix(digest, link->jobs[i].active_ms);
	}
	return digest;
}

/* Whether the link has changed since its last event; notes the new state. */
static bool
has_changed(struct api_events *events, const struct contention_link *link)
{
	uint32_t id = strtab_intern(events->names, link->name);
	uint64_t digest = digest_of(link);
	struct link_digest *at;
	bool is_other;

	if (id == events->digests.n)
		vec_push(&events->digests, ((struct link_digest){ .digest = 0 }));
	at = &events->digests.items[id];
	is_other = at->digest != digest;
	events->n_known += !at->is_known;
	*at = (struct link_digest){ digest, true, true };
	return is_other;
}

static void
forget(struct api_events *events)
{
	int64_t now_ns = clk_monotonic_ns();

	if (now_ns - events->forgot_ns < FORGET_NS && events->n_known <= CROWDED_LINKS)
		return;
	events->forgot_ns = now_ns;
	for (uint32_t i = 0; i < events->digests.n; i++) {
		struct link_digest *at = &events->digests.items[i];

		if (at->is_known && !at->is_used) {
			*at = (struct link_digest){ .digest = 0 };
			events->n_known--;
			strtab_remove(events->names, i);
		}
		at->is_used = false;
	}
}

/* Writes links on one line, at most as many as fit into an event. */
static void
write_event(struct api *api, const struct contention_link *const *links, size_t n,
	    size_t n_left_out, struct strbuf *data)
{
	struct status status = api_status(api);
	const struct contention *found = telemetry_links(api->opts.telemetry);
	struct json_text text;

	status.omits_history = true; /* Most of the bytes, and new each second. */
	json_text_begin_line(&text, "antiphase.links/1");
	status_json_footer(&status, found->from_ms, found->to_ms, &text.w);
	status_json_links(&status, links, n, &text.w);
	api_page_end(n_left_out, 0, NULL, &text.w);
	json_text_end(&text, data);
}

/* For a new listener: links with traffic, the contended ones first. */
static void
write_first(void *ctx, struct strbuf *data)
{
	struct api *api = ctx;
	const struct contention *found = telemetry_links(api->opts.telemetry);
	const struct contention_link *links[MAX_EVENT_LINKS];
	size_t n = 0, n_left_out = 0;

	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];

		if (link->now_bps <= 0 && !link->n_jobs)
			continue;
		if (n < MAX_EVENT_LINKS)
			links[n++] = link;
		else
			n_left_out++;
	}
	write_event(api, links, n, n_left_out, data);
}

/* For all listeners: links that have changed, the contended ones first. */
static void
send_event(struct api_events *events)
{
	const struct contention *found = telemetry_links(events->api->opts.telemetry);
	const struct contention_link *links[MAX_EVENT_LINKS];
	struct strbuf data = STRBUF_EMPTY;

	for (size_t i = 0; i < events->changed.n; i++)
		links[i] = &found->links[events->changed.items[i]];
	write_event(events->api, links, events->changed.n, events->n_left_out, &data);
	http_stream_send(events->api->http, API_EVENTS, "tick", data.text);
	strbuf_free(&data);
}

void
api_events_tick(struct api_events *events)
{
	int64_t scanned_ns = telemetry_scanned_ns(events->api->opts.telemetry);

	forget(events);
	if (!http_stream_listeners(events->api->http, API_EVENTS) ||
	    events->scanned_ns == scanned_ns)
		return;
	events->scanned_ns = scanned_ns;
	events->is_gathering = true;
	events->next = events->changed.n = events->n_left_out = 0;
}

bool
api_events_step(struct api_events *events)
{
	const struct telemetry *telemetry = events->api->opts.telemetry;
	const struct contention *found = telemetry_links(telemetry);

	events->is_gathering &= events->scanned_ns == telemetry_scanned_ns(telemetry);
	if (!events->is_gathering)
		return false;
	for (int i = 0; i < LINKS_A_STEP && events->next < found->n_links; i++) {
		size_t link = events->next++;

		if (!has_changed(events, &found->links[link]))
			continue;
		if (events->changed.n < MAX_EVENT_LINKS)
			vec_push(&events->changed, link);
		else
			events->n_left_out++;
	}
	if (events->next < found->n_links)
		return true;
	events->is_gathering = false;
	send_event(events);
	return true;
}

struct api_events *
api_events_new(struct api *api)
{
	struct api_events *events = xcalloc(1, sizeof *events);

	events->api = api;
	events->names = strtab_new();
	http_add_stream(api->http, API_EVENTS, write_first, api);
	return events;
}

void
api_events_free(struct api_events *events)
{
	if (!events)
		return;
	strtab_free(events->names);
	vec_free(&events->digests);
	vec_free(&events->changed);
	free(events);
}
