/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_moves.h"

#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "scheduler/core/advise/advice_doc.h"

static void
put_move(const struct advice_doc_job *job, bool is_live, struct strbuf *line)
{
	const struct advice_doc_move *move = &job->move;

	strbuf_printf(line, "+ %s moves from ", job->name);
	hostlist_fold(move->from, move->n_from, line);
	/* The table shows the hosts of an advice in a file. */
	if (is_live) {
		strbuf_puts(line, " to ");
		hostlist_fold(job->hosts, job->n_hosts, line);
	}
	strbuf_printf(line, "%s%s and loses %.0f s", *move->with ? ", with " : "",
		      move->with, move->lost_s);
	strbuf_printf(
		line,
		"; goodput in weight x s: cost %.0f, gain %.0f; pays back in %.0f s",
		move->goodput_lost_s, move->goodput_gained_s, move->payback_s);
}

void
advice_moves_print(const struct advice_doc *doc, FILE *out)
{
	for (size_t j = 0; j < doc->n_jobs; j++) {
		struct strbuf line = STRBUF_EMPTY;

		if (!doc->jobs[j].is_moved)
			continue;
		put_move(&doc->jobs[j], doc->is_live, &line);
		/* Users choose names: remove what would control a terminal. */
		utf8_disarm(line.text, 0);
		fprintf(out, "%s\n", line.text);
		strbuf_free(&line);
	}
}
