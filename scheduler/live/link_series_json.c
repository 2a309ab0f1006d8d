/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/link_series_json.h"

#include "lib/base/jsonw.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/contention_series.h"
#include "scheduler/live/live.h"

#define MAX_SPAN_MS 10000 /* So that it costs no more than a link does in a scan. */
#define MAX_VALUES  10000

static void
put_bps(struct jsonw *w, const float *bps, size_t n)
{
	jsonw_flat_array(w, "history_bps");
	for (size_t i = 0; i < n; i++)
		if (bps[i] >= 0)
			jsonw_rounded(w, NULL, (double)bps[i], 0);
		else
			jsonw_null(w, NULL);
	jsonw_end(w);
}

void
link_series_json_put(const struct live *live, const struct contention *found,
		     const struct contention_link *link, struct jsonw *w)
{
	uint32_t span_ms =
		found->history_ms < MAX_SPAN_MS ? found->history_ms : MAX_SPAN_MS;
	struct contention_series series;

	if (contention_series_make(live, found, link, span_ms, MAX_VALUES, &series) < 0)
		series = (struct contention_series){ .step_ms = 1 };
	jsonw_str(w, "link", link->name);
	jsonw_str(w, "basis", contention_basis_names[link->basis]);
	if (link->capacity_bps > 0)
		jsonw_rounded(w, "capacity_bps", link->capacity_bps, 0);
	else
		jsonw_null(w, "capacity_bps");
	jsonw_int(w, "from_us", series.from_ms * 1000);
	jsonw_int(w, "step_us", series.step_ms * INT64_C(1000));
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < series.n_jobs; i++) {
		jsonw_object(w, NULL);
		jsonw_str(w, "job", live_job_name(live, series.jobs[i]));
		put_bps(w, &series.job_bps[i * series.n], series.n);
		jsonw_end(w);
	}
	jsonw_end(w);
	put_bps(w, series.bps, series.n);
	contention_series_fini(&series);
}
