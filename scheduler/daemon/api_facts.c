/* SPDX-License-Identifier: Apache-2.0 */
/* api_facts.c - observed state: health, fabric, links, jobs, fragmentation, history. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/fragmentation.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/fragmentation_watch.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/circle_json.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/link_series_json.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"
#include "topology/write.h"

/* ---- Health --------------------------------------------------------------------------- */

void
api_health(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	const struct status status = telemetry_status(api->opts.telemetry);
	struct status_census census;
	struct jobs_counts counts = jobs_counts(api->opts.jobs);
	struct json_text text;
	struct jsonw *w = &text.w;
	bool has_frames = live_now_ns(api->live) != LIVE_NEVER;
	const char *store_failure =
		api->opts.store ? store_error(api->opts.store) : NULL;

	(void)request;
	status_census(&status, &census);
	json_text_begin(&text, "antiphase.health/1");
	jsonw_str(w, "version", cli_version());
	jsonw_int(w, "at_us", clk_wall_us());
	jsonw_int(w, "started_us", api->opts.started_us);
	/* Advice needs all of these, and a restart the store. */
	jsonw_bool(w, "is_ok",
		   census.n_fresh > 0 && !store_failure &&
			   fabric_source_topo(api->opts.fabric) &&
			   (!actions_driver(api->opts.actions) ||
			    (actions_snapshot(api->opts.actions)->at_us &&
			     !actions_error(api->opts.actions))));
	jsonw_str(w, "bus", feed_name(telemetry_feed(api->opts.telemetry)));
	if (has_frames)
		jsonw_int(w, "data_age_us",
			  status_age_ns(&status, live_now_ns(api->live) / 1000000) /
				  1000);
	else
		jsonw_null(w, "data_age_us");
	jsonw_int(w, "hosts", census.n_hosts);
	jsonw_int(w, "silent_hosts", census.n_hosts - census.n_fresh);
	jsonw_int(w, "clock_off_hosts", census.n_off);
	jsonw_bool(w, "has_fabric", fabric_source_topo(api->opts.fabric) != NULL);
	jsonw_str(w, "fabric_error", fabric_source_error(api->opts.fabric));
	jsonw_str(w, "host",
		  actions_driver(api->opts.actions)
			  ? sched_kind(actions_driver(api->opts.actions))
			  : NULL);
	jsonw_str(w, "host_error", actions_error(api->opts.actions));
	jsonw_bool(w, "is_stopped", actions_modes(api->opts.actions)->is_stopped);
	jsonw_bool(w, "has_store", api->opts.store != NULL);
	jsonw_str(w, "store_error", store_failure);
	jsonw_int(w, "jobs", counts.n_jobs);
	jsonw_int(w, "advised_jobs", counts.n_advised);
	jsonw_int(w, "waiting_jobs", counts.n_waiting);
	json_text_end(&text, &reply->body);
}

void
api_topology(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	char *text = NULL;
	size_t length;
	FILE *out;

	(void)request;
	if (!fabric_source_topo(api->opts.fabric)) {
		http_reply_error(reply, 404, "no_fabric",
				 "start antiphase-topology, or set topology in "
				 "[scheduler]",
				 "no fabric is known%s%s",
				 fabric_source_error(api->opts.fabric) ? ": " : "",
				 fabric_source_error(api->opts.fabric)
					 ? fabric_source_error(api->opts.fabric)
					 : "");
		return;
	}
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	topo_json_write(fabric_source_topo(api->opts.fabric), out);
	fclose(out);
	strbuf_free(&reply->body);
	reply->body = (struct strbuf){ text, length, length + 1 };
	snprintf(reply->etag, sizeof reply->etag, "\"%" PRIx64 "\"",
		 (uint64_t)fabric_source_since_us(api->opts.fabric));
}

/* Whether the path goes on after a name. */
static bool
ends_with(const char *rest, const char *end)
{
	size_t n = strlen(rest), n_end = strlen(end);

	return n > n_end && strcmp(rest + n - n_end, end) == 0;
}

/* ---- Links ---------------------------------------------------------------------------- */

static const struct contention_link *
find_link(const struct contention *found, const char *name, size_t length)
{
	for (size_t i = 0; i < found->n_links; i++)
		if (strncmp(found->links[i].name, name, length) == 0 &&
		    !found->links[i].name[length])
			return &found->links[i];
	return NULL;
}

