/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_goodput.c - numbers of GPUs, and places, with the largest fair mean of goodputs
 * (Pollux, OSDI 2021, section 4).
 *
 * A job's speedup is its goodput on k GPUs over that on an equal share of the cluster;
 * a job that moves loses the fraction of its lifetime that restarts have cost.  The
 * value of a plan is the power mean of these, with exponent p: the smaller p, the
 * fairer.  A genetic search (math/genetic.h) looks for plans; it begins where the last
 * one ended.
 *
 * A job whose goodput is still unknown gets one GPU. A job that never reports is as
 * fast as it has GPUs, up to its request; if it is not elastic it gets that or
 * nothing.  Then the number of jobs without GPUs dominates the value.  The weight of
 * such a job grows with its waiting time: otherwise small jobs would go before large
 * ones indefinitely.
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/goodput.h"
#include "policies/math/genetic.h"
#include "policies/planners.h"

#define LITTLE    1e-3 /* Added to speedups: a job without GPUs has a finite value. */
#define N_SPREADS 2    /* A fitted goodput knows one node, and more than one. */
#define FEWEST    10   /* Fewest generations. */
#define NOWHERE   UINT32_MAX

enum {
	POWER,
	PLANS,
	GENERATIONS,
	IDLE,
	ELEMENTS,
	WAITING,
	PATIENCE_S,
	EXPLORE,
	MAX_GPUS,
	MAX_NODES,
	DELAY_S,
	AVOID,
	NEAR,
	N_PARAMS,
};

/* A job in the search. */
struct row {
	uint32_t job;
	bool is_known;
	struct goodput goodput; /* If it is known. */
	double base;            /* Its speed on an equal share of the cluster. */
	double factor;          /* Factor of its speedup if it moves. */
	double weight;          /* Weight of its value. */
	/* First index in 'worths', which is by whether it moves, by nodes, by GPUs. */
	size_t first;
	uint32_t n_by_nodes, n_by_gpus;
};

struct state {
	double params[N_PARAMS];
	struct rng *rng;
	struct genetic *genetic;
	bool has_happened;        /* An event since the last plan. */
	double waited;            /* Sum of steps_waited(). */
	VEC(uint32_t) row_of;     /* By job, in the last plan; or NOWHERE. */
	VEC(uint32_t) last;       /* Jobs of the rows in the last plan. */
	VEC(uint32_t) from;       /* Of rows. */
	VEC(uint32_t) capacities; /* By node: GPUs that jobs may use. */
	VEC(struct row) rows;     /* In the order in which nodes serve them. */
	VEC(struct genetic_row) limits;
	VEC(uint16_t) now;
	VEC(double) worths; /* NAN: not computed yet. */
	const struct pol_view *view;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	memcpy(s->params, params, sizeof s->params);
	s->rng = rng;
	s->genetic = genetic_new();
}

static void
fini(void *state)
{
	struct state *s = state;

	genetic_free(s->genetic);
	vec_free(&s->row_of);
	vec_free(&s->last);
	vec_free(&s->from);
	vec_free(&s->capacities);
	vec_free(&s->rows);
	vec_free(&s->limits);
	vec_free(&s->now);
	vec_free(&s->worths);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	(void)view;
	(void)job;
	s->has_happened |= event != POL_STARTED && event != POL_STOPPED;
}

/* ---- Values of places ------------------------------------------------------------ */

/* Speed in the job's own unit. */
static double
speed_on(const struct state *s, const struct row *row, uint32_t n_nodes,
	 uint32_t n_gpus)
{
	const struct pol_speed *speed = &s->view->speed;
	struct goodput_batch batch;

	if (!n_gpus)
		return 0;
	if (row->is_known)
		return goodput_best(&row->goodput, n_nodes, n_gpus, &batch);
	if (!speed->speed)
		return n_gpus;
	return n_gpus * speed->speed(speed->ctx, &s->view->jobs[row->job], n_gpus,
				     n_nodes, 0, NULL, 0);
}

/* Worth of GPUs of one node; a whole node is worth 1. */
static double
worth_of(const struct state *s, const struct row *row, uint32_t n_nodes,
	 uint32_t n_gpus, bool is_now)
{
	const struct pol_cluster *cluster = s->view->cluster;
	double speedup = speed_on(s, row, n_nodes, n_gpus) / row->base *
			 cluster->n_nodes / cluster->n_all_gpus;
	double power = s->params[POWER];

	if (!isfinite(speedup))
		speedup = 0;
	speedup = speedup * (is_now ? 1 : row->factor) + LITTLE;
	if (power == -1)
		return -row->weight / speedup;
	if (power == 0)
		return row->weight * log(speedup);
	return row->weight * copysign(pow(speedup, power), power);
}

