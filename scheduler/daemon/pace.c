/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/pace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/hostlist.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/live.h"

#define MAX_ORDERS 256 /* Caused by one report. */
/* A pacer that was silent for this long gets no orders. */
#define FORGET_NS (30 * INT64_C(1000000000))
/* Of one job: as many as a fabric can have. */
#define MAX_NODES 100000

static const char *const verdicts[] = { [STEER_FREE] = "left alone",
					[STEER_SHIFT] = "shifted",
					[STEER_GATE] = "given turns" };

struct pace {
	struct pace_opts opts;
	const struct live *live; /* Of the telemetry. */
	void (*on_iteration)(void *ctx, const char *job, uint64_t number,
			     int64_t begin_ns);
	void *iteration_ctx;
	void (*on_order)(void *ctx, const char *job, int64_t at_ns,
			 const struct steer_order *order);
	void *order_ctx;
	bool is_ending;
	struct steer *steer; /* Owned. */
	struct pace_counts counts;
	struct log_limit elsewhere_limit;
};

/* Whether a job gets orders: its mode is enforce, and its pacer accepts them. */
static bool
is_steered(void *ctx, const struct job *job)
{
	const struct pace *pace = ctx;
	const struct sched_job *known =
		sched_find_local(pace->opts.snapshot, job->name);

	return !job->is_observing && job->report_ns && job->is_shiftable &&
	       !pace->is_ending &&
	       modes_now(pace->opts.modes, known ? known->partition : "") ==
		       MODE_ENFORCE;
}

/* ---- Orders ---------------------------------------------------------------------------- */

static void
put_order(const struct steer_order *order, const char *job, uint32_t pid,
	  struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", job);
	jsonw_int(w, "pid", pid);
	jsonw_int(w, "number", order->number);
	jsonw_int(w, "delay_us", order->delay_ns / 1000);
	jsonw_int(w, "not_before_us", order->not_before_ns / 1000);
	jsonw_int(w, "expires_us", order->expires_ns / 1000);
	jsonw_int(w, "max_us", order->max_ns / 1000);
	jsonw_str(w, "why", steer_why_names[order->why]);
	jsonw_end(w);
}

static void
log_order(const struct job *job, const struct steer_order *order)
{
	log_dbg("pace", "job %s: order %u, %s: not before %.6f, at most %.3f ms",
		job->name, order->number, steer_why_names[order->why],
		(double)order->not_before_ns / 1e9, (double)order->max_ns / 1e6);
}

static void
send_order(struct pace *pace, const struct steer_order *order, int64_t at_ns)
{
	const struct job *job = jobs_of_number(pace->opts.jobs, order->job);
	char topic[TELE_MAX_NAME + 8], *text = NULL;
	size_t length;
	struct jsonw w;
	FILE *out;

	/* A pacer whose pid its collector cannot see is not reachable. */
	if (!job || !job->pacer.pid || !is_steered(pace, job) ||
	    clk_monotonic_ns() - job->report_ns > FORGET_NS)
		return;
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "schema", "antiphase.orders/1");
	jsonw_array(&w, "orders");
	put_order(order, job->name, job->pacer.pid, &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	snprintf(topic, sizeof topic, "pace/%s/", job->pacer.host);
	pace->opts.announce(pace->opts.ctx, topic, text);
	free(text);
	pace->counts.orders[order->why]++;
	if (pace->on_order)
		pace->on_order(pace->order_ctx, job->name, at_ns, order);
	log_order(job, order);
}

/* ---- Reports --------------------------------------------------------------------------- */

static int
find_host(void *ctx, const char *name)
{
	return strcmp(name, ctx) == 0 ? -EEXIST : 0;
}

/*
 * Whether the cluster's scheduler gave the job this host.  Also false if it does not
 * know the job, or calls its nodes otherwise than their collectors do.
 */
static bool
is_node_of(const struct pace *pace, const struct job *job, const char *host)
{
	const struct sched_job *known =
		sched_find_local(pace->opts.snapshot, job->name);
	const char *why;

	return known && *known->nodes &&
	       hostlist_expand(known->nodes, MAX_NODES, find_host, (char *)host,
			       &why) == -EEXIST;
}

/*
 * Whether 'host' is better than that of the job's pacer in use: the scheduler gave the
 * job this one, and not that one.  A host where somebody poses as the job, or where it
 * was before it was requeued.
 */
static bool
is_better_host(struct pace *pace, struct job *job, const char *host)
{
	struct pacer *pacer = &job->pacer;

	if (pacer->judged_us != pace->opts.snapshot->at_us) {
		pacer->is_on_node = is_node_of(pace, job, pacer->host);
		pacer->judged_us = pace->opts.snapshot->at_us;
	}
	if (pacer->is_on_node || strcmp(pacer->host, host) == 0 ||
	    !is_node_of(pace, job, host))
		return false;
	pace->counts.replaced++;
	log_limited(
		&pace->elsewhere_limit, clk_monotonic_ns(), LOG_LEVEL_WARN, "pace",
		"job %s: a pacer on %s was used, which is not a node of it; now that "
		"on %s is",
		job->name, pacer->host, host);
	return true;
}

