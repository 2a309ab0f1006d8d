/*
 * advised.h - what antiphase-scheduler advises now: its own answer, asked over HTTP or
 * read from a file that one was saved to.
 *
 * The answer comes from outside: it is bounded, checked, and what it lacks is an error.
 */
#ifndef CLI_ADVISED_H
#define CLI_ADVISED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

struct err;
struct json;
struct json_doc;

/* Contended links of a running job, worst first. */
struct advised_link {
	const char *link;
	int64_t n_jobs;
	double score_before, score_after;
	double excess_before_bps, excess_after_bps;
};

/* A place of a waiting job. */
struct advised_place {
	const char *nodes; /* A hostlist. */
	double slowdown, slowdown_others, score;
	int64_t n_contended;
};

/* What became of a shift; 'verdict' NULL: nothing is known. */
struct advised_outcome {
	const char *verdict; /* "as_advised", as of docs/json.md. */
	int64_t n_before, n_after;
	int64_t before_us, after_us; /* Mean iterations. */
	bool has_gain;
	double gain, gain_error;
};

/* antiphase.job_advice/1.  Texts are borrowed from the answer. */
struct advised_job {
	const char *job, *reason, *text, *remedy;
	int64_t at_us, valid_until_us;
	bool is_advised, is_waiting;
	const char *source, *why; /* 'why' may be NULL. */
	int64_t period_us, iterations;
	double confidence;
	int64_t age_us; /* Of the profile; -1: there is none. */
	int64_t n_hosts, n_silent;
	const char *pacing; /* NULL: none is advised. */
	int64_t shift_us, slack_us, locked_us;
	double score_before, score_after, slowdown_before, slowdown_after;
	bool has_gain;
	double gain_low, gain_high;
	struct advised_outcome outcome;
	VEC(struct advised_link) links;
	VEC(struct advised_place) places; /* Best first. */
};

struct advised {
	struct strbuf body;   /* As it came. */
	struct json_doc *doc; /* Owned. */
	VEC(struct advised_job) jobs;
	int64_t now_us; /* This moment; of a file, that of the answer. */
};

/*
 * Asks 'address' for the advice of 'job' (its name, or the only one that begins so), or
 * of all jobs (NULL).  Returns CLI_OK, or with 'err' filled CLI_UNREACHABLE (nobody
 * there), CLI_USAGE (no such job, no such address) or CLI_BUG (no answer of ours).
 * 'ret_advised' needs advised_fini() either way.
 */
int advised_ask(const char *address, const char *job, struct advised *ret_advised,
		struct err *err);
/* The same from a file; CLI_USAGE for all that is wrong. */
int advised_read(const char *file, const char *job, struct advised *ret_advised,
		 struct err *err);
/* Whether the file begins as one that advised_read() takes. */
bool advised_is_file(const char *file);
void advised_fini(struct advised *advised); /* Accepts a zeroed one. */

/* The prose of one job: what we saw to what would change our mind. */
void advised_explain(const struct advised *advised, const struct advised_job *job,
		     struct strbuf *out);

#endif
