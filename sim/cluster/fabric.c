/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.c - places of jobs, and components of jobs that share links. */
#include "sim/cluster/fabric.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/unionfind.h"
#include "sim/baselines/baseline.h"
#include "sim/baselines/mltcp.h"
#include "sim/baselines/monkeytree_paths.h"
#include "sim/cluster/fabric_priv.h"
#include "sim/cluster/steady.h"
#include "topology/route.h"
#include "topology/topo.h"

#define MAX_REMEMBERED 16384

const char *const fabric_augment_names[] = { "none",         "cassini",    "antiphase",
					     "cassini-once", "dedicated",  "spray",
					     "crux",         "crux-paths", "monkeytree",
					     "mltcp",        "mltcp-text", NULL };

bool
fabric_pulls(const struct fabric *fabric, enum advise_lever lever)
{
	/* No job of a trace says that it is movable. */
	unsigned levers = fabric->opts.levers ? fabric->opts.levers
					      : ADVISE_ALL_LEVERS & ~ADVISE_MOVE;

	return fabric->opts.augment == FABRIC_ANTIPHASE && (levers & lever);
}

/* ---- Places ---------------------------------------------------------------------- */

static void
take_away(struct placed *placed)
{
	work_job_fini(&placed->job);
	routed_job_fini(&placed->routed);
	histogram_fini(&placed->isolated.times_ns);
	histogram_fini(&placed->now.times_ns);
	window_past_fini(&placed->past);
	*placed = (struct placed){ 0 };
}

static bool
is_at(const struct fabric *fabric, const struct placed *placed,
      const struct pol_piece *pieces, uint32_t n_pieces)
{
	if (!placed->is_there || placed->job.n_hosts_wanted != n_pieces)
		return false;
	for (uint32_t i = 0; i < n_pieces; i++)
		if (placed->job.hosts[i] != fabric->hosts[pieces[i].node])
			return false;
	return true;
}

/* Peak rate of an interface: the caps of its segments, if all have one. */
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

/* The number of GPUs sets a job's weight, not its traffic. */
static void
set_size(struct placed *placed, uint32_t n_gpus)
{
	placed->n_gpus = n_gpus;
	placed->job.weight = n_gpus;
}

static int
put(struct fabric *fabric, uint32_t id, const struct pol_piece *pieces,
    uint32_t n_pieces, uint32_t n_gpus, struct placed *placed)
{
	const struct work_model *model = &fabric->models[fabric->model_of[id]];
	struct collective_flows flows;
	struct rng rng;
	double line_bps;
	int r;

	placed->is_there = true;
	placed->id = id;
	set_size(placed, n_gpus);
	rng_init_stream(&rng, fabric->opts.seed, id);
	placed->phase = rng_uniform(&rng);
	placed->job.n_hosts_wanted = n_pieces;
	placed->job.slots_per_host = 1;
	placed->job.jitter_frac = fabric->opts.jitter_frac;
	placed->job.first_port = (uint16_t)rng_next(&rng);
	placed->job.hosts = xcalloc(n_pieces, sizeof(uint32_t));
	for (uint32_t i = 0; i < n_pieces; i++)
		placed->job.hosts[i] = fabric->hosts[pieces[i].node];
	line_bps = topo_line_bps(fabric->topo, placed->job.hosts, n_pieces);
	r = collective_make(fabric->topo, model->collective, placed->job.hosts,
			    n_pieces, 1, &flows);
	if (r < 0)
		return r;
	r = work_model_make_job(model, flows.nic_bytes, line_bps, &placed->job);
	collective_flows_fini(&flows);
	if (r == 0 && fabric->mltcp)
		mltcp_weigh(fabric->mltcp, placed->job.segments,
			    placed->job.n_segments);
	if (r == 0)
		r = routed_job_make(&placed->job, placed->job.hosts, fabric->topo,
				    fabric->routes, &placed->routed);
	if (r < 0)
		return r;
	placed->peak_bps = peak_bps(&placed->job, line_bps);
	return 0;
}

int
fabric_isolate(struct fabric *fabric, struct placed *placed)
{
	struct routed_job hashed;
	struct steady steady;
	int r;

	if (placed->isolated_ns > 0)
		return 0;
	r = routed_job_make(&placed->job, placed->job.hosts, fabric->topo,
			    fabric->routes, &hashed);
	if (r < 0)
		return r;
	r = steady_run(
		&(struct link_subset_job){ .job = &placed->job, .routed = &hashed }, 1,
		fabric->topo, fabric->opts.seed, fabric_limits(fabric, 1),
		&placed->isolated_ns, NULL,
		fabric->opts.measure ? &placed->isolated : NULL, &steady);
	routed_job_fini(&hashed);
	return r;
}

