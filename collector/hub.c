#include "collector/hub.h"

#include <stdlib.h>
#include <string.h>

#include "collector/binner.h"
#include "collector/totals.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define NONE UINT32_MAX

/* A row of an earlier process. */
struct old {
	struct totals_row row;
	uint32_t next; /* Of the same job; NONE: the last. */
	bool is_taken; /* Added to its series. */
};

struct end {
	struct hub *hub;
	uint8_t number;
	struct source_sink sink;
};

struct hub {
	struct binner *binner; /* Borrowed. */
	struct end ends[HUB_MAX_SOURCES];
	struct strtab *interface_names; /* Numbers as in 'interfaces'. */
	VEC(struct hub_interface) interfaces;
	struct strtab *job_names; /* Numbers of jobs. */
	VEC(struct old) olds;
	struct strtab *old_jobs; /* Numbers as in 'old_firsts'. */
	VEC(uint32_t) old_firsts;
	struct hub_counts counts;
};

/* ---- Totals of an earlier process ---------------------------------------------------- */

static uint32_t
job_of_row(const struct hub *hub, const struct totals_row *row)
{
	switch (row->whose) {
	case TOTALS_LINK:
		return TELE_LINK;
	case TOTALS_OTHER:
		return TELE_OTHER;
	default:
		return strtab_find(hub->job_names, row->job);
	}
}

/* Adds a row to its series if both its interface and its job are known. */
static void
take_old(struct hub *hub, struct old *old)
{
	const struct totals_row *row = &old->row;
	struct source_key key = {
		.interface = strtab_find(hub->interface_names, row->interface),
		.job = job_of_row(hub, row),
		.direction = row->direction,
		.measure = row->measure,
	};
	struct source_extra extra = {
		.packets = row->packets,
		.ce = row->ce,
		.retransmits = row->retransmits,
	};

	if (old->is_taken || key.interface == STRTAB_NONE ||
	    (row->whose == TOTALS_JOB && key.job == STRTAB_NONE))
		return;
	if (binner_resume(hub->binner, &key, row->bytes, &extra) < 0) {
		hub->counts.refused_counts++;
		return;
	}
	old->is_taken = true;
	hub->counts.resumed++;
}

static void
take_olds_of_interface(struct hub *hub, const char *name)
{
	for (size_t i = 0; i < hub->olds.n; i++) {
		if (strcmp(hub->olds.items[i].row.interface, name) == 0)
			take_old(hub, &hub->olds.items[i]);
	}
}

static void
take_olds_of_job(struct hub *hub, const char *name)
{
	uint32_t job = strtab_find(hub->old_jobs, name);
	uint32_t at = job == STRTAB_NONE ? NONE : hub->old_firsts.items[job];

	for (; at != NONE; at = hub->olds.items[at].next)
		take_old(hub, &hub->olds.items[at]);
}

void
hub_resume(struct hub *hub, const struct totals_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct old old = { .row = rows[i], .next = NONE };

		if (rows[i].whose == TOTALS_JOB) {
			uint32_t job = strtab_intern(hub->old_jobs, rows[i].job);

			if (job == hub->old_firsts.n)
				vec_push(&hub->old_firsts, NONE);
			old.next = hub->old_firsts.items[job];
			hub->old_firsts.items[job] = (uint32_t)hub->olds.n;
		}
		vec_push(&hub->olds, old);
		take_old(hub, &hub->olds.items[hub->olds.n - 1]);
	}
}

