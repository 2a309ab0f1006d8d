/*
 * fabric.c - who meets whom, and what was found out about them before.
 */
#include "sim/cluster/fabric.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/unionfind.h"
#include "scheduler/core/cassini/cassini.h"
#include "sim/cluster/steady.h"
#include "topology/route.h"
#include "topology/topo.h"

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#define MAX_ITERATIONS 128
#define MAX_REMEMBERED 16384

const char *const fabric_augment_names[] = { "none", "cassini", "antiphase",
					     "dedicated", NULL };

/* A job on several hosts. */
struct placed {
	bool is_there, is_seen;
	uint32_t n_gpus;
	double phase; /* Of an iteration; where it is left to chance. */
	double alone_ns, peak_bps;
	struct work_job job;
	struct laid_job laid;
	struct steady_seen alone, now; /* If that is measured. */
};

/* Who, and where: what a component is known by, and its jobs' speeds. */
struct known {
	UT_hash_handle hh;
	size_t n;                 /* Jobs. */
	uint32_t *key;            /* Owned. */
	double *speeds;           /* Owned. */
	struct steady_seen *seen; /* Owned.  By job, if that is measured. */
};

struct fabric {
	struct fabric_opts opts;
	const struct work_model *models;
	const uint32_t *model_of;
	size_t n_jobs;
	struct topo *topo;
	struct routes *routes;
	const uint32_t *hosts;
	struct placed *placed; /* By job. */
	VEC(uint32_t) there;   /* Jobs that are placed. */
	VEC(uint32_t) parents; /* By position in 'there', as the next. */
	VEC(double) speeds;
	double *sum_bps;     /* By link: peaks of all. */
	uint32_t *first;     /* By link: one more than the first position there. */
	VEC(uint32_t) links; /* That have some. */
	VEC(uint32_t) key;   /* Scratch, as the next. */
	VEC(uint32_t) members;
	struct known *known;
	struct fabric_counts counts;
	struct fabric_times times;
};

/* ---- Places -------------------------------------------------------------------------------- */

static void
take_away(struct placed *placed)
{
	work_job_fini(&placed->job);
	laid_job_fini(&placed->laid);
	spread_fini(&placed->alone.times_ns);
	spread_fini(&placed->now.times_ns);
	*placed = (struct placed){ 0 };
}

static bool
is_where_it_was(const struct fabric *fabric, const struct placed *placed,
		const struct pol_job *job)
{
	if (!placed->is_there || placed->job.n_hosts_wanted != job->n_pieces)
		return false;
	for (uint32_t i = 0; i < job->n_pieces; i++)
		if (placed->job.hosts[i] != fabric->hosts[job->pieces[i].node])
			return false;
	return true;
}

/* The most that an interface sends: the caps of its segments, if all have one. */
static double
peak_bps(const struct work_job *job, double line_bps)
{
	double peak = 0;

	for (size_t i = 0; i < job->n_segments; i++)
		if (job->segments[i].nic_bytes > 0)
			peak = fmax(peak, job->segments[i].cap_bps > 0
						  ? job->segments[i].cap_bps
						  : INFINITY);
	return fmin(peak, line_bps);
}