/* Whether the job uses the fabric: jobs on one host do not. */
static bool
has_place(const struct fabric *fabric, uint32_t id, uint32_t n_pieces)
{
	return n_pieces >= (fabric->opts.measure ? 1 : 2) &&
	       fabric->model_of[id] != POL_NONE;
}

static struct placed *
find_tried(const struct fabric *fabric, uint32_t id, const struct pol_piece *pieces,
	   uint32_t n_pieces)
{
	for (size_t i = 0; i < fabric->tried.n; i++)
		if (fabric->tried.items[i]->id == id &&
		    is_at(fabric, fabric->tried.items[i], pieces, n_pieces))
			return fabric->tried.items[i];
	return NULL;
}

struct placed *
fabric_try(struct fabric *fabric, const struct pol_job *job,
	   const struct pol_piece *pieces, uint32_t n_pieces, uint32_t n_gpus)
{
	struct placed *placed = &fabric->placed[job->id];

	if (!has_place(fabric, job->id, n_pieces))
		return NULL;
	if (!is_at(fabric, placed, pieces, n_pieces))
		placed = find_tried(fabric, job->id, pieces, n_pieces);
	if (placed) {
		set_size(placed, n_gpus);
		return placed;
	}
	placed = xcalloc(1, sizeof *placed);
	if (put(fabric, job->id, pieces, n_pieces, n_gpus, placed) < 0) {
		take_away(placed);
		free(placed);
		return NULL;
	}
	vec_push(&fabric->tried, placed);
	return placed;
}

static void
forget_tried(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->tried.n; i++) {
		take_away(fabric->tried.items[i]);
		free(fabric->tried.items[i]);
	}
	fabric->tried.n = 0;
}

/* Places a job; false if its model cannot run there: speed 1. */
static bool
settle(struct fabric *fabric, const struct pol_job *job, struct placed *placed)
{
	struct placed *tried;

	if (is_at(fabric, placed, job->pieces, job->n_pieces)) {
		set_size(placed, job->n_held_gpus);
		return true;
	}
	take_away(placed);
	tried = find_tried(fabric, job->id, job->pieces, job->n_pieces);
	if (tried) {
		set_size(tried, job->n_held_gpus);
		*placed = *tried;
		*tried = (struct placed){ 0 };
	} else if (put(fabric, job->id, job->pieces, job->n_pieces, job->n_held_gpus,
		       placed) < 0) {
		take_away(placed);
		return false;
	}
	if (fabric_isolate(fabric, placed) == 0)
		return true;
	take_away(placed);
	return false;
}

/* Takes the flows of all but the jobs that stay where they are from the links. */
static void
take_off(struct fabric *fabric, const struct pol_view *view)
{
	fabric->there.n = 0;
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct placed *placed = &fabric->placed[job->id];

		if (is_at(fabric, placed, job->pieces, job->n_pieces))
			vec_push(&fabric->there, placed);
	}
	fabric_paths_set(fabric->paths, fabric->there.items, fabric->there.n);
}

/* Fills 'there' with the jobs of the view on several hosts. */
static void
find_placed(struct fabric *fabric, const struct pol_view *view)
{
	if (fabric->paths)
		take_off(fabric, view);
	fabric->there.n = 0;
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		struct placed *placed = &fabric->placed[job->id];

		if (!has_place(fabric, job->id, job->n_pieces) ||
		    !settle(fabric, job, placed))
			continue;
		placed->is_seen = true;
		vec_push(&fabric->there, placed);
	}
	for (size_t i = 0; i < fabric->ids.n; i++) {
		struct placed *placed = &fabric->placed[fabric->ids.items[i]];

		if (!placed->is_seen)
			take_away(placed);
	}
	fabric->ids.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++) {
		uint32_t id = fabric->there.items[i]->id;

		fabric->placed[id].is_seen = false;
		vec_push(&fabric->ids, id);
	}
	forget_tried(fabric);
	if (fabric->paths) {
		fabric_paths_set(fabric->paths, fabric->there.items, fabric->there.n);
		fabric->counts.n_path_changes += fabric_paths_improve(fabric->paths);
	}
	if (fabric->baseline)
		fabric->counts.n_path_changes +=
			fabric_baseline_route(fabric->baseline, fabric);
}

/* ---- Components ------------------------------------------------------------------ */