static double
worth(void *ctx, uint32_t at, uint32_t n_gpus, uint32_t n_nodes, bool is_now)
{
	struct state *s = ctx;
	const struct row *row = &s->rows.items[at];
	uint32_t by_nodes = n_nodes < row->n_by_nodes ? n_nodes : row->n_by_nodes;
	uint32_t by_gpus = row->n_by_gpus > 1 ? n_gpus : 0;
	double *known;

	if (!n_gpus)
		by_nodes = by_gpus = 0;
	known = &s->worths.items[row->first +
				 ((size_t)by_nodes * 2 + is_now) * row->n_by_gpus +
				 by_gpus];
	if (isnan(*known))
		*known = worth_of(s, row, n_nodes, n_gpus, is_now);
	return *known;
}

/* The power mean of a sum. */
static double
mean_of(const struct state *s, double sum)
{
	double mean = sum / (double)(s->rows.n ? s->rows.n : 1);
	double power = s->params[POWER];

	return power == 0 ? exp(mean) : pow(fabs(mean), 1 / power);
}

/* ---- Rows ------------------------------------------------------------------------ */

static int
compare_jobs(const void *a, const void *b, void *ctx)
{
	const struct pol_job *jobs = ctx;
	const struct pol_job *x = &jobs[((const struct row *)a)->job];
	const struct pol_job *y = &jobs[((const struct row *)b)->job];

	if (x->attained_s != y->attained_s)
		return x->attained_s < y->attained_s ? -1 : 1;
	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static struct genetic_row
limits_of(const struct state *s, const struct pol_job *job, uint32_t n_seen)
{
	double most =
		fmin(s->params[MAX_GPUS],
		     fmax(1, s->params[EXPLORE] * (n_seen == POL_NONE ? 0 : n_seen)));
	struct genetic_row limits = { .most = job->n_gpus,
				      .max_columns = (uint32_t)s->params[MAX_NODES] };

	if (job->max_gpus <= job->n_gpus)
		return (struct genetic_row){ job->n_gpus, job->n_gpus, job->n_gpus };
	if (n_seen != POL_NONE)
		limits.most = (uint32_t)fmin(most, job->max_gpus);
	return limits;
}

/* Makes room for the job's worths. */
static void
make_room(struct state *s, struct row *row, const struct genetic_row *limits)
{
	uint32_t n_nodes = s->view->cluster->n_nodes;

	row->n_by_nodes = row->is_known                   ? N_SPREADS
			  : limits->max_columns < n_nodes ? limits->max_columns
							  : n_nodes;
	row->n_by_gpus = limits->least ? 1 : limits->most + 1;
	row->first = s->worths.n;
	for (size_t i = (row->n_by_nodes + 1) * (size_t)row->n_by_gpus * 2; i; i--)
		vec_push(&s->worths, NAN);
}

/* How often the job's waiting time has doubled. */
static double
steps_waited(const struct state *s, const struct pol_job *job)
{
	double waited_s = s->view->now_s - job->submit_s - job->executed_s;

	return floor(log2(1 + fmax(0, waited_s) / s->params[PATIENCE_S]));
}

static void
add_row(struct state *s, struct row *row, uint32_t n_seen)
{
	const struct pol_view *view = s->view;
	const struct pol_job *job = &view->jobs[row->job];
	struct genetic_row limits = limits_of(s, job, n_seen);
	uint32_t n_part = (view->cluster->n_all_gpus + view->n_jobs - 1) / view->n_jobs;
	double delay_s = s->params[DELAY_S];
	double age_s = fmax(view->now_s - job->submit_s, delay_s);
	double n_restarts = job->n_starts ? job->n_starts - 1 : 0;

	if (row->is_known) {
		uint32_t n_most = row->goodput.max_batch / row->goodput.min_local;

		row->base = speed_on(s, row, 1, n_part < n_most ? n_part : n_most);
	} else {
		row->base = n_part;
	}
	row->factor =
		age_s > 0 ? fmax(age_s - n_restarts * delay_s, 0) / (age_s + delay_s)
			  : 1;
	row->weight = n_seen == POL_NONE ? exp2(steps_waited(s, job)) : 1;
	make_room(s, row, &limits);
	vec_push(&s->limits, limits);
}

static void
write_now(struct state *s, const struct pol_job *job)
{
	uint32_t n = s->view->cluster->n_nodes;
	uint16_t *cells;

	vec_reserve(&s->now, n);
	cells = s->now.items + s->now.n;
	memset(cells, 0, n * sizeof *cells);
	for (uint32_t i = 0; i < job->n_pieces; i++)
		cells[job->pieces[i].node] = (uint16_t)job->pieces[i].n_gpus;
	s->now.n += n;
}

/* Drops waiting jobs beyond the first max_waiting. */
static void
leave_out(struct state *s)
{
	double n_waiting = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		bool runs = s->view->jobs[s->rows.items[i].job].n_pieces > 0;

		if (runs || n_waiting++ < s->params[WAITING])
			s->rows.items[n++] = s->rows.items[i];
	}
	s->rows.n = n;
}

