/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_payers.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/advise/advise.h"

#define WRAP_COLUMNS 78
#define MAX_NAMES    3

/* A relative change of iteration times below this is neither a gain nor a loss. */
#define NO_GAIN 0.005

static double
gain_of(const struct advice_doc_job *job)
{
	return 0.5 * (job->gain_low + job->gain_high);
}

static bool
share_a_link(const struct advice_doc *doc, const struct advice_doc_job *a,
	     const struct advice_doc_job *b)
{
	for (size_t i = 0; i < doc->n_links; i++)
		if (advice_doc_link_has(&doc->links[i], a) &&
		    advice_doc_link_has(&doc->links[i], b))
			return true;
	return false;
}

/* Appends the jobs that gain on the links of 'payer', and returns how many. */
static size_t
put_winners(const struct advice_doc *doc, const struct advice_doc_job *payer,
	    struct strbuf *text)
{
	size_t n = 0;

	for (size_t j = 0; j < doc->n_jobs; j++) {
		const struct advice_doc_job *job = &doc->jobs[j];

		if (job == payer || gain_of(job) < NO_GAIN ||
		    !share_a_link(doc, job, payer))
			continue;
		if (n++ < MAX_NAMES)
			strbuf_printf(text, "%s%s", n > 1 ? ", " : "", job->name);
	}
	if (n > MAX_NAMES)
		strbuf_printf(text, " and %zu more", n - MAX_NAMES);
	return n;
}

static void
put_payer(const struct advice_doc *doc, const struct advice_doc_job *job,
	  struct strbuf *text)
{
	struct strbuf winners = STRBUF_EMPTY;
	size_t n = put_winners(doc, job, &winners);
	const char *who = n ? winners.text : "others";

	strbuf_printf(text, "Iterations of %s take %.1f %% longer, ", job->name,
		      -100 * gain_of(job));
	if (job->pacing && strcmp(job->pacing, "gate") == 0)
		strbuf_printf(text, "as it waits at the gate while %s send%s. ", who,
			      n == 1 ? "s" : "");
	else if (job->pacing && strcmp(job->pacing, "realign") == 0)
		strbuf_printf(text,
			      "as it waits for the next point of its grid, out of the "
			      "way of %s. ",
			      who);
	else
		strbuf_printf(text, "for the benefit of %s. ", who);
	strbuf_free(&winners);
}

void
advice_payers_put(const struct advice_doc *doc, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	for (size_t j = 0; j < doc->n_jobs; j++)
		if (doc->jobs[j].n_hosts && gain_of(&doc->jobs[j]) <= -NO_GAIN)
			put_payer(doc, &doc->jobs[j], &text);
	if (text.length) {
		if (doc->goodput_after > doc->goodput_before)
			strbuf_puts(&text, "The goodput of all jobs together rises. ");
		if (strcmp(doc->policy, advise_policy_names[ADVISE_ANTIPHASE]) == 0)
			strbuf_puts(&text,
				    "--max-slowdown limits what one of them may lose.");
		strbuf_putc(out, '\n');
		strbuf_wrap(out, text.text, 0, 0, WRAP_COLUMNS);
		strbuf_putc(out, '\n');
	}
	strbuf_free(&text);
}
