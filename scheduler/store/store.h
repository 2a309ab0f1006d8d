/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the store of antiphase-scheduler: history, advice, outcomes, and the state
 * for a restart. One SQLite file (WAL), one writer.
 *
 * store_commit(), called once a second, commits all writes: a kill -9 loses at most
 * those since the last commit, and always all of these. Reading sees writes, committed
 * or not. A loss of power may cost more, as commits are not flushed to the disk one by
 * one.
 *
 * History has three grains. A sample is added to all three in one transaction: bytes
 * add up, peaks are maxima. So no roll-up can be missed or made twice, and late samples
 * find their place. store_tidy() drops, a little at a time, what is older than it is
 * kept, and beyond the maximum size the oldest samples, from the finest grain on, and
 * then the oldest history. The current documents of jobs go by age only. The file does
 * not shrink: SQLite uses freed pages again.
 *
 * A file of a later version is refused. A damaged file is moved aside with a message,
 * and a new one begins, so that the daemon starts. store_commit() returns errors of
 * writing (a full disk); writes since the last commit are then lost. store_error() tells
 * them until something is written again.
 */
#ifndef SCHEDULER_STORE_STORE_H
#define SCHEDULER_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

enum store_grain {
	STORE_1S,
	STORE_10S,
	STORE_5MIN,
	STORE_N_GRAINS,
};

extern const int64_t store_grain_us[STORE_N_GRAINS];

#define STORE_MAX_STEPS 100000

struct store_opts {
	int64_t keep_us[STORE_N_GRAINS]; /* 0: an hour, a day, 90 days. */
	/* For histories, and documents but STORE_CHANGE; 0: 90 days. */
	int64_t keep_advice_us;
	int64_t max_bytes; /* In use in the file; 0: 4 GiB. */
};

/*
 * Opens or makes the file, and its directory (mode 0750; those above have to be there).
 * 0, or -errno with 'err' filled.
 */
int store_open(const char *path, const struct store_opts *opts,
	       struct store **ret_store, struct err *err);
void store_close(struct store *store); /* Commits.  Accepts NULL. */
/* Other limits, from the next store_tidy() on. */
void store_set_opts(struct store *store, const struct store_opts *opts);

/* 0; or -errno with 'err' filled, and everything since the last commit is lost. */
int store_commit(struct store *store, struct err *err);
/*
 * Looks at up to 'max_rows' rows that may be out of date at 'now_us', and drops those that
 * are. Returns how many it looked at: 0 if nothing is left to do for now. The next commit
 * tells failures.
 */
size_t store_tidy(struct store *store, int64_t now_us, size_t max_rows);

/* Failures of writing or reading since it was opened. */
uint64_t store_n_errors(const struct store *store);
/*
 * The last failure, from then until a commit of changed rows: a full disk lets empty
 * commits pass. NULL: none. Borrowed until the next call that changes the store.
 */
const char *store_error(const struct store *store);

/* Bytes in use in the file; and why it was begun anew, or NULL. Borrowed. */
int64_t store_bytes(const struct store *store);
const char *store_begun_anew(const struct store *store);

/* ---- History ---------------------------------------------------------------------- */

/* The traffic of a link in a second, or another grain; 'job' "": the link's total. */
struct store_sample {
	const char *link, *job; /* Borrowed. */
	int64_t at_us; /* Begin of the grain, wall clock, when read; else any. */
	uint64_t bytes;
	uint64_t peak_bps; /* Highest rate of a millisecond. */
	uint32_t over_ms;  /* contention.h: "over". */
};

void store_add_sample(struct store *store, const struct store_sample *sample);

/* Called in order of time; return false to stop. */
typedef bool store_sample_fn(void *ctx, enum store_grain grain,
			     const struct store_sample *sample);
/*
 * Reads the samples of a link in [from_us, to_us): of one job ("": the total), or with
 * NULL of all and the total. The grain is the coarsest up to 'step_us', or a coarser
 * one that still has 'from_us' if that is further back than the first is kept. O(log n)
 * for each grain of time: at most STORE_MAX_STEPS of these, or -E2BIG.
 */
int store_read_samples(struct store *store, const char *link, const char *job,
		       int64_t from_us, int64_t to_us, int64_t step_us,
		       store_sample_fn *each, void *ctx, struct err *err);

/* ---- Documents: advice, outcomes, profiles, changes that we made ------------------- */

/*
 * A document is JSON text under (kind, key), opaque to the store; 'put' replaces it,
 * and some kinds keep a history.
 */
enum store_kind {
	STORE_ADVICE,  /* By job; history kept. */
	STORE_OUTCOME, /* By job; history kept. */
	STORE_PROFILE, /* By job: profile, phase, when found; for a restart. */
	STORE_CHANGE,  /* By job: our changes at the scheduler that are not undone. */
	STORE_LOG,     /* By job: every change, asked, done, undone; history kept. */
	STORE_MOVE,    /* By job and time: moves of running jobs, for their limit. */
	STORE_PATHS,   /* By job: the chosen paths of its flows; for a restart. */
	STORE_N_KINDS,
};

void store_put(struct store *store, enum store_kind kind, const char *key,
	       int64_t at_us, const char *json);
/* Deletes the current one; its history stays. */
void store_delete(struct store *store, enum store_kind kind, const char *key);

typedef bool store_document_fn(void *ctx, const char *key, int64_t at_us,
			       const char *json);
/*
 * Reads the current ones, at most 'n_max': of one key, or with NULL all, by key.  A
 * text that is NULL in the file, which this module never writes, is "".
 */
int store_read(struct store *store, enum store_kind kind, const char *key, size_t n_max,
	       store_document_fn *each, void *ctx, struct err *err);

/* A line of a kind's history; ids rise in the order of 'put'. */
struct store_line {
	int64_t id, at_us;
	const char *key, *json; /* Borrowed. */
};

struct store_page {
	const char *key;   /* NULL: of all keys. */
	int64_t before_id; /* Only lines before this one; 0: all. */
	size_t n_max;
};

typedef bool store_line_fn(void *ctx, const struct store_line *line);
/* Reads a page of the history, newest first; texts likewise. O(lines read * log lines). */
int store_read_history(struct store *store, enum store_kind kind,
		       const struct store_page *page, store_line_fn *each, void *ctx,
		       struct err *err);

#endif
