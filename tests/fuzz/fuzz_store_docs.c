/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_store_docs.c - texts as documents of the store that a restart reads: the first
 * byte selects the kind; what is found is possible, and the rest is left out
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/move_log.h"
#include "scheduler/daemon/outcome.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"
#include "tests/fuzz/fuzz.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

#define JOB     "4711"
#define AGE_US  INT64_C(3600000000)
#define N_PLACE 3

static struct store *store;
static struct topo *topo;

static void
begin_once(void)
{
	static char fabric[] =
		"leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 2 --gbps 50";

	if (store)
		return;
	BUG_ON(store_open(":memory:", NULL, &store, NULL) < 0);
	BUG_ON(gen_text(fabric, &topo, NULL) < 0);
}

static void
read_change(void)
{
	struct decide_changes changes = { .items = VEC_EMPTY };
	struct err err = { 0 };

	BUG_ON(persist_read_changes(store, &changes, &err) < 0);
	for (size_t i = 0; i < changes.items.n; i++) {
		const struct decide_change *change = &changes.items.items[i];

		BUG_ON(change->kind > DECIDE_MOVE || !change->nodes ||
		       !change->record || !change->before);
		BUG_ON(change->at_us < 0 || change->valid_until_us < 0);
	}
	decide_changes_fini(&changes);
}

static void
check_profile(const struct profile *profile)
{
	BUG_ON(profile->period_us < 1 || !isfinite(profile_peak_bps(profile)));
}

static void
each_profile(void *ctx, const char *job, const struct profile *profile,
	     const uint32_t *hosts, uint32_t n_hosts, int64_t at_us)
{
	(void)ctx;
	(void)at_us;
	BUG_ON(strcmp(job, JOB) != 0 || n_hosts < 2);
	check_profile(profile);
	for (uint32_t i = 0; i < n_hosts; i++)
		BUG_ON(hosts[i] >= topo_n_nodes(topo) ||
		       (i && hosts[i] < hosts[i - 1]));
}

static void
read_profile(const char *text)
{
	const struct sched_job job = { .user = (char[]){ "u" },
				       .name = (char[]){ "n" },
				       .n_nodes = 2 };
	struct profile earlier;
	struct err err = { 0 };
	int64_t at_us;

	BUG_ON(persist_read_profiles(store, topo, AGE_US, each_profile, NULL, &err) <
	       0);
	store_put(store, STORE_PROFILE, "u/n", clk_wall_us(), text);
	if (persist_find_earlier(store, &job, AGE_US, &earlier, &at_us, &err) == 1) {
		check_profile(&earlier);
		profile_fini(&earlier);
	}
	store_delete(store, STORE_PROFILE, "u/n");
}

static void
read_paths(void)
{
	static const uint32_t hosts[] = { 0, 1 };
	struct persist_paths paths = { .topo = topo, .hosts = hosts, .n_hosts = 2 };
	struct err err = { 0 };
	int r = persist_find_paths(store, JOB, &paths, &err);

	BUG_ON((r < 0) != (err.text[0] != '\0'));
	for (size_t i = 0; r == 1 && i < paths.n_paths; i++)
		BUG_ON(paths.paths[i] != WORK_HASHED &&
		       paths.paths[i] >= ROUTE_MAX_PATHS);
	free(paths.paths);
}

static void
read_move(void)
{
	struct move_log *log;

	BUG_ON(move_log_open(store, &log, NULL) < 0);
	(void)move_log_allowed(log, clk_wall_us(), 10, 0.5);
	(void)move_log_is_resting(log, JOB, clk_wall_us());
	move_log_free(log);
}

/* As outcomes_restore(), which needs the whole daemon. */
static void
read_outcome(const char *text)
{
	struct json_doc *doc;
	const struct json *state;
	struct outcome outcome;

	if (json_parse("store", text, strlen(text), &doc, NULL) < 0)
		return;
	state = json_find(json_root(doc), "state");
	if (state && outcome_state_read(doc, state, &outcome) == 0) {
		BUG_ON(outcome.has_place && !outcome.nodes);
		BUG_ON(outcome.verdict >= OUTCOME_N_VERDICTS);
		(void)outcome_runs_on(&outcome, "h0");
		(void)outcome_slowdown(&outcome, 1000000000);
		outcome_fini(&outcome);
	}
	json_doc_free(doc);
}

static void
read_log(const char *text)
{
	const struct store_line line = { .id = 7, .key = JOB, .json = text };
	struct strbuf out = STRBUF_EMPTY;
	struct json_doc *doc;
	int64_t id = 0;

	if (persist_log_line(&line, &out)) {
		BUG_ON(json_parse("line", out.text, out.length, &doc, NULL) < 0);
		BUG_ON(json_get_int(doc, json_root(doc), "id", 7, 7, &id, NULL) < 0);
		json_doc_free(doc);
	} else {
		BUG_ON(out.length);
	}
	strbuf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum store_kind kinds[] = { STORE_CHANGE,  STORE_PROFILE,
						 STORE_PATHS,   STORE_MOVE,
						 STORE_OUTCOME, STORE_LOG };
	enum store_kind kind;
	char *text;

	if (!size)
		return 0;
	begin_once();
	kind = kinds[data[0] % (sizeof kinds / sizeof *kinds)];
	text = fuzz_text(data + 1, size - 1);
	if (kind == STORE_OUTCOME) {
		read_outcome(text);
	} else if (kind == STORE_LOG) {
		read_log(text);
	} else {
		store_put(store, kind, JOB, clk_wall_us(), text);
		if (kind == STORE_CHANGE)
			read_change();
		else if (kind == STORE_PROFILE)
			read_profile(text);
		else if (kind == STORE_PATHS)
			read_paths();
		else
			read_move();
		store_delete(store, kind, JOB);
	}
	free(text);
	return 0;
}
