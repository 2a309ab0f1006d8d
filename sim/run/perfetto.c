/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/perfetto.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "topology/topo.h"

/* Process 1 has the jobs, process 2 + l link number l. */
#define JOBS_PROCESS  1
#define LINKS_PROCESS 2

/* Room kept for the end of the file, and for the two counts of each slice. */
#define TAIL_BYTES  4096
#define COUNT_BYTES 96

/* A segment of a job begins (+1) or ends (-1) to send over a link. */
struct edge {
	uint32_t link, job;
	int32_t change;
	int64_t at_ns;
};

/*
 * Slices of a track may not overlap.  Where segments of a job do, each goes to the first
 * of the job's lanes that is free; lane 0 is the job's own track.
 */
struct lanes {
	VEC(int64_t) ends_ns; /* By lane: the end of its last slice. */
};

struct perfetto {
	FILE *out;
	const struct scenario *scenario;
	const struct sim_plan *plan;
	const struct topo *topo;
	bool *is_shown; /* A link. */
	uint64_t n_bytes, max_bytes;
	uint64_t n_left_out;
	double cut_ns;          /* Time of the first omitted slice. */
	VEC(struct edge) edges; /* Reported at their end, so not in order of time. */
	struct lanes *lanes;    /* Owned.  By job. */
	bool has_events;
};

/*
 * Starts an event.  All strings that follow are names, which have neither quotes
 * nor backslashes (topo.h, workload_ini.c).
 */
static void
begin_event(struct perfetto *t)
{
	t->n_bytes += (uint64_t)fprintf(t->out, t->has_events ? ",\n" : "\n");
	t->has_events = true;
}

static void
name_process(struct perfetto *t, uint32_t process, const char *name)
{
	begin_event(t);
	t->n_bytes += (uint64_t)fprintf(
		t->out,
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu32
		",\"args\":{\"name\":\"%s\"}}",
		process, name);
}

static void
name_thread(struct perfetto *t, uint32_t process, size_t thread, const char *name)
{
	begin_event(t);
	t->n_bytes += (uint64_t)fprintf(
		t->out,
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32
		",\"tid\":%zu,\"args\":{\"name\":\"%s\"}}",
		process, thread, name);
}

static const char *
job_name(const struct perfetto *t, size_t job)
{
	return t->scenario->workload.jobs[job].name;
}

static void
choose_links(struct perfetto *t, bool all_links)
{
	uint32_t n = topo_n_links(t->topo);
	uint32_t *n_jobs = xcalloc((size_t)n + 1, sizeof *n_jobs);

	t->is_shown = xcalloc((size_t)n + 1, sizeof *t->is_shown);
	for (size_t j = 0; j < t->plan->n; j++) {
		const struct footprint *footprint = &t->plan->jobs[j].routed.footprint;

		for (size_t i = 0; i < footprint->n; i++)
			n_jobs[footprint->entries[i].link]++;
	}
	for (uint32_t l = 0; l < n; l++)
		t->is_shown[l] = n_jobs[l] >= (all_links ? 1 : 2);
	free(n_jobs);
}

static void
name_all(struct perfetto *t)
{
	struct strbuf name = STRBUF_EMPTY;

	name_process(t, JOBS_PROCESS, "jobs");
	for (size_t j = 0; j < t->plan->n; j++)
		if (t->plan->jobs[j].is_placed)
			name_thread(t, JOBS_PROCESS, j + 1, job_name(t, j));
	for (uint32_t l = 0; l < topo_n_links(t->topo); l++) {
		if (!t->is_shown[l])
			continue;
		strbuf_clear(&name);
		topo_link_name(t->topo, l, &name);
		name_process(t, LINKS_PROCESS + l, name.text);
	}
	for (size_t j = 0; j < t->plan->n; j++) {
		const struct footprint *footprint = &t->plan->jobs[j].routed.footprint;

		for (size_t i = 0; i < footprint->n; i++)
			if (t->is_shown[footprint->entries[i].link])
				name_thread(t,
					    LINKS_PROCESS + footprint->entries[i].link,
					    j + 1, job_name(t, j));
	}
	strbuf_free(&name);
}

struct perfetto *
perfetto_new(FILE *out, const struct scenario *scenario, const struct sim_plan *plan,
	     const struct topo *topo, bool all_links, uint64_t max_bytes)
{
	struct perfetto *t = xcalloc(1, sizeof *t);

	t->out = out;
	t->scenario = scenario;
	t->plan = plan;
	t->topo = topo;
	t->max_bytes = max_bytes > TAIL_BYTES ? max_bytes - TAIL_BYTES : 0;
	t->lanes = xcalloc(plan->n + 1, sizeof *t->lanes);
	choose_links(t, all_links);
	t->n_bytes += (uint64_t)fprintf(out, "{\"traceEvents\": [");
	name_all(t);
	return t;
}

/* True if another slice fits. */
static bool
has_room(struct perfetto *t, double start_ns)
{
	if (t->n_bytes < t->max_bytes)
		return true;
	if (!t->n_left_out++)
		t->cut_ns = start_ns;
	return false;
}

/* Both ends are rounded, so that what follows on a track does not overlap. */
static void
put_slice(struct perfetto *t, uint32_t process, uint32_t thread, const char *what,
	  double start_ns, double end_ns, const char *argument, double value)
{
	int64_t start = llround(start_ns), length = llround(end_ns) - start;

	begin_event(t);
	t->n_bytes += (uint64_t)fprintf(
		t->out,
		"{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"ts\":%" PRId64 ".%03d,\"dur\":%" PRId64
		".%03d,\"args\":{\"%s\":%.6g}}",
		what, process, thread, start / 1000, (int)(start % 1000), length / 1000,
		(int)(length % 1000), argument, value);
}

