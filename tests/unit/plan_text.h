/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_text.h - the grants of a plan as text: "b 0:4 1:2" is the second job with four
 * GPUs of node 0 and two of node 1
 */
#ifndef TESTS_UNIT_PLAN_TEXT_H
#define TESTS_UNIT_PLAN_TEXT_H

#include "lib/base/strbuf.h"
#include "policies/policy.h"

/* Appends the job of 'grant', after a comma if 'text' is not empty. */
static inline void
plan_text_add(struct strbuf *text, const struct pol_plan *plan,
	      const struct pol_grant *grant)
{
	const struct pol_piece *pieces = plan->pieces.items + grant->first_piece;

	strbuf_printf(text, "%s%c", text->length ? ", " : "", 'a' + (int)grant->job);
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		strbuf_printf(text, " %u:%u", pieces[i].node, pieces[i].n_gpus);
}

#endif
