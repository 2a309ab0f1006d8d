/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inference_lab.h - simulated jobs on a leaf-spine fabric with hashed paths, as hosts
 * report their flows, and as imperfect switches count them, for path_inference.h
 */
#ifndef TESTS_UNIT_INFERENCE_LAB_H
#define TESTS_UNIT_INFERENCE_LAB_H

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/core/paths/path_inference.h"
#include "sim/run/experiment.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

/* Series are kept in bins of this length. */
#define INFERENCE_LAB_BASE_MS 10

struct inference_lab_opts {
	uint32_t n_leaves, hosts_per_leaf, n_spines, n_jobs, duration_s;
	uint64_t seed;
	bool are_alike; /* All jobs: a period of 200 ms, five in each second. */
};

/* How the fabric is seen. */
struct inference_view {
	uint32_t bin_ms, n_bins; /* From the start of the run. */
	uint32_t n_parts;        /* 0: 1. */
	double clock_frac;  /* Clocks of switches differ by up to this part of a bin. */
	uint32_t read_ms;   /* Each switch at a time of its own; 0: always. */
	double gain;        /* Bytes that switches count for each byte of a host. */
	double sampling;    /* One packet of 1500 bytes in this many; 0: all. */
	double background;  /* Standard deviation of other traffic, over capacity. */
	double hidden_frac; /* Jobs whose hosts do not report. */
	double gap_frac;    /* Counters that are missing, bins of a link. */
	uint64_t seed;
};

struct inference_lab_flow {
	uint32_t job;
	float *bytes; /* Owned.  [n_base]. */
	uint32_t n_paths, true_path;
	VEC(uint32_t) ends;  /* By path. */
	VEC(uint32_t) links; /* Between switches. */
};

struct inference_lab {
	struct topo *topo;
	struct routes *routes;
	struct scenario *scenario;
	struct sim_plan plan;
	uint32_t n_base;
	size_t *first_flow; /* Owned.  By job. */
	VEC(struct inference_lab_flow) flows;
	/* Of the last view. */
	struct path_inference_problem problem;
	uint32_t *flow_of; /* Owned.  By flow of the problem: that of the lab. */
};

static inline int
inference_lab_read_nothing(void *ctx, const char *path, size_t max_bytes,
			   char **ret_text, size_t *ret_length, struct err *err)
{
	(void)ctx;
	(void)max_bytes;
	(void)ret_text;
	(void)ret_length;
	return err_set_errno(err, path, ENOENT, "open");
}

/*
 * Jobs of 2 to 12 hosts, scattered; periods 80 to 600 ms, duty 0.2 to 0.5, jitter 1 %;
 * or all alike.
 */
static inline void
inference_lab_scenario(const struct inference_lab_opts *opts, struct strbuf *text)
{
	uint32_t n_hosts = opts->n_leaves * opts->hosts_per_leaf, used = 0;
	uint32_t *hosts = xcalloc(n_hosts, sizeof *hosts);
	struct rng rng;

	rng_init(&rng, opts->seed);
	for (uint32_t i = 0; i < n_hosts; i++)
		hosts[i] = i;
	rng_shuffle(&rng, hosts, n_hosts);
	strbuf_printf(text, "[sim]\nduration = %u s\nseed = %llu\n", opts->duration_s,
		      (unsigned long long)opts->seed);
	for (uint32_t j = 0; j < opts->n_jobs; j++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 11);
		double period_ms = 80 + 520 * rng_uniform(&rng);
		double duty = 0.2 + 0.3 * rng_uniform(&rng);

		if (used + n > n_hosts)
			break;
		if (opts->are_alike) {
			period_ms = 200;
			duty = 0.3;
		}
		strbuf_printf(text, "[job j%u]\nhosts = ", j);
		for (uint32_t i = 0; i < n; i++)
			strbuf_printf(text, "%sh%u", i ? "," : "", hosts[used + i]);
		/* 50 Gb/s are 6.25 MB each ms. */
		strbuf_printf(text,
			      "\nsegment = compute %.3f ms\nsegment = send %.4f MB\n"
			      "jitter = 1 %%\n",
			      (1 - duty) * period_ms,
			      duty * period_ms * 6.25 / 2 * n / (n - 1));
		used += n;
	}
	free(hosts);
}

