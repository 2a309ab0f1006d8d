/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - progress on stderr and Ctrl-C, during a simulation. */
#ifndef SIM_REPORT_WATCH_H
#define SIM_REPORT_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/progress.h"

/* The first Ctrl-C ends the run after the current step, the second at once. */
void watch_catch_interrupts(void);
bool watch_is_interrupted(void);

/* Several runs, one after another: run 'i' of 'n'. */
struct watch {
	struct progress progress;
	size_t i, n;
};

/* 'progress' is one of progress_words, or NULL. */
void watch_init(struct watch *watch, size_t n, const char *progress);
/*
 * The go_on of experiment.h: the fraction 'frac' of run 'i' is done.  Returns false if
 * interrupted.
 */
bool watch_go_on(void *watch, double frac);
/* Names the run in the display: "themis, 2 of 3".  Borrows 'what'. */
void watch_name(struct watch *watch, const char *what);
/* 'is_done': no run failed. */
void watch_end(struct watch *watch, bool is_done);

#endif
