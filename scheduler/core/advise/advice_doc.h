/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_doc.h - advice documents: advice with names instead of ids.
 *
 * A document can be kept in a file, sent over HTTP and explained without the fabric
 * that it was made for.  One struct holds both kinds of advice:
 *
 *	antiphase.advice/2       computed by 'antiphase advise' for the jobs of a file
 *	antiphase.job_advices/1  what antiphase-scheduler advises on its jobs now
 *	antiphase.job_advice/1   the same, of one job
 *
 * docs/json.md defines each key.  advice_json.c is the only reader and writer of these
 * schemas; prose, tables and drawings are made in cli/.
 *
 * All texts are borrowed from the document's own table of texts.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVICE_DOC_H
#define SCHEDULER_CORE_ADVISE_ADVICE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/reason.h"

struct err;
struct jsonw;
struct strtab;
struct topo;
struct workload;

/* A longer file is no advice file. */
#define ADVICE_MAX_BYTES (64u << 20)

/* A contended link: as evidence of one job, or of the whole document. */
struct advice_doc_link {
	const char *name;    /* "leaf0:p4>spine0:p0". */
	double capacity_bps; /* 0: unknown. */
	double score_before, score_after;
	double excess_before_bps, excess_after_bps;
	const char **jobs; /* Owned.  NULL in the evidence of a job. */
	size_t n_jobs;     /* Jobs on the link. */
};

/* The path of a flow. */
struct advice_doc_path {
	const char *from, *to; /* Hosts. */
	const char *via;       /* Its highest switch: "spine2". */
	size_t number;         /* Among the equally short ones. */
	size_t port;           /* Source port that takes it; 0: not known. */
	/* Without advice: the switch, the worst link that it leaves, the jobs there. */
	const char *hashed_via, *hashed_link; /* NULL: unknown; none. */
	const char **hashed_jobs;             /* Owned. */
	size_t n_hashed_jobs;
};

/* The move of a running job, with its bill; goodput_* are weight times seconds. */
struct advice_doc_move {
	const char **from; /* Owned.  'n_from' hosts, those of the job. */
	size_t n_from, n_workers;
	const char *with; /* The other job of the bill; "": none. */
	double lost_s;    /* By this job. */
	double goodput_gained_s, goodput_lost_s;
	double payback_s;
};

/* A place of a waiting job. */
struct advice_doc_place {
	const char *nodes; /* As a hostlist. */
	double loss;       /* Of the goodput of all jobs. */
	double slowdown, slowdown_others, score;
	size_t n_contended, n_leaves;
	const char *reason;
};

/* Measured iterations of a job since a shift was advised. */
struct advice_doc_outcome {
	const char *verdict;         /* "as_advised", ...; NULL: unknown. */
	size_t n_before, n_after;    /* Iterations. */
	int64_t before_us, after_us; /* Their mean duration. */
	bool has_gain;
	double gain, gain_error;
};

struct advice_doc_job {
	const char *name;
	const char *reason, *text, *remedy; /* reason.h, or why there is no advice. */
	size_t n_hosts;                     /* Hosts that it has, or waits for. */
	int64_t period_us;
	const char *pacing; /* "free", "realign", "shift", "gate"; NULL: none. */
	int64_t shift_us, slack_us;
	double score_before, score_after;
	double slowdown_before, slowdown_after; /* 0: not placed. */
	bool has_gain;
	double gain_low, gain_high;
	struct advice_doc_link *links; /* Owned.  Worst first. */
	size_t n_links;

	struct advice_doc_path *paths; /* Owned.  Of flows whose path is chosen. */
	size_t n_paths;

	bool is_moved; /* 'move' is known. */
	struct advice_doc_move move;
	/* Owned.  'n_hosts' of them, 0 if it must wait; live only those of a move. */
	const char **hosts;

	/* Only in antiphase.advice/2. */
	bool placed_by_us;
	int64_t jitter_us;
	size_t n_connections; /* To each peer; at least 1. */

