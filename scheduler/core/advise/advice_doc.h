/*
 * advice_doc.h - an advice as a document: with names instead of ids, so that it
 * can be kept in a file and explained without the fabric it was made for.
 *
 * The file format is antiphase.advice/1; docs/json.md says what each key means.
 * Functions of text alone: who reads or writes the file is not said here.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVICE_DOC_H
#define SCHEDULER_CORE_ADVISE_ADVICE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/reason.h"

struct err;
struct strbuf;
struct topo;
struct workload;

/* A file of more bytes than this cannot be an advice file. */
#define ADVICE_MAX_BYTES (64u << 20)

/* One link in the evidence of one job, or of the whole. */
struct advice_doc_link {
	char *name; /* Owned.  As on the cable. */
	double capacity_gbps;
	double score_before, score_after;
	double excess_before_gbps, excess_after_gbps;
	char **jobs;   /* Owned.  Only of the whole's links. */
	size_t n_jobs; /* Jobs on it. */
};

struct advice_doc_job {
	char *name;     /* Owned. */
	char **hosts;   /* Owned. */
	size_t n_hosts; /* 0: it waits. */
	bool placed_by_us;
	int64_t period_us, jitter_us;
	int64_t shift_us, slack_us;
	enum engine_pacing pacing;
	double score_before, score_after;
	double slowdown_before, slowdown_after; /* 0: not placed. */
	double gain_low, gain_high;
	enum reason reason;
	struct advice_doc_link *links; /* Owned.  Worst first. */
	size_t n_links;
};

struct advice_doc {
	enum advise_policy policy;
	uint64_t seed;
	uint32_t n_runs, n_iterations; /* Of the prediction. */
	double goodput_before, goodput_after;
	bool has_loop;
	struct advice_doc_job *jobs; /* Owned. */
	size_t n_jobs;
	struct advice_doc_link
		*links; /* Owned.  Contended where the jobs are; worst first. */
	size_t n_links;
};

/* Names of pacings: "free", "realign", "gate"; NULL-terminated. */
extern const char *const advice_pacing_names[];

/* Makes the document of a set.  Release with advice_doc_fini(). */
void advice_doc_from(const struct advice_set *set, const struct workload *workload,
		     const struct topo *topo, const struct advise_opts *opts,
		     struct advice_doc *ret_doc);
void advice_doc_fini(struct advice_doc *doc); /* Accepts a zeroed one. */

/* The new text of an advice file; free with free(). */
char *advice_doc_text(const struct advice_doc *doc, size_t *ret_length);

/*
 * Reads the terminated 'text' of an advice file; 'file' is its name for
 * messages.  Returns 0, or -EINVAL with 'err' filled and '*ret_doc' left alone.
 */
int advice_doc_parse(const char *file, const char *text, size_t length,
		     struct advice_doc *ret_doc, struct err *err);

/* By name, or NULL.  O(jobs), O(links). */
const struct advice_doc_job *advice_doc_find_job(const struct advice_doc *doc,
						 const char *name);
const struct advice_doc_link *advice_doc_find_link(const struct advice_doc *doc,
						   const char *name);

/*
 * Appends prose: what we saw, what we conclude, what we advise, what it should
 * give, what would change our mind.
 */
void explain_job(const struct advice_doc *doc, const struct advice_doc_job *job,
		 struct strbuf *out);
void explain_link(const struct advice_doc *doc, const struct advice_doc_link *link,
		  struct strbuf *out);
void explain_all(const struct advice_doc *doc, struct strbuf *out);

/* Appends 'text' as a paragraph under a heading, broken between words. */
void explain_part(struct strbuf *out, const char *heading, const struct strbuf *text);

#endif
