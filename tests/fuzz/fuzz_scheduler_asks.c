/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_scheduler_asks.c - texts that users and API clients give to antiphase-scheduler.
 * The first byte selects the body of a POST, a job's comment, or a list of partitions'
 * modes.  The daemon has only a fabric of four hosts, and keeps running.
 */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/daemon_parts.h"

static struct api *
the_api(void)
{
	static struct daemon_parts parts;
	static struct api api;
	const struct actions_opts opts = { .config = &parts.config };

	if (parts.jobs)
		return &api;
	log_set_level(LOG_LEVEL_ERR);
	parts_open(&parts, "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1 "
			   "--gbps 50 --uplink-gbps 50");
	jobs_set_fabric(parts.jobs);
	api = (struct api){ .opts = { .config = &parts.config,
				      .fabric = parts.fabric,
				      .telemetry = parts.telemetry,
				      .jobs = parts.jobs },
			    .live = telemetry_live(parts.telemetry),
			    .profiler = telemetry_profiler(parts.telemetry) };
	BUG_ON(actions_open(&opts, &api.opts.actions, NULL) < 0);
	return &api;
}

static void
post(void (*answer)(void *, const struct http_request *, struct http_reply *),
     const char *text, size_t n)
{
	const struct http_request request = {
		.method = "POST", .path = "", .rest = "", .body = text, .n_body = n
	};
	struct http_reply reply = { .status = 200 };

	answer(the_api(), &request, &reply);
	BUG_ON(reply.body.length == 0);
	strbuf_free(&reply.body);
}

static void
unpin(const char *text)
{
	const struct http_request request = {
		.method = "POST", .path = "", .rest = text, .body = ""
	};
	struct http_reply reply = { .status = 200 };

	api_job_action(the_api(), &request, &reply);
	strbuf_free(&reply.body);
}

static void
declare(const char *text)
{
	struct declared declared;

	if (jobs_declared(text, &declared))
		BUG_ON(declared.iter_us < 1 || declared.comm_us < 1 ||
		       declared.comm_us >= declared.iter_us);
}

static void
set_modes(const char *text)
{
	struct modes modes;
	struct err err;

	if (modes_parse("observe", text, &modes, &err) == 0)
		modes_fini(&modes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(size ? data + 1 : NULL, size ? size - 1 : 0);

	switch (size ? data[0] : '\0') {
	case 'a':
		post(api_ask_advice, text, size - 1);
		break;
	case 'm':
		post(api_modes, text, size - 1);
		break;
	case 'u':
		unpin(text);
		break;
	case 'c':
		declare(text);
		break;
	default:
		set_modes(text);
		break;
	}
	free(text);
	return 0;
}
