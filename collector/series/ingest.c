/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/ingest.h"

#include <stdlib.h>
#include <string.h>

#include "collector/series/binner.h"
#include "collector/series/saved_totals.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define NONE UINT32_MAX

/* A row saved by an earlier process. */
struct old {
	struct saved_totals_row row;
	uint32_t next; /* The next row of the same job; NONE: the last. */
	bool is_taken; /* Added to its series. */
};

struct end {
	struct ingest *ingest;
	uint8_t number;
	struct source_sink sink;
};

struct ingest {
	struct binner *binner; /* Borrowed. */
	struct end ends[INGEST_MAX_SOURCES];
	struct strtab *interface_names; /* Numbers are indexes in 'interfaces'. */
	VEC(struct ingest_interface) interfaces;
	struct strtab *job_names; /* Numbers of jobs. */
	VEC(struct old) olds;
	struct strtab *old_jobs; /* Numbers are indexes in 'old_firsts'. */
	VEC(uint32_t) old_firsts;
	struct ingest_counts counts;
};

/* ---- Totals of an earlier process ------------------------------------------------ */

static uint32_t
job_of_row(const struct ingest *ingest, const struct saved_totals_row *row)
{
	switch (row->owner) {
	case SAVED_TOTALS_LINK:
		return TELE_LINK;
	case SAVED_TOTALS_OTHER:
		return TELE_OTHER;
	default:
		return strtab_find(ingest->job_names, row->job);
	}
}

/* Adds a row to its series if both its interface and its job are known. */
static void
take_old(struct ingest *ingest, struct old *old)
{
	const struct saved_totals_row *row = &old->row;
	struct source_key key = {
		.interface = strtab_find(ingest->interface_names, row->interface),
		.job = job_of_row(ingest, row),
		.direction = row->direction,
		.measure = row->measure,
	};
	struct source_extra extra = {
		.packets = row->packets,
		.ce = row->ce,
		.retransmits = row->retransmits,
	};

	if (old->is_taken || key.interface == STRTAB_NONE ||
	    (row->owner == SAVED_TOTALS_JOB && key.job == STRTAB_NONE))
		return;
	if (binner_resume(ingest->binner, &key, row->bytes, &extra) < 0) {
		ingest->counts.refused_counts++;
		return;
	}
	old->is_taken = true;
	ingest->counts.resumed++;
}

static void
take_olds_of_interface(struct ingest *ingest, const char *name)
{
	for (size_t i = 0; i < ingest->olds.n; i++) {
		if (strcmp(ingest->olds.items[i].row.interface, name) == 0)
			take_old(ingest, &ingest->olds.items[i]);
	}
}

static void
take_olds_of_job(struct ingest *ingest, const char *name)
{
	uint32_t job = strtab_find(ingest->old_jobs, name);
	uint32_t at = job == STRTAB_NONE ? NONE : ingest->old_firsts.items[job];

	for (; at != NONE; at = ingest->olds.items[at].next)
		take_old(ingest, &ingest->olds.items[at]);
}

void
ingest_resume(struct ingest *ingest, const struct saved_totals_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct old old = { .row = rows[i], .next = NONE };

		if (rows[i].owner == SAVED_TOTALS_JOB) {
			uint32_t job = strtab_intern(ingest->old_jobs, rows[i].job);

			if (job == ingest->old_firsts.n)
				vec_push(&ingest->old_firsts, NONE);
			old.next = ingest->old_firsts.items[job];
			ingest->old_firsts.items[job] = (uint32_t)ingest->olds.n;
		}
		vec_push(&ingest->olds, old);
		take_old(ingest, &ingest->olds.items[ingest->olds.n - 1]);
	}
}

