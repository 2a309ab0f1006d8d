#include "scheduler/daemon/jobs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strtab.h"
#include "lib/wire/rpc.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/live/live.h"
#include "scheduler/live/online.h"
#include "scheduler/live/running.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

/* What differs by less is the same profile: it is not solved anew. */
#define SAME_PERIOD 0.01
#define SAME_BYTES  0.05
/*
 * Components are solved for so long at once, and then others have their turn: one that
 * asks waits for no longer than that and the longest component.
 */
#define SOLVE_NS (DAEMON_SECOND_NS / 100)
/* Of one update, so that many that come at once do not keep the others waiting. */
#define MAX_RANKED 8
/* A pacer that has been quiet for longer is gone. */
/* Between two looks for an earlier run of a job, in the store. */
#define SEEK_NS  (60 * DAEMON_SECOND_NS)
#define PACER_NS (60 * DAEMON_SECOND_NS)

const double jobs_solve_bounds_s[JOBS_N_SOLVE_BOUNDS] = { 0.0001, 0.0003, 0.001, 0.003,
							  0.01,   0.03,   0.1,   1 };

const char *const jobs_refusal_names[] = {
	[JOBS_ADVISED] = "advised",
	[JOBS_NO_FABRIC] = "no_fabric",
	[JOBS_NO_PERIOD] = "no_period",
	[JOBS_THIN] = "thin",
	[JOBS_STALE] = "stale",
	[JOBS_SILENT] = "silent_hosts",
	[JOBS_NOT_PLACED] = "not_placed",
	[JOBS_UNSOLVED] = "unsolved",
	[JOBS_NO_ADVISOR] = "no_advisor",
	[JOBS_NO_SPACE] = "no_space",
	NULL,
};

const char *const jobs_refusal_texts[] = {
	[JOBS_ADVISED] = "there is an advice",
	[JOBS_NO_FABRIC] = "no fabric is known",
	[JOBS_NO_PERIOD] = "no period is known of it",
	[JOBS_THIN] = "too few iterations of it were seen",
	[JOBS_STALE] = "what is known of it is too old",
	[JOBS_SILENT] = "some of its hosts are silent",
	[JOBS_NOT_PLACED] = "its hosts are not all of the fabric",
	[JOBS_UNSOLVED] = "it is being looked at",
	[JOBS_NO_ADVISOR] = "this build has no advisor",
	[JOBS_NO_SPACE] = "there is no room for it",
	NULL,
};

/* ---- What users declare -------------------------------------------------------------- */

static bool
take_number(const char *comment, const char *key, int64_t *ret_value)
{
	const char *at = strstr(comment, key);
	char *end;
	long long value;

	if (!at || at[strlen(key)] < '0' || at[strlen(key)] > '9')
		return false;
	errno = 0;
	value = strtoll(at + strlen(key), &end, 10);
	if (errno || value < 1 || value > PROFILE_MAX_PERIOD_US ||
	    (*end && *end != ' ' && *end != ',' && *end != ';'))
		return false;
	*ret_value = value;
	return true;
}

bool
jobs_declared(const char *comment, struct declared *ret_declared)
{
	struct declared declared;
	const char *ours = strstr(comment, "antiphase:");

	if (!ours || !take_number(ours, "iter_us=", &declared.iter_us) ||
	    !take_number(ours, "comm_us=", &declared.comm_us) ||
	    declared.comm_us >= declared.iter_us)
		return false;
	*ret_declared = declared;
	return true;
}

/* ---- The list ------------------------------------------------------------------------ */

struct jobs *
jobs_new(void)
{
	struct jobs *jobs = xcalloc(1, sizeof *jobs);

	jobs->names = strtab_new();
	return jobs;
}

static void
job_free(struct job *job)
{
	profile_fini(&job->profile);
	free(job->hosts);
	free(job->name);
	free(job->nodes);
	free(job->record);
	free(job->doc);
	free(job);
}

