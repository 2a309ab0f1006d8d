/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/circle_json.h"

#include "lib/base/jsonw.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/status.h"

void
circle_json_put(const struct status *status, const struct contention_link *link,
		circle_shift_fn *shift_of, void *ctx, struct jsonw *w)
{
	jsonw_str(w, "link", link->name);
	if (link->capacity_bps > 0)
		jsonw_rounded(w, "capacity_bps", link->capacity_bps, 0);
	else
		jsonw_null(w, "capacity_bps");
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < link->n_jobs; i++) {
		const struct profiled_job *seen =
			job_profiler_find(status->profiler, link->jobs[i].job);
		const char *name = live_job_name(status->live, link->jobs[i].job);
		const struct profile *p;
		int64_t shift_us;

		if (!seen || !seen->has_estimate)
			continue;
		p = &seen->detection.profile;
		jsonw_object(w, NULL);
		jsonw_str(w, "job", name);
		jsonw_int(w, "period_us", p->period_us);
		if (shift_of && shift_of(ctx, name, &shift_us))
			jsonw_int(w, "shift_us", shift_us);
		else
			jsonw_null(w, "shift_us");
		/* The link has this multiple of an interface's phases. */
		jsonw_rounded(w, "factor",
			      profile_mean_bps(p) > 0 && link->jobs[i].mean_bps > 0
				      ? link->jobs[i].mean_bps / profile_mean_bps(p)
				      : 0,
			      4);
		status_json_phases(p, w);
		jsonw_end(w);
	}
	jsonw_end(w);
}