size_t
ingest_save(const struct ingest *ingest, struct saved_totals *totals)
{
	size_t n_left_out = 0;

	saved_totals_begin(totals);
	for (size_t i = 0; i < binner_n_series(ingest->binner); i++) {
		struct saved_totals_row row = { .owner = SAVED_TOTALS_LINK };
		struct source_extra extra;
		struct source_key key;

		if (!binner_total(ingest->binner, i, &key, &row.bytes, &extra))
			continue;
		memcpy(row.interface, ingest->interfaces.items[key.interface].info.name,
		       sizeof row.interface);
		if (key.job == TELE_OTHER) {
			row.owner = SAVED_TOTALS_OTHER;
		} else if (key.job != TELE_LINK) {
			row.owner = SAVED_TOTALS_JOB;
			tele_set_name(row.job, strtab_name(ingest->job_names, key.job));
		}
		row.direction = key.direction;
		row.measure = key.measure;
		row.packets = extra.packets;
		row.ce = extra.ce;
		row.retransmits = extra.retransmits;
		n_left_out += saved_totals_add(totals, &row) < 0;
	}
	for (size_t i = 0; i < ingest->olds.n; i++) {
		if (!ingest->olds.items[i].is_taken)
			n_left_out += saved_totals_add(totals,
						       &ingest->olds.items[i].row) < 0;
	}
	saved_totals_commit(totals);
	return n_left_out;
}

/* ---- What sources say ------------------------------------------------------------ */

static void
say_state(const struct ingest_interface *i, const char *what)
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
add_interface(struct ingest *ingest, const struct tele_interface *info, uint8_t source)
{
	struct ingest_interface i = { .info = *info,
				      .is_present = true,
				      .source = source };
	uint32_t number;

	if (ingest->interfaces.n == TELE_MAX_INTERFACES) {
		if (!ingest->counts.refused_interfaces++)
			log_warn("collector",
				 "interface %s and further ones are not counted: %d is "
				 "the limit; name those to count (interface = ...)",
				 info->name, TELE_MAX_INTERFACES);
		return NONE;
	}
	number = strtab_intern(ingest->interface_names, info->name);
	vec_push(&ingest->interfaces, i);
	binner_set_capacity(ingest->binner, number, info->capacity_bps);
	say_state(&i, "is there");
	take_olds_of_interface(ingest, info->name);
	return number;
}

