/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/connect_offers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/daemon/flow_table.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

/* Chosen: messages that withdraw an offer, one a second; one may be lost. */
#define N_WITHDRAWALS 3
/* Chosen: as long without a decision about the job, or without a report of a flow. */
#define FORGET_NS INT64_C(60000000000)

struct offer_key {
	char job[TELE_MAX_NAME + 1];
	struct port_flow flow; /* Its source port is 0. */
};

struct offer {
	UT_hash_handle hh;
	struct offer_key key;
	uint64_t revision; /* Of the paths that 'ports' take. */
	uint16_t ports[CONNECT_MAX_PORTS];
	size_t n_ports;
	bool is_complete;   /* There is a port for each path. */
	bool is_changed;    /* The host does not know 'ports' yet. */
	unsigned n_last;    /* Messages that are left to withdraw it; 0: it stands. */
	int64_t seen_ns;    /* The last report of such a flow. */
	int64_t looked_ns;  /* For ports. */
	int64_t decided_ns; /* The job's wishes were known. */
	int64_t sent_ns;
};

struct connect_offers {
	struct connect_offers_opts opts;
	struct offer *offers; /* Owned. */
	uint64_t n_full;
	char cursor[TELE_MAX_NAME + 1]; /* The host that was read last; "": none. */
};

struct connect_offers *
connect_offers_new(const struct connect_offers_opts *opts)
{
	struct connect_offers *offers = xcalloc(1, sizeof *offers);

	offers->opts = *opts;
	return offers;
}

static void
drop_offer(struct connect_offers *offers, struct offer *offer)
{
	HASH_DEL(offers->offers, offer);
	free(offer);
}

void
connect_offers_free(struct connect_offers *offers)
{
	struct offer *offer, *next;

	if (!offers)
		return;
	HASH_ITER(hh, offers->offers, offer, next)
	drop_offer(offers, offer);
	free(offers);
}

/* ---- Messages -------------------------------------------------------------------- */

static void
announce(const struct connect_offers *offers, int64_t now_ns, struct offer *offer)
{
	const struct port_flow *flow = &offer->key.flow;
	struct connect_message message = { .destination_port = flow->destination_port,
					   .n_ports = offer->n_ports };
	char topic[CONNECT_TOPIC_BYTES], *text;

	tele_set_name(message.job, offer->key.job);
	memcpy(message.source, flow->source, sizeof message.source);
	memcpy(message.destination, flow->destination, sizeof message.destination);
	memcpy(message.ports, offer->ports, sizeof message.ports);
	text = connect_text_write(&message);
	connect_text_topic_of(message.source, topic);
	offers->opts.announce(offers->opts.ctx, topic, text);
	free(text);
	offer->is_changed = false;
	offer->sent_ns = now_ns;
}

static void
begin_withdrawal(struct offer *offer)
{
	if (!offer->n_last)
		offer->n_last = N_WITHDRAWALS;
	offer->n_ports = 0;
}

/* ---- Ports ----------------------------------------------------------------------- */

static bool
has_port(const struct offer *offer, uint16_t port)
{
	for (size_t i = 0; i < offer->n_ports; i++)
		if (offer->ports[i] == port)
			return true;
	return false;
}

/* Adds the first port that the offer does not have.  False if there is none. */
static bool
add_port(struct offer *offer, const uint16_t *ports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!has_port(offer, ports[i])) {
			offer->ports[offer->n_ports++] = ports[i];
			return true;
		}
	return false;
}

/* How many of the ports, which are for each path in turn, are to take paths[i]. */
static size_t
n_turns(const struct path_switches *paths, size_t n_paths, size_t n_wanted, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < n_wanted; k++) {
		const struct path_switches *path = &paths[k % n_paths];

		n += path->n == paths[i].n && !memcmp(path->switches, paths[i].switches,
						      path->n * sizeof *path->switches);
	}
	return n;
}

/* Chooses the ports anew; an offer without a path is withdrawn. */
static void
look(struct connect_offers *offers, int64_t now_ns, struct offer *offer,
     const char *host, const struct flow_row *row)
{
	struct path_switches paths[CONNECT_MAX_PORTS];
	uint16_t ports[CONNECT_MAX_PORTS][CONNECT_MAX_PORTS];
	size_t n[CONNECT_MAX_PORTS];
	size_t n_paths = offers->opts.paths(offers->opts.ctx, now_ns, host, row, paths,
					    CONNECT_MAX_PORTS);
	size_t n_wanted =
		n_paths > CONNECT_OFFERS_PORTS ? n_paths : CONNECT_OFFERS_PORTS;
	struct offer before = *offer;

	offer->looked_ns = now_ns;
	if (n_paths == 0) {
		begin_withdrawal(offer);
		return;
	}
	/* Flows with the same path get different ports of it. */
	for (size_t i = 0; i < n_paths; i++)
		n[i] = offers->opts.find_ports(offers->opts.ctx, now_ns,
					       &offer->key.flow, &paths[i], ports[i],
					       n_turns(paths, n_paths, n_wanted, i));
	offer->n_ports = 0;
	offer->is_complete = true;
	for (size_t i = 0; i < n_wanted; i++)
		if (!add_port(offer, ports[i % n_paths], n[i % n_paths]))
			offer->is_complete = false;
	offer->n_last = 0;
	if (offer->n_ports != before.n_ports ||
	    memcmp(offer->ports, before.ports, sizeof *before.ports * before.n_ports) !=
		    0)
		offer->is_changed = true;
}

