/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_setup.c - what 'antiphase setup' reads: a journal, if it begins with a brace, which
 * is written as it was read; or else a slurm.conf
 */
#include <stdlib.h>
#include <string.h>

#include "cli/setup/journal.h"
#include "cli/setup/slurm_facts.h"
#include "lib/base/err.h"
#include "lib/base/words.h"
#include "tests/fuzz/fuzz.h"

static void
read_journal(const char *text)
{
	struct journal journal, again;
	struct err err;
	char *first, *second;

	if (journal_parse(&journal, "journal", text, strlen(text), &err) < 0) {
		BUG_ON(journal.entries.n);
		return;
	}
	first = journal_text(&journal);
	BUG_ON(journal_parse(&again, "journal", first, strlen(first), &err) < 0);
	second = journal_text(&again);
	BUG_ON(strcmp(first, second) != 0);
	free(first);
	free(second);
	journal_fini(&journal);
	journal_fini(&again);
}

static void
read_slurm(const char *text)
{
	struct slurm_facts facts;

	slurm_facts_read(&facts, text, "n1");
	BUG_ON(facts.nodes.n > SLURM_FACTS_MAX_NODES);
	for (size_t i = 0; i < facts.nodes.n; i++)
		BUG_ON(!words_is_name(facts.nodes.items[i], SLURM_FACTS_MAX_NAME));
	BUG_ON(facts.controller &&
	       !words_is_name(facts.controller, SLURM_FACTS_MAX_NAME));
	slurm_facts_fini(&facts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	if (*text == '{')
		read_journal(text);
	else
		read_slurm(text);
	free(text);
	return 0;
}
