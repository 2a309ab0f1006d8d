/* SPDX-License-Identifier: Apache-2.0 */
/* api_advice.c - advice and modes: reading, and, with the token, changing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "lib/base/words.h"
#include "lib/daemon/settings.h"
#include "scheduler/core/profile/profile_json.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs.h"
#include "topology/topo.h"

/* ---- Reading -------------------------------------------------------------------------- */

static int
compare_jobs(const void *a, const void *b)
{
	const struct job *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void
put_text(const char *text, struct strbuf *out)
{
	struct jsonw w;
	char *json = NULL;
	size_t n;
	FILE *file = open_memstream(&json, &n);

	BUG_ON(!file);
	jsonw_init(&w, file);
	jsonw_str(&w, NULL, text);
	fclose(file);
	strbuf_add(out, json, n);
	free(json);
}

/*
 * Each document was written when the advice was made; this lists them: all, unless a
 * page is requested.
 */
void
api_advices(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	VEC(const struct job *) jobs = VEC_EMPTY;
	struct api_page page;
	size_t n_told;

	if (!api_page_read(request, reply, &page))
		return;
	for (size_t i = 0; i < jobs_n_places(api->opts.jobs); i++) {
		const struct job *job = jobs_at(api->opts.jobs, i);

		if (job && job->doc &&
		    (!page.after || strcmp(job->name, page.after) > 0))
			vec_push(&jobs, job);
	}
	sort_items(jobs.items, jobs.n, compare_jobs);
	n_told = http_query(request, "limit") && jobs.n > page.limit ? page.limit
								     : jobs.n;
	strbuf_printf(&reply->body,
		      "{\"schema\":\"antiphase.job_advices/1\",\"at_us\":%lld,"
		      "\"left_out\":%zu,\"next_after\":",
		      (long long)clk_wall_us(), jobs.n - n_told);
	if (n_told < jobs.n)
		put_text(jobs.items[n_told - 1]->name, &reply->body);
	else
		strbuf_puts(&reply->body, "null");
	strbuf_puts(&reply->body, ",\"advice\":[");
	for (size_t i = 0; i < n_told; i++) {
		strbuf_puts(&reply->body, i ? ",\n" : "\n");
		strbuf_puts(&reply->body, jobs.items[i]->doc);
	}
	strbuf_puts(&reply->body, "]}\n");
	vec_free(&jobs);
}

void
api_advice(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	const struct api *api = ctx;
	const struct job *job = jobs_find(api->opts.jobs, request->rest);

	if (!job || !job->doc)
		http_reply_error(reply, 404, "unknown_job",
				 "GET /api/v1/advice lists what there is",
				 "nothing is known of a job '%s'", request->rest);
	else
		strbuf_printf(&reply->body, "%s\n", job->doc);
}

void
api_config(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	const struct settings_table *table = settings_table(api->opts.config->settings);
	const struct modes *modes = actions_modes(api->opts.actions);
	struct json_text text;

	(void)request;
	json_text_begin(&text, "antiphase.scheduler_config/1");
	jsonw_array(&text.w, "settings");
	for (size_t i = 0; i < table->n; i++) {
		jsonw_flat_object(&text.w, NULL);
		jsonw_str(&text.w, "section", table->items[i].section);
		jsonw_str(&text.w, "key", table->items[i].key);
		jsonw_str(&text.w, "value",
			  settings_value(api->opts.config->settings, i));
		jsonw_str(&text.w, "origin",
			  settings_origin(api->opts.config->settings, i));
		jsonw_end(&text.w);
	}
	jsonw_end(&text.w);
	jsonw_bool(&text.w, "is_stopped", modes->is_stopped);
	jsonw_str(&text.w, "mode", mode_names[modes->usual]);
	jsonw_array(&text.w, "partitions");
	for (size_t i = 0; i < modes->others.n; i++) {
		const struct mode_of_partition *other = &modes->others.items[i];

		jsonw_flat_object(&text.w, NULL);
		jsonw_str(&text.w, "partition", other->partition);
		jsonw_str(&text.w, "mode", mode_names[other->mode]);
		jsonw_end(&text.w);
	}
	jsonw_end(&text.w);
	json_text_end(&text, &reply->body);
}

/* ---- Bodies --------------------------------------------------------------------------- */

static void
refuse_body(struct http_reply *reply, const struct err *err)
{
	if (err->line)
		http_reply_error(reply, 400, "bad_body", "docs/api.md", "%u:%u: %s",
				 err->line, err->column, err->text);
	else
		http_reply_error(reply, 400, "bad_body", "docs/api.md", "%s",
				 err->text);
}

static int
parse_body(const struct http_request *request, struct json_doc **ret_doc,
	   struct err *err)
{
	int r = json_parse("body", request->body, request->n_body, ret_doc, err);

	if (r == 0)
		r = json_as_object(*ret_doc, json_root(*ret_doc), err);
	return r;
}

/* ---- Rankings on request -------------------------------------------------------------- */

struct question {
	const char *job;
	int64_t n_nodes;
	struct profile profile;
	bool *allowed; /* Owned; NULL: all hosts. */
};

struct allowing {
	const struct topo *topo;
	bool *allowed;
	const char *unknown;
	char name[HOSTLIST_MAX_NAME + 1];
};

static int
allow(void *ctx, const char *name)
{
	struct allowing *a = ctx;
	uint32_t node = topo_find_node(a->topo, name);
	uint32_t number =
		node == TOPO_NONE ? TOPO_NONE : topo_host_number(a->topo, node);

	if (number == TOPO_NONE) {
		snprintf(a->name, sizeof a->name, "%s", name);
		a->unknown = a->name;
		return -ENOENT;
	}
	a->allowed[number] = true;
	return 0;
}

static int
read_candidates(const struct api *api, const char *list, struct question *question,
		struct err *err)
{
	struct allowing a = { .topo = fabric_source_topo(api->opts.fabric) };
	const char *why = "";
	int r;

	question->allowed = xcalloc(topo_n_hosts(a.topo) + 1, sizeof *a.allowed);
	a.allowed = question->allowed;
	r = hostlist_expand(list, TOPO_MAX_NODES, allow, &a, &why);
	if (a.unknown)
		return err_set(err, NULL, 0, 0,
			       "candidates: the fabric has no host '%s'", a.unknown);
	if (r < 0)
		return err_set(err, NULL, 0, 0, "candidates: %s", why);
	return 0;
}

/* {"period_us":..,"comm_us":..,"rate_gbps":..?}: one burst per iteration. */
static int
read_profile(const struct api *api, const struct json_doc *doc,
	     const struct json *object, struct profile *ret_profile, struct err *err)
{
	int64_t period_us = 0, comm_us = 0;
	double gbps = 0;
	size_t n_hosts;
	const uint32_t *hosts =
		topo_hosts(fabric_source_topo(api->opts.fabric), &n_hosts);
	int r;

	r = json_get_int(doc, object, "period_us", 1, PROFILE_MAX_PERIOD_US, &period_us,
			 err);
	if (r == 0)
		r = json_get_int(doc, object, "comm_us", 1, period_us, &comm_us, err);
	if (r == 0)
		r = json_opt_num(doc, object, "rate_gbps", 1e-6, 1e6, &gbps, err);
	if (r < 0)
		return r;
	profile_of_burst(period_us, comm_us,
			 gbps > 0 ? gbps * 1e9
				  : topo_line_bps(fabric_source_topo(api->opts.fabric),
						  hosts, n_hosts > 0),
			 ret_profile);
	return 0;
}

static int
read_question(const struct api *api, const struct json_doc *doc,
	      struct question *question, struct err *err)
{
	static const char *const keys[] = { "job", "n_nodes", "candidates", "profile",
					    NULL };
	const struct json *root = json_root(doc), *profile;
	const char *candidates = NULL;
	const struct job *known;
	int r = json_check_keys(doc, root, keys, err);

	if (r == 0)
		r = json_get_str(doc, root, "job", &question->job, err);
	if (r == 0)
		r = json_get_int(doc, root, "n_nodes", 1, 100000, &question->n_nodes,
				 err);
	if (r == 0)
		r = json_opt_str(doc, root, "candidates", &candidates, err);
	if (r == 0 && candidates)
		r = read_candidates(api, candidates, question, err);
	if (r < 0)
		return r;
	profile = json_find(root, "profile");
	if (profile)
		return read_profile(api, doc, profile, &question->profile, err);
	known = jobs_find(api->opts.jobs, question->job);
	if (!known || !known->profile.period_us) {
		err_set(err, NULL, 0, 0,
			"no period is known of job '%s'; say "
			"\"profile\":{\"period_us\":..,\"comm_us\":..}",
			question->job);
		return -ENODATA;
	}
	profile_copy(&known->profile, &question->profile);
	return 0;
}

void
api_ask_advice(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	struct question question = { .n_nodes = 0 };
	struct advisor_ranking ranking = { 0 };
	struct json_doc *doc = NULL;
	struct json_text text;
	struct err err = { .line = 0 };
	int r;

	if (!fabric_source_topo(api->opts.fabric)) {
		http_reply_error(reply, 409, "no_fabric", "", "no fabric is known");
		return;
	}
	r = parse_body(request, &doc, &err);
	if (r == 0)
		r = read_question(api, doc, &question, &err);
	if (r == -EINVAL) {
		refuse_body(reply, &err);
		goto out;
	}
	if (r == 0)
		r = jobs_rank(api->opts.jobs, question.job, (uint32_t)question.n_nodes,
			      &question.profile, question.allowed, &ranking, &err);
	if (r < 0) {
		http_reply_error(reply, 409,
				 r == -ENODATA  ? "no_data"
				 : r == -ENOSPC ? "no_space"
						: "not_ranked",
				 "", "%s", err.text);
		goto out;
	}
	json_text_begin(&text, "antiphase.ranking/1");
	jsonw_str(&text.w, "job", question.job);
	jsonw_int(&text.w, "at_us", clk_wall_us());
	jobs_put_ranking(api->opts.jobs, &ranking, (uint32_t)question.n_nodes, &text.w);
	json_text_end(&text, &reply->body);
	advisor_ranking_fini(&ranking);
out:
	profile_fini(&question.profile);
	free(question.allowed);
	json_doc_free(doc);
}

/* ---- Changing ------------------------------------------------------------------------- */

void
api_modes(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	static const char *const keys[] = { "partition", "mode", NULL };
	struct api *api = ctx;
	struct json_doc *doc = NULL;
	const char *partition = "", *mode = "";
	struct err err = { .line = 0 };
	int r = parse_body(request, &doc, &err), number = -1;

	if (r == 0)
		r = json_check_keys(doc, json_root(doc), keys, &err);
	if (r == 0)
		r = json_opt_str(doc, json_root(doc), "partition", &partition, &err);
	if (r == 0)
		r = json_get_str(doc, json_root(doc), "mode", &mode, &err);
	if (r == 0)
		number = words_index(mode, mode_names);
	if (r == 0 && number < 0) {
		r = err_set(&err, NULL, 0, 0,
			    "mode is observe, advise or enforce, not '%s'", mode);
		err_suggest(&err, mode, mode_names);
	}
	if (r == 0 &&
	    actions_set_mode(api->opts.actions, partition, (enum mode)number) < 0)
		r = err_set(&err, NULL, 0, 0, "'%s' is not a valid name of a partition",
			    partition);
	if (r < 0) {
		refuse_body(reply, &err);
	} else {
		log_warn("scheduler", "mode of %s%s is now %s, as requested by the API",
			 *partition ? "partition " : "all others", partition, mode);
		api_config(api, request, reply);
	}
	json_doc_free(doc);
}

void
api_poke(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct api *api = ctx;
	struct json_text text;

	(void)request;
	if (actions_driver(api->opts.actions))
		sched_poll(actions_driver(api->opts.actions));
	json_text_begin(&text, "antiphase.poke/1");
	jsonw_bool(&text.w, "is_looking", actions_driver(api->opts.actions) != NULL);
	json_text_end(&text, &reply->body);
}
