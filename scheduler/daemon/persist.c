/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/persist.h"

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
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/core/profile/profile_json.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/store/store.h"
#include "topology/topo.h"

/* ---- Changes ---------------------------------------------------------------------- */

void
persist_keep_change(struct store *store, const char *job,
		    const struct decide_change *change)
{
	struct err err;
	struct jsonw w;
	char *text = NULL;
	size_t n;
	FILE *out;

	if (!store)
		return;
	if (change) {
		out = open_memstream(&text, &n);
		BUG_ON(!out);
		jsonw_init(&w, out);
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "kind", decide_kind_names[change->kind]);
		jsonw_str(&w, "nodes", change->nodes);
		jsonw_str(&w, "record", change->record);
		jsonw_str(&w, "before", change->before);
		jsonw_int(&w, "at_us", change->at_us);
		jsonw_int(&w, "valid_until_us", change->valid_until_us);
		jsonw_int(&w, "restarts", change->n_restarts);
		jsonw_end(&w);
		jsonw_finish(&w);
		fclose(out);
		store_put(store, STORE_CHANGE, job, clk_wall_us(), text);
		free(text);
	} else {
		store_delete(store, STORE_CHANGE, job);
	}
	/* It is on disk before the cluster's scheduler is asked. */
	if (store_commit(store, &err) < 0)
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
	struct decide_change *change;
	struct json_doc *doc;
	struct err err;
	const char *kind = "";
	int64_t n_restarts = 0;

	(void)at_us;
	if (json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	change = decide_add(ctx, key);
	change->kind = DECIDE_OVER;
	if (json_get_str(doc, json_root(doc), "kind", &kind, NULL) == 0 &&
	    words_index(kind, decide_kind_names) >= 0)
		change->kind = (enum decide_kind)words_index(kind, decide_kind_names);
	take_text(doc, "nodes", &change->nodes);
	take_text(doc, "record", &change->record);
	take_text(doc, "before", &change->before);
	json_opt_int(doc, json_root(doc), "at_us", 0, INT64_C(1) << 52, &change->at_us,
		     NULL);
	json_opt_int(doc, json_root(doc), "valid_until_us", 0, INT64_C(1) << 52,
		     &change->valid_until_us, NULL);
	json_opt_int(doc, json_root(doc), "restarts", 0, UINT32_MAX, &n_restarts, NULL);
	change->n_restarts = (uint32_t)n_restarts;
	json_doc_free(doc);
	return true;
}

int
persist_read_changes(struct store *store, struct decide_changes *changes,
		     struct err *err)
{
	int r;

	if (!store)
		return 0;
	r = store_read(store, STORE_CHANGE, NULL, SCHED_MAX_JOBS, on_change, changes,
		       err);
	return r < 0 ? r : 0;
}

void
persist_log(struct store *store, const struct decide_action *action, const char *state,
	    const char *error)
{
	int64_t now_us = clk_wall_us();
	struct jsonw w;
	char *text = NULL;
	size_t n;
	FILE *out;

	if (!store)
		return;
	out = open_memstream(&text, &n);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_int(&w, "at_us", now_us);
	jsonw_str(&w, "job", action->job);
	jsonw_str(&w, "action", sched_action_names[action->kind]);
	jsonw_str(&w, "state", state);
	jsonw_str(&w, "reason", decide_why_names[action->why]);
	jsonw_str(&w, "text", decide_why_texts[action->why]);
	jsonw_str(&w, "nodes", action->nodes);
	jsonw_str(&w, "record", action->record);
	jsonw_str(&w, "error", error);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	store_put(store, STORE_LOG, action->job, now_us, text);
	free(text);
}

bool
persist_log_line(const struct store_line *line, struct strbuf *out)
{
	struct json_doc *doc;
	bool is_object;

	if (json_parse("store", line->json, strlen(line->json), &doc, NULL) < 0)
		return false;
	is_object =
		json_kind(json_root(doc)) == JSON_OBJECT && json_first(json_root(doc));
	json_doc_free(doc);
	if (!is_object)
		return false;
	strbuf_printf(out, "{\"id\": %lld, %s", (long long)line->id,
		      strchr(line->json, '{') + 1);
	return true;
}

/* ---- Profiles --------------------------------------------------------------------- */

/* {"hosts":"h[0-3]","document":{antiphase.profiles/1 of one job}} */
static const char document_key[] = ",\"document\":";

/* "USER/NAME", the key to find an earlier run; NULL: there is no key. */
static char *
key_of_runs(const struct sched_job *job)
{
	if (!job || !job->user || !job->name || !*job->user || !*job->name ||
	    strchr(job->user, '/'))
		return NULL;
	return xasprintf("%s/%s", job->user, job->name);
}