void
jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			job_free(jobs->items.items[i]);
	vec_free(&jobs->items);
	advisor_free(jobs->advisor);
	strtab_free(jobs->names);
	free(jobs->is_silent);
	free(jobs);
}

struct job *
jobs_find(const struct daemon *d, const char *name)
{
	uint32_t id = strtab_find(d->jobs->names, name);

	return id == STRTAB_NONE ? NULL : d->jobs->items.items[id];
}

struct job *
jobs_of_number(const struct daemon *d, uint32_t number)
{
	for (size_t i = 0; i < d->jobs->items.n; i++)
		if (d->jobs->items.items[i] &&
		    d->jobs->items.items[i]->number == number)
			return d->jobs->items.items[i];
	return NULL;
}

static struct job *
job_make(struct jobs *jobs, const char *name)
{
	uint32_t id = strtab_intern(jobs->names, name);
	struct job *job;

	if (id == jobs->items.n)
		vec_push(&jobs->items, NULL);
	job = jobs->items.items[id];
	if (job)
		return job;
	job = xcalloc(1, sizeof *job);
	job->name = xstrdup(name);
	job->number = UINT32_MAX;
	job->refusal = JOBS_NO_PERIOD;
	jobs->items.items[id] = job;
	return job;
}

static void
take_away(struct daemon *d, struct job *job)
{
	if (job->number == UINT32_MAX)
		return;
	pace_remove(d, job->number);
	advisor_remove(d->jobs->advisor, job->name);
	job->number = UINT32_MAX;
	profile_fini(&job->profile);
	free(job->hosts);
	job->hosts = NULL;
	job->n_hosts = 0;
	job->is_ranked = false;
	job->revision = 0;
}

void
jobs_set_fabric(struct daemon *d)
{
	const struct advisor_opts opts = {
		.seed = 1,
		.ecmp_seed = (uint64_t)daemon_integer(d, "ecmp_seed"),
	};

	for (size_t i = 0; i < d->jobs->items.n; i++)
		if (d->jobs->items.items[i])
			take_away(d, d->jobs->items.items[i]);
	free(d->jobs->is_silent);
	d->jobs->is_silent = NULL;
	advisor_free(d->jobs->advisor);
	d->jobs->advisor = advisor_new(d->fabric.topo, &opts);
	d->jobs->nodes_at_us = 0;
	d->now.is_estimated = true;
	memory_restore(d);
}

/* ---- Refusing ------------------------------------------------------------------------ */

static void
refuse(struct daemon *d, struct job *job, enum jobs_refusal why)
{
	take_away(d, job);
	if (job->doc && job->refusal == why)
		return;
	job->refusal = why;
	jobs_write_doc(d, job, NULL, NULL);
}

/* Which hosts of the fabric are silent: once, and not for each job. */
static void
note_silent(struct daemon *d)
{
	const struct picture picture = now_picture(d);
	struct jobs *jobs = d->jobs;

	free(jobs->is_silent);
	jobs->is_silent = NULL;
	jobs->n_silent = 0;
	if (d->fabric.topo)
		jobs->is_silent =
			xcalloc(topo_n_nodes(d->fabric.topo) + 1, sizeof(bool));
	for (uint32_t i = 0; i < live_n_hosts(d->now.live); i++) {
		uint32_t node = TOPO_NONE;

		if (!picture_is_silent(&picture, i))
			continue;
		jobs->n_silent++;
		if (d->fabric.topo)
			node = topo_find_node(d->fabric.topo,
					      live_host(d->now.live, i)->name);
		if (node != TOPO_NONE)
			jobs->is_silent[node] = true;
	}
}

static bool
has_silent_host(const struct jobs *jobs, const uint32_t *hosts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (jobs->is_silent && jobs->is_silent[hosts[i]])
			return true;
	return false;
}

