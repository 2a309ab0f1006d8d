/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/call_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/words.h"

/* Digits of a rank: there are at most 2^32. */
#define MAX_DIGITS 9

enum call_text
call_text_kind(const char *word)
{
	if (words_index(word, collective_op_names) >= 0)
		return CALL_TEXT_OP;
	if (!strcmp(word, "over"))
		return CALL_TEXT_OVER;
	if (words_index(word, collective_algorithm_names) >= 0)
		return CALL_TEXT_ALGORITHM;
	return strstr(word, "->") ? CALL_TEXT_PAIR : CALL_TEXT_OTHER;
}

enum collective_op
call_text_op(const char *word)
{
	return (enum collective_op)(words_index(word, collective_op_names) + 1);
}

/* Reads a rank at 's' and returns what follows, or NULL. */
static const char *
read_rank(const char *s, uint32_t *ret_rank)
{
	size_t n = strspn(s, "0123456789");

	if (!n || n > MAX_DIGITS)
		return NULL;
	*ret_rank = (uint32_t)strtoul(s, NULL, 10);
	return s + n;
}

/* Reads "0-3", or "0-12/4" for each fourth of them. */
static int
read_range(const char *file, unsigned line, const char *range, struct work_call *call,
	   struct err *err)
{
	const char *s = read_rank(range, &call->from);

	call->step = 1;
	if (s && *s == '-')
		s = read_rank(s + 1, &call->to);
	else
		s = NULL;
	if (s && *s == '/')
		s = read_rank(s + 1, &call->step);
	if (!s || *s)
		return err_set(err, file, line, 0,
			       "expected ranks such as 0-3, or 0-12/4 for each fourth, "
			       "after 'over', not '%s'",
			       range);
	if (call->from >= call->to)
		return err_set(err, file, line, 0,
			       "'over %s': expected at least two ranks, the lower one "
			       "first",
			       range);
	if (!call->step || (call->to - call->from) % call->step)
		return err_set(err, file, line, 0,
			       "'over %s': steps of %u do not lead from rank %u to "
			       "rank %u",
			       range, call->step, call->from, call->to);
	call->over = WORK_OVER_RANGE;
	return 0;
}

static int
read_group(const char *file, unsigned line, const char *group, struct work_call *call,
	   struct err *err)
{
	int kind = words_index(group, rank_group_names);

	if (*group >= '0' && *group <= '9')
		return read_range(file, line, group, call, err);
	if (kind < 0) {
		err_set(err, file, line, 0,
			"expected tp, dp, ep or pp, or ranks such as 0-3, after "
			"'over', not '%s'",
			group);
		err_suggest(err, group, rank_group_names);
		return -EINVAL;
	}
	call->over = (unsigned)kind;
	return 0;
}

static int
read_pair(const char *file, unsigned line, const char *word, struct work_call *call,
	  struct err *err)
{
	const char *s = read_rank(word, &call->from);

	if (s && !strncmp(s, "->", 2))
		s = read_rank(s + 2, &call->to);
	if (!s || *s)
		return err_set(err, file, line, 0,
			       "expected the numbers of two ranks such as 0->8, not "
			       "'%s'",
			       word);
	if (call->from == call->to)
		return err_set(err, file, line, 0, "rank %u cannot send to itself",
			       call->from);
	call->over = WORK_OVER_PAIR;
	return 0;
}

int
call_text_read(const char *file, unsigned line, enum call_text kind, const char *word,
	       const char *after, struct work_call *call, struct err *err)
{
	if (kind == CALL_TEXT_OVER)
		return read_group(file, line, after, call, err);
	if (*after)
		return err_set(err, file, line, 0,
			       "expected nothing after '%s', not '%s'", word, after);
	if (kind == CALL_TEXT_PAIR)
		return read_pair(file, line, word, call, err);
	call->algorithm = (enum collective_algorithm)words_index(
		word, collective_algorithm_names);
	return 0;
}

/* Lists the algorithms of the operation for groups of a power of two. */
static int
bad_algorithm(const char *file, unsigned line, const struct work_call *call,
	      struct err *err)
{
	const char *separator = "expected ";

	err_set(err, file, line, 0, "'%s' has no algorithm '%s'; ",
		collective_op_names[call->op - 1],
		collective_algorithm_names[call->algorithm]);
	for (int a = 0; a < N_COLLECTIVE_ALGORITHMS; a++) {
		if (collective_op_fault(call->op, (enum collective_algorithm)a, 2))
			continue;
		err_append(err, "%s%s", separator, collective_algorithm_names[a]);
		separator = " or ";
	}
	return -EINVAL;
}

int
call_text_finish(const char *file, unsigned line, const bool seen[N_CALL_TEXTS],
		 bool computes, struct work_call *call, struct err *err)
{
	const char *op = collective_op_names[call->op - 1];
	bool is_send = call->op == COLLECTIVE_SEND;

	if (seen[CALL_TEXT_ALGORITHM] && (is_send || call->op == COLLECTIVE_ALLTOALL))
		return err_set(err, file, line, 0, "'%s' has no choice of algorithms",
			       op);
	if (seen[CALL_TEXT_PAIR] && seen[CALL_TEXT_OVER])
		return err_set(err, file, line, 0,
			       "expected either 'over GROUP' or two ranks, not both");
	if (seen[CALL_TEXT_PAIR] && !is_send)
		return err_set(err, file, line, 0,
			       "'%u->%u' belongs to 'send', not to '%s'", call->from,
			       call->to, op);
	if (is_send && seen[CALL_TEXT_OVER] && call->over != RANK_GROUP_PP)
		return err_set(
			err, file, line, 0,
			"'send' goes over pp, to the next stage, or from rank to "
			"rank as in 'send 50 MB 0->8'; not over %s",
			call->over < N_RANK_GROUPS ? rank_group_names[call->over]
						   : "a range of ranks");
	if (collective_op_fault(call->op, call->algorithm, 2))
		return bad_algorithm(file, line, call, err);
	if (computes && call->algorithm != COLLECTIVE_BY_RING)
		return err_set(err, file, line, 0,
			       "no '+' with '%s': it has several phases, and only the "
			       "first would overlap with the computing",
			       collective_algorithm_names[call->algorithm]);
	if ((is_send || call->op == COLLECTIVE_ALLREDUCE) && !seen[CALL_TEXT_PAIR] &&
	    !seen[CALL_TEXT_OVER] && !seen[CALL_TEXT_ALGORITHM])
		*call = (struct work_call){ .op = COLLECTIVE_OP_NONE };
	return 0;
}
