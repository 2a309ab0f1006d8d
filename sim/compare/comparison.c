/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/compare/comparison.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"

struct comparison {
	size_t n_policies, max_seeds, n_jobs;
	size_t *n_noted;      /* By policy: its seeds. */
	double *metrics;      /* [policy][metric][seed] */
	double *iteration_ns; /* [policy][job][seed] */
	double *slowdown;     /* Likewise. */
};

struct comparison *
comparison_new(size_t n_policies, size_t max_seeds, size_t n_jobs)
{
	struct comparison *c = xcalloc(1, sizeof *c);

	c->n_policies = n_policies;
	c->max_seeds = max_seeds;
	c->n_jobs = n_jobs;
	c->n_noted = xcalloc(n_policies, sizeof *c->n_noted);
	c->metrics =
		xcalloc(n_policies * N_COMPARISON_METRICS * max_seeds, sizeof(double));
	c->iteration_ns = xcalloc(n_policies * n_jobs * max_seeds + 1, sizeof(double));
	c->slowdown = xcalloc(n_policies * n_jobs * max_seeds + 1, sizeof(double));
	return c;
}

void
comparison_free(struct comparison *c)
{
	if (!c)
		return;
	free(c->n_noted);
	free(c->metrics);
	free(c->iteration_ns);
	free(c->slowdown);
	free(c);
}

/* The figures of all seeds. */
static double *
metric_row(const struct comparison *c, size_t policy, enum comparison_metric metric)
{
	return c->metrics + (policy * N_COMPARISON_METRICS + metric) * c->max_seeds;
}

static size_t
job_row(const struct comparison *c, size_t policy, size_t job)
{
	return (policy * c->n_jobs + job) * c->max_seeds;
}

void
comparison_note(struct comparison *c, size_t policy, size_t seed,
		const struct experiment *experiment, const struct workload *workload)
{
	struct experiment_summary s;

	BUG_ON(policy >= c->n_policies || seed >= c->max_seeds ||
	       seed != c->n_noted[policy] || experiment->n_jobs != c->n_jobs);
	experiment_summarize(experiment, workload, &s);
	metric_row(c, policy, METRIC_ITERATION_MEAN_NS)[seed] = s.iteration_mean_ns;
	metric_row(c, policy, METRIC_ITERATION_P90_NS)[seed] = s.iteration_p90_ns;
	metric_row(c, policy, METRIC_ITERATION_P99_NS)[seed] = s.iteration_p99_ns;
	metric_row(c, policy, METRIC_SLOWDOWN_MEAN)[seed] = s.slowdown_mean;
	metric_row(c, policy, METRIC_SLOWDOWN_WORST)[seed] = s.slowdown_worst;
	metric_row(c, policy, METRIC_GOODPUT)[seed] = s.goodput;
	metric_row(c, policy, METRIC_ECN_PER_ITERATION)[seed] = s.ecn_per_iteration;
	metric_row(c, policy, METRIC_CORRECTIONS_PER_MIN)[seed] = s.corrections_per_min;
	for (size_t j = 0; j < c->n_jobs; j++) {
		c->iteration_ns[job_row(c, policy, j) + seed] =
			experiment->jobs[j].mean_ns;
		c->slowdown[job_row(c, policy, j) + seed] =
			experiment->jobs[j].slowdown;
	}
	c->n_noted[policy]++;
}

size_t
comparison_n_seeds(const struct comparison *c)
{
	size_t n = c->max_seeds;

	for (size_t p = 0; p < c->n_policies; p++)
		if (c->n_noted[p] < n)
			n = c->n_noted[p];
	return n;
}

static struct estimate
estimate_of(const double *x, size_t n)
{
	return (struct estimate){ stats_mean(x, n), stats_ci95(x, n) };
}

void
comparison_metric(const struct comparison *c, size_t policy,
		  enum comparison_metric metric, struct estimate *ret_value,
		  struct estimate *ret_difference)
{
	size_t n = comparison_n_seeds(c);
	const double *x = metric_row(c, policy, metric);
	const double *reference = metric_row(c, 0, metric);
	double *difference;

	*ret_value = estimate_of(x, n);
	if (!ret_difference)
		return;
	difference = xcalloc(n + 1, sizeof *difference);
	for (size_t i = 0; i < n; i++)
		difference[i] = x[i] - reference[i];
	*ret_difference = estimate_of(difference, n);
	free(difference);
}

void
comparison_job(const struct comparison *c, size_t policy, size_t job,
	       struct estimate *ret_iteration_ns, struct estimate *ret_slowdown)
{
	size_t n = comparison_n_seeds(c), row = job_row(c, policy, job);

	*ret_iteration_ns = estimate_of(c->iteration_ns + row, n);
	*ret_slowdown = estimate_of(c->slowdown + row, n);
}

double
comparison_raw_metric(const struct comparison *c, size_t policy, size_t seed,
		      enum comparison_metric metric)
{
	return metric_row(c, policy, metric)[seed];
}

void
comparison_raw_job(const struct comparison *c, size_t policy, size_t seed, size_t job,
		   double *ret_iteration_ns, double *ret_slowdown)
{
	size_t i = job_row(c, policy, job) + seed;

	*ret_iteration_ns = c->iteration_ns[i];
	*ret_slowdown = c->slowdown[i];
}
