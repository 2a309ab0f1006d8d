/*
 * watch.h - what somebody who waits for a simulation sees and can do: progress on
 * stderr, and Ctrl-C.
 */
#ifndef SIM_REPORT_WATCH_H
#define SIM_REPORT_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/progress.h"

/* Ctrl-C once ends the run after what it is doing; twice, at once. */
void watch_catch_interrupts(void);
bool watch_is_interrupted(void);

/* Several runs, one after another: number 'i' of 'n' is under way. */
struct watch {
	struct progress progress;
	size_t i, n;
};

/* 'progress' is one of progress_words, or NULL. */
void watch_init(struct watch *watch, size_t n, const char *progress);
/* Of run 'i' the share 'frac' is done: the go_on of experiment.h, false if interrupted. */
bool watch_go_on(void *watch, double frac);
/* 'is_done': nothing failed. */
void watch_end(struct watch *watch, bool is_done);

#endif