void
persist_keep_profile(struct store *store, const struct topo *topo,
		     const struct job *job, const struct sched_job *known)
{
	char *runs = key_of_runs(known);
	struct strbuf text = STRBUF_EMPTY;
	struct profile_list list = { .n = 0 };
	struct profile profile;
	const char **names;
	char *document;
	size_t n;

	if (!store || job->is_waiting || job->is_restored) {
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
		names[i] = topo_node(topo, job->hosts[i])->name;
	strbuf_puts(&text, "{\"hosts\":\"");
	hostlist_fold(names, job->n_hosts, &text);
	strbuf_printf(&text, "\"%s%s}", document_key, document);
	store_put(store, STORE_PROFILE, job->name, clk_wall_us(), text.text);
	if (runs)
		store_put(store, STORE_PROFILE, runs, clk_wall_us(), text.text);
	free(runs);
	strbuf_free(&text);
	free(names);
	free(document);
	profile_list_fini(&list);
}

/* ---- Earlier runs ------------------------------------------------------------------- */

struct search {
	uint32_t n_nodes, n_named;
	int64_t oldest_us, at_us;
	struct profile *profile;
	bool is_found;
};

static int
count_name(void *ctx, const char *name)
{
	struct search *search = ctx;

	(void)name;
	search->n_named++;
	return 0;
}

/* A run on another number of hosts has other iterations. */
static bool
on_earlier(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct search *search = ctx;
	struct profile_list list = { .n = 0 };
	struct json_doc *doc = NULL;
	const char *begin = strstr(json, document_key), *hosts, *why;
	char *document = NULL;
	struct err err;

	(void)key;
	if (at_us < search->oldest_us || !begin ||
	    json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	begin += sizeof document_key - 1;
	document = xstrndup(begin, strlen(begin) - 1);
	if (json_get_str(doc, json_root(doc), "hosts", &hosts, &err) == 0 &&
	    hostlist_expand(hosts, TOPO_MAX_NODES, count_name, search, &why) >= 0 &&
	    search->n_named == search->n_nodes &&
	    profile_json_parse("store", document, strlen(document), &list, &err) == 0 &&
	    list.n == 1) {
		profile_copy(&list.items[0], search->profile);
		search->at_us = at_us;
		search->is_found = true;
	}
	profile_list_fini(&list);
	free(document);
	json_doc_free(doc);
	return true;
}

int
persist_find_earlier(struct store *store, const struct sched_job *job,
		     int64_t max_age_us, struct profile *ret_profile,
		     int64_t *ret_at_us, struct err *err)
{
	struct search search = { .n_nodes = job->n_nodes,
				 .oldest_us = clk_wall_us() - max_age_us,
				 .profile = ret_profile };
	char *runs = key_of_runs(job);
	int r = 0;

	if (store && runs && max_age_us)
		r = store_read(store, STORE_PROFILE, runs, 1, on_earlier, &search, err);
	free(runs);
	*ret_at_us = search.at_us;
	return r < 0 ? r : search.is_found;
}

/* ---- After a restart ------------------------------------------------------------------ */

struct restored {
	const struct topo *topo;
	int64_t oldest_us;
	VEC(uint32_t) hosts; /* Of the one being read. */
	persist_profile_fn *each;
	void *ctx;
};

static int
add_host(void *ctx, const char *name)
{
	struct restored *restored = ctx;
	uint32_t node = topo_find_node(restored->topo, name);

	if (node == TOPO_NONE)
		return -ENOENT;
	vec_push(&restored->hosts, node);
	return 0;
}

static bool
on_profile(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct restored *restored = ctx;
	struct profile_list list = { .n = 0 };
	struct json_doc *doc = NULL;
	const char *begin = strstr(json, document_key), *hosts, *why;
	char *document = NULL;
	struct err err;

	/* "USER/NAME" is not the key of a running job. */
	if (strchr(key, '/') || at_us < restored->oldest_us || !begin ||
	    json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	begin += sizeof document_key - 1;
	document = xstrndup(begin, strlen(begin) - 1);
	restored->hosts.n = 0;
	if (json_get_str(doc, json_root(doc), "hosts", &hosts, &err) == 0 &&
	    hostlist_expand(hosts, TOPO_MAX_NODES, add_host, restored, &why) >= 0 &&
	    profile_json_parse("store", document, strlen(document), &list, &err) == 0 &&
	    list.n == 1 && restored->hosts.n > 1) {
		sort_items(restored->hosts.items, restored->hosts.n, sort_by_u32);
		restored->each(restored->ctx, key, &list.items[0],
			       restored->hosts.items, (uint32_t)restored->hosts.n,
			       at_us);
	}
	profile_list_fini(&list);
	free(document);
	json_doc_free(doc);
	return true;
}

int
persist_read_profiles(struct store *store, const struct topo *topo, int64_t max_age_us,
		      persist_profile_fn *each, void *ctx, struct err *err)
{
	struct restored restored = { .topo = topo,
				     .oldest_us = clk_wall_us() - max_age_us,
				     .each = each,
				     .ctx = ctx };
	int r;

	if (!store)
		return 0;
	r = store_read(store, STORE_PROFILE, NULL, SCHED_MAX_JOBS, on_profile,
		       &restored, err);
	vec_free(&restored.hosts);
	return r < 0 ? r : 0;
}

/* ---- Opening ------------------------------------------------------------------------ */

static struct store_opts
store_opts_of(const struct scheduler_config *config)
{
	return (struct store_opts){
		.keep_us = { config->keep_1s_us, config->keep_10s_us,
			     config->keep_5min_us },
		.keep_advice_us = config->keep_history_us,
		.max_bytes = config->store_max_bytes,
	};
}

int
persist_open(const struct scheduler_config *config, struct store **ret_store,
	     struct err *err)
{
	const struct store_opts opts = store_opts_of(config);
	const char *path = config->store;
	int r;

	*ret_store = NULL;
	if (!path)
		return 0;
	r = store_open(path, &opts, ret_store, err);
	if (r < 0) {
		err_append(err, "; --store FILE says where else, --store off without");
		return r;
	}
	if (store_begun_anew(*ret_store))
		log_warn("store", "%s: %s", path, store_begun_anew(*ret_store));
	return 0;
}

void
persist_follow(struct store *store, const struct scheduler_config *config)
{
	const struct store_opts opts = store_opts_of(config);

	if (store)
		store_set_opts(store, &opts);
}
