#include "scheduler/daemon/pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/wire/bus.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/live/live.h"

#define MAX_ORDERS 256 /* That follow from one report. */
/* A pacer of which nothing was heard for so long gets no orders. */
#define FORGET_NS (30 * DAEMON_SECOND_NS)

static const char *const verdicts[] = { [STEER_FREE] = "left alone",
					[STEER_SHIFT] = "shifted",
					[STEER_GATE] = "given turns" };

struct pace {
	struct steer *steer; /* Owned. */
	struct pace_counts counts;
};

bool
pace_is_steered(const struct daemon *d, const struct job *job)
{
	const struct sched_job *known = sched_find_local(&d->deeds.snapshot, job->name);

	return !job->is_observing && job->paced_ns && job->is_shiftable &&
	       !d->ending_ns &&
	       modes_now(&d->deeds.modes, known ? known->partition : "") ==
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
send_order(struct daemon *d, const struct steer_order *order)
{
	const struct job *job = jobs_of_number(d, order->job);
	char topic[TELE_MAX_NAME + 8], *text = NULL;
	size_t length;
	struct jsonw w;
	FILE *out;

	/* A pacer whose pid its collector cannot see is not to be reached. */
	if (!job || !job->pacer.pid || !d->announcer || !pace_is_steered(d, job) ||
	    clk_monotonic_ns() - job->paced_ns > FORGET_NS)
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
	bus_pub_text(d->announcer, topic, text);
	free(text);
	d->pace->counts.orders[order->why]++;
	log_order(job, order);
}

/* ---- Reports --------------------------------------------------------------------------- */

/*
 * A job may have several rank 0s, of steps that run side by side: the first one that is
 * heard has it until it is over or silent, and the others are not listened to.
 */
static bool
is_its_pacer(struct daemon *d, struct job *job, const struct live_iteration *told)
{
	const char *host = live_host(d->now.live, told->host)->name;
	int64_t now_ns = clk_monotonic_ns();
	bool is_known = job->paced_ns && job->pacer.pid == told->pid &&
			strcmp(job->pacer.host, host) == 0;

	if (!is_known) {
		if (job->paced_ns && now_ns - job->paced_ns < FORGET_NS)
			return false;
		job->paced = (struct pacer_profile){ .n = 0 };
		snprintf(job->pacer.host, sizeof job->pacer.host, "%s", host);
	}
	job->pacer.pid = told->pid;
	job->paced_ns = now_ns;
	job->is_observing = told->is_observing;
	return true;
}

/* What it is like alone; jobs_paced.c hears of it when there is enough, or a change. */
static void
take_paced(struct daemon *d, struct job *job, const struct steer_report *report)
{
	enum pacer_profile_event event = pacer_profile_add(&job->paced, report);
	uint32_t n_min = (uint32_t)d->config.pacer_min_iterations;
	bool is_known = job->number != UINT32_MAX;

	job->has_changed |= event == PACER_PROFILE_CHANGED;
	/*
	 * At first, and again with more, as those that were contended tell less.  The first
	 * ones may be unlike the rest, so one that is not known may be with any.
	 */
	if (event == PACER_PROFILE_CHANGED ||
	    (event == PACER_PROFILE_WHOLE && job->paced.n >= n_min &&
	     (!is_known || job->paced.n % n_min == 0) &&
	     job->paced.n <= PACER_PROFILE_N_KEPT))
		jobs_note_told(d, job);
}

/* For whoever asks later why it was, or was not, told to wait: seconds of wall clock. */
static void
log_report(const struct job *job, const struct steer_report *r)
{
	log_dbg("pace",
		"job %s: iteration %llu came at %.6f, began at %.6f; the last one was in "
		"collectives for %.3f ms; order %u",
		job->name, (unsigned long long)r->number, (double)r->enter_ns / 1e9,
		(double)r->begin_ns / 1e9, (double)r->comm_ns / 1e6, r->order);
}

/* What is held of it, if that is another thing than before the report. */
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
		"job %s: %s; %.1f ms, of which %.1f ms sending; foretold to cost it and its "
		"like: sharing %.4f, turns %.4f; seen: sharing %.4f (%u), turns %.4f (%u)",
		job->name, b->takes_turns ? "takes turns" : "shares",
		(double)now->period_us / 1e3, (double)now->burst_us / 1e3,
		b->predicted_share, b->predicted_turns, b->share, b->n_share, b->turns,
		b->n_turns);
}

