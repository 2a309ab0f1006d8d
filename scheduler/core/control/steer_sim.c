/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/steer_sim.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "scheduler/core/control/control_constants.h"

#define MAX_ORDERS 64

struct flight {
	struct steer_order order;
	double arrives_ns;
};

struct interval {
	double start_ns, end_ns;
};

struct pacer {
	bool is_steered;
	uint32_t onset_segment;
	uint64_t n_begun; /* Number of onsets. */
	bool is_waiting;
	double enter_ns, comm_ns;
	VEC(struct interval) flows; /* Since the last report, disjoint. */
	double off_ns;              /* Error of the last reported begin. */
	double mark_ns;             /* The last reported begin. */
	uint32_t n_received;
	bool has_order;
	struct steer_order order; /* Not applied yet. */
	VEC(struct flight) flights;
};

struct steer_sim {
	struct steer_sim_opts opts;
	struct steer *steer;
	struct rng rng;
	VEC(struct pacer) pacers; /* By engine number. */
};

struct steer_sim *
steer_sim_new(const struct steer_sim_opts *opts)
{
	struct steer_sim *s = xcalloc(1, sizeof *s);

	if (opts)
		s->opts = *opts;
	if (s->opts.latency_ns <= 0)
		s->opts.latency_ns = STEER_LATENCY_NS;
	s->steer = steer_new(&s->opts.steer);
	rng_init_stream(&s->rng, s->opts.seed, 0x73746565);
	return s;
}

void
steer_sim_free(struct steer_sim *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->pacers.n; i++) {
		vec_free(&s->pacers.items[i].flights);
		vec_free(&s->pacers.items[i].flows);
	}
	vec_free(&s->pacers);
	steer_free(s->steer);
	free(s);
}

struct steer *
steer_sim_steer(struct steer_sim *s)
{
	return s->steer;
}

void
steer_sim_add(struct steer_sim *s, uint32_t job, uint32_t onset_segment,
	      const struct steer_job *what)
{
	while (s->pacers.n <= job)
		vec_push(&s->pacers, (struct pacer){ 0 });
	s->pacers.items[job].is_steered = true;
	s->pacers.items[job].onset_segment = onset_segment;
	if (what)
		steer_set_job(s->steer, job, what);
}

/* ------ The pacer's side ------ */

/* Takes the orders that have arrived; the latest one counts. */
static void
receive(struct pacer *p, double now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < p->flights.n; i++) {
		const struct flight *f = &p->flights.items[i];

		if (f->arrives_ns > now_ns) {
			p->flights.items[n++] = *f;
			continue;
		}
		if (f->order.number <= p->n_received)
			continue;
		p->n_received = f->order.number;
		p->order = f->order;
		p->has_order = true;
	}
	p->flights.n = n;
}

/* How long the order delays an iteration that arrives now. */
static double
order_wait_ns(struct pacer *p, double now_ns)
{
	double until_ns;

	if (!p->has_order)
		return 0;
	p->has_order = false;
	if (now_ns > (double)p->order.expires_ns)
		return 0;
	until_ns = now_ns + (double)p->order.delay_ns;
	if (p->order.not_before_ns)
		until_ns = fmax(until_ns, (double)p->order.not_before_ns);
	return fmin(until_ns - now_ns, (double)p->order.max_ns);
}

static bool
happens(struct steer_sim *s, double frac)
{
	return frac > 0 && rng_uniform(&s->rng) < frac;
}

static double
mark_off_ns(struct steer_sim *s)
{
	double off_ns = 0;

	if (s->opts.mark_sd_ns > 0)
		off_ns = s->opts.mark_sd_ns * rng_normal(&s->rng);
	return happens(s, s->opts.late_mark_frac) ? off_ns + s->opts.late_mark_ns
						  : off_ns;
}

/* Adds the errors of a pacer that is not always scheduled at once. */
static void
blur(struct steer_sim *s, struct pacer *p, struct steer_report *r)
{
	double late_ns = s->opts.late_end_sd_ns > 0
				 ? s->opts.late_end_sd_ns * fabs(rng_normal(&s->rng))
				 : 0;
	double comm_off_ns = mark_off_ns(s) + late_ns - p->off_ns;
	double off_ns = mark_off_ns(s);

	/* Reported times are ascending. */
	off_ns = fmax(off_ns, p->mark_ns + 1 - (double)r->enter_ns);
	p->off_ns = off_ns;
	r->enter_ns += (int64_t)off_ns;
	r->begin_ns += (int64_t)off_ns;
	p->mark_ns = (double)r->begin_ns;
	if (r->comm_ns > 0)
		r->comm_ns = (int64_t)fmax(1, (double)r->comm_ns + comm_off_ns);
}