static inline void
inference_lab_on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns,
		      double end_ns, double rate_bps, double ecn_packets)
{
	struct inference_lab *lab = ctx;
	float *bytes = lab->flows.items[lab->first_flow[job] + flow].bytes;
	const double base_ns = INFERENCE_LAB_BASE_MS * 1e6;

	(void)ecn_packets;
	for (double at = start_ns; at < end_ns;) {
		uint32_t bin = (uint32_t)(at / base_ns);
		double to = fmin(end_ns, (bin + 1) * base_ns);

		if (bin >= lab->n_base)
			return;
		bytes[bin] += (float)((to - at) * rate_bps / 8e9);
		/* A step that rounding makes empty is skipped. */
		at = to > at ? to : (bin + 1.5) * base_ns;
	}
}

static inline void
inference_lab_add_flow(struct inference_lab *lab, uint32_t job,
		       const struct routed_job *routed, size_t i)
{
	const struct collective_flow *told = &routed->flows.flows[i];
	struct inference_lab_flow flow = {
		.job = job,
		.bytes = xcalloc(lab->n_base, sizeof *flow.bytes),
		.n_paths = 1,
		.true_path = UINT32_MAX,
		.ends = VEC_EMPTY,
		.links = VEC_EMPTY,
	};
	const uint32_t *true_links = routed->path_links + routed->path_first[i];
	size_t n_true = routed->path_first[i + 1] - routed->path_first[i];

	for (uint32_t p = 0; p < flow.n_paths; p++) {
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		BUG_ON(routes_numbered_path(lab->routes, told->source,
					    told->destination, 0, p, links, &n,
					    &flow.n_paths) < 0);
		for (size_t k = 1; k + 1 < n; k++)
			vec_push(&flow.links, links[k]);
		vec_push(&flow.ends, (uint32_t)flow.links.n);
		if (n == n_true && memcmp(links, true_links, n * sizeof *links) == 0)
			flow.true_path = p;
	}
	BUG_ON(flow.true_path == UINT32_MAX);
	vec_push(&lab->flows, flow);
}

static inline void
inference_lab_init(struct inference_lab *lab, const struct inference_lab_opts *opts)
{
	const struct gen_leaf_spine shape = { .n_leaves = opts->n_leaves,
					      .hosts_per_leaf = opts->hosts_per_leaf,
					      .n_spines = opts->n_spines,
					      .host_bps = 50e9,
					      .uplink_bps = 50e9 };
	const struct scenario_io io = { NULL, inference_lab_read_nothing };
	struct strbuf text = STRBUF_EMPTY;
	struct experiment_opts run;
	struct experiment experiment;
	struct err err = { 0 };

	*lab = (struct inference_lab){ .flows = VEC_EMPTY };
	lab->n_base = opts->duration_s * (1000 / INFERENCE_LAB_BASE_MS);
	inference_lab_scenario(opts, &text);
	if (gen_leaf_spine(&shape, &lab->topo, &err) < 0 ||
	    scenario_parse("lab.ini", text.text, text.length, &io, &lab->scenario,
			   &err) < 0 ||
	    scenario_bind(lab->scenario, lab->topo, &err) < 0)
		BUG("%s", err.text);
	lab->routes = routes_new(lab->topo, opts->seed);
	if (sim_plan_make(lab->scenario, lab->topo, lab->routes, SIM_POLICY_NONE, 0,
			  SCENARIO_PACE_UNSET, &lab->plan, &err) < 0)
		BUG("%s", err.text);
	lab->first_flow = xcalloc(lab->plan.n + 1, sizeof *lab->first_flow);
	for (uint32_t j = 0; j < lab->plan.n; j++) {
		const struct routed_job *routed = &lab->plan.jobs[j].routed;

		lab->first_flow[j] = lab->flows.n;
		for (size_t i = 0; i < routed->flows.n; i++)
			inference_lab_add_flow(lab, j, routed, i);
	}
	experiment_opts_init(&run, lab->scenario, SIM_POLICY_NONE);
	run.random_phases = true;
	run.ctx = lab;
	run.on_sent = inference_lab_on_sent;
	BUG_ON(experiment_run(lab->scenario, &lab->plan, lab->topo, &run, &experiment) <
	       0);
	experiment_fini(&experiment);
	strbuf_free(&text);
}