static int
put(struct fabric *fabric, const struct pol_job *job, struct placed *placed)
{
	const struct work_model *model = &fabric->models[fabric->model_of[job->id]];
	struct collective_flows flows;
	struct steady steady;
	struct rng rng;
	double line_bps;
	int r;

	placed->is_there = true;
	placed->n_gpus = job->n_held_gpus;
	rng_init_stream(&rng, fabric->opts.seed, job->id);
	placed->phase = rng_uniform(&rng);
	placed->job.n_hosts_wanted = job->n_pieces;
	placed->job.slots_per_host = 1;
	placed->job.weight = job->n_held_gpus;
	placed->job.jitter_frac = fabric->opts.jitter_frac;
	placed->job.first_port = (uint16_t)rng_next(&rng);
	placed->job.hosts = xcalloc(job->n_pieces, sizeof(uint32_t));
	for (uint32_t i = 0; i < job->n_pieces; i++)
		placed->job.hosts[i] = fabric->hosts[job->pieces[i].node];
	line_bps = topo_line_bps(fabric->topo, placed->job.hosts, job->n_pieces);
	r = collective_make(fabric->topo, model->collective, placed->job.hosts,
			    job->n_pieces, 1, &flows);
	if (r < 0)
		return r;
	r = work_model_make_job(model, flows.nic_bytes, line_bps, &placed->job);
	collective_flows_fini(&flows);
	if (r == 0)
		r = laid_job_make(&placed->job, placed->job.hosts, fabric->topo,
				  fabric->routes, &placed->laid);
	if (r < 0)
		return r;
	placed->peak_bps = peak_bps(&placed->job, line_bps);
	return steady_run(
		&(struct steady_job){ .job = &placed->job, .laid = &placed->laid }, 1,
		fabric->topo, fabric->opts.seed, fabric->opts.max_iterations,
		&placed->alone_ns, fabric->opts.measure ? &placed->alone : NULL,
		&steady);
}

/* Makes 'there' the jobs of the view that are on several hosts. */
static void
look(struct fabric *fabric, const struct pol_view *view)
{
	VEC(uint32_t) now = VEC_EMPTY;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct placed *placed = &fabric->placed[job->id];

		if (job->n_pieces < (fabric->opts.measure ? 1 : 2) ||
		    fabric->model_of[job->id] == POL_NONE)
			continue;
		if (!is_where_it_was(fabric, placed, job)) {
			take_away(placed);
			/* A model that cannot be run there: speed 1. */
			if (put(fabric, job, placed) < 0) {
				take_away(placed);
				continue;
			}
		}
		placed->is_seen = true;
		vec_push(&now, job->id);
	}
	for (size_t i = 0; i < fabric->there.n; i++) {
		struct placed *placed = &fabric->placed[fabric->there.items[i]];

		if (!placed->is_seen)
			take_away(placed);
	}
	fabric->there.n = 0;
	for (size_t i = 0; i < now.n; i++) {
		fabric->placed[now.items[i]].is_seen = false;
		vec_push(&fabric->there, now.items[i]);
	}
	vec_free(&now);
}

/* ---- Components ---------------------------------------------------------------------------- */

static double
peak_on(const struct placed *placed, const struct footprint_entry *entry)
{
	return placed->peak_bps * fmax(entry->factor, entry->n_flows);
}

/* Jobs are of one component if they meet where all that are there could fill the link. */
static void
join(struct fabric *fabric)
{
	fabric->parents.n = fabric->links.n = 0;
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = &fabric->placed[fabric->there.items[i]];

		vec_push(&fabric->parents, i);
		for (size_t e = 0; e < placed->laid.footprint.n; e++) {
			const struct footprint_entry *entry =
				&placed->laid.footprint.entries[e];

			if (!(fabric->sum_bps[entry->link] > 0))
				vec_push(&fabric->links, entry->link);
			fabric->sum_bps[entry->link] += peak_on(placed, entry);
		}
	}
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = &fabric->placed[fabric->there.items[i]];

		for (size_t e = 0; e < placed->laid.footprint.n; e++) {
			uint32_t link = placed->laid.footprint.entries[e].link;

			if (fabric->sum_bps[link] <=
			    topo_link(fabric->topo, link)->capacity_bps * (1 + 1e-9))
				continue;
			if (fabric->first[link])
				unionfind_join(fabric->parents.items,
					       fabric->first[link] - 1, i);
			else
				fabric->first[link] = i + 1;
		}
	}
	for (size_t i = 0; i < fabric->links.n; i++) {
		fabric->sum_bps[fabric->links.items[i]] = 0;
		fabric->first[fabric->links.items[i]] = 0;
	}
}

/* GPU-weighted mean of the slowdowns. */
static double
loss(const struct fabric *fabric, const double *iteration_ns)
{
	double sum = 0, gpus = 0;

	for (size_t i = 0; i < fabric->members.n; i++) {
		const struct placed *placed =
			&fabric->placed[fabric->there.items[fabric->members.items[i]]];

		sum += placed->n_gpus * iteration_ns[i] / placed->alone_ns;
		gpus += placed->n_gpus;
	}
	return sum / gpus;
}