/* Whether a running job may be advised on. */
static enum jobs_refusal
judge(const struct daemon *d, const struct picture *picture,
      const struct work_job *running, const struct online_job *seen)
{
	int64_t age_ns = seen ? picture_estimate_age_ns(picture, seen) : 0;

	if (!d->jobs->advisor)
		return d->fabric.topo ? JOBS_NO_ADVISOR : JOBS_NO_FABRIC;
	if (age_ns > daemon_integer(d, "max_age_s") * DAEMON_SECOND_NS)
		return JOBS_STALE;
	if (running->profile.n_iterations < daemon_integer(d, "min_iterations"))
		return JOBS_THIN;
	if (has_silent_host(d->jobs, running->hosts, running->n_hosts_wanted))
		return JOBS_SILENT;
	return JOBS_ADVISED;
}

/* ---- Jobs that run -------------------------------------------------------------------- */

static bool
is_near(double a, double b, double frac)
{
	return fabs(a - b) <= frac * fmax(fabs(a), fabs(b));
}

static bool
is_same_place(const struct job *job, const struct work_job *new, bool is_shiftable)
{
	return job->number != UINT32_MAX && job->is_waiting == !new->hosts &&
	       job->is_shiftable == is_shiftable &&
	       job->n_hosts == new->n_hosts_wanted &&
	       (!new->hosts ||
		memcmp(job->hosts, new->hosts, job->n_hosts * sizeof *job->hosts) == 0);
}

static bool
is_same_profile(const struct profile *a, const struct profile *b)
{
	return a->n_phases == b->n_phases &&
	       is_near((double)a->period_us, (double)b->period_us, SAME_PERIOD) &&
	       is_near(a->bytes_per_iteration, b->bytes_per_iteration, SAME_BYTES);
}

/*
 * Another profile has to be seen twice in a row: it is solved anew, and those who are
 * steered by it have new windows.
 */
static bool
is_same(struct job *job, const struct work_job *new, bool is_shiftable)
{
	if (!is_same_place(job, new, is_shiftable))
		return false;
	if (is_same_profile(&job->profile, &new->profile)) {
		job->n_different = 0;
		return true;
	}
	return ++job->n_different < 2;
}

static void
put(struct daemon *d, struct job *job, const struct work_job *new)
{
	bool is_shiftable = job->paced_ns && !job->is_observing &&
			    clk_monotonic_ns() - job->paced_ns < PACER_NS;

	if (is_same(job, new, is_shiftable)) {
		/* That it still is so is known to a restart. */
		memory_keep_profile(d, job);
		return;
	}
	if (job->number != UINT32_MAX && job->is_waiting == !!new->hosts)
		take_away(d, job);
	/* One that is known keeps its number, and what is tracked of it. */
	if (advisor_put(d->jobs->advisor, new, is_shiftable, &job->number) < 0) {
		refuse(d, job, JOBS_NOT_PLACED);
		return;
	}
	d->jobs->so_far.n_changed++;
	job->n_different = 0;
	profile_fini(&job->profile);
	profile_copy(&new->profile, &job->profile);
	free(job->hosts);
	job->hosts = new->hosts ? xmemdup(new->hosts, new->n_hosts_wanted,
					  sizeof *new->hosts)
				: NULL;
	job->n_hosts = new->n_hosts_wanted;
	job->is_shiftable = is_shiftable;
	job->is_waiting = !new->hosts;
	job->is_ranked = false;
	job->revision = 0;
	memory_keep_profile(d, job);
}

/* The most that its hosts can send, the slowest of them. */
static double
hosts_bps(const struct topo *topo, const struct work_job *job)
{
	double least_bps = 0;

	for (uint32_t i = 0; i < job->n_hosts_wanted; i++) {
		size_t n_links;
		const uint32_t *links = topo_links_out(topo, job->hosts[i], &n_links);
		double bps = 0;

		for (size_t k = 0; k < n_links; k++)
			bps = fmax(bps, topo_link(topo, links[k])->capacity_bps);
		least_bps = i ? fmin(least_bps, bps) : bps;
	}
	return least_bps;
}

