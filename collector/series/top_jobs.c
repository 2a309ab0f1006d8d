/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/top_jobs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

/* Weight of the last summary in the average. */
#define WEIGHT 0.1
/* A job takes another's place if its rate is this many times as high. */
#define LEAD 1.5
/* With more names than this, everything restarts. */
#define MAX_NAMES 20000

static const char other_name[] = "other";

struct job {
	bool has_place, is_seen; /* In the last summary. */
	double rate;             /* Bytes a summary, averaged. */
};

struct other {
	uint64_t bytes[2]; /* By direction. */
	bool is_seen[2];
};

struct top_jobs {
	size_t n_places, n_taken, n_seen;
	struct strtab *job_names; /* Numbers are indexes in 'jobs'. */
	VEC(struct job) jobs;
	struct strtab *interface_names; /* Numbers are indexes in 'others'. */
	VEC(struct other) others;
	VEC(uint32_t) map; /* From the frame's jobs to those of this module. */
	VEC(struct top_jobs_row) rows;
};

struct top_jobs *
top_jobs_new(size_t n_places)
{
	struct top_jobs *top = xcalloc(1, sizeof *top);

	top->n_places = n_places;
	top->job_names = strtab_new();
	top->interface_names = strtab_new();
	return top;
}

void
top_jobs_free(struct top_jobs *top)
{
	if (!top)
		return;
	strtab_free(top->job_names);
	strtab_free(top->interface_names);
	vec_free(&top->jobs);
	vec_free(&top->others);
	vec_free(&top->map);
	vec_free(&top->rows);
	free(top);
}

static void
forget_jobs(struct top_jobs *top)
{
	strtab_free(top->job_names);
	top->job_names = strtab_new();
	top->jobs.n = 0;
	top->n_taken = 0;
}

static struct job *
job_named(struct top_jobs *top, const char *name)
{
	uint32_t number = strtab_intern(top->job_names, name);

	if (number == top->jobs.n)
		vec_push(&top->jobs, (struct job){ 0 });
	vec_push(&top->map, number);
	return &top->jobs.items[number];
}

/* Updates each job's average with this summary. */
static void
average(struct top_jobs *top, const struct tele_frame *summary)
{
	double *bytes = xcalloc(summary->jobs.n + 1, sizeof *bytes);

	for (size_t i = 0; i < summary->traffic.n; i++) {
		const struct tele_traffic *row = &summary->traffic.items[i];

		if (row->job < summary->jobs.n && row->measure == TELE_WIRE)
			bytes[row->job] += (double)row->window_bytes;
	}
	for (size_t i = 0; i < top->jobs.n; i++)
		top->jobs.items[i].is_seen = false;
	top->map.n = 0;
	for (size_t i = 0; i < summary->jobs.n; i++) {
		struct job *job = job_named(top, summary->jobs.items[i].name);

		/* A job with this name could not be told from the rest. */
		job->is_seen = strcmp(summary->jobs.items[i].name, other_name) != 0;
		job->rate += WEIGHT * (bytes[i] - job->rate);
	}
	top->n_seen = summary->jobs.n;
	free(bytes);
	for (size_t i = 0; i < top->jobs.n; i++) {
		struct job *job = &top->jobs.items[i];

		if (job->is_seen)
			continue;
		job->rate = 0;
		top->n_taken -= job->has_place;
		job->has_place = false;
	}
}

/* The job without a place and the highest rate, or with a place and the lowest. */
static struct job *
extreme(struct top_jobs *top, bool has_place)
{
	struct job *best = NULL;

	for (size_t i = 0; i < top->jobs.n; i++) {
		struct job *job = &top->jobs.items[i];

		if (!job->is_seen || job->has_place != has_place)
			continue;
		if (!best ||
		    (has_place ? job->rate < best->rate : job->rate > best->rate))
			best = job;
	}
	return best;
}

/* O(jobs) for each new place. */
static void
give_places(struct top_jobs *top)
{
	struct job *first, *least;

	while (top->n_taken < top->n_places && (first = extreme(top, false))) {
		first->has_place = true;
		top->n_taken++;
	}
	/* One per summary, so that few series come and go. */
	first = extreme(top, false);
	least = extreme(top, true);
	if (first && least && first->rate > LEAD * least->rate) {
		first->has_place = true;
		least->has_place = false;
	}
}

static void
add_row(struct top_jobs *top, const struct tele_frame *summary,
	const struct tele_traffic *row)
{
	uint32_t interface = strtab_intern(
		top->interface_names, summary->interfaces.items[row->interface].name);
	struct top_jobs_row out = {
		.interface = strtab_name(top->interface_names, interface),
		.direction = row->direction,
		.bytes = row->total_bytes,
	};

	if (interface == top->others.n)
		vec_push(&top->others, (struct other){ 0 });
	if (row->job < summary->jobs.n &&
	    top->jobs.items[top->map.items[row->job]].has_place) {
		out.job = strtab_name(top->job_names, top->map.items[row->job]);
		vec_push(&top->rows, out);
		return;
	}
	top->others.items[interface].bytes[row->direction] += row->window_bytes;
	top->others.items[interface].is_seen[row->direction] = true;
}

void
top_jobs_update(struct top_jobs *top, const struct tele_frame *summary)
{
	if (strtab_n(top->job_names) > MAX_NAMES)
		forget_jobs(top);
	average(top, summary);
	give_places(top);
	top->rows.n = 0;
	for (size_t i = 0; i < summary->traffic.n; i++) {
		const struct tele_traffic *row = &summary->traffic.items[i];

		if (row->job != TELE_LINK && row->measure == TELE_WIRE)
			add_row(top, summary, row);
	}
	for (uint32_t i = 0; i < top->others.n; i++) {
		for (uint8_t d = TELE_TX; d <= TELE_RX; d++) {
			struct top_jobs_row row = {
				.interface = strtab_name(top->interface_names, i),
				.job = other_name,
				.direction = d,
				.bytes = top->others.items[i].bytes[d],
			};

			if (top->others.items[i].is_seen[d])
				vec_push(&top->rows, row);
		}
	}
}

const struct top_jobs_row *
top_jobs_rows(struct top_jobs *top, size_t *ret_n)
{
	*ret_n = top->rows.n;
	return top->rows.items;
}

size_t
top_jobs_n_seen(const struct top_jobs *top)
{
	return top->n_seen;
}