static uint32_t
on_interface(void *ctx, const struct tele_interface *said)
{
	const struct end *end = ctx;
	struct ingest *ingest = end->ingest;
	struct tele_interface info = *said;
	struct ingest_interface *i;
	uint32_t number;
	bool is_other;

	tele_set_name(info.name, said->name);
	number = strtab_find(ingest->interface_names, info.name);
	if (number == STRTAB_NONE)
		return add_interface(ingest, &info, end->number);
	i = &ingest->interfaces.items[number];
	if (i->is_present && i->source != end->number)
		return number; /* Another source owns it. */
	is_other = i->info.is_up != info.is_up ||
		   i->info.capacity_bps != info.capacity_bps;
	if (i->info.capacity_bps != info.capacity_bps)
		binner_set_capacity(ingest->binner, number, info.capacity_bps);
	i->info = info;
	i->source = end->number;
	if (!i->is_present) {
		ingest->counts.back++;
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
	struct ingest *ingest = ((struct end *)ctx)->ingest;
	char clean[TELE_MAX_NAME + 1];
	uint32_t n = strtab_n(ingest->job_names), number;

	tele_set_name(clean, name);
	number = strtab_intern(ingest->job_names, clean);
	if (number == n)
		take_olds_of_job(ingest, clean);
	return number;
}

/* False if another source owns the interface. */
static bool
is_its_own(struct end *end, uint32_t interface)
{
	struct ingest *ingest = end->ingest;

	if (interface >= ingest->interfaces.n)
		return false;
	if (ingest->interfaces.items[interface].source == end->number &&
	    ingest->interfaces.items[interface].is_present)
		return true;
	ingest->counts.doubled++;
	return false;
}

static void
on_counter(void *ctx, const struct source_key *key, int64_t time_ns, uint64_t bytes,
	   unsigned bits, const struct source_extra *extra)
{
	struct end *end = ctx;

	if (is_its_own(end, key->interface) &&
	    binner_counter(end->ingest->binner, key, time_ns, bytes, bits, extra) < 0)
		end->ingest->counts.refused_counts++;
}

static void
on_bins(void *ctx, const struct source_key *key, int64_t first_ms,
	const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct end *end = ctx;

	if (is_its_own(end, key->interface) &&
	    binner_bins(end->ingest->binner, key, first_ms, bytes, n, extra) < 0)
		end->ingest->counts.refused_counts++;
}

static void
on_complete(void *ctx, uint32_t interface, int64_t until_ms)
{
	struct end *end = ctx;
	struct ingest_interface *i;

	if (!is_its_own(end, interface))
		return;
	i = &end->ingest->interfaces.items[interface];
	if (until_ms > i->complete_ms)
		i->complete_ms = until_ms;
	binner_complete(end->ingest->binner, interface, until_ms);
}

static void
on_gone(void *ctx, uint32_t interface)
{
	struct end *end = ctx;

	if (!is_its_own(end, interface))
		return;
	end->ingest->interfaces.items[interface].is_present = false;
	end->ingest->counts.gone++;
	binner_gone(end->ingest->binner, interface);
	log_warn("collector",
		 "interface %s is gone; its totals continue when it comes back",
		 end->ingest->interfaces.items[interface].info.name);
}

static void
on_lost(void *ctx, uint64_t n)
{
	((struct end *)ctx)->ingest->counts.lost += n;
}

/* ---- The ingest itself ----------------------------------------------------------- */

struct ingest *
ingest_new(struct binner *binner)
{
	struct ingest *ingest = xcalloc(1, sizeof *ingest);

	ingest->binner = binner;
	ingest->interface_names = strtab_new();
	ingest->job_names = strtab_new();
	ingest->old_jobs = strtab_new();
	for (uint8_t i = 0; i < INGEST_MAX_SOURCES; i++) {
		struct end *end = &ingest->ends[i];

		end->ingest = ingest;
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
	return ingest;
}

void
ingest_free(struct ingest *ingest)
{
	if (!ingest)
		return;
	strtab_free(ingest->interface_names);
	strtab_free(ingest->job_names);
	strtab_free(ingest->old_jobs);
	vec_free(&ingest->interfaces);
	vec_free(&ingest->olds);
	vec_free(&ingest->old_firsts);
	free(ingest);
}

const struct source_sink *
ingest_sink(struct ingest *ingest, size_t i)
{
	BUG_ON(i >= INGEST_MAX_SOURCES);
	return &ingest->ends[i].sink;
}

size_t
ingest_n_interfaces(const struct ingest *ingest)
{
	return ingest->interfaces.n;
}

const struct ingest_interface *
ingest_interface(const struct ingest *ingest, uint32_t number)
{
	return &ingest->interfaces.items[number];
}

size_t
ingest_n_jobs(const struct ingest *ingest)
{
	return strtab_n(ingest->job_names);
}

const char *
ingest_job_name(const struct ingest *ingest, uint32_t number)
{
	return strtab_name(ingest->job_names, number);
}

int64_t
ingest_complete_ms(const struct ingest *ingest, int64_t floor_ms)
{
	int64_t least_ms = INT64_MAX;

	for (size_t i = 0; i < ingest->interfaces.n; i++) {
		const struct ingest_interface *interface = &ingest->interfaces.items[i];

		if (interface->is_present && interface->complete_ms < least_ms)
			least_ms = interface->complete_ms;
	}
	return least_ms == INT64_MAX || least_ms < floor_ms ? floor_ms : least_ms;
}

const struct ingest_counts *
ingest_counts(const struct ingest *ingest)
{
	return &ingest->counts;
}
