/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - progress of a long run, on stderr.
 *
 * A terminal gets one line, rewritten at most five times a second; a file or pipe gets
 * a line every 10 %; programs get an object of antiphase.progress/1 per line, at most
 * one a second.  Runs under a second print nothing.  The estimate of the time left
 * begins at 5 %, and assumes the pace of the last third of the time or more. A run without a known end shows its count and rate, elsewhere than on
 * a terminal once a minute.  The caller passes the clock, so that tests control it.
 */
#ifndef LIB_BASE_PROGRESS_H
#define LIB_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum progress_form {
	PROGRESS_TERMINAL,
	PROGRESS_LINES,
	PROGRESS_JSON,
	PROGRESS_NONE,
};

/* The values of --progress. */
extern const char *const progress_words[];
/* The form for one of them; auto (or NULL) depends on whether 'out' is a terminal. */
enum progress_form progress_form_of(const char *word, FILE *out);

/* An option (cli.h) that fills the word 'ret'. */
#define PROGRESS_OPT(ret)                                            \
	CLI_OPT("progress", 0, CLI_WORDS, ret, "FORM",               \
		"progress on standard error; json: a line a second", \
		.words = progress_words)

struct progress {
	FILE *out; /* Borrowed. */
	enum progress_form form;
	const char *what;       /* Borrowed. */
	uint64_t n_done, n_all; /* 0: not shown. */
	const char *unit;       /* Borrowed.  Of 'n_done'; not NULL: no known end. */
	int64_t start_ns, shown_ns;

	/* Two earlier reports: the pace since the first gives the time left. */
	struct progress_mark {
		int64_t elapsed_ns;
		double frac;
	} marks[2];

	int shown_tenth;
	bool is_shown;
};

void progress_init(struct progress *p, FILE *out, enum progress_form form,
		   const char *what, int64_t now_ns);
/* 'frac' from 0 to 1. */
void progress_update(struct progress *p, double frac, int64_t now_ns);
/* As progress_update(), with counts: "cells: 30 %, 12 of 40, 3 min left". */
void progress_count(struct progress *p, uint64_t n_done, uint64_t n_all,
		    int64_t now_ns);
/*
 * For a run without a known end: "recording: 1234 frames, 40/s", the rate since its
 * start. Borrows 'unit', a plural.
 */
void progress_open_ended(struct progress *p, uint64_t n_done, const char *unit,
			 int64_t now_ns);
/* Clears a terminal's line before other output. */
void progress_clear(struct progress *p);
/*
 * Ends the display.  If the run 'is_done' and JSON objects were printed, the last one
 * shows the end.
 */
void progress_end(struct progress *p, bool is_done, int64_t now_ns);

#endif
