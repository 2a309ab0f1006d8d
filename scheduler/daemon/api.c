/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/daemon/metrics.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/k8s/extender.h"

#define MAX_TOKEN_BYTES  4096
#define LEAST_TOKEN      16
#define MAX_ADVICE_BYTES (1u << 20)
#define MAX_SMALL_BYTES  4096

/* clang-format off */
static void
api_index(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;

	(void)request;
	http_reply_index(api->http, reply);
}

static const struct http_route routes[] = {
	{ "GET", "/", false, 0, api_web, HTTP_ANY_PARAMETERS },
	{ "GET", "/app.js", false, 0, api_web, HTTP_ANY_PARAMETERS },
	{ "GET", "/app.css", false, 0, api_web, HTTP_ANY_PARAMETERS },
	{ "GET", "/icon.svg", false, 0, api_web, HTTP_ANY_PARAMETERS },
	{ "GET", "/LICENSES.txt", false, 0, api_web, HTTP_ANY_PARAMETERS },
	{ "GET", "/tables", false, 0, api_tables, HTTP_ANY_PARAMETERS },
	{ "GET", "/api/v1", false, 0, api_index, NULL },
	{ "GET", "/api/v1/health", false, 0, api_health, NULL },
	{ "GET", "/api/v1/topology", false, 0, api_topology, NULL },
	{ "GET", "/api/v1/links", false, 0, api_links, "limit after" },
	{ "GET", "/api/v1/links/*", false, 0, api_link, NULL },
	{ "GET", "/api/v1/jobs", false, 0, api_jobs, "limit after" },
	{ "GET", "/api/v1/jobs/*", false, 0, api_job, NULL },
	{ "GET", "/api/v1/fragmentation", false, 0, api_fragmentation, "limit" },
	{ "GET", "/api/v1/series", false, 0, api_series, "link from_us to_us step_us by" },
	{ "GET", "/api/v1/advice", false, 0, api_advices, "limit after" },
	{ "GET", "/api/v1/advice/*", false, 0, api_advice, NULL },
	{ "GET", "/api/v1/changes", false, 0, api_changes, "job since_us limit before" },
	{ "GET", "/api/v1/config", false, 0, api_config, NULL },
	{ "POST", "/api/v1/advice", true, MAX_ADVICE_BYTES, api_ask_advice, NULL },
	{ "POST", "/api/v1/modes", true, MAX_SMALL_BYTES, api_modes, NULL },
	{ "POST", "/api/v1/jobs/*", true, MAX_SMALL_BYTES, api_job_action, NULL },
	{ "POST", "/api/v1/poke", true, MAX_SMALL_BYTES, api_poke, NULL },
};

/* clang-format on */

/* ---- Opening -------------------------------------------------------------------------- */

/* Warns if other users can read the token, and so can change modes. */
static void
check_token_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && (status.st_mode & S_IRWXO))
		log_warn("http",
			 "%s: every user of this host may read or write the token "
			 "(mode %03o); chmod o-rwx, and make a new one",
			 path, (unsigned)status.st_mode & 0777);
}

static int
read_token(struct api *api, struct err *err)
{
	const char *path = api->opts.config->token_file;
	char *text;
	size_t n;
	int r;

	if (!path)
		return 0;
	r = file_read(path, MAX_TOKEN_BYTES, &text, &n, err);
	if (r < 0)
		return r;
	check_token_file(path);
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) < LEAST_TOKEN)
		r = err_set(err, path, 0, 0,
			    "the token has %zu characters, expected at least %d on "
			    "the first line (openssl rand -hex 32 makes one)",
			    strlen(text), LEAST_TOKEN);
	else
		http_set_token(api->http, text);
	explicit_bzero(text, n);
	free(text);
	return r;
}

int
api_open(const struct api_opts *opts, struct api **ret_api, struct err *err)
{
	const struct http_page pages[] = {
		{ .path = "/metrics",
		  .content_type = METRICS_OPEN_TYPE,
		  .write_piece = scheduler_metrics_write_open,
		  .ctx = opts->metrics,
		  .accepted = METRICS_OPEN_NAME },
		{ .path = "/metrics",
		  .content_type = METRICS_TEXT_TYPE,
		  .write_piece = scheduler_metrics_write_text,
		  .ctx = opts->metrics },
	};
	struct api *api;
	int r;

	*ret_api = NULL;
	if (!opts->config->http)
		return 0;
	api = xcalloc(1, sizeof *api);
	api->opts = *opts;
	api->live = telemetry_live(opts->telemetry);
	api->profiler = telemetry_profiler(opts->telemetry);
	r = http_open(opts->loop, opts->config->http, pages,
		      sizeof pages / sizeof *pages, &api->http, err);
	if (r == 0) {
		scheduler_metrics_add_http(opts->metrics, api->http);
		http_add_routes(api->http, routes, sizeof routes / sizeof *routes, api);
		api->events = api_events_new(api);
		r = api_k8s_open(api, err);
	}
	if (r == 0)
		r = read_token(api, err);
	if (r < 0)
		api_close(api);
	else
		*ret_api = api;
	return r;
}

void
api_close(struct api *api)
{
	if (!api)
		return;
	http_close(api->http);
	scheduler_metrics_add_http(api->opts.metrics, NULL);
	api_events_free(api->events);
	extender_free(api->k8s.extender);
	peer_users_fini(&api->k8s.users);
	free(api);
}

void
api_tick(struct api *api)
{
	if (api)
		api_events_tick(api->events);
}

bool
api_step(struct api *api)
{
	return api && api_events_step(api->events);
}