/* ---- Views ------------------------------------------------------------------------ */

/* Sums of 'width' base bins each. */
static inline void
inference_lab_bins(const struct inference_lab *lab, const float *base, uint32_t width,
		   uint32_t n, float *ret_bins)
{
	for (uint32_t t = 0; t < n; t++) {
		double sum = 0;

		for (uint32_t at = t * width; at < (t + 1) * width; at++)
			sum += at < lab->n_base ? base[at] : 0;
		ret_bins[t] = (float)sum;
	}
}

/* How a switch reads its counters, in base bins: its clock, and when and how often. */
struct inference_reading {
	int64_t clock, phase, interval;
};

/* As importers do: a reading is spread evenly over the time since the one before. */
static inline void
inference_lab_read(const struct inference_lab *lab, struct inference_reading reading,
		   const float *sum, float *ret_base)
{
	int64_t n = lab->n_base, step = reading.interval;

	for (int64_t from = reading.phase - step; from < n; from += step) {
		double bytes = 0;

		for (int64_t at = from + reading.clock;
		     at < from + reading.clock + step; at++)
			bytes += at >= 0 && at < n ? sum[at] : 0;
		for (int64_t at = from < 0 ? 0 : from; at < from + step && at < n; at++)
			ret_base[at] = (float)(bytes / (double)step);
	}
}

static inline void
inference_lab_count(const struct inference_lab *lab, const struct inference_view *view,
		    uint32_t l, const struct inference_reading *readings,
		    struct rng *rng, float *bins)
{
	const struct topo_link *link = topo_link(lab->topo, l);
	float *sum = xcalloc(lab->n_base + 1, sizeof *sum);
	float *base = xcalloc(lab->n_base + 1, sizeof *base);
	double other = 0, bin_bytes = link->capacity_bps / 8e3 * view->bin_ms;

	for (size_t f = 0; f < lab->flows.n; f++) {
		const struct inference_lab_flow *flow = &lab->flows.items[f];
		uint32_t p = flow->true_path;

		for (uint32_t i = p ? flow->ends.items[p - 1] : 0;
		     i < flow->ends.items[p]; i++)
			for (uint32_t t = 0;
			     t < lab->n_base && flow->links.items[i] == l; t++)
				sum[t] += flow->bytes[t];
	}
	inference_lab_read(lab, readings[link->from], sum, base);
	inference_lab_bins(lab, base, view->bin_ms / INFERENCE_LAB_BASE_MS,
			   view->n_bins, bins);
	for (uint32_t t = 0; t < view->n_bins; t++) {
		double bytes = view->gain * bins[t];

		other = 0.9 * other + sqrt(1 - 0.81) * rng_normal(rng);
		bytes += (2 + other) * view->background * bin_bytes;
		if (view->sampling > 0)
			bytes += sqrt(bytes * 1500 * view->sampling) * rng_normal(rng);
		bins[t] = (float)fmax(bytes, 0);
		if (rng_uniform(rng) < view->gap_frac)
			bins[t] = PATH_INFERENCE_GAP;
	}
	free(sum);
	free(base);
}

static inline void
inference_lab_unsee(struct inference_lab *lab)
{
	for (size_t f = 0; f < lab->problem.n_flows; f++)
		free((void *)lab->problem.flows[f].bytes);
	for (size_t l = 0; l < lab->problem.n_links; l++)
		free((void *)lab->problem.links[l].bytes);
	free((void *)lab->problem.flows);
	free((void *)lab->problem.links);
	free(lab->flow_of);
	lab->problem = (struct path_inference_problem){ 0 };
	lab->flow_of = NULL;
}

