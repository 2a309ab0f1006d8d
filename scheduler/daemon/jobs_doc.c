/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_doc.c - an advice as text: antiphase.job_advice/1, on one line, the same from
 * the API, on the bus and in the store; and the record that users see.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/hostlist.h"
#include "lib/base/jsonw.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

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
	[JOBS_NO_PERIOD] = "its period is not known",
	[JOBS_THIN] = "too few iterations of it were seen",
	[JOBS_STALE] = "its profile is too old",
	[JOBS_SILENT] = "some of its hosts are silent",
	[JOBS_NOT_PLACED] = "some of its hosts are not in the fabric",
	[JOBS_UNSOLVED] = "its advice is being computed",
	[JOBS_NO_ADVISOR] = "this build has no advisor",
	[JOBS_NO_SPACE] = "no place has room for it",
	NULL,
};

const char *const jobs_kind_names[] = {
	[JOBS_PLACE] = "place",
	[JOBS_SHIFT] = "shift",
	NULL,
};

static const char *const pacing_names[] = {
	[STEER_FREE] = "free",
	[STEER_SHIFT] = "shift",
	[STEER_GATE] = "gate",
};

static void
fold_hosts(const struct topo *topo, const uint32_t *hosts, size_t n, struct strbuf *out)
{
	const char **names = xcalloc(n + 1, sizeof *names);

	for (size_t i = 0; i < n; i++)
		names[i] = topo_node(topo, hosts[i])->name;
	hostlist_fold(names, n, out);
	free(names);
}

/* The advice for a running job. */
static void
take_view(const struct jobs *jobs, const struct advisor_view *view,
	  struct advice_doc *doc, struct advice_doc_job *out)
{
	out->pacing = pacing_names[view->mode];
	out->shift_us = view->shift_us;
	out->slack_us = view->slack_us;
	out->locked_us = view->locked_us;
	out->score_before = view->score_before;
	out->score_after = view->score_after;
	out->slowdown_before = view->slowdown_before;
	out->slowdown_after = view->slowdown_after;
	out->gain_low = view->gain_low;
	out->gain_high = view->gain_high;
	advice_doc_add_paths(doc, view->paths, view->n_paths, NULL,
			     fabric_source_topo(jobs->opts.fabric), out);
	out->links = xcalloc(view->n_links + 1, sizeof *out->links);
	out->n_links = view->n_links;
	for (size_t i = 0; i < view->n_links; i++) {
		const struct advisor_link *link = &view->links[i];

		out->links[i] = (struct advice_doc_link){
			.name = advice_doc_link_name(
				doc, fabric_source_topo(jobs->opts.fabric), link->link),
			.n_jobs = link->n_jobs,
			.score_before = link->score_before,
			.score_after = link->score_after,
			.excess_before_bps = link->excess_before_bps,
			.excess_after_bps = link->excess_after_bps,
		};
	}
}

/* The advised move of a running job. */
static void
take_move(const struct jobs *jobs, const struct job *job, struct advice_doc *doc,
	  struct advice_doc_job *out)
{
	const struct topo *topo = fabric_source_topo(jobs->opts.fabric);
	const struct job_move *move = job->move;

	out->is_moved = true;
	out->move = (struct advice_doc_move){
		.from = xcalloc(job->n_hosts + 1, sizeof *out->move.from),
		.n_from = job->n_hosts,
		.n_workers = move->n_workers,
		.with = move->with ? advice_doc_text(doc, move->with) : "",
		.lost_s = move->lost_s,
		.goodput_gained_s = move->gain,
		.goodput_lost_s = move->cost,
		.payback_s = move->payback_s,
	};
	out->hosts = xcalloc(job->n_hosts + 1, sizeof *out->hosts);
	for (uint32_t i = 0; i < job->n_hosts; i++) {
		out->move.from[i] =
			advice_doc_text(doc, topo_node(topo, job->hosts[i])->name);
		out->hosts[i] =
			advice_doc_text(doc, topo_node(topo, move->hosts[i])->name);
	}
}

