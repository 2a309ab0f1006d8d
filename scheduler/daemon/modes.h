/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes.h - the modes: what antiphase-scheduler may do, partition by partition.
 *
 *	observe   it reports what it sees; no job is touched
 *	advise    it writes a record that users can see
 *	enforce   it places waiting jobs and shifts running ones
 *
 * In enforce, running jobs are moved only in partitions that say so.
 *
 * While the kill switch, a file, exists, all partitions are in observe, and earlier
 * changes are undone. Pure.
 */
#ifndef SCHEDULER_DAEMON_MODES_H
#define SCHEDULER_DAEMON_MODES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

struct err;
struct sched_snapshot;
struct strbuf;

enum mode {
	MODE_OBSERVE,
	MODE_ADVISE,
	MODE_ENFORCE,
};

#define MODES_MAX_PARTITIONS 256
#define MODES_MAX_NAME       128

/* "observe", "advise", "enforce"; NULL-terminated. */
extern const char *const mode_names[];

struct mode_of_partition {
	char *partition; /* Owned. */
	enum mode mode;
};

struct modes {
	enum mode usual;
	bool is_stopped; /* The kill switch. */
	VEC(struct mode_of_partition) others;
	VEC(char *) movers; /* Owned.  Partitions where running jobs may be moved. */
};

/*
 * Fills 'ret_modes' from a mode's name and a list "train=enforce,debug=observe" (may be
 * ""); the kill switch is off.  0, or -EINVAL with 'err' filled.
 */
int modes_parse(const char *usual, const char *list, struct modes *ret_modes,
		struct err *err);
/* Takes the partitions of a list "train,debug," (may be "") as those with moves. */
int modes_read_movers(struct modes *modes, const char *list, struct err *err);
void modes_fini(struct modes *modes); /* Accepts a zeroed one. */

/* The mode in effect; 'partition' may be "". */
enum mode modes_now(const struct modes *modes, const char *partition);
/* Whether running jobs of the partition may be moved now. */
bool modes_may_move(const struct modes *modes, const char *partition);
/* The mode, ignoring the kill switch. */
enum mode modes_set_for(const struct modes *modes, const char *partition);
/* 'partition' "" or NULL: the usual mode. 0, -EINVAL for a bad name, -E2BIG. */
int modes_change(struct modes *modes, const char *partition, enum mode mode);
/* Whether any partition is in 'mode' now. */
bool modes_any(const struct modes *modes, enum mode mode);
/*
 * Appends the names, divided by ", ", of partitions that have settings of their own and
 * no node in the snapshot, each with the likely intended name. Returns how many.
 * O(modes * nodes).
 */
size_t modes_add_unknown(const struct modes *modes,
			 const struct sched_snapshot *snapshot, struct strbuf *out);

#endif