static void
steer(struct daemon *d, const struct job *job, const struct steer_report *report)
{
	struct steer_order orders[MAX_ORDERS];
	struct steer_state before, now;
	size_t n;

	pace_state(d, job, &before);
	n = steer_report(d->pace->steer, job->number, report, orders, MAX_ORDERS);
	pace_state(d, job, &now);
	log_state(job, &before, &now);
	for (size_t i = 0; i < n; i++)
		send_order(d, &orders[i]);
}

static void
on_iteration(void *ctx, const struct live_iteration *told)
{
	struct daemon *d = ctx;
	struct pace *pace = d->pace;
	const char *name = live_job_name(d->now.live, told->job);
	struct job *job = jobs_find(d, name);
	const struct steer_report report = {
		.number = told->number,
		.enter_ns = told->enter_ns,
		.begin_ns = told->begin_ns,
		.comm_ns = told->comm_ns,
		.order = told->order,
	};

	pace->counts.reports++;
	if (!job && !told->is_over)
		job = jobs_make(d->jobs, name);
	if (!job)
		return;
	if (!is_its_pacer(d, job, told)) {
		pace->counts.others++;
		return;
	}
	if (told->is_over) {
		job->paced_ns = 0;
		return;
	}
	log_report(job, &report);
	take_paced(d, job, &report);
	outcomes_begin(d, job->name, told->number, told->begin_ns);
	if (job->number != UINT32_MAX)
		steer(d, job, &report);
}

/* ---- What is advised -------------------------------------------------------------------- */

void
pace_take(struct daemon *d, struct job *job, const struct advisor_view *view)
{
	struct steer_job what = { .mode = STEER_FREE,
				  .profile = &job->profile,
				  .locked_us = view->locked_us,
				  .weight = job->n_hosts };

	job->is_steered = pace_is_steered(d, job);
	if (job->is_steered)
		what.mode = view->mode;
	log_dbg("pace", "job %s: to be %s: %s; %.3f times alone as it is, then %.3f",
		job->name, verdicts[what.mode], reason_name(view->reason),
		view->slowdown_before, view->slowdown_after);
	/* What was told before it was steered need not be waited for again. */
	if (steer_set_job(d->pace->steer, job->number, &what))
		steer_remember(d->pace->steer, job->number, job->paced.reports,
			       job->paced.n_reports);
}

void
pace_take_edges(struct daemon *d, const uint32_t *numbers, size_t n)
{
	VEC(struct steer_constraint) edges = VEC_EMPTY;

	for (size_t i = 0; i < n; i++) {
		struct advisor_view view;

		if (!advisor_view(d->jobs->advisor, numbers[i], &view))
			continue;
		/* Each is told at both its ends, of which one may not be listed. */
		for (size_t k = 0; k < view.n_constraints; k++)
			vec_push(&edges, view.constraints[k]);
	}
	steer_set_constraints(d->pace->steer, numbers, n, edges.items, edges.n);
	vec_free(&edges);
}

void
pace_remove(struct daemon *d, uint32_t number)
{
	if (d->pace)
		steer_remove_job(d->pace->steer, number);
}

struct pace_counts
pace_counts(const struct daemon *d)
{
	return d->pace->counts;
}

void
pace_state(const struct daemon *d, const struct job *job, struct steer_state *ret_state)
{
	*ret_state = (struct steer_state){ 0 };
	if (job && job->number != UINT32_MAX)
		steer_state(d->pace->steer, job->number, ret_state);
}

void
pace_open(struct daemon *d)
{
	d->pace = xcalloc(1, sizeof *d->pace);
	d->pace->steer = steer_new(NULL);
	live_on_iteration(d->now.live, on_iteration, d);
}

void
pace_close(struct daemon *d)
{
	if (!d->pace)
		return;
	live_on_iteration(d->now.live, NULL, NULL);
	steer_free(d->pace->steer);
	free(d->pace);
	d->pace = NULL;
}