/*
 * A job may have several rank 0s, of steps that run side by side: the first to report
 * is used until it is over or silent; reports of the others are ignored.  One on a node
 * of the job replaces at once one that is not.
 */
static bool
is_its_pacer(struct pace *pace, struct job *job, const struct live_iteration *told)
{
	const char *host = live_host(pace->live, told->host)->name;
	int64_t now_ns = clk_monotonic_ns();
	bool is_known = job->report_ns && job->pacer.pid == told->pid &&
			strcmp(job->pacer.host, host) == 0;

	if (!is_known) {
		if (job->report_ns && now_ns - job->report_ns < FORGET_NS &&
		    (told->is_over || !is_better_host(pace, job, host)))
			return false;
		job->pacer_profile = (struct pacer_profile){ .n = 0 };
		snprintf(job->pacer.host, sizeof job->pacer.host, "%s", host);
		job->pacer.is_on_node = is_node_of(pace, job, host);
		job->pacer.judged_us = pace->opts.snapshot->at_us;
	}
	job->pacer.pid = told->pid;
	job->report_ns = now_ns;
	job->is_observing = told->is_observing;
	return true;
}

/* Updates the job's profile; jobs.h uses it when there is enough, or a change. */
static void
take_pacer(struct pace *pace, struct job *job, const struct steer_report *report)
{
	enum pacer_profile_event event = pacer_profile_add(&job->pacer_profile, report);
	uint32_t n_min = (uint32_t)pace->opts.config->pacer_min_iterations;
	bool is_known = job->number != UINT32_MAX;

	job->has_changed |= event == PACER_PROFILE_CHANGED;
	/*
	 * At first, and again with more iterations, as contended ones show less. The
	 * first iterations may be unlike the rest, so an unknown job is profiled with
	 * any number.
	 */
	if (event == PACER_PROFILE_CHANGED ||
	    (event == PACER_PROFILE_WHOLE && job->pacer_profile.n >= n_min &&
	     (!is_known || job->pacer_profile.n % n_min == 0) &&
	     job->pacer_profile.n <= PACER_PROFILE_N_KEPT))
		jobs_note_report(pace->opts.jobs, job);
}

/* Logs why it was, or was not, ordered to wait: seconds of wall clock. */
static void
log_report(const struct job *job, const struct steer_report *r)
{
	log_dbg("pace",
		"job %s: iteration %llu came at %.6f, began at %.6f; the last one was in "
		"collectives for %.3f ms; order %u",
		job->name, (unsigned long long)r->number, (double)r->enter_ns / 1e9,
		(double)r->begin_ns / 1e9, (double)r->comm_ns / 1e6, r->order);
}

/* Logs the job's state if the report changed it. */
static void
log_state(const struct job *job, const struct steer_state *before,
	  const struct steer_state *now)
{
	const struct steer_learned *a = &before->learned, *b = &now->learned;

	if (before->is_tracked == now->is_tracked && a->takes_turns == b->takes_turns &&
	    a->n_share == b->n_share && a->n_turns == b->n_turns &&
	    a->predicted_share == b->predicted_share &&
	    a->predicted_turns == b->predicted_turns)
		return;
	log_dbg("pace",
		"job %s: %s; %.1f ms, of which %.1f ms sending; predicted to cost it and its "
		"like: sharing %.4f, turns %.4f; seen: sharing %.4f (%u), turns %.4f (%u)",
		job->name, b->takes_turns ? "takes turns" : "shares",
		(double)now->period_us / 1e3, (double)now->burst_us / 1e3,
		b->predicted_share, b->predicted_turns, b->share, b->n_share, b->turns,
		b->n_turns);
}

/* Says so if turns do not help: of one of the jobs that take turns together. */
static void
say_stand_back(const struct job *job, int64_t now_ns,
	       const struct steer_learned *before, const struct steer_learned *now)
{
	if (now->stands_back == before->stands_back &&
	    now->stands_back_until_ns == before->stands_back_until_ns)
		return;
	if (!now->stands_back)
		log_info("pace",
			 "job %s and those on its links: turns are allowed again",
			 job->name);
	else if (!now->stands_back_until_ns)
		log_info("pace",
			 "job %s and those on its links: turns cost %.0f %% of the "
			 "iteration time, more than expected; they share links for a "
			 "while, to measure what that costs",
			 job->name, 100 * now->recent_turns);
	else
		log_info(
			"pace",
			"job %s and those on its links: standing back for %.0f s: turns "
			"do not help, they cost %.0f %% of the iteration time, sharing "
			"%.0f %%. Look for other load on their hosts",
			job->name, (double)(now->stands_back_until_ns - now_ns) / 1e9,
			100 * now->recent_turns, 100 * now->recent_share);
}

