/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_text.h - readers of the output of squeue, sinfo and scontrol, 22.05 to 26.05.
 * Pure.
 *
 * Users choose names and comments of jobs, with blanks, quotes, any divider, even new
 * lines. So each field of a job ends in a mark, drawn anew for each poll and passed to
 * squeue in its environment, which users cannot read: no user can write the end of a
 * field into a name. Output without the requested form is refused as a whole.
 *
 * Strings that users wrote become printable UTF-8: '?' for each other byte.
 */
#ifndef SCHEDULER_SLURM_SLURM_TEXT_H
#define SCHEDULER_SLURM_SLURM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scheduler_driver.h"

struct err;
struct strbuf;

/* Size of a mark, with the terminator; it begins with a letter, and has no comma. */
#define SLURM_MARK_SIZE 24

/*
 * What the gate (job_submit.lua) writes into AdminComment of a job that it holds back,
 * with the end of the gate in seconds since 1970.
 */
#define SLURM_GATE_RECORD "antiphase:v1;gate"
#define SLURM_GATE_UNTIL  ";until="

/*
 * What users say in a job's comment: words behind this, in any case, divided by blanks,
 * commas or semicolons ("antiphase: movable iter_us=255000 comm_us=102000").
 */
#define SLURM_COMMENT "antiphase:"
#define SLURM_MOVABLE "movable"

/* The marks in the record of a job that we pinned, hard or softly. */
#define SLURM_PINNED    "pinned"
#define SLURM_PREFERRED "preferred"

/* The feature of a preferred node, followed by the job's id. */
#define SLURM_FEATURE "AP"

/* Appends "SQUEUE_FORMAT2=..." for 'squeue -h -a -r' and slurm_read_jobs(). */
void slurm_jobs_format(const char *mark, struct strbuf *out);

/*
 * For 'squeue -h -a -r -t PD,R -o', which alone has this field; slurm_read_excluded().
 */
#define SLURM_EXCLUDED_FORMAT "%i|%x|"

/* For 'sinfo -h -a -N -o' and slurm_read_nodes(). */
#define SLURM_NODES_FORMAT "%N|%T|%R|%c|%f|%b|"

/*
 * Reads jobs into 'snapshot', which has none yet, sorted by id, without those that
 * ended. The waiting tasks of an array with equal properties become one job with the id
 * of the first, which starts next and can be placed; the same if squeue has them in one
 * row ("4711_[3-9%2]").
 *
 * A job is gated if it has the gate's record and may not start before the time in that
 * record, which is after snapshot->at_us (to be set before). Any other start time is
 * its user's, or Slurm's own, which delays requeued jobs. Times are UTC (TZ=UTC,
 * SLURM_TIME_FORMAT=standard). 0, -EINVAL or -E2BIG with 'err' filled. O(n log n).
 */
int slurm_read_jobs(const char *text, size_t n, const char *mark,
		    struct sched_snapshot *snapshot, struct err *err);

/*
 * The same in steps of a few milliseconds, for a loop; 'text' and 'mark' are borrowed.
 * A step returns 1 if more steps are needed, 0 if the jobs can be taken, or -errno.
 */
struct slurm_reader;
struct slurm_reader *slurm_reader_new(const char *text, size_t n, const char *mark,
				      int64_t at_us);
void slurm_reader_free(struct slurm_reader *reader); /* Accepts NULL. */
int slurm_reader_step(struct slurm_reader *reader, struct err *err);
void slurm_reader_take(struct slurm_reader *reader, struct sched_snapshot *snapshot);

/* Sets the excluded nodes of the jobs of 'snapshot'. 0, or -EINVAL. */
int slurm_read_excluded(const char *text, size_t n, struct sched_snapshot *snapshot,
			struct err *err);

/* A node's features as Slurm lists them, including ours; "" for none. */
struct slurm_features {
	char *node; /* Owned, as all here. */
	char *available, *active;
};

struct slurm_nodes {
	struct sched_node *nodes; /* Sorted by name; one of two partitions is one.  NULL
				  * when they were taken. */
	struct slurm_features *features; /* Of nodes[i]. */
	size_t n;
};

/* 0, -EINVAL or -E2BIG with 'err' filled.  Features without ours are in nodes[]. */
int slurm_read_nodes(const char *text, size_t n, struct slurm_nodes *ret_nodes,
		     struct err *err);
void slurm_nodes_fini(struct slurm_nodes *nodes); /* Accepts a zeroed one. */
/* Moves nodes[] into 'snapshot', which has none; the features stay. */
void slurm_nodes_take(struct slurm_nodes *nodes, struct sched_snapshot *snapshot);

/*
 * Turns the output of 'scontrol show topology' into a topology.conf for
 * topology/read.h: a line per switch, with nodes for the lowest level, with switches
 * above. -ENODATA if Slurm has no switches (topology/flat, block), or -EINVAL.
 */
int slurm_topology_conf(const char *text, size_t n, struct strbuf *out,
			struct err *err);

/* "slurm 22.05.8" of 'scontrol -V' as 2205; 0 for any other form. */
unsigned slurm_version(const char *text);

/* "4711" or "4711_2": an id that actions accept. */
bool slurm_is_job_id(const char *id);
/* "4711+0", a part of a heterogeneous job: only its comments can be changed. */
bool slurm_is_het_id(const char *id);

/* Whether our record has that word: "pinned" in "antiphase:v1;shift_us=1;pinned". */
bool slurm_record_has(const char *record, const char *word);

/* The job's id, borrowed, of our feature "AP4711_2"; NULL for other features. */
const char *slurm_feature_job(const char *feature);

/*
 * Appends the list of features 'list' (divided by commas) with or without 'feature':
 * one of ours, or NULL for none. Duplicates are dropped.
 */
void slurm_features_with(const char *list, const char *feature, struct strbuf *out);
void slurm_features_without(const char *list, const char *feature, struct strbuf *out);

#endif
