/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_json.h - profile files (schema antiphase.profiles/1).
 *
 *	{ "schema": "antiphase.profiles/1",
 *	  "profiles": [
 *	    { "job": "1", "period_us": 475000, "period_error_us": 5200,
 *	      "jitter_us": 41000,
 *	      "iterations": 20, "confidence": 0.42,
 *	      "bytes_per_iteration": 25200000,
 *	      "phases": [ { "start_us": 0, "duration_us": 72000, "gbps": 0.8 } ] } ] }
 *
 * "job", "period_us" and "phases" are required, the rest is optional, since people
 * write such files by hand.  docs/json.md describes each key.  Works on text; callers
 * do the I/O.
 */
#ifndef SCHEDULER_CORE_PROFILE_PROFILE_JSON_H
#define SCHEDULER_CORE_PROFILE_PROFILE_JSON_H

#include <stddef.h>

#include "scheduler/core/profile/profile.h"

struct err;

/* Size limit of a profile file. */
#define PROFILE_JSON_MAX_BYTES (64u << 20)

struct profile_list {
	struct profile *items; /* Owned. */
	size_t n;
};

void profile_list_fini(struct profile_list *list); /* Accepts a zeroed one. */

/* Appends '*profile', which it takes over and leaves zeroed. */
void profile_list_take(struct profile_list *list, struct profile *profile);

/* The profile of 'job', or NULL.  O(list). */
const struct profile *profile_list_find(const struct profile_list *list,
					const char *job);

/*
 * Parses the NUL-terminated 'text' of a profile file; 'file' is its name for messages.
 * Phases come out sorted and 'bytes_per_iteration' filled.  Returns 0, or -EINVAL with
 * 'err' filled and '*ret_list' unchanged.
 */
int profile_json_parse(const char *file, const char *text, size_t length,
		       struct profile_list *ret_list, struct err *err);

/* Returns the text of a profile file; free with free(). */
char *profile_json_text(const struct profile_list *list, size_t *ret_length);

#endif
