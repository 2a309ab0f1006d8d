#include "scheduler/daemon/pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/jsonw.h"
#include "lib/wire/rpc.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/live/live.h"

#define MAX_ORDERS 256 /* That follow from one report. */
/* A pacer of which nothing was heard for so long gets no orders. */
#define FORGET_NS (30 * DAEMON_SECOND_NS)

/* Where a job's rank 0 is. */
struct pacer {
	bool is_known;
	uint32_t pid;
	char host[TELE_MAX_NAME + 1];
	int64_t heard_ns;
};

struct pace {
	struct steer *steer;      /* Owned. */
	VEC(struct pacer) pacers; /* By number of the job, at the advisor. */
	struct pace_counts counts;
};

static struct pacer *
find_pacer(const struct pace *pace, uint32_t number)
{
	return number < pace->pacers.n && pace->pacers.items[number].is_known
		       ? &pace->pacers.items[number]
		       : NULL;
}

bool
pace_is_steered(const struct daemon *d, const struct job *job)
{
	const struct host_job *known = host_find_local(&d->deeds.snapshot, job->name);

	return !job->is_observing && job->is_shiftable && !d->ending_ns &&
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
send_order(struct daemon *d, const struct steer_order *order)
{
	const struct job *job = jobs_of_number(d, order->job);
	const struct pacer *pacer = find_pacer(d->pace, order->job);
	char topic[TELE_MAX_NAME + 8], *text = NULL;
	size_t length;
	struct jsonw w;
	FILE *out;

	/* A pacer whose pid its collector cannot see is not to be reached. */
	if (!job || !pacer || !pacer->pid || !d->announcer ||
	    !pace_is_steered(d, job) ||
	    clk_monotonic_ns() - pacer->heard_ns > FORGET_NS)
		return;
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "schema", "antiphase.orders/1");
	jsonw_array(&w, "orders");
	put_order(order, job->name, pacer->pid, &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	snprintf(topic, sizeof topic, "pace/%s/", pacer->host);
	rpc_announce(d->announcer, topic, text);
	free(text);
	d->pace->counts.orders[order->why]++;
}

/* ---- Reports --------------------------------------------------------------------------- */

static void
note_pacer(struct daemon *d, struct job *job, const struct live_iteration *told)
{
	struct pace *pace = d->pace;
	struct pacer *pacer;

	while (pace->pacers.n <= job->number)
		vec_push(&pace->pacers, ((struct pacer){ .pid = 0 }));
	pacer = &pace->pacers.items[job->number];
	pacer->is_known = true;
	pacer->pid = told->pid;
	pacer->heard_ns = clk_monotonic_ns();
	snprintf(pacer->host, sizeof pacer->host, "%s",
		 live_host(d->now.live, told->host)->name);
}

static void
on_iteration(void *ctx, const struct live_iteration *told)
{
	struct daemon *d = ctx;
	struct pace *pace = d->pace;
	struct job *job = jobs_find(d, live_job_name(d->now.live, told->job));
	const struct steer_report report = {
		.number = told->number,
		.enter_ns = told->enter_ns,
		.begin_ns = told->begin_ns,
		.comm_ns = told->comm_ns,
		.order = told->order,
	};
	struct steer_order orders[MAX_ORDERS];
	size_t n;

	pace->counts.reports++;
	if (job) {
		job->paced_ns = told->is_over ? 0 : clk_monotonic_ns();
		job->is_observing = told->is_observing;
		if (!told->is_over) {
			paced_add(&job->paced, told->number, told->enter_ns,
				  told->begin_ns, told->comm_ns);
			outcomes_begin(d, job->name, told->number, told->begin_ns);
		}
	}
	if (!job || job->number == UINT32_MAX || told->is_over) {
		pace->counts.strangers += !job || job->number == UINT32_MAX;
		return;
	}
	note_pacer(d, job, told);
	n = steer_report(pace->steer, job->number, &report, orders, MAX_ORDERS);
	for (size_t i = 0; i < n; i++)
		send_order(d, &orders[i]);
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
	steer_set_job(d->pace->steer, job->number, &what);
}

void
pace_take_edges(struct daemon *d, const uint32_t *numbers, size_t n)
{
	VEC(struct steer_edge) edges = VEC_EMPTY;

	for (size_t i = 0; i < n; i++) {
		struct advisor_view view;

		if (!advisor_view(d->jobs->advisor, numbers[i], &view))
			continue;
		/* Each is told at both its ends, of which one may not be listed. */
		for (size_t k = 0; k < view.n_edges; k++)
			vec_push(&edges, view.edges[k]);
	}
	steer_set_edges(d->pace->steer, numbers, n, edges.items, edges.n);
	vec_free(&edges);
}

void
pace_remove(struct daemon *d, uint32_t number)
{
	struct pace *pace = d->pace;

	if (!pace)
		return;
	steer_remove_job(pace->steer, number);
	if (number < pace->pacers.n)
		pace->pacers.items[number] = (struct pacer){ .pid = 0 };
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
	vec_free(&d->pace->pacers);
	free(d->pace);
	d->pace = NULL;
}