static void
steer(struct pace *pace, const struct job *job, const struct steer_report *report)
{
	struct steer_order orders[MAX_ORDERS];
	struct steer_state before, now;
	size_t n;

	pace_state(pace, job, &before);
	n = steer_report(pace->steer, job->number, report, orders, MAX_ORDERS);
	pace_state(pace, job, &now);
	log_state(job, &before, &now);
	say_stand_back(job, report->begin_ns, &before.learned, &now.learned);
	for (size_t i = 0; i < n; i++)
		send_order(pace, &orders[i], report->begin_ns);
}

static void
on_iteration(void *ctx, const struct live_iteration *told)
{
	struct pace *pace = ctx;
	const char *name = live_job_name(pace->live, told->job);
	struct job *job = jobs_find(pace->opts.jobs, name);
	const struct steer_report report = {
		.number = told->number,
		.enter_ns = told->enter_ns,
		.begin_ns = told->begin_ns,
		.comm_ns = told->comm_ns,
		.order = told->order,
	};

	pace->counts.reports++;
	if (!job && !told->is_over)
		job = jobs_make(pace->opts.jobs, name);
	if (!job)
		return;
	if (!is_its_pacer(pace, job, told)) {
		pace->counts.others++;
		return;
	}
	if (told->is_over) {
		job->report_ns = 0;
		return;
	}
	log_report(job, &report);
	take_pacer(pace, job, &report);
	if (pace->on_iteration)
		pace->on_iteration(pace->iteration_ctx, job->name, told->number,
				   told->begin_ns);
	if (job->number != UINT32_MAX)
		steer(pace, job, &report);
}

/* ---- Advice ----------------------------------------------------------------------------- */

static void
on_view(void *ctx, struct job *job, const struct advisor_view *view)
{
	struct pace *pace = ctx;
	struct steer_job what = { .mode = STEER_FREE,
				  .profile = &job->profile,
				  .locked_us = view->locked_us,
				  .weight = job->n_hosts };

	job->is_steered = is_steered(pace, job);
	if (job->is_steered)
		what.mode = view->mode;
	log_dbg("pace", "job %s: to be %s: %s; %.3f times alone as it is, then %.3f",
		job->name, verdicts[what.mode], reason_name(view->reason),
		view->slowdown_before, view->slowdown_after);
	/* Reports from before it was steered need not come again. */
	if (steer_set_job(pace->steer, job->number, &what))
		steer_remember(pace->steer, job->number, job->pacer_profile.reports,
			       job->pacer_profile.n_reports);
}

static void
on_component(void *ctx, const uint32_t *numbers, size_t n)
{
	struct pace *pace = ctx;
	VEC(struct steer_constraint) edges = VEC_EMPTY;

	for (size_t i = 0; i < n; i++) {
		struct advisor_view view;

		if (!advisor_view(jobs_advisor(pace->opts.jobs), numbers[i], &view))
			continue;
		/* Each at both ends, as one may not be in the list. */
		for (size_t k = 0; k < view.n_constraints; k++)
			vec_push(&edges, view.constraints[k]);
	}
	steer_set_constraints(pace->steer, numbers, n, edges.items, edges.n);
	vec_free(&edges);
}

static void
on_remove(void *ctx, uint32_t number)
{
	struct pace *pace = ctx;

	steer_remove_job(pace->steer, number);
}

struct pace_counts
pace_counts(const struct pace *pace)
{
	return pace->counts;
}

void
pace_state(const struct pace *pace, const struct job *job,
	   struct steer_state *ret_state)
{
	*ret_state = (struct steer_state){ 0 };
	if (job && job->number != UINT32_MAX)
		steer_state(pace->steer, job->number, ret_state);
}

void
pace_on_iteration(struct pace *pace,
		  void (*fn)(void *ctx, const char *job, uint64_t number,
			     int64_t begin_ns),
		  void *ctx)
{
	pace->on_iteration = fn;
	pace->iteration_ctx = ctx;
}

void
pace_on_order(struct pace *pace,
	      void (*fn)(void *ctx, const char *job, int64_t at_ns,
			 const struct steer_order *order),
	      void *ctx)
{
	pace->on_order = fn;
	pace->order_ctx = ctx;
}

void
pace_end(struct pace *pace)
{
	pace->is_ending = true;
}

struct pace *
pace_new(const struct pace_opts *opts)
{
	struct pace *pace = xcalloc(1, sizeof *pace);

	pace->opts = *opts;
	pace->live = telemetry_live(opts->telemetry);
	pace->steer = steer_new(NULL);
	jobs_set_pacing(opts->jobs,
			&(struct jobs_pacing){ is_steered, on_view, on_component,
					       on_remove, pace });
	live_on_iteration(telemetry_live(opts->telemetry), on_iteration, pace);
	return pace;
}

void
pace_free(struct pace *pace)
{
	if (!pace)
		return;
	live_on_iteration(telemetry_live(pace->opts.telemetry), NULL, NULL);
	steer_free(pace->steer);
	free(pace);
}
