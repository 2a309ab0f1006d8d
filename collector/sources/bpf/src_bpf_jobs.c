/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_jobs.c - the job of each control group, and the pairs of interface and job
 * with rings of their own.
 *
 *	control group's id --(map in the kernel)--> number of the job
 *	(link, number)     --(table slot_of)------> slot, with its rings
 *
 * The programs store unknown ids in a table and mark pairs without a slot; the next
 * drain handles both.  Until then, and if there is no place, traffic counts as other.
 * When the labels of sockets may be wrong, the generation increases, and each socket is
 * looked up again with its next packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "collector/jobs/cgroups.h"
#include "collector/sources/bpf/src_bpf_private.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#define NO_JOB 0

/* Interval of walks through the tree of control groups. */
#define SCAN_MS     2000
#define ASK_SCAN_MS 200
/* Share of the time that walks may take. */
#define SCAN_SHARE 100
/* Walks after which a requested id is considered gone. */
#define MAX_TRIES 3
/* A slot without traffic for this time may be reused. */
#define IDLE_MS 60000
/* Packets in flight may still use a number for this time after its release. */
#define GRACE_MS 1000
/* Names of jobs without a place, to count each once. */
#define MAX_REFUSED 65536

struct job {
	char name[TELE_MAX_NAME + 1]; /* "": the number is free. */
	uint32_t n_groups;
	int64_t free_ms; /* Time of its release. */
	bool is_announced;
	uint32_t sink_job;
	UT_hash_handle hh; /* By name. */
};

struct slot {
	uint32_t link, job;
	bool is_used;
	int64_t active_ms; /* Time of the last traffic, or of the release. */
};

/* A control group that is, or should be, in the kernel's map. */
struct known {
	uint64_t id;
	uint32_t job;
	unsigned tries; /* Walks that did not find it; no job yet. */
	bool is_pending;
	UT_hash_handle hh;
};

struct refused {
	char name[TELE_MAX_NAME + 1];
	UT_hash_handle hh;
};

struct bpf_job_state {
	struct job jobs[FLOW_MAX_JOBS];
	struct job *by_name;
	struct slot *slots; /* Owned.  From 1 to n_slots. */
	struct known *known;
	struct refused *refused;
	uint32_t n_jobs, n_used, n_pending;
	uint64_t names_generation; /* Of the registrations when last read. */
	int64_t scanned_ms, scan_every_ms;
	bool is_stale; /* Labels of sockets may be out of date. */
	bool has_said_full;
};

void
bpf_jobs_init(struct src_bpf *bpf)
{
	if (bpf->mode != SRC_BPF_JOBS)
		return;
	bpf->jobs = xcalloc(1, sizeof *bpf->jobs);
	bpf->jobs->slots = xcalloc(bpf->n_slots + 1, sizeof *bpf->jobs->slots);
	bpf->jobs->scan_every_ms = SCAN_MS;
}

void
bpf_jobs_fini(struct src_bpf *bpf)
{
	struct bpf_job_state *state = bpf->jobs;
	struct known *known, *next_known;
	struct refused *refused, *next_refused;

	if (!state)
		return;
	HASH_CLEAR(hh, state->by_name);
	HASH_ITER(hh, state->known, known, next_known)
	{
		HASH_DEL(state->known, known);
		free(known);
	}
	HASH_ITER(hh, state->refused, refused, next_refused)
	{
		HASH_DEL(state->refused, refused);
		free(refused);
	}
	free(state->slots);
	free(state);
	bpf->jobs = NULL;
}

/* Counts a job that becomes other, once per name. */
static void
refuse(struct src_bpf *bpf, const char *name, const char *what)
{
	struct bpf_job_state *state = bpf->jobs;
	struct refused *refused;

	HASH_FIND_STR(state->refused, name, refused);
	if (refused || HASH_COUNT(state->refused) >= MAX_REFUSED)
		return;
	refused = xcalloc(1, sizeof *refused);
	memcpy(refused->name, name, strlen(name));
	HASH_ADD_STR(state->refused, name, refused);
	bpf->stats.unplaced_jobs++;
	if (!state->has_said_full)
		log_warn("bpf", "job %s and more count as other: %s", name, what);
	state->has_said_full = true;
}

/* ---- Slots ----------------------------------------------------------------------- */

