/* SPDX-License-Identifier: Apache-2.0 */
/* live_forget.c - removal of jobs and hosts without frames for long. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/live/live.h"
#include "scheduler/live/live_priv.h"

static bool
is_host_gone(const struct live *live, uint32_t host)
{
	return live_age_ns(live, host) >
	       (live->are_hosts_crowded ? LIVE_FORGET_CROWDED_NS : LIVE_FORGET_HOST_NS);
}

static bool
is_job_gone(const struct live *live, const struct job *job)
{
	return job->is_known && live->elapsed_ns - job->heard_ns >
					(live->are_jobs_crowded ? LIVE_FORGET_CROWDED_NS
								: LIVE_FORGET_JOB_NS);
}

static void
drop_series(struct live *live, struct series *s)
{
	live_drop_ring(live, s);
	HASH_DELETE(hh, live->by_key, s);
	live_give_back(live, live_host_of(live, s), LIVE_ITEM_BYTES);
	free(s);
}

/* Removes the series of these hosts and jobs; the others move up. */
static void
drop_all_series(struct live *live, const bool *is_gone)
{
	size_t n = 0;

	for (size_t i = 0; i < live->series.n; i++) {
		struct series *s = live->series.items[i];
		uint32_t host = live->interfaces.items[s->seen.interface].seen.host;

		if ((s->seen.job < TELE_OTHER && is_gone[s->seen.job]) ||
		    is_host_gone(live, host)) {
			drop_series(live, s);
			continue;
		}
		s->number = (uint32_t)n;
		live->series.items[n++] = s;
	}
	live->series.n = n;
}

static void
drop_job(struct live *live, uint32_t id)
{
	struct job *job = &live->jobs.items[id];

	if (job->has_room)
		live_give_back(live, job->owner,
			       LIVE_MAX_EVENTS * sizeof *job->events.items);
	live_give_back(live, job->owner, LIVE_ITEM_BYTES);
	if (job->owner != LIVE_NOBODY)
		live->hosts.items[job->owner].n_jobs--;
	vec_free(&job->events);
	*job = (struct job){ .is_known = false };
	strtab_remove(live->job_names, id);
	live->n_known_jobs--;
}

/* Series are also found by the number of their interface. */
static void
renumber_series(struct live *live, const uint32_t *interfaces)
{
	HASH_CLEAR(hh, live->by_key);
	for (size_t i = 0; i < live->series.n; i++) {
		struct series *s = live->series.items[i];

		s->seen.interface = interfaces[s->seen.interface];
		s->key = live_series_key(s->seen.interface, s->seen.job,
					 s->seen.direction);
		HASH_ADD(hh, live->by_key, key, sizeof s->key, s);
	}
}

/* Renumbers the interfaces of the hosts that stay. */
static void
drop_interfaces(struct live *live, const uint32_t *hosts)
{
	uint32_t *renumbered = xcalloc(live->interfaces.n + 1, sizeof *renumbered);
	struct strtab *names = strtab_new();
	size_t n = 0;

	for (uint32_t i = 0; i < live->interfaces.n; i++) {
		struct interface *interface = &live->interfaces.items[i];
		const char *key = strtab_name(live->interface_names, i);
		size_t at = (size_t)(interface->seen.name - key);

		if (hosts[interface->seen.host] == UINT32_MAX) {
			vec_free(&interface->covered);
			live->bytes -= LIVE_ITEM_BYTES;
			continue;
		}
		interface->seen.host = hosts[interface->seen.host];
		renumbered[i] = strtab_intern(names, key);
		interface->seen.name = strtab_name(names, renumbered[i]) + at;
		live->interfaces.items[n++] = *interface;
	}
	live->interfaces.n = n;
	strtab_free(live->interface_names);
	live->interface_names = names;
	renumber_series(live, renumbered);
	free(renumbered);
}

/* The series of these hosts are gone already. */
static void
drop_hosts(struct live *live)
{
	uint32_t *renumbered = xcalloc(live->hosts.n + 1, sizeof *renumbered);
	struct strtab *names = strtab_new();
	size_t n = 0;

	for (uint32_t i = 0; i < live->hosts.n; i++) {
		struct host *host = &live->hosts.items[i];

		renumbered[i] = UINT32_MAX;
		if (is_host_gone(live, i)) {
			live->bytes -= LIVE_ITEM_BYTES;
			continue;
		}
		renumbered[i] = strtab_intern(names, host->seen.name);
		host->seen.name = strtab_name(names, renumbered[i]);
	}
	drop_interfaces(live, renumbered);
	for (uint32_t i = 0; i < live->hosts.n; i++)
		if (renumbered[i] != UINT32_MAX)
			live->hosts.items[n++] = live->hosts.items[i];
	live->hosts.n = n;
	for (uint32_t i = 0; i < live->jobs.n; i++) {
		struct job *job = &live->jobs.items[i];

		if (job->is_known && job->owner != LIVE_NOBODY)
			job->owner = renumbered[job->owner]; /* Or LIVE_NOBODY. */
	}
	strtab_free(live->host_names);
	live->host_names = names;
	free(renumbered);
}

size_t
live_forget(struct live *live, bool (*is_held)(const void *ctx, uint32_t job),
	    const void *ctx)
{
	bool *is_gone = xcalloc(live->jobs.n + 1, sizeof *is_gone);
	size_t n = 0, n_hosts = 0;

	live->are_hosts_crowded = live->hosts.n > LIVE_MAX_HOSTS / 2;
	live->are_jobs_crowded = live->n_known_jobs > LIVE_MAX_JOBS / 2;
	for (uint32_t i = 0; i < live->jobs.n; i++) {
		is_gone[i] = is_job_gone(live, &live->jobs.items[i]) &&
			     !(is_held && is_held(ctx, i));
		n += is_gone[i];
	}
	for (uint32_t i = 0; i < live->hosts.n; i++)
		n_hosts += is_host_gone(live, i);
	if (n + n_hosts) {
		drop_all_series(live, is_gone);
		for (uint32_t i = 0; i < live->jobs.n; i++)
			if (is_gone[i])
				drop_job(live, i);
		if (n_hosts)
			drop_hosts(live);
	}
	free(is_gone);
	return n + n_hosts;
}
