/*
 * persist.c - what antiphase-scheduler remembers (store.h) but for history.c: profiles to go on with after a restart, and what was changed at the cluster's
 * scheduler and has to be found again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/sort.h"
#include "scheduler/core/profile/profile_json.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/outcomes.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

#define TIDY_ROWS 2000

static const char *const kind_names[] = {
	[DECIDE_PIN] = "pin",
	[DECIDE_RECORDED] = "recorded",
	[DECIDE_OVER] = "over",
	NULL,
};

/* ---- Changes ---------------------------------------------------------------------- */

void
persist_keep_change(struct daemon *d, const char *job)
{
	const struct decide_change *change = decide_find(&d->deeds.changes, job);
	struct err err;
	struct jsonw w;
	char *text = NULL;
	size_t n;
	FILE *out;

	if (!d->store)
		return;
	if (change) {
		out = open_memstream(&text, &n);
		BUG_ON(!out);
		jsonw_init(&w, out);
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "kind", kind_names[change->kind]);
		jsonw_str(&w, "nodes", change->nodes);
		jsonw_str(&w, "record", change->record);
		jsonw_str(&w, "before", change->before);
		jsonw_int(&w, "at_us", change->at_us);
		jsonw_int(&w, "valid_until_us", change->valid_until_us);
		jsonw_end(&w);
		jsonw_finish(&w);
		fclose(out);
		store_put(d->store, STORE_CHANGE, job, clk_wall_us(), text);
		free(text);
	} else {
		store_delete(d->store, STORE_CHANGE, job);
	}
	/* A change of somebody else's state is not left to the next second. */
	if (store_commit(d->store, &err) < 0)
		log_err("store", "%s", err.text);
}

static void
take_text(const struct json_doc *doc, const char *key, char **text)
{
	const char *value;

	if (json_get_str(doc, json_root(doc), key, &value, NULL) < 0)
		return;
	free(*text);
	*text = xstrdup(value);
}

