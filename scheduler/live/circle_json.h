/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle_json.h - what the jobs of a link send in the course of an iteration, as
 * antiphase.circle/1 (docs/json.md): from it the compatibility circle is drawn
 *
 * Pure.
 */
#ifndef SCHEDULER_LIVE_CIRCLE_JSON_H
#define SCHEDULER_LIVE_CIRCLE_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct contention_link;
struct jsonw;
struct status;

/* The advised shift of a job; false if there is none. */
typedef bool circle_shift_fn(void *ctx, const char *job, int64_t *ret_shift_us);

/*
 * Writes the keys of the document.  Jobs without an estimate of their period are left
 * out.  'shift_of' may be NULL: no job has advice.
 */
void circle_json_put(const struct status *status, const struct contention_link *link,
		     circle_shift_fn *shift_of, void *ctx, struct jsonw *w);

#endif
