/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/iteration_traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/workload/work_needs.h"
#include "scheduler/core/workload/workload.h"

/* Rates that differ by less are one. */
#define SAME_RATE_FRAC 1e-9

/* The rate changes by this at a time. */
struct change {
	double at_ns, by_bps;
	int n; /* Flows that begin (1) or end (-1) to send at this rate. */
};

struct watch {
	VEC(struct change) changes;
	double *send_ns; /* By segment. */
	double end_ns;
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct watch *watch = ctx;

	(void)job;
	(void)iteration;
	(void)start_ns;
	watch->end_ns = end_ns;
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct watch *watch = ctx;

	(void)job;
	(void)end_ns;
	watch->send_ns[segment] = start_ns;
}

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct watch *watch = ctx;

	(void)job;
	(void)flow;
	(void)ecn_packets;
	vec_push(&watch->changes, ((struct change){ start_ns, rate_bps, 1 }));
	vec_push(&watch->changes, ((struct change){ end_ns, -rate_bps, -1 }));
}

/* ------ The run ------ */

static int
add_job(struct engine *engine, const struct work_job *job)
{
	static const uint32_t path[] = { 0 };
	struct engine_segment *segments =
		xcalloc(job->n_segments + 1, sizeof *segments);
	struct engine_flow *flows = xcalloc(job->n_segments + 1, sizeof *flows);
	uint32_t *after = work_needs_fill(job, segments), id;
	const struct engine_job engine_job = {
		.segments = segments,
		.n_segments = (uint32_t)job->n_segments,
		.stop_ns = ENGINE_NEVER,
		.max_iterations = 1,
	};
	int r;

	for (size_t i = 0; i < job->n_segments; i++) {
		const struct work_segment *s = &job->segments[i];

		segments[i].compute_ns = s->compute_ns;
		if (!(s->nic_bytes > 0))
			continue;
		flows[i] = (struct engine_flow){ .links = path,
						 .n_links = 1,
						 .bytes = s->nic_bytes,
						 .cap_bps = s->cap_bps,
						 .weight = 1 };
		segments[i].flows_offset_ns = s->send_offset_ns;
		segments[i].latency_ns = s->latency_ns;
		segments[i].flows = &flows[i];
		segments[i].n_flows = 1;
	}
	r = engine_add_job(engine, &engine_job, &id);
	free(segments);
	free(flows);
	free(after);
	return r;
}

static int
by_time(const void *a, const void *b)
{
	const struct change *ca = a, *cb = b;

	if (ca->at_ns != cb->at_ns)
		return ca->at_ns < cb->at_ns ? -1 : 1;
	return (ca->n > cb->n) - (ca->n < cb->n);
}

/* Adds up the rates of all flows. */
static void
make_pieces(struct watch *watch, struct iteration_traffic *traffic)
{
	VEC(struct traffic_piece) pieces = VEC_EMPTY;
	double rate_bps = 0;
	int n_flows = 0;

	sort_items(watch->changes.items, watch->changes.n, by_time);
	for (size_t i = 0; i < watch->changes.n; i++) {
		const struct change *c = &watch->changes.items[i];
		struct traffic_piece *last =
			pieces.n ? &pieces.items[pieces.n - 1] : NULL;
		double end_ns = i + 1 < watch->changes.n ? c[1].at_ns : watch->end_ns;

		n_flows += c->n;
		rate_bps = n_flows ? rate_bps + c->by_bps : 0;
		if (!n_flows || !(end_ns > c->at_ns))
			continue;
		if (last && last->end_ns == c->at_ns &&
		    fabs(last->rate_bps - rate_bps) <= SAME_RATE_FRAC * rate_bps)
			last->end_ns = end_ns;
		else
			vec_push(&pieces, ((struct traffic_piece){ c->at_ns, end_ns,
								   rate_bps }));
	}
	traffic->pieces = pieces.items;
	traffic->n_pieces = pieces.n;
}

int
iteration_traffic_make(const struct work_job *job, double line_bps,
		       struct iteration_traffic *ret_traffic)
{
	struct iteration_traffic traffic = { 0 };
	struct watch watch = { 0 };
	const struct engine_config config = {
		.capacity_bps = &line_bps,
		.n_links = 1,
		.measure_links = true,
		.observer = { .ctx = &watch,
			      .on_iteration = on_iteration,
			      .on_flows = on_flows,
			      .on_sent = on_sent },
	};
	struct engine *engine = engine_new(&config);
	int r;

	watch.send_ns = xcalloc(job->n_segments + 1, sizeof *watch.send_ns);
	for (size_t i = 0; i < job->n_segments; i++)
		watch.send_ns[i] = -1;
	r = add_job(engine, job);
	if (r == 0) {
		engine_run(engine, ENGINE_NEVER);
		traffic.iteration_ns = watch.end_ns;
		traffic.send_ns = watch.send_ns;
		make_pieces(&watch, &traffic);
		*ret_traffic = traffic;
	} else {
		free(watch.send_ns);
	}
	vec_free(&watch.changes);
	engine_free(engine);
	return r;
}

void
iteration_traffic_fini(struct iteration_traffic *traffic)
{
	free(traffic->pieces);
	free(traffic->send_ns);
	*traffic = (struct iteration_traffic){ 0 };
}

/* ------ Fewer pieces ------ */

static double
length_ns(const struct traffic_piece *piece)
{
	return piece->end_ns - piece->start_ns;
}

/* Merges neighbors with a shorter pause, or without one if either is shorter. */
static void
merge(struct iteration_traffic *traffic, double shorter_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < traffic->n_pieces; i++) {
		struct traffic_piece piece = traffic->pieces[i];
		struct traffic_piece *last = n ? &traffic->pieces[n - 1] : NULL;
		double pause_ns = last ? piece.start_ns - last->end_ns : INFINITY;
		double bits;

		if (pause_ns >= shorter_ns ||
		    (!(pause_ns > 0) && length_ns(&piece) >= shorter_ns &&
		     length_ns(last) >= shorter_ns)) {
			traffic->pieces[n++] = piece;
			continue;
		}
		bits = last->rate_bps * length_ns(last) +
		       piece.rate_bps * length_ns(&piece);
		last->end_ns = piece.end_ns;
		last->rate_bps = bits / length_ns(last);
	}
	traffic->n_pieces = n;
}

void
iteration_traffic_coarsen(struct iteration_traffic *traffic, size_t n_most)
{
	double shorter_ns = 1000;

	do {
		merge(traffic, shorter_ns);
		shorter_ns *= 2;
	} while (traffic->n_pieces > n_most);
}
