/*
 * progress.h - how far a long run has got, on stderr.
 *
 * On a terminal one line that rewrites itself at most five times a second;
 * elsewhere a line every 10 %.  Nothing for runs under a second.  An estimate
 * of the time left from 5 % on.  The clock is handed in, so tests can turn it.
 */
#ifndef LIB_BASE_PROGRESS_H
#define LIB_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	FILE *out; /* Borrowed; NULL: silent. */
	bool is_terminal;
	const char *what;       /* Borrowed. */
	uint64_t n_done, n_all; /* Told, too, if there are any. */
	int64_t start_ns, shown_ns;
	int shown_tenth;
	bool is_shown;
};

void progress_init(struct progress *p, FILE *out, bool is_terminal, const char *what,
		   int64_t now_ns);
/* 'frac' from 0 to 1. */
void progress_update(struct progress *p, double frac, int64_t now_ns);
/* As progress_update(), and tells how many: "cells: 30 %, 12 of 40, 3 min left". */
void progress_count(struct progress *p, uint64_t n_done, uint64_t n_all,
		    int64_t now_ns);
/* Clears the line. */
void progress_end(struct progress *p);

#endif