/* Writes one link, or a page of 'n'; no further page without 'after'. */
static void
write_links(struct api *api, const struct contention_link *const *links, size_t n,
	    const struct api_page *page, struct http_reply *reply)
{
	const struct status status = api_status(api);
	const struct contention *found = telemetry_links(api->opts.telemetry);
	size_t n_told = n < page->limit ? n : page->limit;
	struct json_text text;

	json_text_begin(&text, "antiphase.links/1");
	status_json_footer(&status, found->from_ms, found->to_ms, &text.w);
	status_json_links(&status, links, n_told, &text.w);
	api_page_end(n, n_told, page->after && n_told ? links[n_told - 1]->name : NULL,
		     &text.w);
	json_text_end(&text, &reply->body);
}

static int
compare_links(const void *a, const void *b)
{
	const struct contention_link *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

void
api_links(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	const struct contention *found = telemetry_links(api->opts.telemetry);
	VEC(const struct contention_link *) links = VEC_EMPTY;
	struct api_page page;

	if (!api_page_read(request, reply, &page))
		return;
	for (size_t i = 0; i < found->n_links; i++)
		if (!page.after || strcmp(found->links[i].name, page.after) > 0)
			vec_push(&links, &found->links[i]);
	if (page.after)
		sort_items(links.items, links.n, compare_links);
	write_links(api, links.items, links.n, &page, reply);
	vec_free(&links);
}

static bool
advised_shift(void *ctx, const char *name, int64_t *ret_shift_us)
{
	const struct jobs *jobs = ctx;
	const struct job *job = jobs_find(jobs, name);
	struct advisor_view view;

	if (!job || job->number == UINT32_MAX ||
	    !advisor_view(jobs_advisor(jobs), job->number, &view))
		return false;
	*ret_shift_us = view.shift_us;
	return true;
}

static void
write_circle(struct api *api, const struct contention_link *link,
	     struct http_reply *reply)
{
	const struct status status = api_status(api);
	struct json_text text;

	json_text_begin(&text, "antiphase.circle/1");
	circle_json_put(&status, link, advised_shift, api->opts.jobs, &text.w);
	json_text_end(&text, &reply->body);
}

static void
write_series(struct api *api, const struct contention_link *link,
	     struct http_reply *reply)
{
	struct json_text text;

	json_text_begin(&text, "antiphase.link_series/1");
	link_series_json_put(api->live, telemetry_links(api->opts.telemetry), link,
			     &text.w);
	json_text_end(&text, &reply->body);
}

void
api_link(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	bool is_circle = ends_with(request->rest, "/circle");
	bool is_series = ends_with(request->rest, "/series");
	size_t n = strlen(request->rest) -
		   (is_circle || is_series ? strlen("/circle") : 0);
	const struct contention_link *link =
		find_link(telemetry_links(api->opts.telemetry), request->rest, n);

	if (!link)
		http_reply_error(reply, 404, "unknown_link",
				 "GET /api/v1/links lists those that are known; '>' "
				 "may be written as %3E",
				 "nothing is known of a link '%.*s'", (int)n,
				 request->rest);
	else if (is_circle)
		write_circle(api, link, reply);
	else if (is_series)
		write_series(api, link, reply);
	else
		write_links(api, &link, 1, &(struct api_page){ .limit = 1 }, reply);
}

/* ---- Jobs ----------------------------------------------------------------------------- */

static void
write_jobs(struct api *api, const struct profiled_job *const *jobs, size_t n,
	   size_t limit, struct http_reply *reply)
{
	const struct status status = api_status(api);
	const struct contention *found = telemetry_links(api->opts.telemetry);
	size_t n_told = n < limit ? n : limit;
	struct json_text text;

	json_text_begin(&text, "antiphase.jobs/1");
	status_json_footer(&status, found->from_ms, found->to_ms, &text.w);
	status_json_jobs(&status, found, jobs, n_told, &text.w);
	api_page_end(n, n_told,
		     n_told ? live_job_name(api->live, jobs[n_told - 1]->job) : NULL,
		     &text.w);
	json_text_end(&text, &reply->body);
}

/* Whether a job comes after that name, in the order of job_profiler_jobs(). */
static bool
is_after(const char *name, const char *after)
{
	int order = strverscmp(name, after);

	return order ? order > 0 : strcmp(name, after) > 0;
}

void
api_jobs(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	size_t n, first = 0;
	const struct profiled_job *const *jobs = job_profiler_jobs(api->profiler, &n);
	struct api_page page;

	if (!api_page_read(request, reply, &page))
		return;
	while (page.after && first < n &&
	       !is_after(live_job_name(api->live, jobs[first]->job), page.after))
		first++;
	write_jobs(api, jobs + first, n - first, page.limit, reply);
}

void
api_job(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	uint32_t id = live_find_job(api->live, request->rest);
	const struct profiled_job *job =
		id < TELE_OTHER ? job_profiler_find(api->profiler, id) : NULL;
	char *name;

	if (ends_with(request->rest, "/iterations")) {
		name = xstrndup(request->rest,
				strlen(request->rest) - strlen("/iterations"));
		api_job_iterations(api, name, reply);
		free(name);
		return;
	}
	if (!job)
		http_reply_error(reply, 404, "unknown_job",
				 "GET /api/v1/jobs lists those that have traffic",
				 "no job '%s' has traffic", request->rest);
	else
		write_jobs(api, &job, 1, 1, reply);
}

/* ---- Fragmentation -------------------------------------------------------------------- */

void
api_fragmentation(void *ctx, const struct http_request *request,
		  struct http_reply *reply)
{
	const struct api *api = ctx;
	const struct fragmentation *found =
		fragmentation_watch_result(api->opts.fragmentation);
	struct json_text text;
	int64_t limit;

	if (!api_number(request, "limit", API_MAX_PAGE, &limit) || limit < 1 ||
	    limit > API_MAX_PAGE) {
		http_reply_error(reply, 400, "bad_query", "?limit=N",
				 "limit is a whole number from 1 to %d", API_MAX_PAGE);
		return;
	}
	if (!found) {
		http_reply_error(reply, 404, "no_fragmentation",
				 "a fabric is needed; GET /api/v1/health says whether "
				 "there is one",
				 "the fragmentation is not known yet");
		return;
	}
	json_text_begin(&text, FRAGMENTATION_SCHEMA);
	fragmentation_json_put(found, (size_t)limit, &text.w);
	json_text_end(&text, &reply->body);
}

/* ---- History -------------------------------------------------------------------------- */

struct series_writer {
	struct jsonw *w;
	size_t n;
};

#define MAX_SAMPLES 200000

static bool
put_sample(void *ctx, enum store_grain grain, const struct store_sample *sample)
{
	struct series_writer *writer = ctx;

	jsonw_flat_object(writer->w, NULL);
	jsonw_int(writer->w, "at_us", sample->at_us);
	jsonw_int(writer->w, "step_us", store_grain_us[grain]);
	jsonw_str(writer->w, "job", *sample->job ? sample->job : NULL);
	jsonw_int(writer->w, "bytes", (int64_t)sample->bytes);
	jsonw_int(writer->w, "peak_bps", (int64_t)sample->peak_bps);
	jsonw_int(writer->w, "over_us", sample->over_ms * INT64_C(1000));
	jsonw_end(writer->w);
	return ++writer->n < MAX_SAMPLES;
}

void
api_series(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	const char *link = http_query(request, "link"), *by = http_query(request, "by");
	int64_t now_us = clk_wall_us(), from_us, to_us, step_us;
	struct series_writer writer = { 0 };
	struct json_text text;
	struct err err;
	int r;

	if (!api->opts.store) {
		http_reply_error(reply, 404, "no_store", "set store in [scheduler]",
				 "no history is kept");
		return;
	}
	if (!link || !*link || !api_number(request, "to_us", now_us, &to_us) ||
	    !api_number(request, "from_us", now_us - INT64_C(600000000), &from_us) ||
	    !api_number(request, "step_us", 1000000, &step_us) || from_us >= to_us ||
	    step_us < 1) {
		http_reply_error(reply, 400, "bad_query",
				 "?link=NAME&from_us=&to_us=&step_us=&by=job",
				 "a link is needed, and whole numbers of microseconds, "
				 "from_us below to_us");
		return;
	}
	json_text_begin(&text, "antiphase.series/1");
	jsonw_str(&text.w, "link", link);
	jsonw_int(&text.w, "from_us", from_us);
	jsonw_int(&text.w, "to_us", to_us);
	jsonw_array(&text.w, "samples");
	writer.w = &text.w;
	r = store_read_samples(api->opts.store, link,
			       by && strcmp(by, "job") == 0 ? NULL : "", from_us, to_us,
			       step_us, put_sample, &writer, &err);
	jsonw_end(&text.w);
	json_text_end(&text, &reply->body);
	if (r < 0)
		http_reply_error(reply, r == -E2BIG ? 400 : 500,
				 r == -E2BIG ? "too_long" : "store",
				 r == -E2BIG ? "ask for a larger step_us" : "", "%s",
				 err.text);
}