static bool
on_change(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct daemon *d = ctx;
	struct decide_change *change;
	struct json_doc *doc;
	struct err err;
	const char *kind = "";

	(void)at_us;
	if (json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	change = decide_add(&d->deeds.changes, key);
	change->kind = DECIDE_OVER;
	if (json_get_str(doc, json_root(doc), "kind", &kind, NULL) == 0)
		change->kind = strcmp(kind, "pin") == 0        ? DECIDE_PIN
			       : strcmp(kind, "recorded") == 0 ? DECIDE_RECORDED
							       : DECIDE_OVER;
	take_text(doc, "nodes", &change->nodes);
	take_text(doc, "record", &change->record);
	take_text(doc, "before", &change->before);
	json_opt_int(doc, json_root(doc), "at_us", 0, INT64_C(1) << 52, &change->at_us,
		     NULL);
	json_opt_int(doc, json_root(doc), "valid_until_us", 0, INT64_C(1) << 52,
		     &change->valid_until_us, NULL);
	json_doc_free(doc);
	return true;
}

void
persist_log(struct daemon *d, const struct decide_action *action, const char *what,
	    const char *why)
{
	static const char *const kinds[] = {
		[SCHED_PLACE] = "place",   [SCHED_PREFER] = "prefer",
		[SCHED_LET_GO] = "let_go", [SCHED_UNPIN] = "unpin",
		[SCHED_RECORD] = "record",
	};
	int64_t now_us = clk_wall_us();
	struct jsonw w;
	char *text = NULL;
	size_t n;
	FILE *out;

	if (!d->store)
		return;
	out = open_memstream(&text, &n);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_int(&w, "at_us", now_us);
	jsonw_str(&w, "job", action->job);
	jsonw_str(&w, "action", kinds[action->kind]);
	jsonw_str(&w, "state", what);
	jsonw_str(&w, "reason", decide_why_names[action->why]);
	jsonw_str(&w, "text", decide_why_texts[action->why]);
	jsonw_str(&w, "nodes", action->nodes);
	jsonw_str(&w, "record", action->record);
	jsonw_str(&w, "error", why);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	store_put(d->store, STORE_LOG, action->job, now_us, text);
	free(text);
}

/* ---- Profiles --------------------------------------------------------------------- */

/* {"hosts":"h[0-3]","document":{antiphase.profiles/1 of one job}} */
static const char document_key[] = ",\"document\":";

/* "USER/NAME", as an earlier run of a job is found again; NULL: it cannot be. */
static char *
key_of_runs(const struct sched_job *job)
{
	if (!job || !job->user || !job->name || !*job->user || !*job->name ||
	    strchr(job->user, '/'))
		return NULL;
	return xasprintf("%s/%s", job->user, job->name);
}

void
persist_keep_profile(struct daemon *d, const struct job *job)
{
	char *runs = key_of_runs(sched_find_local(&d->deeds.snapshot, job->name));
	struct strbuf text = STRBUF_EMPTY;
	struct profile_list list = { .n = 0 };
	struct profile profile;
	const char **names;
	char *document;
	size_t n;

	if (!d->store || job->is_waiting || job->is_restored) {
		free(runs);
		return;
	}
	profile_copy(&job->profile, &profile);
	free(profile.job);
	profile.job = xstrdup(job->name);
	profile_list_take(&list, &profile);
	document = profile_json_text(&list, &n);
	names = xcalloc(job->n_hosts + 1, sizeof *names);
	for (uint32_t i = 0; i < job->n_hosts; i++)
		names[i] =
			topo_node(fabric_source_topo(d->fabric), job->hosts[i])->name;
	strbuf_puts(&text, "{\"hosts\":\"");
	hostlist_fold(names, job->n_hosts, &text);
	strbuf_printf(&text, "\"%s%s}", document_key, document);
	store_put(d->store, STORE_PROFILE, job->name, clk_wall_us(), text.text);
	if (runs)
		store_put(d->store, STORE_PROFILE, runs, clk_wall_us(), text.text);
	free(runs);
	strbuf_free(&text);
	free(names);
	free(document);
	profile_list_fini(&list);
}

/* ---- Of earlier runs ---------------------------------------------------------------- */

struct seeking {
	uint32_t n_nodes, n_named;
	int64_t oldest_us, at_us;
	struct profile *profile;
	bool is_found;
};

static int
count_name(void *ctx, const char *name)
{
	struct seeking *seeking = ctx;

	(void)name;
	seeking->n_named++;
	return 0;
}

/* On so many hosts as now: with others it has other iterations. */
static bool
on_earlier(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct seeking *seeking = ctx;
	struct profile_list list = { .n = 0 };
	struct json_doc *doc = NULL;
	const char *begin = strstr(json, document_key), *hosts, *why;
	char *document = NULL;
	struct err err;

	(void)key;
	if (at_us < seeking->oldest_us || !begin ||
	    json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	begin += sizeof document_key - 1;
	document = xstrndup(begin, strlen(begin) - 1);
	if (json_get_str(doc, json_root(doc), "hosts", &hosts, &err) == 0 &&
	    hostlist_expand(hosts, TOPO_MAX_NODES, count_name, seeking, &why) >= 0 &&
	    seeking->n_named == seeking->n_nodes &&
	    profile_json_parse("store", document, strlen(document), &list, &err) == 0 &&
	    list.n == 1) {
		profile_copy(&list.items[0], seeking->profile);
		seeking->at_us = at_us;
		seeking->is_found = true;
	}
	profile_list_fini(&list);
	free(document);
	json_doc_free(doc);
	return true;
}

bool
persist_earlier(struct daemon *d, const struct sched_job *job,
		struct profile *ret_profile, int64_t *ret_at_us)
{
	int64_t max_age_us = d->config.earlier_max_age_us;
	struct seeking seeking = { .n_nodes = job->n_nodes,
				   .oldest_us = clk_wall_us() - max_age_us,
				   .profile = ret_profile };
	char *runs = key_of_runs(job);
	struct err err;

	if (d->store && runs && max_age_us &&
	    store_read(d->store, STORE_PROFILE, runs, 1, on_earlier, &seeking, &err) <
		    0)
		log_limited(&d->now.store_said, clk_monotonic_ns(), LOG_LEVEL_ERR,
			    "store", "%s", err.text);
	free(runs);
	*ret_at_us = seeking.at_us;
	return seeking.is_found;
}

/* ---- After a restart ------------------------------------------------------------------ */

struct restoring {
	struct daemon *d;
	VEC(uint32_t) hosts;
};

static int
add_host(void *ctx, const char *name)
{
	struct restoring *restoring = ctx;
	uint32_t node = topo_find_node(fabric_source_topo(restoring->d->fabric), name);

	if (node == TOPO_NONE)
		return -ENOENT;
	vec_push(&restoring->hosts, node);
	return 0;
}

static bool
on_profile(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct restoring restoring = { .d = ctx };
	struct daemon *d = ctx;
	struct profile_list list = { .n = 0 };
	struct json_doc *doc = NULL;
	const char *begin = strstr(json, document_key), *hosts, *why;
	char *document = NULL;
	struct err err;

	/* Those of earlier runs are of no job that is there. */
	if (strchr(key, '/') || clk_wall_us() - at_us > d->config.max_age_us ||
	    !begin || json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	begin += sizeof document_key - 1;
	document = xstrndup(begin, strlen(begin) - 1);
	if (json_get_str(doc, json_root(doc), "hosts", &hosts, &err) == 0 &&
	    hostlist_expand(hosts, TOPO_MAX_NODES, add_host, &restoring, &why) >= 0 &&
	    profile_json_parse("store", document, strlen(document), &list, &err) == 0 &&
	    list.n == 1 && restoring.hosts.n > 1) {
		sort_items(restoring.hosts.items, restoring.hosts.n, sort_by_u32);
		jobs_restore(d, key, &list.items[0], restoring.hosts.items,
			     (uint32_t)restoring.hosts.n, at_us);
	}
	profile_list_fini(&list);
	vec_free(&restoring.hosts);
	free(document);
	json_doc_free(doc);
	return true;
}

void
persist_restore(struct daemon *d)
{
	struct err err;

	if (!d->store || d->is_restored)
		return;
	d->is_restored = true;
	if (store_read(d->store, STORE_PROFILE, NULL, SCHED_MAX_JOBS, on_profile, d,
		       &err) < 0)
		log_err("store", "%s", err.text);
}

/* ---- Each second ------------------------------------------------------------------ */

void
persist_tick(struct daemon *d)
{
	struct err err;

	if (!d->store)
		return;
	if (store_tidy(d->store, clk_wall_us(), TIDY_ROWS, &err) < 0)
		log_limited(&d->now.store_said, clk_monotonic_ns(), LOG_LEVEL_ERR,
			    "store", "%s; the last second is lost", err.text);
}

int
persist_open(struct daemon *d, struct err *err)
{
	const char *path = d->config.store;
	int rc;

	if (!path)
		return 0;
	rc = store_open(path, NULL, &d->store, err);
	if (rc < 0) {
		err_append(err, "; --store FILE says where else, --store off without");
		return rc;
	}
	if (store_begun_anew(d->store))
		log_warn("store", "%s: %s", path, store_begun_anew(d->store));
	rc = store_read(d->store, STORE_CHANGE, NULL, SCHED_MAX_JOBS, on_change, d,
			err);
	if (rc == 0 && d->deeds.changes.items.n)
		log_info("store", "%zu changes of before are looked after",
			 d->deeds.changes.items.n);
	if (rc >= 0)
		rc = outcomes_restore(d, err);
	return rc < 0 ? rc : 0;
}

void
persist_close(struct daemon *d)
{
	store_close(d->store);
	d->store = NULL;
}