size_t
hub_save(const struct hub *hub, struct totals *totals)
{
	size_t n_left_out = 0;

	totals_begin(totals);
	for (size_t i = 0; i < binner_n_series(hub->binner); i++) {
		struct totals_row row = { .whose = TOTALS_LINK };
		struct source_extra extra;
		struct source_key key;

		if (!binner_total(hub->binner, i, &key, &row.bytes, &extra))
			continue;
		memcpy(row.interface, hub->interfaces.items[key.interface].info.name,
		       sizeof row.interface);
		if (key.job == TELE_OTHER) {
			row.whose = TOTALS_OTHER;
		} else if (key.job != TELE_LINK) {
			row.whose = TOTALS_JOB;
			tele_set_name(row.job, strtab_name(hub->job_names, key.job));
		}
		row.direction = key.direction;
		row.measure = key.measure;
		row.packets = extra.packets;
		row.ce = extra.ce;
		row.retransmits = extra.retransmits;
		n_left_out += totals_add(totals, &row) < 0;
	}
	for (size_t i = 0; i < hub->olds.n; i++) {
		if (!hub->olds.items[i].is_taken)
			n_left_out += totals_add(totals, &hub->olds.items[i].row) < 0;
	}
	totals_commit(totals);
	return n_left_out;
}

/* ---- What sources say ---------------------------------------------------------------- */

static void
say_state(const struct hub_interface *i, const char *what)
{
	if (i->info.capacity_bps > 0)
		log_info("collector", "interface %s %s: %s, %.4g Gb/s", i->info.name,
			 what, i->info.is_up ? "up" : "down",
			 i->info.capacity_bps * 1e-9);
	else
		log_info("collector", "interface %s %s: %s, speed unknown",
			 i->info.name, what, i->info.is_up ? "up" : "down");
}

static uint32_t
add_interface(struct hub *hub, const struct tele_interface *info, uint8_t source)
{
	struct hub_interface i = { .info = *info,
				   .is_present = true,
				   .source = source };
	uint32_t number;

	if (hub->interfaces.n == TELE_MAX_INTERFACES) {
		if (!hub->counts.refused_interfaces++)
			log_warn("collector",
				 "interface %s and further ones are not counted: %d is "
				 "the most; name those to count (interface = ...)",
				 info->name, TELE_MAX_INTERFACES);
		return NONE;
	}
	number = strtab_intern(hub->interface_names, info->name);
	vec_push(&hub->interfaces, i);
	binner_set_capacity(hub->binner, number, info->capacity_bps);
	say_state(&i, "is there");
	take_olds_of_interface(hub, info->name);
	return number;
}

static uint32_t
on_interface(void *ctx, const struct tele_interface *said)
{
	const struct end *end = ctx;
	struct hub *hub = end->hub;
	struct tele_interface info = *said;
	struct hub_interface *i;
	uint32_t number;
	bool is_other;

	tele_set_name(info.name, said->name);
	number = strtab_find(hub->interface_names, info.name);
	if (number == STRTAB_NONE)
		return add_interface(hub, &info, end->number);
	i = &hub->interfaces.items[number];
	if (i->is_present && i->source != end->number)
		return number; /* It is another's, who knows better. */
	is_other = i->info.is_up != info.is_up ||
		   i->info.capacity_bps != info.capacity_bps;
	if (i->info.capacity_bps != info.capacity_bps)
		binner_set_capacity(hub->binner, number, info.capacity_bps);
	i->info = info;
	i->source = end->number;
	if (!i->is_present) {
		hub->counts.back++;
		i->complete_ms = 0;
		say_state(i, "is back");
	} else if (is_other) {
		say_state(i, "has changed");
	}
	i->is_present = true;
	return number;
}

static uint32_t
on_job(void *ctx, const char *name)
{
	struct hub *hub = ((struct end *)ctx)->hub;
	char clean[TELE_MAX_NAME + 1];
	uint32_t n = strtab_n(hub->job_names), number;

	tele_set_name(clean, name);
	number = strtab_intern(hub->job_names, clean);
	if (number == n)
		take_olds_of_job(hub, clean);
	return number;
}

/* False if it is not for this source to speak of the interface. */
static bool
is_its_own(struct end *end, uint32_t interface)
{
	struct hub *hub = end->hub;

	if (interface >= hub->interfaces.n)
		return false;
	if (hub->interfaces.items[interface].source == end->number &&
	    hub->interfaces.items[interface].is_present)
		return true;
	hub->counts.doubled++;
	return false;
}