/* A pacer knows better than the traffic what the job is like alone. */
static void
take_paced(const struct daemon *d, struct job *job, struct work_job *new)
{
	job->is_by_pacer = false;
	if (!d->fabric.topo || !new->hosts)
		return;
	job->is_by_pacer = paced_profile(&job->paced, hosts_bps(d->fabric.topo, new),
					 &new->profile);
	if (!job->is_by_pacer)
		return;
	if (new->profile.n_iterations < job->paced.n)
		new->profile.n_iterations = job->paced.n;
	work_job_segments_from_profile(new);
	new->jitter_frac = work_job_jitter_of_profile(new);
}

static void
take_running(struct daemon *d)
{
	const struct picture picture = now_picture(d);
	struct strbuf notes = STRBUF_EMPTY;
	struct workload running = { 0 };
	size_t n;
	const struct online_job *const *seen = online_jobs(d->now.online, &n);

	if (d->fabric.topo)
		running_workload(d->now.live, d->now.online, d->fabric.topo,
				 d->fabric.routes, &running, &notes);
	for (size_t i = 0; i < n; i++) {
		struct job *job =
			job_make(d->jobs, live_job_name(d->now.live, seen[i]->job));

		job->is_here = true;
		job->is_seen = false;
	}
	for (size_t i = 0; i < running.n; i++) {
		struct work_job *new = &running.jobs[i];
		struct job *job = job_make(d->jobs, new->name);
		enum jobs_refusal why;

		take_paced(d, job, new);
		why = judge(d, &picture, new,
			    online_find(d->now.online,
					live_find_job(d->now.live, new->name)));
		job->is_seen = true;
		if (why == JOBS_ADVISED)
			put(d, job, new);
		else
			refuse(d, job, why);
	}
	for (size_t i = 0; i < n; i++) {
		struct job *job =
			job_make(d->jobs, live_job_name(d->now.live, seen[i]->job));

		if (!job->is_seen && !job->is_restored)
			refuse(d, job,
			       !d->fabric.topo          ? JOBS_NO_FABRIC
			       : !seen[i]->has_estimate ? JOBS_NO_PERIOD
			       : seen[i]->why           ? JOBS_STALE
							: JOBS_NOT_PLACED);
	}
	workload_fini(&running);
	strbuf_free(&notes);
}

/* ---- Jobs that wait -------------------------------------------------------------------- */

/* The fastest interface of the fabric's first host: what a ring is paced by. */
static double
line_bps(const struct topo *topo)
{
	size_t n_hosts, n_links;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts), *links;
	double bps = 0;

	if (!n_hosts)
		return 0;
	links = topo_links_out(topo, hosts[0], &n_links);
	for (size_t k = 0; k < n_links; k++)
		bps = fmax(bps, topo_link(topo, links[k])->capacity_bps);
	return bps;
}

static void
make_waiting(const char *name, uint32_t n_nodes, const struct profile *profile,
	     struct work_job *ret_job)
{
	*ret_job = (struct work_job){
		.name = xstrdup(name),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_nodes,
		.slots_per_host = 1,
		.stop_ns = ENGINE_NEVER,
		.weight = n_nodes,
	};
	profile_copy(profile, &ret_job->profile);
	work_job_segments_from_profile(ret_job);
}

static void
profile_of_declared(const struct daemon *d, const struct declared *declared,
		    struct profile *ret_profile)
{
	double bps = line_bps(d->fabric.topo);

	*ret_profile = (struct profile){
		.job = xstrdup(""),
		.period_us = declared->iter_us,
		.confidence = 1,
		.n_phases = 1,
		.phases = xcalloc(1, sizeof *ret_profile->phases),
	};
	ret_profile->phases[0] = (struct profile_phase){
		.duration_us = declared->comm_us,
		.rate_bps = bps > 0 ? bps : 1e9,
	};
	profile_normalize(ret_profile, NULL);
}

