/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/link_counters.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define TAKES_OVER 1.5

struct place {
	char *job; /* Owned; NULL: none yet. */
	uint64_t bytes;
	double mean_bps; /* Of this call; 0: no traffic. */
};

struct link {
	struct place *places; /* Owned. NULL: the number is free. */
	bool is_used;         /* Since link_counters_forget(). */
	uint64_t other_bytes;
};

struct link_counters {
	uint32_t n_jobs;
	struct strtab *names; /* Owned. */
	VEC(struct link) links;
};

struct link_counters *
link_counters_new(uint32_t n_jobs)
{
	struct link_counters *counters = xcalloc(1, sizeof *counters);

	counters->n_jobs = n_jobs;
	counters->names = strtab_new();
	return counters;
}

static void
link_fini(const struct link_counters *counters, struct link *link)
{
	for (uint32_t k = 0; k < counters->n_jobs && link->places; k++)
		free(link->places[k].job);
	free(link->places);
	*link = (struct link){ .places = NULL };
}

void
link_counters_free(struct link_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->links.n; i++)
		link_fini(counters, &counters->links.items[i]);
	vec_free(&counters->links);
	strtab_free(counters->names);
	free(counters);
}

void
link_counters_forget(struct link_counters *counters)
{
	for (uint32_t i = 0; i < counters->links.n; i++) {
		struct link *link = &counters->links.items[i];

		if (link->places && !link->is_used) {
			link_fini(counters, link);
			strtab_remove(counters->names, i);
		}
		link->is_used = false;
	}
}

size_t
link_counters_n(const struct link_counters *counters)
{
	size_t n = 0;

	for (size_t i = 0; i < counters->links.n; i++)
		n += counters->links.items[i].places != NULL;
	return n;
}

static struct place *
find(const struct link_counters *counters, const struct link *link, const char *job)
{
	for (uint32_t k = 0; k < counters->n_jobs; k++)
		if (link->places[k].job && strcmp(link->places[k].job, job) == 0)
			return &link->places[k];
	return NULL;
}

/* A free place, or that of the job with the least traffic. */
static struct place *
find_least(const struct link_counters *counters, const struct link *link)
{
	struct place *least = NULL;

	for (uint32_t k = 0; k < counters->n_jobs; k++) {
		struct place *place = &link->places[k];

		if (!place->job)
			return place;
		if (!least || place->mean_bps < least->mean_bps)
			least = place;
	}
	return least;
}

static void
add_job(struct link_counters *counters, struct link *link,
	const struct link_counters_job *job)
{
	struct place *place = find(counters, link, job->job), *least;

	if (place) {
		place->bytes += job->bytes;
		return;
	}
	least = find_least(counters, link);
	if (!least || (least->job && job->mean_bps <= TAKES_OVER * least->mean_bps)) {
		link->other_bytes += job->bytes;
		return;
	}
	free(least->job);
	*least = (struct place){ xstrdup(job->job), job->bytes, job->mean_bps };
}

void
link_counters_add(struct link_counters *counters, const char *name,
		  const struct link_counters_job *jobs, size_t n, uint64_t other_bytes)
{
	uint32_t id = strtab_intern(counters->names, name);
	struct link *link;

	if (id == counters->links.n)
		vec_push(&counters->links, ((struct link){ .places = NULL }));
	link = &counters->links.items[id];
	if (!link->places)
		link->places = xcalloc(counters->n_jobs + 1, sizeof *link->places);
	link->is_used = true;
	link->other_bytes += other_bytes;
	for (uint32_t k = 0; k < counters->n_jobs; k++)
		link->places[k].mean_bps = 0;
	for (size_t i = 0; i < n; i++) {
		struct place *place = find(counters, link, jobs[i].job);

		if (place)
			place->mean_bps = jobs[i].mean_bps;
	}
	for (size_t i = 0; i < n; i++)
		add_job(counters, link, &jobs[i]);
}

bool
link_counters_some(const struct link_counters *counters, size_t *at, size_t n_max,
		   link_counters_fn *each, void *ctx)
{
	for (; *at < counters->links.n && n_max; ++*at) {
		const struct link *link = &counters->links.items[*at];
		const char *name;

		if (!link->places)
			continue;
		n_max--;
		name = strtab_name(counters->names, (uint32_t)*at);
		for (uint32_t k = 0; k < counters->n_jobs; k++)
			if (link->places[k].job)
				each(ctx, name, link->places[k].job,
				     link->places[k].bytes);
		if (link->other_bytes)
			each(ctx, name, "other", link->other_bytes);
	}
	return *at < counters->links.n;
}

void
link_counters_each(const struct link_counters *counters, link_counters_fn *each,
		   void *ctx)
{
	size_t at = 0;

	link_counters_some(counters, &at, SIZE_MAX, each, ctx);
}
