/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_text.c - possible output of squeue, sinfo and scontrol.  The first byte
 * selects the reader; '\x1e' stands for the mark.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "scheduler/slurm/slurm_text.h"
#include "tests/fuzz/fuzz.h"

#define MARK "~q0123456789abcdef~"

static void
read_jobs(const char *text, size_t n)
{
	struct sched_snapshot snapshot = { .at_us = 1 };
	struct strbuf marked = STRBUF_EMPTY;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\x1e')
			strbuf_puts(&marked, MARK);
		else
			strbuf_putc(&marked, text[i]);
	}
	if (slurm_read_jobs(marked.text, marked.length, MARK, &snapshot, NULL) == 0)
		slurm_read_excluded(text, n, &snapshot, NULL);
	for (size_t i = 0; i < snapshot.n_jobs; i++) {
		if (!sched_find_job(&snapshot, snapshot.jobs[i].id))
			abort();
		if (!sched_find_local(&snapshot, snapshot.jobs[i].local_id))
			abort();
	}
	sched_snapshot_fini(&snapshot);
	strbuf_free(&marked);
}

static void
read_nodes(const char *text, size_t n)
{
	struct sched_snapshot snapshot = { .at_us = 1 };
	struct slurm_nodes nodes;

	if (slurm_read_nodes(text, n, &nodes, NULL) < 0)
		return;
	slurm_nodes_take(&nodes, &snapshot);
	for (size_t i = 0; i < snapshot.n_nodes; i++) {
		if (sched_find_node(&snapshot, snapshot.nodes[i].name) !=
		    &snapshot.nodes[i])
			abort();
	}
	slurm_nodes_fini(&nodes);
	sched_snapshot_fini(&snapshot);
}

static void
read_words(const char *text, size_t n)
{
	struct strbuf out = STRBUF_EMPTY, back = STRBUF_EMPTY;
	char *copy = strndup(text, n);

	slurm_features_with(copy, "AP1", &out);
	slurm_features_without(out.text, "AP1", &back);
	if (back.length > out.length)
		abort();
	strbuf_clear(&out);
	slurm_topology_conf(text, n, &out, NULL);
	slurm_is_job_id(copy);
	slurm_record_has(copy, "pinned");
	slurm_version(copy);
	strbuf_free(&out);
	strbuf_free(&back);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size < 1)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_jobs(text, size - 1);
		break;
	case 1:
		read_nodes(text, size - 1);
		break;
	default:
		read_words(text, size - 1);
	}
	return 0;
}
