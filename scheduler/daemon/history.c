/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/history.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"

#define SPAN_S 300
/* Links of one step. */
#define LINKS_A_STEP 16

struct history {
	struct strtab *links; /* Owned. Those that have a place in 'span'. */
	int64_t span;         /* Number of the current five minutes. */
	size_t n_rows;        /* Rows of this second so far. */
	size_t next;          /* The next link of the scan. */
	int64_t done_s;       /* Frame time of the last second that is complete. */
	uint32_t n_left_out, n_left_out_now;
};

struct history *
history_new(void)
{
	struct history *history = xcalloc(1, sizeof *history);

	history->links = strtab_new();
	return history;
}

void
history_free(struct history *history)
{
	if (!history)
		return;
	strtab_free(history->links);
	free(history);
}

static bool
has_place(struct history *history, const struct contention_link *link)
{
	if (strtab_find(history->links, link->name) != STRTAB_NONE)
		return true;
	if (history->n_rows >= HISTORY_ROWS || strtab_n(history->links) >= HISTORY_ROWS)
		return false;
	strtab_intern(history->links, link->name);
	return true;
}

static void
add_link(struct history *history, struct store *store, const struct contention *found,
	 const struct live *live, const struct contention_link *link)
{
	struct store_sample sample = {
		.link = link->name,
		.job = "",
		.at_us = found->to_ms * 1000 - 1,
		.bytes = link->now_bps > 0 ? (uint64_t)(link->now_bps / 8) : 0,
		.peak_bps = link->peak_bps > 0 ? (uint64_t)link->peak_bps : 0,
		.over_ms = link->known_ms ? link->over_ms * 1000u / link->known_ms : 0,
	};

	if (link->now_bps < 0)
		return;
	if (!has_place(history, link)) {
		history->n_left_out_now++;
		return;
	}
	store_add_sample(store, &sample);
	history->n_rows++;
	for (size_t k = 0; k < link->n_jobs; k++) {
		const struct contention_job *job = &link->jobs[k];

		if (job->now_bps <= 0)
			continue;
		sample.job = live_job_name(live, job->job);
		sample.bytes = (uint64_t)(job->now_bps / 8);
		sample.peak_bps = job->peak_bps > 0 ? (uint64_t)job->peak_bps : 0;
		sample.over_ms = 0;
		store_add_sample(store, &sample);
		history->n_rows++;
	}
}

/* A new span: all places are free again. */
static void
begin_span(struct history *history, int64_t second)
{
	if (history->span == second / SPAN_S)
		return;
	history->span = second / SPAN_S;
	strtab_free(history->links);
	history->links = strtab_new();
}

bool
history_step(struct history *history, struct store *store,
	     const struct contention *found, const struct live *live)
{
	int64_t second = found->to_ms / 1000;

	/* A scan of the same second adds nothing. */
	if (!store || !found->has_raw || found->to_ms <= 0 || second == history->done_s)
		return false;
	if (history->next == 0) {
		begin_span(history, second);
		history->n_rows = 0;
		history->n_left_out_now = 0;
	}
	for (int i = 0; i < LINKS_A_STEP && history->next < found->n_links; i++)
		add_link(history, store, found, live, &found->links[history->next++]);
	if (history->next >= found->n_links) {
		history->done_s = second;
		history->next = 0;
		history->n_left_out = history->n_left_out_now;
	}
	return true;
}

void
history_restart(struct history *history)
{
	history->next = 0;
}

uint32_t
history_n_left_out(const struct history *history)
{
	return history->n_left_out;
}