	/* Only in antiphase.job_advice/1. */
	int64_t at_us, valid_until_us; /* Wall clock. */
	bool is_advised, is_waiting;
	const char *source, *why; /* Of the period; 'why' it is not newer, or NULL. */
	size_t n_iterations;
	double confidence;
	int64_t age_us; /* Of the profile; -1: no profile. */
	size_t n_silent;
	int64_t locked_us; /* The locked period; 0: none. */
	struct advice_doc_outcome outcome;
	bool is_ranked; /* 'places' and 'packed_loss' are known. */
	double packed_loss;
	struct advice_doc_place *places; /* Owned.  Best first. */
	size_t n_places;
};

struct advice_doc {
	bool is_live; /* antiphase.job_advice*: from antiphase-scheduler. */
	struct advice_doc_job *jobs; /* Owned. */
	size_t n_jobs;
	struct strtab *texts; /* Owned. */

	/* Only in antiphase.advice/2. */
	const char *policy;
	int64_t seed;
	size_t n_runs, n_iterations; /* Of the prediction. */
	double goodput_before, goodput_after;
	bool has_loop;
	struct advice_doc_link
		*links; /* Owned.  Contended with the advice, worst first. */
	size_t n_links;

	/* Only in antiphase.job_advices/1. */
	int64_t at_us; /* Time of the answer. */
};

/* Makes the document of a set.  Release with advice_doc_fini(). */
void advice_doc_from(const struct advice_set *set, const struct workload *workload,
		     const struct topo *topo, const struct advise_opts *opts,
		     struct advice_doc *ret_doc);
/* An empty antiphase.job_advice/1.  Release with advice_doc_fini(). */
struct advice_doc advice_doc_of_one(void);
void advice_doc_fini(struct advice_doc *doc); /* Accepts a zeroed one. */
/* Drops all jobs but the first 'n_kept'. */
void advice_doc_cut(struct advice_doc *doc, size_t n_kept);

/* Copies a text; the copy lives as long as the document.  NULL for NULL. */
const char *advice_doc_text(struct advice_doc *doc, const char *text);
/* The name of a link of the fabric; lives as long as the document. */
const char *advice_doc_link_name(struct advice_doc *doc, const struct topo *topo,
				 uint32_t link);

/*
 * Adds the paths[n] of a job that are not left to hashing to 'job', of the document.
 * 'workload' names hashed_jobs; NULL if there are none.
 */
void advice_doc_add_paths(struct advice_doc *doc, const struct advice_path *paths,
			  size_t n, const struct workload *workload,
			  const struct topo *topo, struct advice_doc_job *job);

/* By name, or NULL.  O(jobs). */
const struct advice_doc_job *advice_doc_find_job(const struct advice_doc *doc,
						 const char *name);
/* Whether 'name' is the link's name, or that of one of its ends ("leaf1:p3"). */
bool advice_doc_link_is(const struct advice_doc_link *link, const char *name);
/* Whether the job is on the link.  O(jobs of the link). */
bool advice_doc_link_has(const struct advice_doc_link *link,
			 const struct advice_doc_job *job);

/* ---- JSON: advice_json.c, advice_json_read.c ------------------------------------- */

/* The new text of antiphase.advice/2; free with free(). */
char *advice_json_text(const struct advice_doc *doc, size_t *ret_length);

/*
 * Writes the keys of antiphase.job_advice/1 into the open object 'w', all but "schema"
 * and "outcome".
 */
void advice_json_put_job(const struct advice_doc_job *job, struct jsonw *w);
/* Writes the keys of antiphase.ranking/1: places and their predicted slowdowns. */
void advice_json_put_ranking(const struct advice_doc_job *job, struct jsonw *w);

/*
 * Reads the terminated 'text' of an antiphase.advice/2 or /1; 'file' is its name for
 * messages.  Returns 0, or -EINVAL with 'err' filled and '*ret_doc' unchanged.
 */
int advice_json_parse(const char *file, const char *text, size_t length,
		      struct advice_doc *ret_doc, struct err *err);
/* Reads an antiphase.job_advices/1 or antiphase.job_advice/1 in the same way. */
int advice_json_parse_live(const char *file, const char *text, size_t length,
			   struct advice_doc *ret_doc, struct err *err);
/* Whether the text begins as one that advice_json_parse_live() reads. */
bool advice_json_is_live(const char *text);

#endif