/* Returns whether values may have changed: a job reports, or waits longer. */
static bool
fill_rows(struct state *s, const uint32_t *ids, uint32_t n)
{
	const struct pol_report *report = &s->view->report;
	double waited = 0;
	bool any = false;

	s->rows.n = s->limits.n = s->now.n = s->worths.n = 0;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->rows, (struct row){ .job = ids[i] });
	if (n)
		qsort_r(s->rows.items, n, sizeof *s->rows.items, compare_jobs,
			(void *)s->view->jobs);
	leave_out(s);
	for (size_t i = 0; i < s->rows.n; i++) {
		struct row *row = &s->rows.items[i];
		const struct pol_job *job = &s->view->jobs[row->job];
		uint32_t n_seen = POL_NONE;

		if (report->goodput)
			n_seen = report->goodput(report->ctx, job, &row->goodput);
		row->is_known = n_seen && n_seen != POL_NONE;
		any |= n_seen != POL_NONE;
		waited += steps_waited(s, job);
		add_row(s, row, n_seen);
		write_now(s, job);
	}
	any |= waited != s->waited;
	s->waited = waited;
	return any;
}

/* ---- The plan -------------------------------------------------------------------- */

/* Keeps the rows of the last population whose jobs still exist. */
static void
carry(struct state *s)
{
	uint32_t n_ids = s->view->n_ids;

	while (s->row_of.n < n_ids)
		vec_push(&s->row_of, NOWHERE);
	for (size_t i = 0; i < s->last.n; i++)
		s->row_of.items[s->last.items[i]] = (uint32_t)i;
	s->from.n = 0;
	for (size_t i = 0; i < s->rows.n; i++)
		vec_push(&s->from, s->row_of.items[s->rows.items[i].job]);
	for (size_t i = 0; i < s->last.n; i++)
		s->row_of.items[s->last.items[i]] = NOWHERE;
	s->last.n = 0;
	for (size_t i = 0; i < s->rows.n; i++)
		vec_push(&s->last, s->rows.items[i].job);
	genetic_carry(s->genetic, s->from.items, (uint32_t)s->rows.n,
		      s->view->cluster->n_nodes);
}

static void
grant(struct pol_plan *plan, uint32_t job, size_t first)
{
	uint32_t n_gpus = 0;

	for (size_t i = first; i < plan->pieces.n; i++)
		n_gpus += plan->pieces.items[i].n_gpus;
	if (n_gpus)
		pol_plan_grant(plan, job, n_gpus, job, first);
}

static void
write_plan(const struct state *s, const uint16_t *cells, double score,
	   struct pol_plan *plan)
{
	uint32_t n = s->view->cluster->n_nodes;

	for (size_t i = 0; i < s->rows.n; i++, cells += n) {
		size_t first = plan->pieces.n;

		for (uint32_t node = 0; node < n; node++)
			if (cells[node])
				vec_push(&plan->pieces,
					 ((struct pol_piece){ node, cells[node], 0 }));
		grant(plan, s->rows.items[i].job, first);
	}
	plan->score = score;
}

/* Fewer generations of large plans, which take longer. */
static uint32_t
n_generations(const struct state *s, const struct genetic_opts *opts)
{
	double elements = (double)s->now.n * opts->n_plans;
	double n = fmax(FEWEST, elements > 0 ? s->params[ELEMENTS] / elements : 0);

	return (uint32_t)fmin(n, opts->n_generations);
}

static uint32_t
sum_of(const uint16_t *cells, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += cells[i];
	return sum;
}