static void
rank(struct daemon *d, struct job *job)
{
	struct advisor_ranking ranking = { 0 };
	int64_t began_ns = clk_monotonic_ns();
	int rc = advisor_rank(d->jobs->advisor, job->number, NULL, &ranking);

	d->jobs->so_far.n_ranked++;
	d->jobs->so_far.rank_s += (double)(clk_monotonic_ns() - began_ns) / 1e9;
	job->is_ranked = true;
	job->refusal = rc == 0 && ranking.n ? JOBS_ADVISED : JOBS_NO_SPACE;
	jobs_write_doc(d, job, NULL, &ranking);
	advisor_ranking_fini(&ranking);
}

/* What its user says of a waiting job, or else what its last run was like. */
static bool
find_profile(struct daemon *d, struct job *job, const struct host_job *waiting,
	     struct profile *ret_profile)
{
	int64_t now_ns = clk_monotonic_ns();
	struct declared declared;

	job->earlier_us = 0;
	if (jobs_declared(waiting->comment, &declared)) {
		profile_of_declared(d, &declared, ret_profile);
		return true;
	}
	if (job->sought_ns && now_ns - job->sought_ns < SEEK_NS)
		return false;
	if (memory_earlier(d, waiting, ret_profile, &job->earlier_us)) {
		job->sought_ns = 0;
		return true;
	}
	job->sought_ns = now_ns;
	return false;
}

static void
take_waiting(struct daemon *d)
{
	const struct host_snapshot *host = &d->deeds.snapshot;
	size_t n_ranked = 0;

	for (size_t i = 0; i < host->n_jobs; i++) {
		const struct host_job *waiting = &host->jobs[i];
		struct profile profile;
		struct work_job new;
		struct job *job;

		if (waiting->state != HOST_WAITING || waiting->n_nodes < 2)
			continue;
		job = job_make(d->jobs, waiting->id);
		job->is_here = true;
		/* Those of this round are enough: the next one is soon. */
		if (n_ranked >= MAX_RANKED)
			continue;
		if (!d->jobs->advisor) {
			refuse(d, job,
			       d->fabric.topo ? JOBS_NO_ADVISOR : JOBS_NO_FABRIC);
			continue;
		}
		if (job->is_ranked && job->valid_until_us > clk_wall_us())
			continue;
		if (!find_profile(d, job, waiting, &profile)) {
			refuse(d, job, JOBS_NO_PERIOD);
			continue;
		}
		n_ranked++;
		make_waiting(waiting->id, waiting->n_nodes, &profile, &new);
		put(d, job, &new);
		if (job->number != UINT32_MAX)
			rank(d, job);
		work_job_fini(&new);
		profile_fini(&profile);
	}
}

/* What the cluster's scheduler has free overrides what running jobs leave. */
static void
take_nodes(struct daemon *d)
{
	const struct host_snapshot *host = &d->deeds.snapshot;

	if (!d->jobs->advisor || d->jobs->nodes_at_us == host->at_us)
		return;
	d->jobs->nodes_at_us = host->at_us;
	for (size_t i = 0; i < host->n_nodes; i++) {
		const struct host_node *node = &host->nodes[i];
		uint32_t id = topo_find_node(d->fabric.topo, node->name);

		if (id == TOPO_NONE || topo_node(d->fabric.topo, id)->kind != TOPO_HOST)
			continue;
		advisor_set_free(d->jobs->advisor, id,
				 node->state == HOST_NODE_FREE
					 ? topo_node(d->fabric.topo, id)->n_slots
					 : 0);
	}
}

int
jobs_rank(struct daemon *d, const char *name, uint32_t n_nodes,
	  const struct profile *profile, const bool *allowed,
	  struct advisor_ranking *ret_ranking, struct err *err)
{
	char *asked = xasprintf("ask:%s", name);
	int64_t began_ns = clk_monotonic_ns();
	struct work_job new;
	uint32_t number;
	int rc;

