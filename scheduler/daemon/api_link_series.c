/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_link_series.c - GET /api/v1/links/NAME/series: what the jobs sent on a link in the
 * last two iterations of the slowest job, millisecond by millisecond.
 */
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/telemetry.h"
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

static void
write_series(struct api *api, const struct contention_link *link,
	     const struct contention_series *series, struct http_reply *reply)
{
	struct api_text text;
	struct jsonw *w = &text.w;

	api_begin(&text, "antiphase.link_series/1");
	jsonw_str(w, "link", link->name);
	jsonw_str(w, "basis", contention_basis_names[link->basis]);
	if (link->capacity_bps > 0)
		jsonw_rounded(w, "capacity_bps", link->capacity_bps, 0);
	else
		jsonw_null(w, "capacity_bps");
	jsonw_int(w, "from_us", series->from_ms * 1000);
	jsonw_int(w, "step_us", series->step_ms * INT64_C(1000));
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < series->n_jobs; i++) {
		jsonw_object(w, NULL);
		jsonw_str(w, "job", live_job_name(api->live, series->jobs[i]));
		put_bps(w, &series->job_bps[i * series->n], series->n);
		jsonw_end(w);
	}
	jsonw_end(w);
	put_bps(w, series->bps, series->n);
	api_end(&text, reply);
}

void
api_link_series(struct api *api, const struct contention_link *link,
		struct http_reply *reply)
{
	const struct contention *found = telemetry_links(api->opts.telemetry);
	uint32_t span_ms =
		found->history_ms < MAX_SPAN_MS ? found->history_ms : MAX_SPAN_MS;
	struct contention_series series;

	/* Without raw series, or for a second after some were forgotten: empty. */
	if (contention_series_make(api->live, found, link, span_ms, MAX_VALUES,
				   &series) < 0)
		series = (struct contention_series){ .step_ms = 1 };
	write_series(api, link, &series, reply);
	contention_series_fini(&series);
}