static void
free_slot(struct src_bpf *bpf, uint32_t at, int64_t now_ms)
{
	struct slot *slot = &bpf->jobs->slots[at];

	__atomic_store_n(&bpf->skel->bss->slot_of[slot->link][slot->job], 0,
			 __ATOMIC_RELEASE);
	slot->is_used = false;
	slot->active_ms = now_ms;
	bpf->jobs->n_used--;
}

/* A free slot, or the one idle for longest; 0: none. */
static uint32_t
find_free_slot(struct src_bpf *bpf, int64_t now_ms)
{
	struct slot *slots = bpf->jobs->slots;
	uint32_t idle = 0;

	for (uint32_t i = 1; i <= bpf->n_slots; i++) {
		if (!slots[i].is_used) {
			if (!slots[i].active_ms ||
			    now_ms - slots[i].active_ms >= GRACE_MS)
				return i;
		} else if (slots[i].job != NO_JOB &&
			   now_ms - slots[i].active_ms >= IDLE_MS &&
			   (!idle || slots[i].active_ms < slots[idle].active_ms)) {
			idle = i;
		}
	}
	/* Reusable after its grace period. */
	if (idle)
		free_slot(bpf, idle, now_ms);
	return 0;
}

static bool
give_slot(struct src_bpf *bpf, uint32_t link, uint32_t job, int64_t now_ms)
{
	struct slot *slot;
	uint32_t at;

	if (bpf->skel->bss->slot_of[link][job])
		return true;
	at = find_free_slot(bpf, now_ms);
	if (!at)
		return false;
	slot = &bpf->jobs->slots[at];
	slot->link = link;
	slot->job = job;
	slot->is_used = true;
	slot->active_ms = now_ms;
	bpf->jobs->n_used++;
	for (uint32_t ring = 0; ring < FLOW_SLOT_RINGS; ring++)
		drain_skip(bpf->drain, bpf_slot_ring(bpf, at, ring), now_ms);
	__atomic_store_n(&bpf->skel->bss->slot_of[link][job], (uint16_t)at,
			 __ATOMIC_RELEASE);
	return true;
}

int
bpf_jobs_link_came(struct src_bpf *bpf, uint32_t link, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;

	if (!state)
		return 0;
	if (!give_slot(bpf, link, NO_JOB, now_ms))
		return -ENOSPC;
	for (uint32_t job = 1; job < FLOW_MAX_JOBS; job++)
		if (*state->jobs[job].name && state->n_used < bpf->n_slots / 2)
			give_slot(bpf, link, job, now_ms);
	return 0;
}

void
bpf_jobs_link_gone(struct src_bpf *bpf, uint32_t link)
{
	int64_t now_ms = clk_monotonic_ns() / 1000000;

	if (!bpf->jobs)
		return;
	for (uint32_t i = 1; i <= bpf->n_slots; i++)
		if (bpf->jobs->slots[i].is_used && bpf->jobs->slots[i].link == link)
			free_slot(bpf, i, now_ms);
	memset(bpf->skel->bss->slot_demand[link], 0,
	       sizeof bpf->skel->bss->slot_demand[link]);
}

/* Gives slots to pairs that had traffic and none. */
static void
give_wanted(struct src_bpf *bpf, uint32_t link, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	unsigned char *wanted = bpf->skel->bss->slot_demand[link];
	unsigned char *at = wanted;

	while ((at = memchr(at, 1, FLOW_MAX_JOBS - (size_t)(at - wanted)))) {
		uint32_t job = (uint32_t)(at - wanted);

		if (*state->jobs[job].name && !give_slot(bpf, link, job, now_ms)) {
			refuse(bpf, state->jobs[job].name,
			       "more pairs of interface and job than slots");
			/* The request stays, to be retried. */
			at++;
			if (at == wanted + FLOW_MAX_JOBS)
				break;
			continue;
		}
		*at = 0;
	}
}

/* ---- Jobs ------------------------------------------------------------------------ */

/* The number of a job; NO_JOB: all are taken. */
static uint32_t
find_job(struct src_bpf *bpf, const char *name, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	uint32_t free_number = NO_JOB;
	struct job *job;

	HASH_FIND_STR(state->by_name, name, job);
	if (job)
		return (uint32_t)(job - state->jobs);
	for (uint32_t i = 1; state->n_jobs < FLOW_MAX_JOBS - 1 && i < FLOW_MAX_JOBS;
	     i++) {
		job = &state->jobs[i];
		if (*job->name || (job->free_ms && now_ms - job->free_ms < GRACE_MS))
			continue;
		free_number = i;
		break;
	}
	if (free_number == NO_JOB)
		return NO_JOB;
	job = &state->jobs[free_number];
	memset(job, 0, sizeof *job);
	memcpy(job->name, name, strlen(name));
	HASH_ADD_STR(state->by_name, name, job);
	state->n_jobs++;
	for (uint32_t link = 0; link < bpf->max_links; link++)
		if (bpf->links[link].is_there && state->n_used < bpf->n_slots / 2)
			give_slot(bpf, link, free_number, now_ms);
	return free_number;
}