	if (!d->jobs->advisor) {
		free(asked);
		err_set(err, NULL, 0, 0, "%s",
			jobs_refusal_texts[d->fabric.topo ? JOBS_NO_ADVISOR
							  : JOBS_NO_FABRIC]);
		return -ENODATA;
	}
	make_waiting(asked, n_nodes, profile, &new);
	rc = advisor_put(d->jobs->advisor, &new, false, &number);
	if (rc == 0) {
		rc = advisor_rank(d->jobs->advisor, number, allowed, ret_ranking);
		advisor_remove(d->jobs->advisor, asked);
	}
	if (rc < 0)
		err_set(err, NULL, 0, 0, "%s",
			rc == -ENOSPC ? "no place has room for it"
				      : "no place of the fabric can be ranked for it");
	work_job_fini(&new);
	free(asked);
	d->jobs->so_far.n_ranked++;
	d->jobs->so_far.rank_s += (double)(clk_monotonic_ns() - began_ns) / 1e9;
	return rc;
}

/* ---- Keeping up ------------------------------------------------------------------------ */

static void
drop_gone(struct daemon *d)
{
	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];

		if (!job)
			continue;
		if (!job->is_here) {
			take_away(d, job);
			job_free(job);
			d->jobs->items.items[i] = NULL;
		}
	}
}

static void
mark_running(struct daemon *d)
{
	size_t n;
	const struct online_job *const *seen = online_jobs(d->now.online, &n);

	for (size_t i = 0; i < d->jobs->items.n; i++)
		if (d->jobs->items.items[i])
			d->jobs->items.items[i]->is_here = false;
	for (size_t i = 0; i < n; i++) {
		struct job *job =
			jobs_find(d, live_job_name(d->now.live, seen[i]->job));

		if (job)
			job->is_here = true;
		if (job && seen[i]->has_estimate)
			job->is_restored = false;
	}
	/* Of before a restart: until its profile is too old. */
	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];

		if (job && job->is_restored)
			job->is_here |= clk_wall_us() - job->restored_us <
					daemon_integer(d, "max_age_s") * 1000000;
	}
}

/* Takes up what is advised of a job, if it is new; true if so. */
static bool
take_view(struct daemon *d, struct job *job)
{
	struct advisor_view view;

	if (job->number == UINT32_MAX || job->is_waiting ||
	    !advisor_view(d->jobs->advisor, job->number, &view) || !view.is_solved)
		return false;
	if (view.revision == job->revision && job->doc &&
	    job->refusal == JOBS_ADVISED && clk_wall_us() < job->valid_until_us &&
	    !job->is_outcome_new && job->is_steered == pace_is_steered(d, job))
		return false;
	job->revision = view.revision;
	job->component = view.component;
	job->refusal = JOBS_ADVISED;
	jobs_write_doc(d, job, &view, NULL);
	pace_take(d, job, &view);
	return true;
}

static void
count_solve(struct jobs *jobs, double took_s)
{
	size_t i = 0;

	while (i < JOBS_N_SOLVE_BOUNDS && took_s > jobs_solve_bounds_s[i])
		i++;
	jobs->so_far.solves[i]++;
	jobs->so_far.solves_s += took_s;
}

