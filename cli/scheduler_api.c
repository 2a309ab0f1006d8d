/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/scheduler_api.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/daemon/http_ask.h"

#define ASK_NS    INT64_C(5000000000)
#define MAX_VALUE 9e15

void
scheduler_api_escape(const char *text, struct strbuf *path)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '_' || c == '-';

		strbuf_printf(path, is_plain ? "%c" : "%%%02X", c);
	}
}

int
scheduler_api_get(const char *address, const char *path, const char *what,
		  struct strbuf *body, int *ret_http, struct err *err)
{
	*ret_http = http_ask_get(address, path, ASK_NS, body, err);
	if (*ret_http == -EINVAL)
		return CLI_USAGE;
	if (*ret_http < 0) {
		err_append(err,
			   ": antiphase-scheduler does not answer; check that it runs "
			   "(systemctl status antiphase-scheduler) and that --http is "
			   "its 'http' setting");
		return CLI_UNREACHABLE;
	}
	if (*ret_http == 200 || *ret_http == 404)
		return CLI_OK;
	err_set(err, NULL, 0, 0,
		"%s answered with status %d to the request for %s; check "
		"that it is antiphase-scheduler, of the same release as "
		"this program",
		address, *ret_http, what);
	return CLI_UNREACHABLE;
}

/* ---- State of the data ----------------------------------------------------------- */

/* The object in an answer; NULL if it has none. */
static struct json_doc *
parse_object(const struct strbuf *answer)
{
	struct json_doc *doc = NULL;

	if (json_parse("the answer", answer->text, answer->length, &doc, NULL) < 0)
		return NULL;
	if (json_as_object(doc, json_root(doc), NULL) < 0) {
		json_doc_free(doc);
		return NULL;
	}
	return doc;
}

static void
add_health(const struct json_doc *doc, struct strbuf *out)
{
	const struct json *root = json_root(doc);
	const char *fabric_error = NULL, *host_error = NULL, *host = NULL;
	const char *store_error = NULL;
	int64_t age_us = -1, n_hosts = 0, n_silent = 0;
	bool has_fabric = true;

	/* A null member leaves the variable unchanged. */
	json_opt_int(doc, root, "data_age_us", 0, MAX_VALUE, &age_us, NULL);
	json_opt_int(doc, root, "hosts", 0, MAX_VALUE, &n_hosts, NULL);
	json_opt_int(doc, root, "silent_hosts", 0, MAX_VALUE, &n_silent, NULL);
	json_opt_bool(doc, root, "has_fabric", &has_fabric, NULL);
	json_opt_str(doc, root, "fabric_error", &fabric_error, NULL);
	json_opt_str(doc, root, "host", &host, NULL);
	json_opt_str(doc, root, "host_error", &host_error, NULL);
	json_opt_str(doc, root, "store_error", &store_error, NULL);
	if (age_us < 0 || n_hosts == 0)
		strbuf_puts(out, "No telemetry from a collector yet");
	else
		strbuf_printf(out, "Data %.1f s old, %lld/%lld hosts",
			      (double)age_us / 1e6, (long long)(n_hosts - n_silent),
			      (long long)n_hosts);
	if (!has_fabric)
		strbuf_printf(out, "; no fabric%s%s", fabric_error ? ": " : "",
			      fabric_error ? fabric_error : "");
	if (host_error)
		strbuf_printf(out, "; %s: %s", host ? host : "scheduler", host_error);
	if (store_error)
		strbuf_printf(out, "; store: %s", store_error);
	strbuf_puts(out, ".\n");
}

static void
add_modes(const struct json_doc *doc, struct strbuf *out)
{
	const struct json *root = json_root(doc), *others = NULL;
	const char *mode = NULL;
	bool is_stopped = false;
	size_t n;

	json_opt_bool(doc, root, "is_stopped", &is_stopped, NULL);
	json_opt_array(doc, root, "partitions", &others, &n, NULL);
	if (json_get_str(doc, root, "mode", &mode, NULL) < 0)
		return;
	strbuf_printf(out, "Mode %s", mode);
	for (const struct json *at = others ? json_first(others) : NULL; at;
	     at = json_next(at)) {
		const char *partition;

		if (json_get_str(doc, at, "partition", &partition, NULL) == 0 &&
		    json_get_str(doc, at, "mode", &mode, NULL) == 0)
			strbuf_printf(out, ", %s %s", partition, mode);
	}
	strbuf_puts(out,
		    is_stopped ? "; the kill switch is on: antiphase takes no action.\n"
			       : ".\n");
}

void
scheduler_api_state_text(const struct strbuf *health, const struct strbuf *config,
			 struct strbuf *out)
{
	size_t from = out->length;
	struct json_doc *doc = parse_object(health);

	if (doc)
		add_health(doc, out);
	json_doc_free(doc);
	doc = parse_object(config);
	if (doc)
		add_modes(doc, out);
	json_doc_free(doc);
	/* Names are untrusted: remove characters that control a terminal. */
	utf8_disarm(out->text + from, '\n');
}

void
scheduler_api_state(const char *address, struct strbuf *out)
{
	struct strbuf health = STRBUF_EMPTY, config = STRBUF_EMPTY;

	if (http_ask_get(address, "/api/v1/health", ASK_NS, &health, NULL) != 200)
		strbuf_clear(&health);
	if (http_ask_get(address, "/api/v1/config", ASK_NS, &config, NULL) != 200)
		strbuf_clear(&config);
	scheduler_api_state_text(&health, &config, out);
	strbuf_free(&health);
	strbuf_free(&config);
}