/* With these shifts, or NULL: as chance has it.  The job's speeds, or 1 if it fails. */
static void
run_component(struct fabric *fabric, const int64_t *shift_us, enum engine_pacing pacing,
	      double *ret_iteration_ns, struct steady_seen *ret_seen)
{
	size_t n = fabric->members.n;
	struct steady_job *jobs = xcalloc(n + 1, sizeof *jobs);
	struct steady steady;

	for (size_t i = 0; i < n; i++) {
		const struct placed *placed =
			&fabric->placed[fabric->there.items[fabric->members.items[i]]];

		jobs[i] = (struct steady_job){
			.job = &placed->job,
			.laid = &placed->laid,
			.shift_ns = shift_us
					    ? shift_us[i] * 1000
					    : llround(placed->phase * placed->alone_ns),
			.pacing = shift_us ? pacing : ENGINE_PACE_FREE,
		};
	}
	if (steady_run(jobs, n, fabric->topo, fabric->opts.seed,
		       fabric->opts.max_iterations, ret_iteration_ns, ret_seen,
		       &steady) == 0) {
		fabric->counts.n_exact += steady.is_exact;
		fabric->counts.n_means += !steady.is_exact;
		fabric->counts.max_error =
			fmax(fabric->counts.max_error, steady.max_error);
	} else {
		for (size_t i = 0; i < n; i++)
			ret_iteration_ns[i] =
				1e3 * (double)jobs[i].job->profile.period_us;
	}
	free(jobs);
}

static struct joint_result *
find_shifts(struct fabric *fabric)
{
	size_t n = fabric->members.n;
	struct workload workload = { .jobs = xcalloc(n + 1, sizeof *workload.jobs),
				     .n = n };
	const struct laid_job **laid = xcalloc(n + 1, sizeof *laid);
	struct work_problem problem;
	struct joint_result *result;

	for (size_t i = 0; i < n; i++) {
		const struct placed *placed =
			&fabric->placed[fabric->there.items[fabric->members.items[i]]];

		workload.jobs[i] = placed->job; /* Borrows. */
		laid[i] = &placed->laid;
	}
	work_problem_make(&workload, laid, fabric->topo, &problem);
	if (fabric->opts.augment == FABRIC_CASSINI)
		result =
			cassini_solve(&problem.problem,
				      &(struct cassini_opts){ .seed = fabric->opts.seed,
							      .merge_twins = true });
	else
		result = joint_solve(&problem.problem,
				     &(struct joint_opts){ .seed = fabric->opts.seed,
							   .n_restarts = 2 });
	work_problem_fini(&problem);
	free(workload.jobs);
	free(laid);
	return result;
}

static struct steady_seen *
new_seen(const struct fabric *fabric)
{
	return fabric->opts.measure
		       ? xcalloc(fabric->members.n + 1, sizeof(struct steady_seen))
		       : NULL;
}

static void
free_seen(struct steady_seen *seen, size_t n)
{
	for (size_t i = 0; seen && i < n; i++)
		spread_fini(&seen[i].times_ns);
	free(seen);
}