static void
solve(struct daemon *d)
{
	int64_t began_ns = clk_monotonic_ns();
	VEC(uint32_t) touched = VEC_EMPTY;
	double took_s;

	if (!d->jobs->advisor)
		return;
	do {
		d->jobs->n_unsolved = advisor_step(d->jobs->advisor, 1);
		d->jobs->so_far.n_solved++;
	} while (d->jobs->n_unsolved && clk_monotonic_ns() - began_ns < SOLVE_NS);
	took_s = (double)(clk_monotonic_ns() - began_ns) / 1e9;
	d->jobs->so_far.solve_s += took_s;
	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];

		if (!job || !take_view(d, job))
			continue;
		for (size_t k = 0; k <= touched.n; k++) {
			if (k == touched.n)
				vec_push(&touched, job->component);
			if (touched.items[k] == job->component)
				break;
		}
	}
	if (d->jobs->n_unsolved || touched.n)
		count_solve(d->jobs, took_s);
	for (size_t i = 0; i < touched.n; i++)
		pace_take_edges(d, touched.items[i]);
	vec_free(&touched);
}

void
jobs_go_on(struct daemon *d)
{
	if (d->jobs->n_unsolved)
		solve(d);
}

void
jobs_restore(struct daemon *d, const char *name, const struct profile *profile,
	     const uint32_t *hosts, uint32_t n_hosts, int64_t at_us)
{
	struct work_job new;
	struct job *job;

	if (!d->jobs->advisor || jobs_find(d, name))
		return;
	job = job_make(d->jobs, name);
	make_waiting(name, n_hosts, profile, &new);
	new.hosts = xmemdup(hosts, n_hosts, sizeof *hosts);
	job->is_here = job->is_restored = true;
	job->restored_us = at_us;
	put(d, job, &new);
	job->is_restored = job->number != UINT32_MAX;
	work_job_fini(&new);
}

/* Between estimates, too, hosts fall silent and profiles grow old. */
static void
look_again(struct daemon *d)
{
	const struct picture picture = now_picture(d);

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		struct job *job = d->jobs->items.items[i];
		uint32_t id;
		const struct online_job *seen;

		if (!job || job->number == UINT32_MAX || job->is_waiting)
			continue;
		if (job->is_restored)
			continue;
		id = live_find_job(d->now.live, job->name);
		seen = id < TELE_OTHER ? online_find(d->now.online, id) : NULL;
		if (!seen || picture_estimate_age_ns(&picture, seen) >
				     daemon_integer(d, "max_age_s") * DAEMON_SECOND_NS)
			refuse(d, job, JOBS_STALE);
		else if (has_silent_host(d->jobs, job->hosts, job->n_hosts))
			refuse(d, job, JOBS_SILENT);
	}
}

void
jobs_update(struct daemon *d)
{
	note_silent(d);
	mark_running(d);
	if (d->now.is_estimated) {
		d->now.is_estimated = false;
		take_running(d);
	}
	look_again(d);
	take_nodes(d);
	take_waiting(d);
	solve(d);
	drop_gone(d);
}

void
jobs_advice(void *daemon, const struct host_job *waiting,
	    struct decide_advice *ret_advice)
{
	bool is_waiting = waiting->state == HOST_WAITING;
	const struct job *job =
		jobs_find(daemon, is_waiting ? waiting->id : waiting->local_id);

	*ret_advice = (struct decide_advice){ .answer = DECIDE_NO_ANSWER };
	if (!job || !job->doc)
		return;
	ret_advice->answer = job->answer;
	ret_advice->nodes = job->nodes;
	ret_advice->record = job->record;
	ret_advice->valid_until_us = job->valid_until_us;
}

struct jobs_counts
jobs_counts(const struct daemon *d)
{
	struct jobs_counts counts = {
		.n_solved = d->jobs->so_far.n_solved,
		.n_ranked = d->jobs->so_far.n_ranked,
		.solve_s = d->jobs->so_far.solve_s,
		.rank_s = d->jobs->so_far.rank_s,
	};

	for (size_t i = 0; i < d->jobs->items.n; i++) {
		const struct job *job = d->jobs->items.items[i];

		if (!job)
			continue;
		counts.n_jobs++;
		counts.n_waiting += job->is_waiting;
		counts.n_advised += job->refusal == JOBS_ADVISED;
		counts.n_refused += job->refusal != JOBS_ADVISED;
	}
	return counts;
}