static void
leave_job(struct src_bpf *bpf, uint32_t number, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	struct job *job = &state->jobs[number];

	if (number == NO_JOB || --job->n_groups)
		return;
	for (uint32_t i = 1; i <= bpf->n_slots; i++)
		if (state->slots[i].is_used && state->slots[i].job == number)
			free_slot(bpf, i, now_ms);
	for (uint32_t link = 0; link < bpf->max_links; link++)
		bpf->skel->bss->slot_demand[link][number] = 0;
	log_dbg("bpf", "job %s is gone", job->name);
	HASH_DEL(state->by_name, job);
	*job->name = '\0';
	job->free_ms = now_ms;
	state->n_jobs--;
}

/* ---- Control groups -------------------------------------------------------------- */

static struct known *
find_known(struct bpf_job_state *state, uint64_t id)
{
	struct known *known;

	HASH_FIND(hh, state->known, &id, sizeof id, known);
	return known;
}

static struct known *
add_known(struct bpf_job_state *state, uint64_t id)
{
	struct known *known = xcalloc(1, sizeof *known);

	known->id = id;
	known->is_pending = true;
	state->n_pending++;
	HASH_ADD(hh, state->known, id, sizeof known->id, known);
	return known;
}

/* Stores the job of the control group in the kernel. */
static void
settle(struct src_bpf *bpf, struct known *known, const char *name, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	uint32_t job = NO_JOB, was = known->job;

	if (*name) {
		job = find_job(bpf, name, now_ms);
		if (job == NO_JOB)
			refuse(bpf, name, "more jobs than there are numbers for");
	}
	if (!known->is_pending && job == was)
		return;
	state->jobs[job].n_groups += job != was;
	known->job = job;
	if (was != job)
		leave_job(bpf, was, now_ms);
	if (bpf_map_update_elem(bpf_map__fd(bpf->skel->maps.cgroup_jobs), &known->id,
				&job, BPF_ANY) < 0)
		bpf->stats.unplaced_cgroups++;
	state->n_pending -= known->is_pending;
	known->is_pending = false;
	state->is_stale = true;
}

static void
forget(struct src_bpf *bpf, struct known *known, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;

	/* The job's number will be reused, so no socket may keep it. */
	if (known->job != NO_JOB)
		state->is_stale = true;
	leave_job(bpf, known->job, now_ms);
	bpf_map_delete_elem(bpf_map__fd(bpf->skel->maps.cgroup_jobs), &known->id);
	state->n_pending -= known->is_pending;
	HASH_DEL(state->known, known);
	free(known);
}

/* Takes the requests of the programs. */
static void
take_asked(struct src_bpf *bpf)
{
	struct bpf_job_state *state = bpf->jobs;

	for (uint32_t i = 0; i < FLOW_REQUEST_CELLS; i++) {
		uint64_t id = bpf->skel->bss->slot_requests[i];

		if (!id)
			continue;
		if (HASH_COUNT(state->known) >= FLOW_MAX_CGROUPS)
			bpf->stats.unplaced_cgroups++;
		else if (!find_known(state, id))
			add_known(state, id);
		__atomic_store_n(&bpf->skel->bss->slot_requests[i], 0,
				 __ATOMIC_RELEASE);
	}
}

struct visit {
	struct src_bpf *bpf;
	int64_t now_ms;
};

/* Stores the groups of known jobs in the kernel before their first packet. */
static void
expect(void *ctx, uint64_t id, const char *name)
{
	struct visit *visit = ctx;
	struct bpf_job_state *state = visit->bpf->jobs;

	if (state->n_jobs < FLOW_MAX_JOBS / 2 &&
	    HASH_COUNT(state->known) < FLOW_MAX_CGROUPS / 2 && !find_known(state, id))
		settle(visit->bpf, add_known(state, id), name, visit->now_ms);
}