/* The advice for a waiting job. */
static void
take_places(const struct jobs *jobs, const struct advisor_ranking *ranking,
	    uint32_t n_hosts, struct advice_doc *doc, struct advice_doc_job *out)
{
	out->is_ranked = true;
	out->packed_loss = ranking->packed_loss;
	out->gain_low = ranking->gain_low;
	out->gain_high = ranking->gain_high;
	out->places = xcalloc(ranking->n + 1, sizeof *out->places);
	out->n_places = ranking->n;
	for (size_t i = 0; i < ranking->n; i++) {
		const struct advisor_place *place = &ranking->items[i];
		struct strbuf nodes = STRBUF_EMPTY;

		fold_hosts(fabric_source_topo(jobs->opts.fabric), place->hosts, n_hosts,
			   &nodes);
		out->places[i] = (struct advice_doc_place){
			.nodes = advice_doc_text(doc, nodes.text),
			.loss = place->loss,
			.slowdown = place->slowdown,
			.slowdown_others = place->slowdown_others,
			.score = place->score,
			.n_contended = place->n_contended,
			.n_leaves = place->n_leaves,
			.reason = reason_name(place->reason),
		};
		strbuf_free(&nodes);
	}
}

void
jobs_put_ranking(const struct jobs *jobs, const struct advisor_ranking *ranking,
		 uint32_t n_hosts, struct jsonw *w)
{
	struct advice_doc doc = advice_doc_of_one();

	take_places(jobs, ranking, n_hosts, &doc, &doc.jobs[0]);
	advice_json_put_ranking(&doc.jobs[0], w);
	advice_doc_fini(&doc);
}

/* The evidence of an advice. */
struct ground {
	const char *source;
	int64_t n_iterations, age_us; /* -1: none. */
	double confidence;
};

static struct ground
ground_of(const struct jobs *jobs, const struct job *job,
	  const struct profiled_job *seen)
{
	const struct status status = telemetry_status(jobs->opts.telemetry);
	const struct profile *profile = &job->profile;

	if (job->is_by_pacer)
		return (struct ground){ "pacer",
					job->pacer_profile.n > profile->n_iterations
						? job->pacer_profile.n
						: profile->n_iterations,
					(clk_monotonic_ns() - job->report_ns) / 1000,
					profile->confidence };
	if (seen && seen->has_estimate)
		return (struct ground){ "traffic", seen->detection.profile.n_iterations,
					status_estimate_age_ns(&status, seen) / 1000,
					seen->detection.profile.confidence };
	if (job->earlier_us)
		return (struct ground){ "earlier", profile->n_iterations,
					clk_wall_us() - job->earlier_us,
					profile->confidence };
	return (struct ground){ profile->period_us ? "declared" : "none", 0, -1, 0 };
}

static void
take_evidence(const struct jobs *jobs, const struct job *job,
	      struct advice_doc_job *out)
{
	uint32_t id = live_find_job(jobs->live, job->name);
	const struct profiled_job *seen =
		id < TELE_OTHER ? job_profiler_find(jobs->profiler, id) : NULL;
	const struct ground ground = ground_of(jobs, job, seen);

	out->source = ground.source;
	out->period_us = job->profile.period_us;
	out->n_iterations = (size_t)ground.n_iterations;
	out->confidence = ground.confidence;
	out->age_us = ground.age_us;
	out->n_hosts = job->n_hosts;
	out->n_silent = jobs->n_silent;
	out->why = seen ? seen->why : NULL;
}

/* "antiphase:v1;shift_us=..;period_us=..;link=..;score=..;mode=..". */
static char *
make_record(const struct jobs *jobs, const struct job *job,
	    const struct advisor_view *view)
{
	struct strbuf link = STRBUF_EMPTY;
	bool has_link = view->n_links && !reason_is_apart(view->reason);
	char *record;

	if (has_link)
		topo_link_name(fabric_source_topo(jobs->opts.fabric),
			       view->links[0].link, &link);
	record = xasprintf(
		"antiphase:v1;shift_us=%lld;period_us=%lld;link=%s;"
		"score=%.2f;mode=%s",
		(long long)view->shift_us,
		(long long)(view->locked_us ? view->locked_us : job->profile.period_us),
		has_link ? link.text : "-", view->score_after,
		pacing_names[view->mode]);
	strbuf_free(&link);
	return record;
}

static char *
skipped_record(const struct job *job)
{
	return xasprintf("antiphase:v1;skipped=%s", jobs_refusal_names[job->refusal]);
}

