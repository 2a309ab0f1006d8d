/*
 * progress.h - how far a long run has got, on stderr.
 *
 * On a terminal one line that rewrites itself at most five times a second;
 * elsewhere a line every 10 %; for programs an object of antiphase.progress/1 a
 * line, at most one a second.  Nothing for runs under a second.  An estimate
 * of the time left from 5 % on.  Of what has no known end: how many so far, and how
 * many a second; elsewhere than on a terminal a line a minute.  The clock is handed
 * in, so tests can turn it.
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

/* What --progress may be. */
extern const char *const progress_words[];
/* The form by one of them; auto (or NULL): by whether 'out' is a terminal. */
enum progress_form progress_form_of(const char *word, FILE *out);

/* A row of a verb's table of options (cli.h) that fills the word 'ret'. */
#define PROGRESS_OPT(ret)                                                            \
	{                                                                            \
		.name = "progress", .type = CLI_WORDS, .ret_value = (ret),           \
		.argument = "FORM", .words = progress_words,                         \
		.help = "how far it has got, on standard error: auto, json (a line " \
			"a second), none",                                           \
	}

struct progress {
	FILE *out; /* Borrowed. */
	enum progress_form form;
	const char *what;       /* Borrowed. */
	uint64_t n_done, n_all; /* Told, too, if there are any. */
	const char *unit;       /* Borrowed.  Not NULL: 'n_done' of it; no known end. */
	int64_t start_ns, shown_ns;
	int shown_tenth;
	bool is_shown;
};

void progress_init(struct progress *p, FILE *out, enum progress_form form,
		   const char *what, int64_t now_ns);
/* 'frac' from 0 to 1. */
void progress_update(struct progress *p, double frac, int64_t now_ns);
/* As progress_update(), and tells how many: "cells: 30 %, 12 of 40, 3 min left". */
void progress_count(struct progress *p, uint64_t n_done, uint64_t n_all,
		    int64_t now_ns);
/*
 * Of what nobody knows the end of: "recording: 1234 frames, 40/s", the rate since it
 * began.  Borrows 'unit', a plural.
 */
void progress_tally(struct progress *p, uint64_t n_done, const char *unit,
		    int64_t now_ns);
/* Clears a terminal's line, for something else to be said. */
void progress_clear(struct progress *p);
/*
 * The same, for good.  If 'is_done', not given up half-way, the last object in JSON is
 * of all, if there was any.
 */
void progress_end(struct progress *p, bool is_done, int64_t now_ns);

#endif