/* Whether jobs have as many GPUs, and the same jobs stay. */
static bool
is_alike(const struct state *s, const uint16_t *best, const uint16_t *other)
{
	uint32_t n = s->view->cluster->n_nodes;
	const uint16_t *now = s->now.items;

	for (size_t i = 0; i < s->rows.n; i++, best += n, other += n, now += n) {
		if (memcmp(best, other, n * sizeof *best) == 0)
			continue;
		if (memcmp(best, now, n * sizeof *best) == 0 ||
		    sum_of(best, n) != sum_of(other, n))
			return false;
	}
	return true;
}

/* Writes the best plan and the equally good ones; returns how many. */
static uint32_t
write_best(const struct state *s, struct pol_plan *plans, uint32_t n_max)
{
	const uint16_t *best = NULL;
	double best_score = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < genetic_count(s->genetic) && n < n_max; i++) {
		double sum;
		const uint16_t *cells = genetic_matrix(s->genetic, i, &sum);
		double score = mean_of(s, sum);

		if (!best) {
			best = cells;
			best_score = score;
		}
		if (score < best_score * (1 - s->params[NEAR]))
			break;
		if (is_alike(s, best, cells))
			write_plan(s, cells, score, &plans[n++]);
	}
	return n;
}

/* The plan in which all jobs stay. */
static void
write_same(struct state *s, struct pol_plan *ret_plan)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->rows.n; i++) {
		const struct pol_job *job = &s->view->jobs[s->rows.items[i].job];

		sum += worth(s, i, job->n_held_gpus, job->n_pieces, true);
	}
	write_plan(s, s->now.items, mean_of(s, sum), ret_plan);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	struct genetic_problem problem = {
		.n_columns = view->cluster->n_nodes,
		.exclusive = s->params[AVOID] > 0,
		.ctx = s,
		.worth = worth,
	};
	struct genetic_opts opts = {
		.n_plans = (uint32_t)s->params[PLANS],
		.n_generations = (uint32_t)s->params[GENERATIONS],
		.n_idle = (uint32_t)s->params[IDLE],
	};

	s->view = view;
	/* Without a change, the plan stays. */
	if (!fill_rows(s, view->ids, view->n_jobs) && !s->has_happened) {
		write_same(s, plans);
		return 1;
	}
	s->has_happened = false;
	problem.n_rows = (uint32_t)s->rows.n;
	opts.n_generations = n_generations(s, &opts);
	problem.rows = s->limits.items;
	s->capacities.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		vec_push(&s->capacities, pol_node_gpus(view->cluster, i));
	problem.capacities = s->capacities.items;
	problem.now = s->now.items;
	carry(s);
	genetic_search(s->genetic, &problem, &opts, s->rng);
	return write_best(s, plans, n_max);
}

static const struct pol_param params[] = {
	[POWER] = { "goodput.power", "p of the power mean of speedups; lower is fairer",
		    -1, -16, 1, false },
	[PLANS] = { "goodput.population", "plans in a generation", 100, 2, 10000,
		    true },
	[GENERATIONS] = { "goodput.max_generations", "most generations of a search",
			  100, 1, 100000, true },
	[IDLE] = { "goodput.stale_generations",
		   "generations without a better plan that end a search", 100, 1,
		   100000, true },
	[ELEMENTS] = { "goodput.max_work",
		       "approximate limit of jobs x nodes x plans of a search; large "
		       "searches get fewer generations, at least 10",
		       1e7, 0, 1e15, false },
	[WAITING] = { "goodput.max_waiting",
		      "most waiting jobs that a search considers, least attained first",
		      64, 1, 1e6, true },
	[PATIENCE_S] = { "goodput.patience_s",
			 "the weight of a job without reports doubles each time its "
			 "waiting time doubles from this, s",
			 600, 1e-3, 1e12, false },
	[EXPLORE] = { "goodput.growth",
		      "most GPUs of a job, as a multiple of what it has measured", 2, 1,
		      1e6, false },
	[MAX_GPUS] = { "goodput.max_gpus", "most GPUs of an elastic job", 64, 1, 65535,
		       true },
	[MAX_NODES] = { "goodput.max_nodes", "most nodes of an elastic job", 16, 1,
			65535, true },
	[DELAY_S] = { "goodput.restart_s", "assumed cost of a restart, s", 30, 0, 1e6,
		      false },
	[AVOID] = { "goodput.no_shared_nodes",
		    "1: two jobs on several nodes never share a node; 0: they may", 1,
		    0, 1, true },
	[NEAR] = { "goodput.tolerance",
		   "relative score difference up to which plans are equally good", 0.01,
		   0, 1, false },
	{ 0 },
};

const struct pol_planner planner_goodput = {
	.module = { .name = "goodput",
		    .text = "numbers of GPUs and places by the fair mean of goodputs",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
};
