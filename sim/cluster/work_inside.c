/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/work_inside.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "policies/rings.h"

struct work_inside {
	const struct pol_inside *inside;
	struct rings *rings;
};

struct work_inside *
work_inside_new(const struct pol_inside *inside)
{
	struct work_inside *work = xcalloc(1, sizeof *work);

	work->inside = inside;
	work->rings = rings_new(inside);
	return work;
}

void
work_inside_free(struct work_inside *work)
{
	if (work)
		rings_free(work->rings);
	free(work);
}

/* Speed of a running job relative to the best GPUs of a server. */
static double
speed_of(const struct work_inside *work, const struct pol_job *job)
{
	const double *stage_s = job->stage_s, *gb_s = work->inside->gb_s;
	double share = stage_s[2] / (stage_s[0] + stage_s[1] + stage_s[2]), slower = 1;

	if (!(share > 0))
		return 1;
	for (uint32_t i = 0; i < job->n_pieces; i++) {
		const struct pol_piece *piece = &job->pieces[i];
		enum inside_link best;

		if (!piece->gpus)
			continue;
		best = rings_best_slowest(work->rings, piece->n_gpus);
		slower = fmax(
			slower,
			gb_s[best] / gb_s[rings_of(work->rings, piece->gpus)->slowest]);
	}
	return 1 / (1 + share * (slower - 1));
}

static void
rates(void *ctx, const struct pol_view *view, double *speeds)
{
	for (uint32_t i = 0; i < view->n_jobs; i++)
		speeds[i] *= speed_of(ctx, &view->jobs[view->ids[i]]);
}

void
work_inside_add(struct work_inside *inside, struct cluster_work *work)
{
	work->ctx = inside;
	work->rates = rates;
}