static void
solve(struct fabric *fabric, double *ret_speeds, struct steady_seen **ret_seen)
{
	size_t n = fabric->members.n;
	double *chance_ns = xcalloc(n + 1, sizeof *chance_ns);
	double *shifted_ns = xcalloc(n + 1, sizeof *shifted_ns);
	struct steady_seen *chance_seen = new_seen(fabric),
			   *shifted_seen = new_seen(fabric);
	bool is_antiphase = fabric->opts.augment == FABRIC_ANTIPHASE,
	     is_shifted = false;
	struct joint_result *result =
		fabric->opts.augment == FABRIC_NONE ? NULL : find_shifts(fabric);

	fabric->counts.n_solved++;
	if (result && result->gave_up)
		fabric->counts.n_loops++;
	if (result && !result->gave_up) {
		run_component(fabric, result->shift_us,
			      is_antiphase ? ENGINE_PACE_GATE : ENGINE_PACE_REALIGN,
			      shifted_ns, shifted_seen);
		is_shifted = true;
	}
	if (!is_shifted || is_antiphase) {
		run_component(fabric, NULL, ENGINE_PACE_FREE, chance_ns, chance_seen);
		is_shifted = is_shifted &&
			     loss(fabric, shifted_ns) < loss(fabric, chance_ns);
	}
	fabric->counts.n_shifted += is_shifted;
	for (size_t i = 0; i < n; i++) {
		const struct placed *placed =
			&fabric->placed[fabric->there.items[fabric->members.items[i]]];

		ret_speeds[i] =
			placed->alone_ns / (is_shifted ? shifted_ns[i] : chance_ns[i]);
	}
	*ret_seen = is_shifted ? shifted_seen : chance_seen;
	free_seen(is_shifted ? chance_seen : shifted_seen, n);
	joint_result_free(result);
	free(chance_ns);
	free(shifted_ns);
}

/* ---- What is remembered -------------------------------------------------------------------- */

static void
forget(struct fabric *fabric, struct known *known)
{
	HASH_DEL(fabric->known, known);
	free(known->key);
	free(known->speeds);
	free_seen(known->seen, known->n);
	free(known);
}

static void
make_key(struct fabric *fabric)
{
	fabric->key.n = 0;
	for (size_t i = 0; i < fabric->members.n; i++) {
		uint32_t id = fabric->there.items[fabric->members.items[i]];
		const struct work_job *job = &fabric->placed[id].job;

		vec_push(&fabric->key, id);
		vec_push(&fabric->key, job->n_hosts_wanted);
		for (uint32_t h = 0; h < job->n_hosts_wanted; h++)
			vec_push(&fabric->key, job->hosts[h]);
	}
}

/* What is known of the members; borrowed until the next call. */
static const struct known *
recall(struct fabric *fabric)
{
	size_t n_bytes;
	struct known *known;

	make_key(fabric);
	n_bytes = fabric->key.n * sizeof *fabric->key.items;
	HASH_FIND(hh, fabric->known, fabric->key.items, n_bytes, known);
	if (known)
		return known;
	if (HASH_COUNT(fabric->known) >= fabric->opts.max_remembered)
		forget(fabric, fabric->known);
	known = xcalloc(1, sizeof *known);
	known->key = xmemdup(fabric->key.items, fabric->key.n, sizeof *known->key);
	known->speeds = xcalloc(fabric->members.n, sizeof *known->speeds);
	known->n = fabric->members.n;
	solve(fabric, known->speeds, &known->seen);
	HASH_ADD_KEYPTR(hh, fabric->known, known->key, n_bytes, known);
	return known;
}

/* How a job's iterations are from now on. */
static void
see(struct fabric *fabric, uint32_t id, const struct steady_seen *seen)
{
	struct steady_seen *now = &fabric->placed[id].now;

	spread_fini(&now->times_ns);
	spread_copy(&seen->times_ns, &now->times_ns);
	now->ecn_packets = seen->ecn_packets;
}

static void
worked(void *ctx, const struct pol_job *job, double dt_s)
{
	struct fabric *fabric = ctx;
	const struct placed *placed = &fabric->placed[job->id];
	double mean_s = spread_mean(&placed->now.times_ns) / 1e9, n;

	if (!placed->is_there || !(mean_s > 0))
		return;
	n = dt_s / mean_s;
	spread_add_all(&fabric->times.iteration_s, &placed->now.times_ns, 1e-9, n);
	spread_add_all(&fabric->times.slowdown, &placed->now.times_ns,
		       1 / placed->alone_ns, n);
	fabric->times.ecn_packets += n * placed->now.ecn_packets;
}

