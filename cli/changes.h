/*
 * changes.h - what antiphase-scheduler changed at the cluster's scheduler, and the log of
 * what it asked for: its own answer, asked over HTTP or read from a file that one was
 * saved to.
 *
 * The answer comes from outside: it is bounded, checked, and what it lacks is an error.
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

/* Texts are borrowed from the answers; of both, NULL where there is none. */
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

/* One answer as it came; the log is asked for in several. */
struct changes_answer {
	struct strbuf body;
	struct json_doc *doc; /* Owned. */
};

struct changes {
	VEC(struct changes_answer) answers;
	int64_t at_us, since_us;
	bool has_log; /* It keeps one. */
	bool is_more; /* There are older lines, which were not asked for. */
	VEC(struct changes_standing) standing;
	VEC(struct changes_line) lines; /* Newest first. */
};

struct changes_filter {
	const char *job; /* NULL: of all. */
	int64_t last_us; /* Lines of the last so long; 0: all.  Of a file: from its own
			  * moment on. */
	size_t n_max;    /* So many, at most CHANGES_MAX_LINES. */
};

/*
 * Asks 'address'.  Returns CLI_OK, or with 'err' filled CLI_UNREACHABLE (nobody there, or
 * no answer of ours) or CLI_USAGE (no such address).  'ret_changes' needs changes_fini()
 * either way.
 */
int changes_ask(const char *address, const struct changes_filter *filter,
		struct changes *ret_changes, struct err *err);
/* The same from a file; CLI_USAGE for all that is wrong. */
int changes_read(const char *file, const struct changes_filter *filter,
		 struct changes *ret_changes, struct err *err);
void changes_fini(struct changes *changes);

#endif
