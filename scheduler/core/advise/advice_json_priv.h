/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_json_priv.h - the keys of advice documents, which advice_json.c writes and
 * advice_json_read.c reads by the same tables.
 *
 * A table lists the keys of an object with their member, unit and range.  An object of
 * a file (antiphase.advice/2) has all keys of its table and no other; one of the daemon
 * may have other keys, as the daemon may be newer than its reader.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVICE_JSON_PRIV_H
#define SCHEDULER_CORE_ADVISE_ADVICE_JSON_PRIV_H

#include <stddef.h>

#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/workload/workload.h"

#define MAX_RUNS       1000000
#define MAX_ITERATIONS 1000000000
#define MAX_SLOWDOWN   1e9
#define MAX_BPS        1e24
#define MAX_EXACT      9007199254740991.0 /* 2^53 - 1: doubles hold it exactly. */
#define MIN_SCORE      (-1e9)

enum field_kind {
	FIELD_BOOL,
	FIELD_FLAG, /* bool; false if the key is missing. */
	FIELD_INT,  /* int64_t. */
	FIELD_SIZE, /* size_t. */
	FIELD_NUM,
	FIELD_NAME, /* A valid name (name.h). */
	FIELD_TEXT, /* Any text. */
};

/* Decimals of numbers that are written in full. */
#define EXACT (-1)

struct field {
	const char *key;
	enum field_kind kind;
	int decimals;
	double min, max; /* Of the JSON value. */
	double scale;    /* Member / JSON value. */
	size_t offset;
};

/* clang-format off: a row a key. */
#define ROW(type, kind, member, key, decimals, min, max, scale) \
	{                                                       \
		key, FIELD_##kind, decimals, min, max, scale,   \
			offsetof(struct type, member)           \
	}
