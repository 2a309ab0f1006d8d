/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/move_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/moves.h"
#include "scheduler/store/store.h"

/* An hour with less than one move counts as long as it takes to make it one (moves.h). */
#define MAX_WINDOW_S (30 * 86400.0)
#define MAX_US       ((double)(INT64_C(1) << 52))

struct move_log {
	struct store *store;
	VEC(char *) jobs;            /* Owned. */
	VEC(struct moves_past) past; /* Of jobs[i]; 'job' is i. */
	uint64_t n_moved;
};

/* Of the move of jobs[i]: a job may move more than once. */
static char *
key_of(const struct move_log *log, size_t i)
{
	return xasprintf("%s@%lld", log->jobs.items[i],
			 llround(log->past.items[i].at_s * 1e6));
}

static void
commit(struct move_log *log)
{
	struct err err;

	if (store_commit(log->store, &err) < 0)
		log_err("store", "%s", err.text);
}

static void
keep(struct move_log *log, size_t i)
{
	char *key = key_of(log, i), *text = NULL;
	struct jsonw w;
	size_t n;
	FILE *out;

	out = open_memstream(&text, &n);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "job", log->jobs.items[i]);
	jsonw_int(&w, "at_us", llround(log->past.items[i].at_s * 1e6));
	jsonw_num(&w, "payback_s", log->past.items[i].payback_s);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	store_put(log->store, STORE_MOVE, key, llround(log->past.items[i].at_s * 1e6),
		  text);
	/* It is on disk before the move is requested. */
	commit(log);
	free(text);
	free(key);
}

static void
add(struct move_log *log, const char *job, int64_t at_us, double payback_s)
{
	uint32_t number = (uint32_t)log->past.n;

	vec_push(&log->jobs, xstrdup(job));
	vec_push(&log->past,
		 ((struct moves_past){ number, (double)at_us / 1e6, payback_s }));
}

static void
remove_at(struct move_log *log, size_t i)
{
	if (log->store) {
		char *key = key_of(log, i);

		store_delete(log->store, STORE_MOVE, key);
		free(key);
	}
	free(log->jobs.items[i]);
	log->jobs.n--;
	log->past.n--;
	for (; i < log->jobs.n; i++) {
		log->jobs.items[i] = log->jobs.items[i + 1];
		log->past.items[i] = log->past.items[i + 1];
		log->past.items[i].job = (uint32_t)i;
	}
}

/* A row that cannot be read counts as no move. */
static bool
on_move(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct move_log *log = ctx;
	struct json_doc *doc;
	const char *job;
	double payback_s;
	struct err err;

	(void)key;
	if (at_us < 0 || (double)at_us > MAX_US ||
	    json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	if (json_get_str(doc, json_root(doc), "job", &job, NULL) == 0 &&
	    json_get_num(doc, json_root(doc), "payback_s", 0, MAX_US, &payback_s,
			 NULL) == 0)
		add(log, job, at_us, payback_s);
	json_doc_free(doc);
	return true;
}

int
move_log_open(struct store *store, struct move_log **ret_log, struct err *err)
{
	struct move_log *log = xcalloc(1, sizeof *log);
	int r = 0;

	log->store = store;
	if (store)
		r = store_read(store, STORE_MOVE, NULL, MOVE_LOG_MAX, on_move, log,
			       err);
	if (r < 0) {
		move_log_free(log);
		return r;
	}
	*ret_log = log;
	return 0;
}

void
move_log_free(struct move_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < log->jobs.n; i++)
		free(log->jobs.items[i]);
	vec_free(&log->jobs);
	vec_free(&log->past);
	free(log);
}

void
move_log_add(struct move_log *log, const char *job, int64_t at_us, double payback_s)
{
	add(log, job, at_us, fmin(payback_s, MAX_US));
	log->n_moved++;
	if (log->store)
		keep(log, log->jobs.n - 1);
}

void
move_log_drop(struct move_log *log, const char *job)
{
	for (size_t i = log->jobs.n; i-- > 0;) {
		if (strcmp(log->jobs.items[i], job) != 0)
			continue;
		remove_at(log, i);
		log->n_moved -= log->n_moved > 0;
		if (log->store)
			commit(log);
		return;
	}
}

/* Forgets moves that no longer count. */
static void
forget(struct move_log *log, double now_s)
{
	for (size_t i = log->past.n; i-- > 0;) {
		const struct moves_past *past = &log->past.items[i];

		if (past->at_s + fmax(MAX_WINDOW_S, past->payback_s) <= now_s)
			remove_at(log, i);
	}
}

uint32_t
move_log_allowed(struct move_log *log, int64_t now_us, uint32_t n_running, double share)
{
	forget(log, (double)now_us / 1e6);
	if (log->past.n >= MOVE_LOG_MAX)
		return 0;
	return moves_allowed(log->past.items, log->past.n, (double)now_us / 1e6,
			     n_running, share);
}

bool
move_log_is_resting(const struct move_log *log, const char *job, int64_t now_us)
{
	for (size_t i = 0; i < log->jobs.n; i++)
		if (strcmp(log->jobs.items[i], job) == 0 &&
		    moves_is_resting(&log->past.items[i], 1, (double)now_us / 1e6,
				     (uint32_t)i))
			return true;
	return false;
}

uint64_t
move_log_count(const struct move_log *log)
{
	return log->n_moved;
}
