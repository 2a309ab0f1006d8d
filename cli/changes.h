/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.h - changes of antiphase-scheduler at the cluster's scheduler, and the log
 * of its requests: its own answer, asked over HTTP or read from a saved file.
 *
 * The answer comes from outside: it is bounded and checked, and a missing member is an
 * error.
 */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

struct err;
struct json_doc;

#define CHANGES_MAX_LINES 100000

/* Texts are borrowed from the answers; NULL if absent. */
struct changes_standing {
	const char *job, *kind, *nodes, *record;
	int64_t at_us;
	bool is_under_way;
};

struct changes_line {
	int64_t id, at_us;
	const char *job, *action, *state, *reason, *text;
	const char *nodes, *record, *error;
};

/* One answer as received; the log takes several. */
struct changes_answer {
	struct strbuf body;
	struct json_doc *doc; /* Owned. */
};

struct changes {
	VEC(struct changes_answer) answers;
	int64_t at_us, since_us;
	bool has_log; /* The daemon keeps a log. */
	bool is_more; /* Older lines exist that were not requested. */
	VEC(struct changes_standing) standing;
	VEC(struct changes_line) lines; /* Newest first. */
};

struct changes_filter {
	const char *job; /* NULL: all jobs. */
	/* Lines of this last time; 0: all.  In a file counted back from its own time. */
	int64_t last_us;
	size_t n_max; /* Number of lines, at most CHANGES_MAX_LINES. */
};

/*
 * Asks 'address'.  Returns CLI_OK; or, with 'err' filled, CLI_UNREACHABLE (no answer,
 * or not from antiphase-scheduler) or CLI_USAGE (no valid address).  'ret_changes'
 * needs changes_fini() either way.
 */
int changes_ask(const char *address, const struct changes_filter *filter,
		struct changes *ret_changes, struct err *err);
/* The same from a file; CLI_USAGE for every failure. */
int changes_read(const char *file, const struct changes_filter *filter,
		 struct changes *ret_changes, struct err *err);
void changes_fini(struct changes *changes);

#endif