/* Rows of a link, a place, a job and a document; the key is the member's name. */
#define LINK(member, min, max, decimals) \
	ROW(advice_doc_link, NUM, member, #member, decimals, min, max, 1)
#define PLACE(member, min, max, decimals) \
	ROW(advice_doc_place, NUM, member, #member, decimals, min, max, 1)
#define MOVE(member) ROW(advice_doc_move, NUM, member, #member, 1, 0, MAX_EXACT, 1)
#define JOB(kind, member, min, max, decimals) \
	ROW(advice_doc_job, kind, member, #member, decimals, min, max, 1)
#define DOC(kind, member, min, max, decimals) \
	ROW(advice_doc, kind, member, #member, decimals, min, max, 1)
#define TEXT(type, member, key) ROW(type, TEXT, member, key, EXACT, 0, 0, 1)
#define SIZE(type, member, key) ROW(type, SIZE, member, key, EXACT, 0, MAX_EXACT, 1)
#define N(table)                (sizeof(table) / sizeof *(table))

/* Decimals of predicted figures: in a file, from the daemon. */
#define FINE   6
#define COARSE 4

#define MAX_US PROFILE_MAX_PERIOD_US

static const struct field file_link_fields[] = {
	ROW(advice_doc_link, NAME, name, "link", EXACT, 0, 0, 1),
	LINK(capacity_bps, 1, PROFILE_MAX_BPS, EXACT),
	LINK(score_before, MIN_SCORE, 1, FINE),
	LINK(score_after, MIN_SCORE, 1, FINE),
	LINK(excess_before_bps, 0, MAX_BPS, 0),
	LINK(excess_after_bps, 0, MAX_BPS, 0),
};

/* The same in antiphase.advice/1, in 10^9 bits per second; only read. */
#define GBPS(member, key, min, max) \
	ROW(advice_doc_link, NUM, member, key, EXACT, min, max, 1e9)
static const struct field former_link_fields[] = {
	ROW(advice_doc_link, NAME, name, "link", EXACT, 0, 0, 1),
	GBPS(capacity_bps, "capacity_gbps", 1e-9, PROFILE_MAX_BPS / 1e9),
	LINK(score_before, MIN_SCORE, 1, FINE),
	LINK(score_after, MIN_SCORE, 1, FINE),
	GBPS(excess_before_bps, "excess_before_gbps", 0, MAX_BPS / 1e9),
	GBPS(excess_after_bps, "excess_after_gbps", 0, MAX_BPS / 1e9),
};

static const struct field live_link_fields[] = {
	TEXT(advice_doc_link, name, "link"),
	SIZE(advice_doc_link, n_jobs, "jobs"),
	LINK(score_before, MIN_SCORE, 1, COARSE),
	LINK(score_after, MIN_SCORE, 1, COARSE),
	LINK(excess_before_bps, 0, MAX_EXACT, 0),
	LINK(excess_after_bps, 0, MAX_EXACT, 0),
};

static const struct field path_fields[] = {
	ROW(advice_doc_path, NAME, from, "from", EXACT, 0, 0, 1),
	ROW(advice_doc_path, NAME, to, "to", EXACT, 0, 0, 1),
	ROW(advice_doc_path, NAME, via, "via", EXACT, 0, 0, 1),
	SIZE(advice_doc_path, number, "path"),
	ROW(advice_doc_path, SIZE, port, "port", EXACT, 0, 65535, 1),
};

/* The keys of "move" between "from" and the end. */
static const struct field move_fields[] = {
	SIZE(advice_doc_move, n_workers, "workers"),
	TEXT(advice_doc_move, with, "with"),
	MOVE(lost_s),
	MOVE(goodput_gained_s),
	MOVE(goodput_lost_s),
	MOVE(payback_s),
};

/* May be missing: files of older versions have neither this nor "paths". */
static const struct field connections_field[] = {
	ROW(advice_doc_job, SIZE, n_connections, "connections", EXACT, 1,
	    WORK_MAX_CONNECTIONS, 1),
};

static const struct field place_fields[] = {
	TEXT(advice_doc_place, nodes, "nodes"),
	PLACE(loss, -MAX_EXACT, MAX_EXACT, FINE),
	PLACE(slowdown, 0, MAX_EXACT, COARSE),
	PLACE(slowdown_others, 0, MAX_EXACT, COARSE),
	PLACE(score, MIN_SCORE, 1, COARSE),
	SIZE(advice_doc_place, n_contended, "contended_links"),
	SIZE(advice_doc_place, n_leaves, "leaves"),
	TEXT(advice_doc_place, reason, "reason"),
};

/* The keys between "hosts" and "reason". */
static const struct field file_job_fields[] = {
	JOB(BOOL, placed_by_us, 0, 0, EXACT),
	JOB(INT, period_us, 1, MAX_US, EXACT),
	JOB(INT, jitter_us, 0, MAX_US, EXACT),
	JOB(INT, shift_us, 0, MAX_US, EXACT),
	JOB(INT, slack_us, 0, MAX_US, EXACT),
	JOB(TEXT, pacing, 0, 0, EXACT),
	JOB(NUM, score_before, MIN_SCORE, 1, FINE),
	JOB(NUM, score_after, MIN_SCORE, 1, FINE),
	JOB(NUM, slowdown_before, 0, MAX_SLOWDOWN, FINE),
	JOB(NUM, slowdown_after, 0, MAX_SLOWDOWN, FINE),
	JOB(NUM, gain_low, -MAX_SLOWDOWN, 1, FINE),
	JOB(NUM, gain_high, -MAX_SLOWDOWN, 1, FINE),
};

static const struct field live_job_fields[] = {
	TEXT(advice_doc_job, name, "job"),
	JOB(INT, at_us, 0, MAX_EXACT, EXACT),
	JOB(INT, valid_until_us, 0, MAX_EXACT, EXACT),
	JOB(FLAG, is_waiting, 0, 0, EXACT),
	JOB(FLAG, is_advised, 0, 0, EXACT),
	JOB(TEXT, reason, 0, 0, EXACT),
	JOB(TEXT, text, 0, 0, EXACT),
	JOB(TEXT, remedy, 0, 0, EXACT),
};

static const struct field evidence_fields[] = {
	JOB(TEXT, source, 0, 0, EXACT),
	JOB(INT, period_us, 0, MAX_EXACT, EXACT),
	SIZE(advice_doc_job, n_iterations, "iterations"),
	JOB(NUM, confidence, -1, 1, 3),
	SIZE(advice_doc_job, n_hosts, "hosts"),
	SIZE(advice_doc_job, n_silent, "silent_hosts"),
};

/* For a running job with advice; followed by gain_fields. */
static const struct field shift_fields[] = {
	JOB(TEXT, pacing, 0, 0, EXACT),
	JOB(INT, shift_us, 0, MAX_EXACT, EXACT),
	JOB(INT, slack_us, 0, MAX_EXACT, EXACT),
	JOB(INT, locked_us, 0, MAX_EXACT, EXACT),
	JOB(NUM, score_before, MIN_SCORE, 1, COARSE),
	JOB(NUM, score_after, MIN_SCORE, 1, COARSE),
	JOB(NUM, slowdown_before, 0, MAX_SLOWDOWN, COARSE),
	JOB(NUM, slowdown_after, 0, MAX_SLOWDOWN, COARSE),
};

/* For a waiting job with advice; followed by gain_fields. */
static const struct field packed_fields[] = {
	JOB(NUM, packed_loss, -MAX_EXACT, MAX_EXACT, FINE),
};

static const struct field gain_fields[] = {
	JOB(NUM, gain_low, -MAX_SLOWDOWN, 1, COARSE),
	JOB(NUM, gain_high, -MAX_SLOWDOWN, 1, COARSE),
};

static const struct field file_fields[] = {
	DOC(TEXT, policy, 0, 0, EXACT),
	DOC(INT, seed, 0, MAX_EXACT, EXACT),
	DOC(SIZE, n_runs, 1, MAX_RUNS, EXACT),
	DOC(SIZE, n_iterations, 1, MAX_ITERATIONS, EXACT),
	DOC(NUM, goodput_before, 0, 1e9, FINE),
	DOC(NUM, goodput_after, 0, 1e9, FINE),
	DOC(BOOL, has_loop, 0, 0, EXACT),
};

/* clang-format on */

#endif
