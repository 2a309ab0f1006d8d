/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_view.c - the published advice of a job: its component as solved, its paths,
 * and what these spare it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/advisor/advisor_priv.h"

static bool
is_same_view(const struct advisor_view *a, const struct advisor_view *b)
{
	return a->is_solved && a->shift_us == b->shift_us &&
	       a->slack_us == b->slack_us && a->locked_us == b->locked_us &&
	       a->mode == b->mode && a->reason == b->reason &&
	       a->score_before == b->score_before && a->score_after == b->score_after &&
	       a->slowdown_before == b->slowdown_before &&
	       a->slowdown_after == b->slowdown_after &&
	       a->slowdown_unshifted == b->slowdown_unshifted &&
	       a->paths_revision == b->paths_revision && a->n_links == b->n_links &&
	       a->n_constraints == b->n_constraints &&
	       (a->n_links == 0 ||
		memcmp(a->links, b->links, a->n_links * sizeof *a->links) == 0) &&
	       (a->n_constraints == 0 ||
		memcmp(a->constraints, b->constraints,
		       a->n_constraints * sizeof *a->constraints) == 0);
}

/* What the job would lose on the paths of hashing counts as 'before'. */
static void
add_hashed(const struct hashed *hashed, struct advisor_view *view)
{
	bool is_free = view->reason == REASON_ISOLATED || view->reason == REASON_FITS;

	view->score_before = hashed->forecast.score;
	if (is_free && hashed->n_links) {
		view->reason = REASON_ROUTED_APART;
		view->links = hashed->links;
		view->n_links = hashed->n_links;
	}
	if (!hashed->forecast.is_known || !(view->slowdown_after > 0))
		return;
	view->slowdown_before = forecast_mean(&hashed->forecast);
	view->gain_low = HUGE_VAL;
	view->gain_high = -HUGE_VAL;
	for (size_t s = 0; s < FORECAST_RUNS; s++) {
		double gain = 1 - view->slowdown_after / hashed->forecast.own[s];

		view->gain_low = fmin(view->gain_low, gain);
		view->gain_high = fmax(view->gain_high, gain);
	}
}

static struct advisor_view
compose(const struct advisor *advisor, const struct advisor_job *job,
	const struct advisor_view *solved)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job->number);
	struct advisor_view view = *solved;

	view.slowdown_unshifted = solved->slowdown_before;
	view.shift_gain_low = solved->gain_low;
	view.shift_gain_high = solved->gain_high;
	view.paths = job->paths.view;
	view.n_paths = job->paths.view ? routed->flows.n : 0;
	view.paths_revision = job->paths.revision;
	if (job->paths.n_chosen && job->hashed.is_known)
		add_hashed(&job->hashed, &view);
	return view;
}

/* The arrays of the present view are still there. */
static void
publish(struct advisor *advisor, struct advisor_job *job,
	const struct advisor_view *solved)
{
	struct advisor_view view;

	advisor_paths_refresh_view(advisor, job->number);
	view = compose(advisor, job, solved);
	view.revision = is_same_view(&job->view, &view) ? job->view.revision
							: ++advisor->revision;
	job->view = view;
}

void
advisor_publish(struct advisor *advisor, uint32_t number,
		const struct advisor_view *solved)
{
	struct advisor_job *job = advisor->jobs.items[number];
	struct advisor_view old = job->solved;

	publish(advisor, job, solved);
	job->solved = *solved;
	free((void *)old.links);
	free((void *)old.constraints);
}

void
advisor_publish_again(struct advisor *advisor, uint32_t number)
{
	struct advisor_job *job = advisor->jobs.items[number];

	if (job->solved.is_solved)
		publish(advisor, job, &job->solved);
}

void
advisor_unpublish(struct advisor_job *job)
{
	free((void *)job->solved.links);
	free((void *)job->solved.constraints);
	free(job->hashed.links);
	job->hashed = (struct hashed){ 0 };
	job->solved = (struct advisor_view){ 0 };
	job->view = (struct advisor_view){ .revision = job->view.revision };
}
