/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_json.c - the JSON of advice documents, written; advice_json_read.c reads it.
 * Declared in advice_doc.h.
 */
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "scheduler/core/advise/advice_json_priv.h"

static void
put_fields(struct jsonw *w, const void *object, const struct field *fields, size_t n)
{
	for (const struct field *f = fields; f < fields + n; f++) {
		const void *member = (const char *)object + f->offset;

		if (f->kind == FIELD_BOOL || f->kind == FIELD_FLAG)
			jsonw_bool(w, f->key, *(const bool *)member);
		else if (f->kind == FIELD_INT)
			jsonw_int(w, f->key, *(const int64_t *)member);
		else if (f->kind == FIELD_SIZE)
			jsonw_int(w, f->key, (int64_t) * (const size_t *)member);
		else if (f->kind == FIELD_NUM && f->decimals == EXACT)
			jsonw_num(w, f->key, *(const double *)member);
		else if (f->kind == FIELD_NUM)
			jsonw_rounded(w, f->key, *(const double *)member / f->scale,
				      f->decimals);
		else
			jsonw_str(w, f->key, *(const char *const *)member);
	}
}

static void
put_names(struct jsonw *w, const char *key, const char *const *names, size_t n)
{
	jsonw_flat_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, names[i]);
	jsonw_end(w);
}

static void
put_file_links(struct jsonw *w, const struct advice_doc_link *links, size_t n)
{
	jsonw_array(w, "links");
	for (size_t i = 0; i < n; i++) {
		jsonw_flat_object(w, NULL);
		put_fields(w, &links[i], file_link_fields, N(file_link_fields));
		if (links[i].jobs)
			put_names(w, "jobs", links[i].jobs, links[i].n_jobs);
		else
			jsonw_int(w, "n_jobs", (int64_t)links[i].n_jobs);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
put_paths(struct jsonw *w, const struct advice_doc_path *paths, size_t n)
{
	jsonw_array(w, "paths");
	for (size_t i = 0; i < n; i++) {
		jsonw_flat_object(w, NULL);
		put_fields(w, &paths[i], path_fields, N(path_fields));
		jsonw_str(w, "hashed_via", paths[i].hashed_via);
		jsonw_str(w, "hashed_link", paths[i].hashed_link);
		put_names(w, "hashed_jobs", paths[i].hashed_jobs,
			  paths[i].n_hashed_jobs);
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* The same without what they leave. */
static void
put_live_paths(struct jsonw *w, const struct advice_doc_job *job)
{
	jsonw_array(w, "paths");
	for (size_t i = 0; i < job->n_paths; i++) {
		jsonw_flat_object(w, NULL);
		put_fields(w, &job->paths[i], path_fields, N(path_fields));
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* The move of a job, if it is moved.  In a file, "hosts" of the job are the new ones. */
static void
put_move(struct jsonw *w, const struct advice_doc_job *job, bool is_live)
{
	if (!job->is_moved)
		return;
	jsonw_object(w, "move");
	put_names(w, "from", job->move.from, job->move.n_from);
	if (is_live)
		put_names(w, "to", job->hosts, job->n_hosts);
	put_fields(w, &job->move, move_fields, N(move_fields));
	jsonw_end(w);
}

static void
put_file_job(struct jsonw *w, const struct advice_doc_job *job)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", job->name);
	put_names(w, "hosts", job->hosts, job->n_hosts);
	put_fields(w, job, file_job_fields, N(file_job_fields));
	put_fields(w, job, connections_field, N(connections_field));
	put_paths(w, job->paths, job->n_paths);
	put_move(w, job, false);
	jsonw_str(w, "reason", job->reason);
	jsonw_str(w, "text", job->text);
	jsonw_str(w, "remedy", job->remedy);
	put_file_links(w, job->links, job->n_links);
	jsonw_end(w);
}

char *
advice_json_text(const struct advice_doc *doc, size_t *ret_length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);
	struct jsonw w;

	BUG_ON(!out || doc->is_live);
	jsonw_document(&w, out, "antiphase.advice/2");
	put_fields(&w, doc, file_fields, N(file_fields));
	jsonw_array(&w, "jobs");
	for (size_t j = 0; j < doc->n_jobs; j++)
		put_file_job(&w, &doc->jobs[j]);
	jsonw_end(&w);
	put_file_links(&w, doc->links, doc->n_links);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	return text;
}

void
advice_json_put_job(const struct advice_doc_job *job, struct jsonw *w)
{
	put_fields(w, job, live_job_fields, N(live_job_fields));
	jsonw_object(w, "evidence");
	put_fields(w, job, evidence_fields, N(evidence_fields));
	if (job->age_us < 0)
		jsonw_null(w, "age_us");
	else
		jsonw_int(w, "age_us", job->age_us);
	jsonw_str(w, "why", job->why);
	jsonw_end(w);
	if (job->pacing) {
		put_fields(w, job, shift_fields, N(shift_fields));
		put_fields(w, job, gain_fields, N(gain_fields));
		put_live_paths(w, job);
		jsonw_array(w, "links");
		for (size_t i = 0; i < job->n_links; i++) {
			jsonw_object(w, NULL);
			put_fields(w, &job->links[i], live_link_fields,
				   N(live_link_fields));
			jsonw_end(w);
		}
		jsonw_end(w);
	}
	put_move(w, job, true);
	if (job->is_ranked)
		advice_json_put_ranking(job, w);
}

void
advice_json_put_ranking(const struct advice_doc_job *job, struct jsonw *w)
{
	put_fields(w, job, packed_fields, N(packed_fields));
	put_fields(w, job, gain_fields, N(gain_fields));
	jsonw_array(w, "places");
	for (size_t i = 0; i < job->n_places; i++) {
		jsonw_object(w, NULL);
		put_fields(w, &job->places[i], place_fields, N(place_fields));
		jsonw_end(w);
	}
	jsonw_end(w);
}
