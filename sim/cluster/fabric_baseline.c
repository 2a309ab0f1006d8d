/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_baseline.c - Crux's and MonkeyTree's paths, and Crux's priorities, on a cluster */
#include "sim/cluster/fabric_baseline.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/baselines/baseline.h"
#include "sim/cluster/fabric_priv.h"

struct fabric_baseline {
	enum baseline is;
	VEC(uint32_t) key, last_key; /* Jobs and hosts: of now, and of the last time. */
	VEC(struct baseline_job) jobs; /* Scratch. */
};

/* ---- Begin and end --------------------------------------------------------------- */

static bool
find_system(enum fabric_augment augment, enum baseline *ret_baseline)
{
	switch (augment) {
	case FABRIC_CRUX:
		*ret_baseline = BASELINE_CRUX;
		return true;
	case FABRIC_CRUX_PATHS:
		*ret_baseline = BASELINE_CRUX_PATHS;
		return true;
	case FABRIC_MONKEYTREE:
		*ret_baseline = BASELINE_MONKEYTREE;
		return true;
	case FABRIC_MLTCP:
		*ret_baseline = BASELINE_MLTCP;
		return true;
	case FABRIC_MLTCP_TEXT:
		*ret_baseline = BASELINE_MLTCP_TEXT;
		return true;
	default:
		return false;
	}
}

struct fabric_baseline *
fabric_baseline_new(enum fabric_augment augment)
{
	struct fabric_baseline *b;
	enum baseline is;

	if (!find_system(augment, &is) || baseline_mltcp(is))
		return NULL;
	b = xcalloc(1, sizeof *b);
	b->is = is;
	return b;
}

const struct mltcp *
fabric_baseline_mltcp(enum fabric_augment augment)
{
	enum baseline is;

	return find_system(augment, &is) ? baseline_mltcp(is) : NULL;
}

void
fabric_baseline_free(struct fabric_baseline *b)
{
	if (!b)
		return;
	vec_free(&b->key);
	vec_free(&b->last_key);
	vec_free(&b->jobs);
	free(b);
}

/* ---- Paths and priorities -------------------------------------------------------- */

/* Whether the jobs or their places are others than the last time. */
static bool
has_changed(struct fabric_baseline *b, const struct fabric *fabric)
{
	b->key.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = fabric->there.items[i];

		vec_push(&b->key, placed->id);
		vec_push(&b->key, placed->job.n_hosts_wanted);
		for (uint32_t h = 0; h < placed->job.n_hosts_wanted; h++)
			vec_push(&b->key, placed->job.hosts[h]);
	}
	if (b->key.n == b->last_key.n &&
	    (!b->key.n || memcmp(b->key.items, b->last_key.items,
				 b->key.n * sizeof *b->key.items) == 0))
		return false;
	b->last_key.n = 0;
	for (size_t i = 0; i < b->key.n; i++)
		vec_push(&b->last_key, b->key.items[i]);
	return true;
}

size_t
fabric_baseline_route(struct fabric_baseline *b, struct fabric *fabric)
{
	size_t n_changed = 0;
	int r;

	if (!has_changed(b, fabric))
		return 0;
	b->jobs.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++) {
		struct placed *placed = fabric->there.items[i];

		vec_push(&b->jobs, ((struct baseline_job){ .work = &placed->job,
							   .hosts = placed->job.hosts,
							   .routed = &placed->routed,
							   .n_gpus = placed->n_gpus }));
	}
	r = baseline_route(b->is, b->jobs.items, b->jobs.n, fabric->topo,
			   fabric->routes, fabric->opts.seed);
	BUG_ON(r < 0); /* Jobs are routed, and fabric_new() has checked the fabric. */
	for (size_t i = 0; i < fabric->there.n; i++) {
		fabric->there.items[i]->job.priority = b->jobs.items[i].priority;
		n_changed += b->jobs.items[i].n_changed;
	}
	return n_changed;
}