void
perfetto_iteration(struct perfetto *t, uint32_t job, uint64_t iteration,
		   double start_ns, double end_ns)
{
	if (has_room(t, start_ns))
		put_slice(t, JOBS_PROCESS, job + 1, "iteration", start_ns, end_ns,
			  "iteration", (double)iteration);
}

/* The track of a slice on links; all slices of a job come in the order of their ends. */
static uint32_t
choose_lane(struct perfetto *t, uint32_t job, double start_ns, double end_ns)
{
	const struct footprint *footprint = &t->plan->jobs[job].routed.footprint;
	uint32_t n_jobs = (uint32_t)t->plan->n, lane = 0, thread;
	struct lanes *lanes = &t->lanes[job];

	while (lane < lanes->ends_ns.n &&
	       lanes->ends_ns.items[lane] > llround(start_ns))
		lane++;
	thread = lane * n_jobs + job + 1;
	if (lane < lanes->ends_ns.n) {
		lanes->ends_ns.items[lane] = llround(end_ns);
		return thread;
	}
	vec_push(&lanes->ends_ns, llround(end_ns));
	for (size_t i = 0; lane > 0 && i < footprint->n; i++)
		if (t->is_shown[footprint->entries[i].link])
			name_thread(t, LINKS_PROCESS + footprint->entries[i].link,
				    thread, job_name(t, job));
	return thread;
}

void
perfetto_flows(struct perfetto *t, uint32_t job, uint32_t segment, double start_ns,
	       double end_ns)
{
	const struct work_job *work = &t->scenario->workload.jobs[job];
	double bytes = work->segments[segment].nic_bytes;
	double length_ns = end_ns - start_ns;
	const struct routed_job *routed = &t->plan->jobs[job].routed;
	const struct footprint *footprint = &routed->footprint;
	struct footprint own = { .entries = NULL };
	uint32_t thread = choose_lane(t, job, start_ns, end_ns);

	if (routed->patterns) {
		routed_job_segment_footprint(work, routed, segment, t->topo, &own);
		footprint = &own;
	}
	for (size_t i = 0; i < footprint->n; i++) {
		const struct footprint_entry *entry = &footprint->entries[i];
		double bps =
			length_ns > 0 ? entry->factor * bytes * 8e9 / length_ns : 0;

		if (!t->is_shown[entry->link] || !has_room(t, start_ns))
			continue;
		put_slice(t, LINKS_PROCESS + entry->link, thread, job_name(t, job),
			  start_ns, end_ns, "mean_bps", bps);
		vec_push(&t->edges,
			 ((struct edge){ entry->link, job, 1, llround(start_ns) }));
		vec_push(&t->edges,
			 ((struct edge){ entry->link, job, -1, llround(end_ns) }));
		t->n_bytes += 2 * COUNT_BYTES;
	}
	footprint_fini(&own);
}

static int
compare_edges(const void *a, const void *b)
{
	const struct edge *ea = a, *eb = b;

	if (ea->link != eb->link)
		return ea->link < eb->link ? -1 : 1;
	if (ea->at_ns != eb->at_ns)
		return ea->at_ns < eb->at_ns ? -1 : 1;
	return (ea->change > eb->change) - (ea->change < eb->change);
}

/* One counter per link: the number of sending jobs. */
static void
put_counters(struct perfetto *t)
{
	uint32_t *n_sending = xcalloc(t->plan->n + 1, sizeof *n_sending); /* By job. */
	int32_t n_jobs = 0;

	sort_items(t->edges.items, t->edges.n, compare_edges);
	for (size_t i = 0; i < t->edges.n; i++) {
		const struct edge *edge = &t->edges.items[i], *next = edge + 1;

		/* All end on a link before the next one's begin. */
		if (edge->change > 0)
			n_jobs += n_sending[edge->job]++ == 0;
		else
			n_jobs -= --n_sending[edge->job] == 0;
		if (i + 1 < t->edges.n && next->link == edge->link &&
		    next->at_ns == edge->at_ns)
			continue;
		begin_event(t);
		fprintf(t->out,
			"{\"ph\":\"C\",\"name\":\"jobs sending\",\"pid\":%" PRIu32
			",\"ts\":%" PRId64 ".%03d,\"args\":{\"jobs\":%" PRId32 "}}",
			LINKS_PROCESS + edge->link, edge->at_ns / 1000,
			(int)(edge->at_ns % 1000), n_jobs);
	}
	free(n_sending);
}

uint64_t
perfetto_finish(struct perfetto *t, const char *version, const char *command,
		uint64_t seed)
{
	uint64_t n_left_out = t->n_left_out;
	struct jsonw w;

	put_counters(t);
	if (n_left_out) {
		begin_event(t);
		fprintf(t->out,
			"{\"ph\":\"i\",\"name\":\"cut here: %" PRIu64
			" slices left out\",\"s\":\"g\",\"pid\":%d,\"tid\":0,"
			"\"ts\":%.3f}",
			n_left_out, JOBS_PROCESS, t->cut_ns / 1e3);
	}
	fprintf(t->out, "\n],\n\"displayTimeUnit\": \"ms\",\n\"otherData\": ");
	jsonw_init(&w, t->out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "version", version);
	jsonw_str(&w, "command", command);
	jsonw_int(&w, "seed", (int64_t)seed);
	jsonw_int(&w, "slices_left_out", (int64_t)n_left_out);
	jsonw_end(&w);
	jsonw_finish(&w);
	fprintf(t->out, "}\n");
	vec_free(&t->edges);
	for (size_t j = 0; j < t->plan->n; j++)
		vec_free(&t->lanes[j].ends_ns);
	free(t->lanes);
	free(t->is_shown);
	free(t);
	return n_left_out;
}
