/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - the live state and its memory.
 *
 * Names of interfaces are interned as "HOST\x1fINTERFACE"; series are in a hash by
 * interface, job and direction.
 */
#include "scheduler/live/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/live/live_priv.h"

/* How often outdated rings are searched for. */
#define SWEEP_NS INT64_C(1000000000)

const char *const live_limit_names[LIVE_N_LIMITS] = {
	[LIVE_LIMIT_BYTES] = "bytes",
	[LIVE_LIMIT_HOSTS] = "hosts",
	[LIVE_LIMIT_JOBS] = "jobs",
	[LIVE_LIMIT_INTERFACES] = "interfaces",
	[LIVE_LIMIT_HOST_JOBS] = "host_jobs",
	[LIVE_LIMIT_HOST_INTERFACES] = "host_interfaces",
	[LIVE_LIMIT_HOST_BYTES] = "host_bytes",
	[LIVE_LIMIT_TIMES] = "times",
};

/* ---- Creation ------------------------------------------------------------------ */

struct live *
live_new(const struct live_opts *opts)
{
	struct live *live = xcalloc(1, sizeof *live);

	live->keep_ms = opts && opts->keep_ms ? opts->keep_ms : LIVE_DEFAULT_KEEP_MS;
	live->max_bytes =
		opts && opts->max_bytes ? opts->max_bytes : LIVE_DEFAULT_MAX_BYTES;
	live->host_names = strtab_new();
	live->interface_names = strtab_new();
	live->job_names = strtab_new();
	live->now_ns = live->swept_ns = live->voted_ns = LIVE_NEVER;
	return live;
}

void
live_free(struct live *live)
{
	if (!live)
		return;
	HASH_CLEAR(hh, live->by_key);
	for (size_t i = 0; i < live->series.n; i++) {
		free(live->series.items[i]->ring);
		free(live->series.items[i]);
	}
	for (size_t i = 0; i < live->interfaces.n; i++)
		vec_free(&live->interfaces.items[i].covered);
	for (size_t i = 0; i < live->jobs.n; i++)
		vec_free(&live->jobs.items[i].events);
	vec_free(&live->series);
	vec_free(&live->interfaces);
	vec_free(&live->jobs);
	vec_free(&live->hosts);
	vec_free(&live->interface_of);
	vec_free(&live->job_of);
	strtab_free(live->host_names);
	strtab_free(live->interface_names);
	strtab_free(live->job_names);
	free(live);
}

/* ---- Memory -------------------------------------------------------------------- */

static size_t
ring_bytes(const struct live *live)
{
	return live->keep_ms * sizeof(uint32_t);
}

void
live_drop_ring(struct live *live, struct series *s)
{
	if (!s->ring)
		return;
	free(s->ring);
	s->ring = NULL;
	s->kept_bytes = 0;
	s->seen.has_bins = false;
	live_give_back(live, live_host_of(live, s), ring_bytes(live));
}

/*
 * Frees the rings of series without traffic in the kept time. Not at each refused
 * series, as there may be very many of both.
 */
static void
free_stale_rings(struct live *live)
{
	if (live->swept_ns != LIVE_NEVER &&
	    live->elapsed_ns - live->swept_ns < SWEEP_NS)
		return;
	live->swept_ns = live->elapsed_ns;
	for (size_t i = 0; i < live->series.n; i++) {
		struct series *s = live->series.items[i];
		const struct host *host;

		if (!s->ring)
			continue;
		host = &live->hosts.items[live->interfaces.items[s->seen.interface]
						  .seen.host];
		if (s->seen.last_ms != LIVE_NEVER && host->raw_mono_ms != LIVE_NEVER &&
		    s->seen.last_ms >= host->raw_mono_ms - live->keep_ms)
			continue;
		live_drop_ring(live, s);
	}
}

void
live_refuse(struct live *live, enum live_limit limit, const char *host)
{
	live->counts.refused++;
	live->counts.over[limit]++;
	live->counts.last_limit = limit;
	snprintf(live->counts.last_refused, sizeof live->counts.last_refused, "%s",
		 host);
}

static size_t
host_max_bytes(const struct live *live)
{
	size_t share = live->max_bytes / LIVE_HOST_SHARE;

	return share > LIVE_HOST_MIN_BYTES ? share : LIVE_HOST_MIN_BYTES;
}

static bool
has_room(const struct live *live, uint32_t host, size_t bytes, size_t max_bytes)
{
	return live->bytes + bytes <= max_bytes &&
	       (host == LIVE_NOBODY ||
		live->hosts.items[host].bytes + bytes <= host_max_bytes(live));
}

static bool
may_take(struct live *live, uint32_t host, size_t bytes, size_t max_bytes)
{
	if (!has_room(live, host, bytes, max_bytes))
		free_stale_rings(live);
	if (!has_room(live, host, bytes, max_bytes)) {
		live_refuse(live,
			    live->bytes + bytes > max_bytes ? LIVE_LIMIT_BYTES
							    : LIVE_LIMIT_HOST_BYTES,
			    host == LIVE_NOBODY ? ""
						: live->hosts.items[host].seen.name);
		return false;
	}
	live->bytes += bytes;
	if (host != LIVE_NOBODY)
		live->hosts.items[host].bytes += bytes;
	return true;
}

/* Reserves memory for a new item of a host; false, and counted, without memory. */
static bool
may_take_item(struct live *live, uint32_t host)
{
	return may_take(live, host, LIVE_ITEM_BYTES, live->max_bytes);
}

bool
live_may_take_much(struct live *live, uint32_t host, size_t bytes)
{
	return may_take(live, host, bytes,
			live->max_bytes - live->max_bytes / LIVE_ITEMS_SHARE);
}