/* The answer for decide.h, from the ranking. */
static void
take_ranking(struct jobs *jobs, struct job *job, const struct advisor_ranking *ranking)
{
	struct strbuf nodes = STRBUF_EMPTY;
	const struct advisor_place *best;

	job->answer = DECIDE_REFUSED;
	if (job->refusal != JOBS_ADVISED || !ranking->n) {
		job->record = skipped_record(job);
		return;
	}
	best = &ranking->items[0];
	job->reason = best->reason;
	if (!(advisor_levers(jobs->advisor) & ADVISE_PLACE)) {
		job->answer = DECIDE_ANYWHERE;
		return;
	}
	fold_hosts(fabric_source_topo(jobs->opts.fabric), best->hosts, job->n_hosts,
		   &nodes);
	job->nodes = strbuf_steal(&nodes);
	job->answer = DECIDE_AT;
	job->record = xasprintf("antiphase:v1;placed;score=%.2f", best->score);
	jobs->outcomes.on_place(jobs->outcomes.ctx, job, best->slowdown);
}

static void
take_answer(const struct job *job, struct advice_doc_job *out)
{
	out->name = job->name;
	out->at_us = job->at_us;
	out->valid_until_us = job->valid_until_us;
	out->is_advised = job->refusal == JOBS_ADVISED;
	out->reason = out->is_advised ? reason_name(job->reason)
				      : jobs_refusal_names[job->refusal];
	out->text = out->is_advised ? reason_text(job->reason)
				    : jobs_refusal_texts[job->refusal];
	out->remedy = out->is_advised ? reason_remedy(job->reason) : "";
}

/* Counts the advice if it differs from the last one. */
static void
count_given(struct jobs *jobs, struct job *job, enum jobs_kind kind)
{
	unsigned mark = 1 + (unsigned)kind * N_REASONS + (unsigned)job->reason;

	if (job->refusal != JOBS_ADVISED) {
		job->counted = 0;
	} else if (job->counted != mark) {
		job->counted = mark;
		jobs->totals.n_given[kind][job->reason]++;
	}
}

static void
forget_answer(struct job *job)
{
	free(job->nodes);
	free(job->record);
	free(job->doc);
	job->nodes = job->record = job->doc = NULL;
}

void
jobs_write_doc(struct jobs *jobs, struct job *job, const struct advisor_view *view,
	       const struct advisor_ranking *ranking)
{
	char *topic = xasprintf("advice/%s", job->name), *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct advice_doc doc = advice_doc_of_one();
	struct jsonw w;

	BUG_ON(!out);
	forget_answer(job);
	job->at_us = clk_wall_us();
	job->is_outcome_new = job->is_move_new = false;
	job->valid_until_us = job->at_us + jobs->opts.config->valid_us;
	job->answer = DECIDE_REFUSED;
	if (ranking) {
		take_ranking(jobs, job, ranking);
	} else if (view) {
		job->reason = view->reason;
		job->answer = DECIDE_ANYWHERE;
		job->record = make_record(jobs, job, view);
	} else {
		job->record = skipped_record(job);
	}
	count_given(jobs, job, ranking ? JOBS_PLACE : JOBS_SHIFT);
	take_answer(job, &doc.jobs[0]);
	doc.jobs[0].is_waiting = ranking != NULL;
	take_evidence(jobs, job, &doc.jobs[0]);
	if (view)
		take_view(jobs, view, &doc, &doc.jobs[0]);
	if (view && job->move)
		take_move(jobs, job, &doc, &doc.jobs[0]);
	if (ranking)
		take_places(jobs, ranking, job->n_hosts, &doc, &doc.jobs[0]);
	jsonw_line(&w, out, "antiphase.job_advice/1");
	advice_json_put_job(&doc.jobs[0], &w);
	jobs->outcomes.put(jobs->outcomes.ctx, job->name, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	advice_doc_fini(&doc);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	job->doc = text;
	jobs->opts.announce(jobs->opts.ctx, topic, text);
	if (jobs->opts.store && job->refusal == JOBS_ADVISED)
		store_put(jobs->opts.store, STORE_ADVICE, job->name, job->at_us, text);
	free(topic);
}
