/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_fields.h - pieces of a text, for slurm_text*.c alone. */
#ifndef SCHEDULER_SLURM_SLURM_FIELDS_H
#define SCHEDULER_SLURM_SLURM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched_job;
struct sched_snapshot;

struct slurm_piece {
	const char *text; /* Borrowed; not terminated. */
	size_t n;
};

bool slurm_piece_is(struct slurm_piece piece, const char *word);
/* Reads the number in front, and its length in digits; false for none, or above max. */
bool slurm_piece_number(struct slurm_piece piece, uint64_t max, uint64_t *ret_number,
			size_t *ret_n);
/* A new string of printable UTF-8. */
char *slurm_piece_clean(struct slurm_piece piece);
/* The same, and "" for Slurm's words for nothing. */
char *slurm_piece_value(struct slurm_piece piece);

/* Cuts the next line off 'rest'; false at the end. */
bool slurm_next_line(struct slurm_piece *rest, struct slurm_piece *ret_line);
/* Cuts the next field, which ends in '|', off 'line'; false without one. */
bool slurm_next_column(struct slurm_piece *line, struct slurm_piece *ret_field);

/* The task number of "4711_3"; 0 without one. */
unsigned long slurm_task_of(const struct sched_job *job);
/* Both are waiting tasks of one array, with equal properties. */
bool slurm_is_same_array(const struct sched_job *a, const struct sched_job *b);

/* Zero to begin with. */
enum slurm_sorting {
	SLURM_SORT_BEGIN,
	SLURM_SORT_MERGE,
	SLURM_SORT_JOBS,
	SLURM_SORT_INDEX,
	SLURM_SORT_OVER,
};

/* Sorts in steps of O(n log n), and merges arrays; true if there are more. */
bool slurm_sort_step(struct sched_snapshot *snapshot, enum slurm_sorting *stage);

#endif