static struct offer *
get_offer(struct connect_offers *offers, const struct flow_row *row)
{
	struct offer_key key;
	struct offer *offer;

	memset(&key, 0, sizeof key);
	strcpy(key.job, row->job);
	key.flow = row->flow;
	key.flow.source_port = 0;
	HASH_FIND(hh, offers->offers, &key, sizeof key, offer);
	if (offer)
		return offer;
	if (HASH_COUNT(offers->offers) >= CONNECT_OFFERS_MAX) {
		offers->n_full++;
		return NULL;
	}
	offer = xcalloc(1, sizeof *offer);
	offer->key = key;
	HASH_ADD(hh, offers->offers, key, sizeof offer->key, offer);
	return offer;
}

static void
take_row(struct connect_offers *offers, int64_t now_ns, const char *host,
	 const struct flow_row *row)
{
	struct path_wishes wishes;
	struct offer *offer;

	if (!row->is_opened || !offers->opts.is_settled(offers->opts.ctx, &row->flow))
		return;
	wishes = offers->opts.wishes(offers->opts.ctx, row->job);
	if (wishes.wish != PATH_WISH_CHOSEN || !(offer = get_offer(offers, row)))
		return;
	offer->seen_ns = offer->decided_ns = now_ns;
	if (!offer->n_last && offer->is_complete &&
	    offer->revision == wishes.revision &&
	    now_ns - offer->looked_ns < CONNECT_OFFERS_LOOK_NS)
		return;
	offer->revision = wishes.revision;
	look(offers, now_ns, offer, host, row);
}

static void
read_reports(struct connect_offers *offers, int64_t now_ns,
	     const struct flow_table *flows)
{
	const struct flow_rows *report;
	size_t n_rows = 0;

	while ((report = flow_table_next(flows, offers->cursor))) {
		if (n_rows && n_rows + report->rows.n > CONNECT_OFFERS_ROWS)
			return;
		for (size_t i = 0; i < report->rows.n; i++)
			take_row(offers, now_ns, report->host, &report->rows.items[i]);
		n_rows += report->rows.n + 1;
		strcpy(offers->cursor, report->host);
	}
	/* All hosts were read: the next tick begins with the first. */
	*offers->cursor = '\0';
}

/* ---- Time ------------------------------------------------------------------------ */

/* Whether the offer is of the past: no more wished for, or for another plan. */
static bool
is_over(const struct connect_offers *offers, int64_t now_ns, struct offer *offer)
{
	struct path_wishes wishes =
		offers->opts.wishes(offers->opts.ctx, offer->key.job);

	if (wishes.wish == PATH_WISH_OFF || wishes.wish == PATH_WISH_NONE)
		return true;
	if (wishes.wish == PATH_WISH_CHOSEN)
		offer->decided_ns = now_ns;
	return now_ns - offer->decided_ns >= FORGET_NS ||
	       now_ns - offer->seen_ns >= CONNECT_OFFERS_KEEP_NS ||
	       (wishes.wish == PATH_WISH_CHOSEN && offer->revision != wishes.revision &&
		now_ns - offer->seen_ns >= FORGET_NS);
}

void
connect_offers_tick(struct connect_offers *offers, int64_t now_ns,
		    const struct flow_table *flows)
{
	struct offer *offer, *next;

	read_reports(offers, now_ns, flows);
	HASH_ITER(hh, offers->offers, offer, next)
	{
		if (is_over(offers, now_ns, offer))
			begin_withdrawal(offer);
		if (offer->n_last || offer->is_changed ||
		    (offer->n_ports && now_ns - offer->sent_ns >= CONNECT_REPEAT_NS))
			announce(offers, now_ns, offer);
		if (offer->n_last && --offer->n_last == 0)
			drop_offer(offers, offer);
	}
}

struct connect_offers_counts
connect_offers_counts(const struct connect_offers *offers)
{
	struct connect_offers_counts counts = { .n_full = offers->n_full };

	for (const struct offer *offer = offers->offers; offer;
	     offer = offer->hh.next) {
		counts.n_offers += offer->n_ports > 0;
		counts.n_ports += offer->n_ports;
	}
	return counts;
}