static struct steer_report
garbage(struct steer_sim *s)
{
	return (struct steer_report){
		.number = rng_next(&s->rng) >> rng_below(&s->rng, 64),
		.enter_ns = (int64_t)(rng_next(&s->rng) >> rng_below(&s->rng, 64)),
		.begin_ns = (int64_t)(rng_next(&s->rng) >> rng_below(&s->rng, 64)),
		.comm_ns = (int64_t)(rng_next(&s->rng) >> rng_below(&s->rng, 64)),
		.order = (uint32_t)rng_next(&s->rng),
	};
}

static void
report(struct steer_sim *s, uint32_t job, double now_ns)
{
	struct pacer *p = &s->pacers.items[job];
	struct steer_order orders[MAX_ORDERS];
	struct steer_report r = {
		.number = p->n_begun,
		.enter_ns = (int64_t)p->enter_ns,
		.begin_ns = (int64_t)now_ns,
		.comm_ns = (int64_t)p->comm_ns,
		.order = p->n_received,
	};
	size_t n;

	p->comm_ns = 0;
	p->flows.n = 0;
	p->n_begun++;
	if (happens(s, s->opts.lost_report_frac))
		return;
	if (s->opts.mark_sd_ns > 0 || s->opts.late_mark_frac > 0 ||
	    s->opts.late_end_sd_ns > 0)
		blur(s, p, &r);
	if (happens(s, s->opts.garbage_frac))
		r = garbage(s);
	if (s->opts.on_report)
		s->opts.on_report(s->opts.ctx, job, &r);
	n = steer_report(s->steer, job, &r, orders, MAX_ORDERS);
	for (size_t i = 0; i < n; i++) {
		struct flight f = {
			.order = orders[i],
			.arrives_ns = now_ns + (double)s->opts.latency_ns,
		};

		if (!happens(s, s->opts.lost_order_frac))
			vec_push(&s->pacers.items[orders[i].job].flights, f);
	}
}

/* How much later than ordered a wait ends: the pacer's host is busy. */
static double
late_wake_ns(struct steer_sim *s)
{
	if (!happens(s, s->opts.late_wake_frac))
		return 0;
	return -s->opts.late_wake_ns * log1p(-rng_uniform(&s->rng));
}

double
steer_sim_wait_ns(void *ctx, uint32_t job, uint64_t iteration, uint32_t segment,
		  double now_ns)
{
	struct steer_sim *s = ctx;
	struct pacer *p;
	double wait_ns;

	(void)iteration;
	if (job >= s->pacers.n)
		return 0;
	p = &s->pacers.items[job];
	if (!p->is_steered || segment != p->onset_segment)
		return 0;
	if (!p->is_waiting) {
		receive(p, now_ns);
		p->enter_ns = now_ns;
		wait_ns = order_wait_ns(p, now_ns);
		if (wait_ns > 1) {
			p->is_waiting = true;
			return wait_ns + late_wake_ns(s);
		}
	}
	p->is_waiting = false;
	report(s, job, now_ns);
	return 0;
}

/*
 * Flows of segments that overlap count once.  They come in the order of their ends, so
 * they can only reach into the last intervals.
 */
static void
add_flows(struct pacer *p, double start_ns, double end_ns)
{
	double whole_ns = end_ns - start_ns, first_ns = start_ns;

	while (p->flows.n && p->flows.items[p->flows.n - 1].end_ns > start_ns) {
		const struct interval *last = &p->flows.items[--p->flows.n];

		p->comm_ns -= last->end_ns - last->start_ns;
		first_ns = fmin(first_ns, last->start_ns);
		whole_ns = end_ns - first_ns;
	}
	vec_push(&p->flows, ((struct interval){ first_ns, end_ns }));
	p->comm_ns += whole_ns;
}

void
steer_sim_on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns,
		   double end_ns)
{
	struct steer_sim *s = ctx;

	(void)segment;
	if (job < s->pacers.n && s->pacers.items[job].is_steered)
		add_flows(&s->pacers.items[job], start_ns, end_ns);
}