static void
rates(void *ctx, const struct pol_view *view, double *speeds_of_jobs)
{
	struct fabric *fabric = ctx;
	size_t at = 0;

	look(fabric, view);
	for (size_t i = 0; fabric->opts.measure && i < fabric->there.n; i++)
		see(fabric, fabric->there.items[i],
		    &fabric->placed[fabric->there.items[i]].alone);
	join(fabric);
	fabric->speeds.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++)
		vec_push(&fabric->speeds, 1);
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		const struct known *known;

		if (unionfind_root(fabric->parents.items, i) != i)
			continue;
		fabric->members.n = 0;
		for (uint32_t k = i; k < fabric->there.n; k++)
			if (unionfind_root(fabric->parents.items, k) == i)
				vec_push(&fabric->members, k);
		if (fabric->members.n < 2 || fabric->opts.augment == FABRIC_DEDICATED)
			continue;
		fabric->counts.n_components++;
		if (fabric->members.n > fabric->counts.max_jobs)
			fabric->counts.max_jobs = (uint32_t)fabric->members.n;
		known = recall(fabric);
		for (size_t k = 0; k < fabric->members.n; k++) {
			uint32_t at_there = fabric->members.items[k];

			fabric->speeds.items[at_there] = known->speeds[k];
			if (known->seen)
				see(fabric, fabric->there.items[at_there],
				    &known->seen[k]);
		}
	}
	/* Both ascend by id. */
	for (uint32_t i = 0; i < view->n_jobs; i++)
		if (at < fabric->there.n && fabric->there.items[at] == view->ids[i])
			speeds_of_jobs[i] *= fabric->speeds.items[at++];
}

/* ---- Begin and end ------------------------------------------------------------------------- */

int
fabric_new(const struct pol_cluster *cluster, struct topo *topo,
	   const struct work_model *models, const uint32_t *model_of, size_t n_jobs,
	   const struct fabric_opts *opts, struct fabric **ret_fabric, struct err *err)
{
	struct fabric *fabric;
	const uint32_t *hosts;
	size_t n_hosts;

	hosts = topo_hosts(topo, &n_hosts);
	if (n_hosts < cluster->n_nodes)
		return err_set(err, NULL, 0, 0,
			       "the fabric has %zu hosts, the cluster %u nodes",
			       n_hosts, cluster->n_nodes);
	fabric = xcalloc(1, sizeof *fabric);
	fabric->opts = *opts;
	if (!fabric->opts.max_iterations)
		fabric->opts.max_iterations = MAX_ITERATIONS;
	if (!fabric->opts.max_remembered)
		fabric->opts.max_remembered = MAX_REMEMBERED;
	fabric->models = models;
	fabric->model_of = model_of;
	fabric->n_jobs = n_jobs;
	fabric->topo = topo;
	fabric->hosts = hosts;
	fabric->routes = routes_new(topo, opts->seed);
	fabric->placed = xcalloc(n_jobs + 1, sizeof *fabric->placed);
	fabric->sum_bps = xcalloc(topo_n_links(topo) + 1, sizeof *fabric->sum_bps);
	fabric->first = xcalloc(topo_n_links(topo) + 1, sizeof *fabric->first);
	*ret_fabric = fabric;
	return 0;
}

void
fabric_free(struct fabric *fabric)
{
	if (!fabric)
		return;
	for (size_t i = 0; i < fabric->n_jobs; i++)
		take_away(&fabric->placed[i]);
	while (fabric->known)
		forget(fabric, fabric->known);
	vec_free(&fabric->there);
	vec_free(&fabric->parents);
	vec_free(&fabric->speeds);
	vec_free(&fabric->links);
	vec_free(&fabric->key);
	vec_free(&fabric->members);
	spread_fini(&fabric->times.iteration_s);
	spread_fini(&fabric->times.slowdown);
	free(fabric->placed);
	free(fabric->sum_bps);
	free(fabric->first);
	routes_free(fabric->routes);
	free(fabric);
}

struct cluster_work
fabric_work(struct fabric *fabric)
{
	return (struct cluster_work){
		.ctx = fabric,
		.rates = rates,
		.worked = fabric->opts.measure ? worked : NULL,
	};
}

struct fabric_counts
fabric_counts(const struct fabric *fabric)
{
	return fabric->counts;
}

const struct fabric_times *
fabric_times(const struct fabric *fabric)
{
	return &fabric->times;
}
