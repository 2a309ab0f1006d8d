/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_text.h - the words of a segment's text that make a collective call:
 *
 *	OPERATION SIZE [over GROUP | over RANK-RANK[/STEP] | RANK->RANK] [ALGORITHM]
 *
 * For segment_text.c.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_CALL_TEXT_H
#define SCHEDULER_CORE_WORKLOAD_CALL_TEXT_H

#include "scheduler/core/workload/work_call.h"

struct err;

/* Kinds of words. */
enum call_text {
	CALL_TEXT_OTHER, /* Not of a call. */
	CALL_TEXT_OP,
	CALL_TEXT_OVER,
	CALL_TEXT_ALGORITHM,
	CALL_TEXT_PAIR,
	N_CALL_TEXTS,
};

enum call_text call_text_kind(const char *word);
enum collective_op call_text_op(const char *word);

/*
 * Reads an option, of a kind after CALL_TEXT_OP, and the text up to the next one.
 * Returns 0 or -EINVAL with 'err' filled.
 */
int call_text_read(const char *file, unsigned line, enum call_text kind,
		   const char *word, const char *after, struct work_call *call,
		   struct err *err);

/*
 * After the last word: 'seen' has the kinds of options that were there.  "send" and
 * "allreduce" without any become COLLECTIVE_OP_NONE.  Returns 0, or -EINVAL with 'err'
 * filled for what does not fit together.
 */
int call_text_finish(const char *file, unsigned line, const bool seen[N_CALL_TEXTS],
		     bool computes, struct work_call *call, struct err *err);

#endif