static void
look_at_all(struct src_bpf *bpf, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	struct visit visit = { bpf, now_ms };
	/* Sockets may outlive their control group, and would request it again. */
	bool is_crowded = HASH_COUNT(state->known) > FLOW_MAX_CGROUPS / 2;
	struct known *known, *next;

	HASH_ITER(hh, state->known, known, next)
	{
		const char *name = cgroups_job(bpf->cgroups, known->id);

		if (name)
			settle(bpf, known, name, now_ms);
		else if (known->is_pending && ++known->tries >= MAX_TRIES)
			settle(bpf, known, "", now_ms);
		else if (!known->is_pending && (known->tries < MAX_TRIES || is_crowded))
			forget(bpf, known, now_ms);
	}
	cgroups_each_job(bpf->cgroups, expect, &visit);
}

/* Walks the tree when it is due, or sooner if a program requested an id. */
static void
scan_groups(struct src_bpf *bpf, bool is_asked, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;
	uint64_t names = cgroups_generation(bpf->cgroups);
	int64_t since_ms = now_ms - state->scanned_ms, cost_ns;

	if (state->scanned_ms && names == state->names_generation &&
	    since_ms < state->scan_every_ms &&
	    !(is_asked && since_ms >= ASK_SCAN_MS &&
	      since_ms >= state->scan_every_ms / 10))
		return;
	cost_ns = clk_cpu_ns();
	cgroups_scan(bpf->cgroups);
	look_at_all(bpf, now_ms);
	cost_ns = clk_cpu_ns() - cost_ns;
	state->scan_every_ms = SCAN_SHARE * cost_ns / 1000000;
	if (state->scan_every_ms < SCAN_MS)
		state->scan_every_ms = SCAN_MS;
	state->scanned_ms = now_ms;
	state->names_generation = names;
}

/* ---- Draining -------------------------------------------------------------------- */

static void
drain_slot(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink,
	   int64_t now_ms)
{
	struct slot *slot = &bpf->jobs->slots[at];
	struct job *job = &bpf->jobs->jobs[slot->job];
	struct source_key key = { .interface = bpf->links[slot->link].interface,
				  .job = TELE_OTHER,
				  .measure = TELE_WIRE };

	for (uint32_t ring = 0; ring < FLOW_SLOT_RINGS; ring++) {
		struct drain_out out;

		drain_ring(bpf->drain, bpf_slot_ring(bpf, at, ring), now_ms, &out);
		if (!out.n)
			continue;
		if (slot->job != NO_JOB && !job->is_announced) {
			job->sink_job = sink->job(sink->ctx, job->name);
			job->is_announced = true;
		}
		if (slot->job != NO_JOB)
			key.job = job->sink_job;
		key.direction = ring == FLOW_TX ? TELE_TX : TELE_RX;
		sink->bins(sink->ctx, &key, out.first_ms, out.bytes, out.n, &out.extra);
		if (out.lost_ms)
			sink->lost(sink->ctx, out.lost_ms);
		bpf->stats.lost_buckets += out.lost_ms;
		slot->active_ms = now_ms;
	}
}

void
bpf_jobs_credit(struct src_bpf *bpf, uint32_t link, const struct source_sink *sink,
		const struct drain_out *out)
{
	struct source_key key = { .interface = bpf->links[link].interface,
				  .job = TELE_OTHER,
				  .direction = TELE_TX,
				  .measure = TELE_WIRE };

	if (bpf->jobs)
		sink->bins(sink->ctx, &key, out->first_ms, out->bytes, out->n,
			   &out->extra);
}

void
bpf_jobs_drain(struct src_bpf *bpf, const struct source_sink *sink, int64_t now_ms)
{
	struct bpf_job_state *state = bpf->jobs;

	if (!state)
		return;
	for (uint32_t i = 1; i <= bpf->n_slots; i++)
		if (state->slots[i].is_used &&
		    bpf->links[state->slots[i].link].is_announced)
			drain_slot(bpf, i, sink, now_ms);
	if (bpf->cgroups) {
		take_asked(bpf);
		scan_groups(bpf, state->n_pending > 0, now_ms);
	}
	for (uint32_t link = 0; link < bpf->max_links; link++)
		if (bpf->links[link].is_there)
			give_wanted(bpf, link, now_ms);
	if (state->is_stale)
		__atomic_fetch_add(&bpf->skel->data->generation, 1, __ATOMIC_RELEASE);
	state->is_stale = false;
	bpf->stats.n_jobs = state->n_jobs;
	bpf->stats.n_slots_used = state->n_used;
}