static double
peak_on(const struct placed *placed, const struct footprint_entry *entry)
{
	return placed->peak_bps * fmax(entry->factor, entry->n_flows);
}

/* Unites jobs that share a link which all its jobs together could fill. */
static void
join(struct fabric *fabric)
{
	fabric->parents.n = fabric->links.n = 0;
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = fabric->there.items[i];

		vec_push(&fabric->parents, i);
		for (size_t e = 0; e < placed->routed.footprint.n; e++) {
			const struct footprint_entry *entry =
				&placed->routed.footprint.entries[e];

			if (!(fabric->sum_bps[entry->link] > 0))
				vec_push(&fabric->links, entry->link);
			fabric->sum_bps[entry->link] += peak_on(placed, entry);
		}
	}
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = fabric->there.items[i];

		for (size_t e = 0; e < placed->routed.footprint.n; e++) {
			uint32_t link = placed->routed.footprint.entries[e].link;

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

/* Mean rate over an isolated iteration, in bits per second, of a link factor of 1. */
static double
mean_bps(const struct placed *placed)
{
	double bytes = 0;

	for (size_t i = 0; i < placed->job.n_segments; i++)
		bytes += placed->job.segments[i].nic_bytes;
	return 8e9 * bytes / placed->isolated_ns;
}

double
fabric_overlap(struct fabric *fabric)
{
	double overlap = 0;

	fabric->links.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = fabric->there.items[i];
		const struct footprint *footprint = &placed->routed.footprint;

		for (size_t e = 0; e < footprint->n; e++) {
			fabric->sum_bps[footprint->entries[e].link] +=
				mean_bps(placed) * footprint->entries[e].factor;
			vec_push(&fabric->links, footprint->entries[e].link);
		}
	}
	for (size_t i = 0; i < fabric->there.n; i++) {
		const struct placed *placed = fabric->there.items[i];
		const struct footprint *footprint = &placed->routed.footprint;
		double share = mean_bps(placed) / placed->peak_bps;

		for (size_t e = 0; e < footprint->n; e++) {
			uint32_t link = footprint->entries[e].link;
			double others = fabric->sum_bps[link] -
					mean_bps(placed) * footprint->entries[e].factor;

			overlap += placed->n_gpus * share * others /
				   topo_link(fabric->topo, link)->capacity_bps;
		}
	}
	for (size_t i = 0; i < fabric->links.n; i++)
		fabric->sum_bps[fabric->links.items[i]] = 0;
	return overlap;
}

void
fabric_components(struct fabric *fabric,
		  void (*each)(struct fabric *fabric, const uint32_t *at, void *ctx),
		  void *ctx)
{
	VEC(uint32_t) at = VEC_EMPTY;

	join(fabric);
	for (uint32_t i = 0; i < fabric->there.n; i++) {
		if (unionfind_root(fabric->parents.items, i) != i)
			continue;
		fabric->members.n = at.n = 0;
		for (uint32_t k = i; k < fabric->there.n; k++) {
			if (unionfind_root(fabric->parents.items, k) != i)
				continue;
			vec_push(&fabric->members, fabric->there.items[k]);
			vec_push(&at, k);
		}
		if (fabric->members.n > 1)
			each(fabric, at.items, ctx);
	}
	vec_free(&at);
}

/* Records a job's iteration times from now on. */
static void
see(struct fabric *fabric, uint32_t id, const struct steady_seen *seen)
{
	struct steady_seen *now = &fabric->placed[id].now;

	histogram_fini(&now->times_ns);
	histogram_copy(&seen->times_ns, &now->times_ns);
	now->ecn_packets = seen->ecn_packets;
}

void
fabric_worked(void *ctx, const struct pol_job *job, double dt_s)
{
	struct fabric *fabric = ctx;
	const struct placed *placed = &fabric->placed[job->id];
	double mean_s = histogram_mean(&placed->now.times_ns) / 1e9, n;

	if (!placed->is_there || !(mean_s > 0))
		return;
	n = dt_s / mean_s;
	histogram_add_all(&fabric->times.iteration_s, &placed->now.times_ns, 1e-9, n);
	histogram_add_all(&fabric->times.slowdown, &placed->now.times_ns,
			  1 / placed->isolated_ns, n);
	fabric->times.ecn_packets += n * placed->now.ecn_packets;
}

