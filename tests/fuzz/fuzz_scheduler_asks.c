/*
 * What users and the API's callers hand to antiphase-scheduler as text.  The first byte
 * says which: the body of a POST, a job's comment, or a list of partitions' modes.  The
 * daemon behind it has a fabric of four hosts, nothing else, and lives on.
 */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/api.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/settings.h"
#include "tests/fuzz/fuzz.h"
#include "topology/gen.h"

static struct daemon *
the_daemon(void)
{
	static struct daemon d;
	static const struct gen_leaf_spine options = { .n_leaves = 2,
						       .hosts_per_leaf = 2,
						       .n_spines = 1,
						       .n_slots = 1,
						       .host_bps = 50e9,
						       .uplink_bps = 50e9 };
	struct topo *topo;

	if (d.jobs)
		return &d;
	log_set_level(LOG_LEVEL_ERR);
	scheduler_config_init(&d.config, settings_new(&settings_scheduler));
	d.jobs = jobs_new();
	BUG_ON(gen_leaf_spine(&options, &topo, NULL) < 0);
	d.fabric =
		fabric_source_new(&(struct fabric_source_opts){ .config = &d.config });
	fabric_source_replace(d.fabric, topo);
	jobs_set_fabric(&d);
	return &d;
}

static void
post(void (*answer)(void *, const struct http_request *, struct http_reply *),
     const char *text, size_t n)
{
	const struct http_request request = {
		.method = "POST", .path = "", .rest = "", .body = text, .n_body = n
	};
	struct http_reply reply = { .status = 200 };

	answer(the_daemon(), &request, &reply);
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

	api_job_deed(the_daemon(), &request, &reply);
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