static void
on_counter(void *ctx, const struct source_key *key, int64_t time_ns, uint64_t bytes,
	   unsigned bits, const struct source_extra *extra)
{
	struct end *end = ctx;

	if (is_its_own(end, key->interface) &&
	    binner_counter(end->hub->binner, key, time_ns, bytes, bits, extra) < 0)
		end->hub->counts.refused_counts++;
}

static void
on_bins(void *ctx, const struct source_key *key, int64_t first_ms,
	const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct end *end = ctx;

	if (is_its_own(end, key->interface) &&
	    binner_bins(end->hub->binner, key, first_ms, bytes, n, extra) < 0)
		end->hub->counts.refused_counts++;
}

static void
on_complete(void *ctx, uint32_t interface, int64_t until_ms)
{
	struct end *end = ctx;
	struct hub_interface *i;

	if (!is_its_own(end, interface))
		return;
	i = &end->hub->interfaces.items[interface];
	if (until_ms > i->complete_ms)
		i->complete_ms = until_ms;
	binner_complete(end->hub->binner, interface, until_ms);
}

static void
on_gone(void *ctx, uint32_t interface)
{
	struct end *end = ctx;

	if (!is_its_own(end, interface))
		return;
	end->hub->interfaces.items[interface].is_present = false;
	end->hub->counts.gone++;
	binner_gone(end->hub->binner, interface);
	log_warn("collector", "interface %s is gone; its totals go on when it is back",
		 end->hub->interfaces.items[interface].info.name);
}

static void
on_lost(void *ctx, uint64_t n)
{
	((struct end *)ctx)->hub->counts.lost += n;
}

/* ---- The hub itself ------------------------------------------------------------------ */

struct hub *
hub_new(struct binner *binner)
{
	struct hub *hub = xcalloc(1, sizeof *hub);

	hub->binner = binner;
	hub->interface_names = strtab_new();
	hub->job_names = strtab_new();
	hub->old_jobs = strtab_new();
	for (uint8_t i = 0; i < HUB_MAX_SOURCES; i++) {
		struct end *end = &hub->ends[i];

		end->hub = hub;
		end->number = i;
		end->sink = (struct source_sink){
			.ctx = end,
			.interface = on_interface,
			.job = on_job,
			.counter = on_counter,
			.bins = on_bins,
			.complete = on_complete,
			.gone = on_gone,
			.lost = on_lost,
		};
	}
	return hub;
}

void
hub_free(struct hub *hub)
{
	if (!hub)
		return;
	strtab_free(hub->interface_names);
	strtab_free(hub->job_names);
	strtab_free(hub->old_jobs);
	vec_free(&hub->interfaces);
	vec_free(&hub->olds);
	vec_free(&hub->old_firsts);
	free(hub);
}

const struct source_sink *
hub_sink(struct hub *hub, size_t i)
{
	BUG_ON(i >= HUB_MAX_SOURCES);
	return &hub->ends[i].sink;
}

size_t
hub_n_interfaces(const struct hub *hub)
{
	return hub->interfaces.n;
}

const struct hub_interface *
hub_interface(const struct hub *hub, uint32_t number)
{
	return &hub->interfaces.items[number];
}

size_t
hub_n_jobs(const struct hub *hub)
{
	return strtab_n(hub->job_names);
}

const char *
hub_job_name(const struct hub *hub, uint32_t number)
{
	return strtab_name(hub->job_names, number);
}

int64_t
hub_complete_ms(const struct hub *hub, int64_t floor_ms)
{
	int64_t least_ms = INT64_MAX;

	for (size_t i = 0; i < hub->interfaces.n; i++) {
		const struct hub_interface *interface = &hub->interfaces.items[i];

		if (interface->is_present && interface->complete_ms < least_ms)
			least_ms = interface->complete_ms;
	}
	return least_ms == INT64_MAX || least_ms < floor_ms ? floor_ms : least_ms;
}

const struct hub_counts *
hub_counts(const struct hub *hub)
{
	return &hub->counts;
}