/* Makes lab->problem. */
static inline void
inference_lab_see(struct inference_lab *lab, const struct inference_view *view)
{
	uint32_t n_links = topo_n_links(lab->topo), n_nodes = topo_n_nodes(lab->topo);
	struct path_inference_flow *flows = xcalloc(lab->flows.n + 1, sizeof *flows);
	struct path_inference_link *links = xcalloc(n_links + 1, sizeof *links);
	struct inference_reading *readings = xcalloc(n_nodes + 1, sizeof *readings);
	uint32_t width = view->bin_ms / INFERENCE_LAB_BASE_MS;
	uint32_t n_parts = view->n_parts ? view->n_parts : 1;
	bool *is_hidden = xcalloc(lab->plan.n + 1, sizeof *is_hidden);
	struct rng rng;
	size_t n = 0;

	inference_lab_unsee(lab);
	rng_init(&rng, view->seed);
	for (uint32_t i = 0; i < n_nodes; i++) {
		readings[i] = (struct inference_reading){
			.clock = (int64_t)(view->clock_frac * width *
					   (2 * rng_uniform(&rng) - 1)),
			.interval = 1,
		};
		if (view->read_ms) {
			readings[i].interval = view->read_ms / INFERENCE_LAB_BASE_MS;
			readings[i].phase = (int64_t)rng_below(
				&rng, (uint64_t)readings[i].interval);
		}
	}
	for (size_t j = 0; j < lab->plan.n; j++)
		is_hidden[j] = rng_uniform(&rng) < view->hidden_frac;
	lab->flow_of = xcalloc(lab->flows.n + 1, sizeof *lab->flow_of);
	for (size_t f = 0; f < lab->flows.n; f++) {
		const struct inference_lab_flow *flow = &lab->flows.items[f];
		float *bins = xcalloc(view->n_bins * n_parts + 1, sizeof *bins);

		inference_lab_bins(lab, flow->bytes, width / n_parts,
				   view->n_bins * n_parts, bins);
		if (is_hidden[flow->job]) {
			free(bins);
			continue;
		}
		lab->flow_of[n] = (uint32_t)f;
		flows[n++] = (struct path_inference_flow){ bins, flow->n_paths,
							   flow->ends.items,
							   flow->links.items };
	}
	for (uint32_t l = 0; l < n_links; l++) {
		const struct topo_link *link = topo_link(lab->topo, l);
		float *bins;

		if (topo_node(lab->topo, link->from)->tier == 0 ||
		    topo_node(lab->topo, link->to)->tier == 0)
			continue;
		bins = xcalloc(view->n_bins + 1, sizeof *bins);
		inference_lab_count(lab, view, l, readings, &rng, bins);
		links[l] = (struct path_inference_link){ bins, link->from };
	}
	free(readings);
	free(is_hidden);
	lab->problem = (struct path_inference_problem){ view->n_bins, n_parts, n,
							n_links,      flows,   links };
}

static inline void
inference_lab_fini(struct inference_lab *lab)
{
	inference_lab_unsee(lab);
	for (size_t f = 0; f < lab->flows.n; f++) {
		free(lab->flows.items[f].bytes);
		vec_free(&lab->flows.items[f].ends);
		vec_free(&lab->flows.items[f].links);
	}
	vec_free(&lab->flows);
	free(lab->first_flow);
	sim_plan_fini(&lab->plan);
	scenario_free(lab->scenario);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

/* ---- Scores ----------------------------------------------------------------------- */

struct inference_score {
	size_t n, n_known, n_wrong; /* Flows that have a choice. */
	size_t reasons[8];
};

/* Runs the inference and adds how often it was right. */
static inline void
inference_lab_score(const struct inference_lab *lab, struct inference_score *score)
{
	struct path_inference_answer *answers =
		xcalloc(lab->problem.n_flows + 1, sizeof *answers);

	path_inference_run(&lab->problem, answers);
	for (size_t f = 0; f < lab->problem.n_flows; f++) {
		const struct inference_lab_flow *flow =
			&lab->flows.items[lab->flow_of[f]];

		if (flow->n_paths < 2)
			continue;
		score->n++;
		score->reasons[answers[f].reason]++;
		if (answers[f].reason != PATH_INFERENCE_KNOWN)
			continue;
		score->n_known++;
		score->n_wrong += answers[f].path != flow->true_path;
	}
	free(answers);
}

#endif