static void
note_speeds(struct fabric *fabric, const uint32_t *at, void *ctx)
{
	struct fabric_known known;

	(void)ctx;
	fabric->counts.n_components++;
	if (fabric->members.n > fabric->counts.max_jobs)
		fabric->counts.max_jobs = (uint32_t)fabric->members.n;
	known = fabric_recall(fabric);
	for (size_t i = 0; i < fabric->members.n; i++) {
		fabric->speeds.items[at[i]] = known.speeds[i];
		if (known.seen)
			see(fabric, fabric->members.items[i]->id, &known.seen[i]);
	}
}

void
fabric_rates(void *ctx, const struct pol_view *view, double *speeds_of_jobs)
{
	struct fabric *fabric = ctx;
	size_t at = 0;

	find_placed(fabric, view);
	for (size_t i = 0; fabric->opts.measure && i < fabric->there.n; i++)
		see(fabric, fabric->there.items[i]->id,
		    &fabric->there.items[i]->isolated);
	fabric->speeds.n = 0;
	for (size_t i = 0; i < fabric->there.n; i++)
		vec_push(&fabric->speeds, 1);
	if (fabric->opts.augment != FABRIC_DEDICATED)
		fabric_components(fabric, note_speeds, NULL);
	/* Both ascend by id. */
	for (uint32_t i = 0; i < view->n_jobs; i++)
		if (at < fabric->there.n && fabric->there.items[at]->id == view->ids[i])
			speeds_of_jobs[i] *= fabric->speeds.items[at++];
}

/* ---- Begin and end --------------------------------------------------------------- */

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
	if (opts->augment == FABRIC_MONKEYTREE && !monkeytree_suits(topo))
		return err_set(err, NULL, 0, 0,
			       "monkeytree needs a fabric with two tiers of switches");
	fabric = xcalloc(1, sizeof *fabric);
	fabric->opts = *opts;
	if (!fabric->opts.max_remembered)
		fabric->opts.max_remembered = MAX_REMEMBERED;
	fabric->models = models;
	fabric->model_of = model_of;
	fabric->n_jobs = n_jobs;
	fabric->topo = topo;
	fabric->hosts = hosts;
	fabric->routes = opts->augment == FABRIC_SPRAY
				 ? routes_new_spraying(topo, opts->seed)
				 : routes_new(topo, opts->seed);
	if (fabric_pulls(fabric, ADVISE_PATH) && routes_all_hash(fabric->routes))
		fabric->paths = fabric_paths_new(topo, fabric->routes, opts->seed);
	fabric->mltcp = fabric_baseline_mltcp(opts->augment);
	fabric->baseline = fabric_baseline_new(opts->augment);
	if (opts->may_move && (opts->augment == FABRIC_MONKEYTREE ||
			       (fabric->paths && fabric_pulls(fabric, ADVISE_MOVE) &&
				monkeytree_suits(topo))))
		fabric->monkeytree = fabric_monkeytree_new(cluster, topo, hosts);
	fabric->placed = xcalloc(n_jobs + 1, sizeof *fabric->placed);
	fabric->sum_bps = xcalloc(topo_n_links(topo) + 1, sizeof *fabric->sum_bps);
	fabric->first = xcalloc(topo_n_links(topo) + 1, sizeof *fabric->first);
	fabric->rack_of = xcalloc((size_t)cluster->n_nodes + 1, sizeof(uint32_t));
	fabric->seen_by = xcalloc((size_t)topo_n_nodes(topo) + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t leaf = topo_leaf_of(topo, hosts[i]);

		fabric->rack_of[i] = leaf == TOPO_NONE ? hosts[i] : leaf;
	}
	*ret_fabric = fabric;
	return 0;
}

void
fabric_free(struct fabric *fabric)
{
	if (!fabric)
		return;
	fabric_paths_free(fabric->paths);
	fabric_baseline_free(fabric->baseline);
	fabric_monkeytree_free(fabric->monkeytree);
	for (size_t i = 0; i < fabric->n_jobs; i++)
		take_away(&fabric->placed[i]);
	fabric_forget_all(fabric);
	forget_tried(fabric);
	vec_free(&fabric->tried);
	vec_free(&fabric->ids);
	vec_free(&fabric->there);
	vec_free(&fabric->parents);
	vec_free(&fabric->speeds);
	vec_free(&fabric->links);
	vec_free(&fabric->key);
	vec_free(&fabric->members);
	vec_free(&fabric->moves);
	histogram_fini(&fabric->times.iteration_s);
	histogram_fini(&fabric->times.slowdown);
	free(fabric->placed);
	free(fabric->sum_bps);
	free(fabric->first);
	free(fabric->rack_of);
	free(fabric->seen_by);
	routes_free(fabric->routes);
	free(fabric);
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