void
live_give_back(struct live *live, uint32_t host, size_t bytes)
{
	live->bytes -= bytes;
	if (host != LIVE_NOBODY)
		live->hosts.items[host].bytes -= bytes;
}

bool
live_take_ring(struct live *live, struct series *s, int64_t end_ms)
{
	if (s->ring)
		return true;
	if (!live_may_take_much(live, live_host_of(live, s), ring_bytes(live)))
		return false;
	s->ring = xcalloc(live->keep_ms, sizeof *s->ring);
	s->seen.has_bins = true;
	s->seen.last_ms = LIVE_NEVER;
	s->end_ms = end_ms;
	return true;
}

/* ---- Names to numbers; UINT32_MAX: refused --------------------------------------- */

uint32_t
live_intern_host(struct live *live, const char *name)
{
	uint32_t id = strtab_find(live->host_names, name);

	if (id != STRTAB_NONE)
		return id;
	if (live->hosts.n >= LIVE_MAX_HOSTS) {
		live_refuse(live, LIVE_LIMIT_HOSTS, name);
		return UINT32_MAX;
	}
	if (!may_take_item(live, LIVE_NOBODY))
		return UINT32_MAX;
	id = strtab_intern(live->host_names, name);
	vec_push(&live->hosts,
		 ((struct host){
			 .seen = { .name = strtab_name(live->host_names, id),
				   .time_ns = LIVE_NEVER,
				   .raw_ns = LIVE_NEVER,
				   .summary_ns = LIVE_NEVER },
			 .raw_mono_ms = LIVE_NEVER,
			 .heard_ns = live->elapsed_ns,
		 }));
	return id;
}

static bool
may_add_interface(struct live *live, uint32_t id)
{
	struct host *host = &live->hosts.items[id];

	if (host->n_interfaces >= LIVE_MAX_HOST_INTERFACES ||
	    live->interfaces.n >= LIVE_MAX_INTERFACES) {
		live_refuse(live,
			    live->interfaces.n >= LIVE_MAX_INTERFACES
				    ? LIVE_LIMIT_INTERFACES
				    : LIVE_LIMIT_HOST_INTERFACES,
			    host->seen.name);
		return false;
	}
	if (!may_take_item(live, id))
		return false;
	host->n_interfaces++;
	return true;
}

uint32_t
live_intern_interface(struct live *live, uint32_t host,
		      const struct tele_interface *told)
{
	char key[2 * TELE_MAX_NAME + 3];
	size_t at = strlen(live->hosts.items[host].seen.name) + 1;
	struct live_interface *known;
	uint32_t id;

	snprintf(key, sizeof key, "%s\x1f%s", live->hosts.items[host].seen.name,
		 told->name);
	id = strtab_find(live->interface_names, key);
	if (id == STRTAB_NONE) {
		if (!may_add_interface(live, host))
			return UINT32_MAX;
		id = strtab_intern(live->interface_names, key);
		vec_push(&live->interfaces,
			 ((struct interface){
				 .seen = { .host = host,
					   .name = strtab_name(live->interface_names,
							       id) +
						   at } }));
	}
	known = &live->interfaces.items[id].seen;
	known->capacity_bps = told->capacity_bps;
	known->is_up = told->is_up;
	known->is_rdma = told->is_rdma;
	return id;
}

static bool
may_add_job(struct live *live, uint32_t id)
{
	struct host *host = &live->hosts.items[id];

	if (host->n_jobs >= LIVE_MAX_HOST_JOBS || live->n_known_jobs >= LIVE_MAX_JOBS) {
		live_refuse(live,
			    live->n_known_jobs >= LIVE_MAX_JOBS ? LIVE_LIMIT_JOBS
								: LIVE_LIMIT_HOST_JOBS,
			    host->seen.name);
		return false;
	}
	if (!may_take_item(live, id))
		return false;
	host->n_jobs++;
	return true;
}

uint32_t
live_intern_job(struct live *live, uint32_t host, const char *name)
{
	uint32_t id = strtab_find(live->job_names, name);

	if (id != STRTAB_NONE)
		return id;
	if (!may_add_job(live, host))
		return UINT32_MAX;
	id = strtab_intern(live->job_names, name);
	if (id == live->jobs.n)
		vec_push(&live->jobs, ((struct job){ .events = VEC_EMPTY }));
	live->jobs.items[id] =
		(struct job){ .is_known = true, .events = VEC_EMPTY, .owner = host };
	live->n_known_jobs++;
	return id;
}

uint32_t
live_host_of(const struct live *live, const struct series *s)
{
	return live->interfaces.items[s->seen.interface].seen.host;
}

struct series *
live_series_of(const struct live *live, uint64_t key)
{
	struct series *s;

	HASH_FIND(hh, live->by_key, &key, sizeof key, s);
	return s;
}

struct series *
live_intern_series(struct live *live, uint32_t told_interface, uint32_t told_job,
		   unsigned direction)
{
	uint32_t interface = live->interface_of.items[told_interface];
	uint32_t job = told_job >= TELE_OTHER ? told_job : live->job_of.items[told_job];
	uint64_t key = live_series_key(interface, job, direction);
	struct series *s;

	if (interface == UINT32_MAX || (told_job < TELE_OTHER && job == UINT32_MAX))
		return NULL;
	s = live_series_of(live, key);
	if (s)
		return s;
	if (!may_take_item(live, live->interfaces.items[interface].seen.host))
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->key = key;
	s->number = (uint32_t)live->series.n;
	s->seen = (struct live_series){ .interface = interface,
					.job = job,
					.direction = direction & 1,
					.last_ms = LIVE_NEVER };
	HASH_ADD(hh, live->by_key, key, sizeof s->key, s);
	vec_push(&live->series, s);
	return s;
}
