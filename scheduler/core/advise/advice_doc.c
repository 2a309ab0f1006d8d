/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/advice_doc.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* By enum engine_pacing. */
static const char *const pacing_names[] = {
	[ENGINE_PACE_FREE] = "free",
	[ENGINE_PACE_REALIGN] = "realign",
	[ENGINE_PACE_GATE] = "gate",
};

const char *
advice_doc_text(struct advice_doc *doc, const char *text)
{
	return text ? strtab_name(doc->texts, strtab_intern(doc->texts, text)) : NULL;
}

const char *
advice_doc_link_name(struct advice_doc *doc, const struct topo *topo, uint32_t link)
{
	struct strbuf name = STRBUF_EMPTY;
	const char *text;

	topo_link_name(topo, link, &name);
	text = advice_doc_text(doc, name.text);
	strbuf_free(&name);
	return text;
}

static struct advice_doc_link
link_from(struct advice_doc *doc, const struct advice_link *link,
	  const struct topo *topo)
{
	return (struct advice_doc_link){
		.name = advice_doc_link_name(doc, topo, link->link),
		.capacity_bps = topo_link(topo, link->link)->capacity_bps,
		.score_before = link->score_before,
		.score_after = link->score_after,
		.excess_before_bps = link->excess_before_bps,
		.excess_after_bps = link->excess_after_bps,
		.n_jobs = link->n_jobs,
	};
}

static const char *
node_name(struct advice_doc *doc, const struct topo *topo, uint32_t node)
{
	return node == TOPO_NONE ? NULL
				 : advice_doc_text(doc, topo_node(topo, node)->name);
}

static struct advice_doc_path
path_from(struct advice_doc *doc, const struct advice_path *path,
	  const struct workload *workload, const struct topo *topo)
{
	struct advice_doc_path out = {
		.from = node_name(doc, topo, path->source),
		.to = node_name(doc, topo, path->destination),
		.via = node_name(doc, topo, path->via),
		.number = path->number,
		.port = path->port,
		.hashed_via = node_name(doc, topo, path->hashed_via),
		.hashed_jobs = xcalloc(path->n_hashed_jobs + 1, sizeof(char *)),
		.n_hashed_jobs = path->n_hashed_jobs,
	};

	if (path->hashed_link != TOPO_NONE)
		out.hashed_link = advice_doc_link_name(doc, topo, path->hashed_link);
	for (size_t i = 0; i < path->n_hashed_jobs; i++)
		out.hashed_jobs[i] =
			advice_doc_text(doc, workload->jobs[path->hashed_jobs[i]].name);
	return out;
}

void
advice_doc_add_paths(struct advice_doc *doc, const struct advice_path *paths, size_t n,
		     const struct workload *workload, const struct topo *topo,
		     struct advice_doc_job *job)
{
	job->paths =
		xreallocarray(job->paths, job->n_paths + n + 1, sizeof *job->paths);
	for (size_t i = 0; i < n; i++)
		if (paths[i].number != WORK_HASHED)
			job->paths[job->n_paths++] =
				path_from(doc, &paths[i], workload, topo);
}

static void
move_from(struct advice_doc *doc, const struct advice *advice,
	  const struct workload *workload, const struct topo *topo,
	  struct advice_doc_job *job)
{
	const struct advice_move *move = advice->move;

	if (!move)
		return;
	job->is_moved = true;
	job->move = (struct advice_doc_move){
		.from = xcalloc((size_t)advice->n_hosts + 1, sizeof(char *)),
		.n_from = advice->n_hosts,
		.n_workers = move->n_workers,
		.with = move->with == TOPO_NONE
				? ""
				: advice_doc_text(doc, workload->jobs[move->with].name),
		.lost_s = move->lost_s,
		.goodput_gained_s = move->gain,
		.goodput_lost_s = move->cost,
		.payback_s = move->payback_s,
	};
	for (uint32_t i = 0; i < advice->n_hosts; i++)
		job->move.from[i] =
			advice_doc_text(doc, topo_node(topo, move->from[i])->name);
}

static void
job_from(struct advice_doc *doc, const struct advice *advice,
	 const struct workload *workload, const struct topo *topo,
	 struct advice_doc_job *ret_job)
{
	const struct work_job *job = &workload->jobs[advice->job];
	struct advice_doc_job out = {
		.name = advice_doc_text(doc, job->name),
		.reason = reason_name(advice->reason),
		.text = reason_text(advice->reason),
		.remedy = reason_remedy(advice->reason),
		.hosts = xcalloc((size_t)advice->n_hosts + 1, sizeof(char *)),
		.n_hosts = advice->n_hosts,
		.placed_by_us = advice->placed_by_us,
		.period_us = job->profile.period_us,
		.jitter_us = job->profile.jitter_us,
		.pacing = pacing_names[advice->pacing],
		.shift_us = advice->shift_us,
		.slack_us = advice->slack_us,
		.score_before = advice->score_before,
		.score_after = advice->score_after,
		.slowdown_before = advice->slowdown_before,
		.slowdown_after = advice->slowdown_after,
		.has_gain = true,
		.gain_low = advice->gain_low,
		.gain_high = advice->gain_high,
		.links = xcalloc(advice->n_links + 1, sizeof(struct advice_doc_link)),
		.n_links = advice->n_links,
		.n_connections = job->n_connections > 1 ? job->n_connections : 1,
	};

	for (uint32_t i = 0; i < advice->n_hosts; i++)
		out.hosts[i] =
			advice_doc_text(doc, topo_node(topo, advice->hosts[i])->name);
	for (size_t i = 0; i < advice->n_links; i++)
		out.links[i] = link_from(doc, &advice->links[i], topo);
	advice_doc_add_paths(doc, advice->paths, advice->n_paths, workload, topo, &out);
	move_from(doc, advice, workload, topo, &out);
	*ret_job = out;
}

/* A link in the evidence of a job, with one of its jobs. */
struct mention {
	const struct advice_link *link;
	uint32_t job;
};

static int
compare_mentions(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	if (x->link->score_before != y->link->score_before)
		return x->link->score_before < y->link->score_before ? -1 : 1;
	if (x->link->link != y->link->link)
		return x->link->link < y->link->link ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* The contended links where the jobs are, with the names of the jobs on them. */
static void
links_from(const struct advice_set *set, const struct workload *workload,
	   const struct topo *topo, struct advice_doc *doc)
{
	VEC(struct mention) mentions = VEC_EMPTY;
	VEC(struct advice_doc_link) links = VEC_EMPTY;
	struct advice_doc_link *last = NULL;

	for (size_t j = 0; j < set->n; j++) {
		const struct advice *advice = &set->items[j];

		/* The links of a job that was kept apart are those that it avoids. */
		if (reason_is_apart(advice->reason))
			continue;
		for (size_t i = 0; i < advice->n_links; i++)
			vec_push(&mentions,
				 ((struct mention){ &advice->links[i], (uint32_t)j }));
	}
	sort_items(mentions.items, mentions.n, compare_mentions);
	for (size_t i = 0; i < mentions.n; i++) {
		const struct mention *m = &mentions.items[i];

		if (i == 0 || m->link->link != mentions.items[i - 1].link->link) {
			vec_push(&links, link_from(doc, m->link, topo));
			last = &links.items[links.n - 1];
			last->jobs =
				xcalloc((size_t)m->link->n_jobs + 1, sizeof(char *));
			last->n_jobs = 0;
		}
		last->jobs[last->n_jobs++] =
			advice_doc_text(doc, workload->jobs[m->job].name);
	}
	vec_free(&mentions);
	doc->links = links.items;
	doc->n_links = links.n;
}

void
advice_doc_from(const struct advice_set *set, const struct workload *workload,
		const struct topo *topo, const struct advise_opts *opts,
		struct advice_doc *ret_doc)
{
	struct advice_doc doc = {
		.policy = advise_policy_names[opts->policy],
		.seed = (int64_t)opts->seed,
		.n_runs = set->n_runs,
		.n_iterations = set->n_iterations,
		.goodput_before = set->goodput_before,
		.goodput_after = set->goodput_after,
		.has_loop = set->has_loop,
		.jobs = xcalloc(set->n + 1, sizeof(struct advice_doc_job)),
		.n_jobs = set->n,
		.texts = strtab_new(),
	};

	for (size_t j = 0; j < set->n; j++)
		job_from(&doc, &set->items[j], workload, topo, &doc.jobs[j]);
	links_from(set, workload, topo, &doc);
	*ret_doc = doc;
}

struct advice_doc
advice_doc_of_one(void)
{
	return (struct advice_doc){
		.is_live = true,
		.jobs = xcalloc(1, sizeof(struct advice_doc_job)),
		.n_jobs = 1,
		.texts = strtab_new(),
	};
}

void
advice_doc_cut(struct advice_doc *doc, size_t n_kept)
{
	while (doc->n_jobs > n_kept) {
		struct advice_doc_job *job = &doc->jobs[--doc->n_jobs];

		free(job->hosts);
		free(job->links);
		for (size_t i = 0; i < job->n_paths; i++)
			free(job->paths[i].hashed_jobs);
		free(job->paths);
		free(job->move.from);
		free(job->places);
	}
}

void
advice_doc_fini(struct advice_doc *doc)
{
	advice_doc_cut(doc, 0);
	free(doc->jobs);
	for (size_t i = 0; i < doc->n_links; i++)
		free(doc->links[i].jobs);
	free(doc->links);
	strtab_free(doc->texts);
	*doc = (struct advice_doc){ 0 };
}

const struct advice_doc_job *
advice_doc_find_job(const struct advice_doc *doc, const char *name)
{
	for (size_t j = 0; j < doc->n_jobs; j++)
		if (strcmp(doc->jobs[j].name, name) == 0)
			return &doc->jobs[j];
	return NULL;
}

bool
advice_doc_link_is(const struct advice_doc_link *link, const char *name)
{
	size_t from = strcspn(link->name, ">");

	return strcmp(link->name, name) == 0 ||
	       (link->name[from] && strcmp(link->name + from + 1, name) == 0) ||
	       (from == strlen(name) && strncmp(link->name, name, from) == 0);
}

bool
advice_doc_link_has(const struct advice_doc_link *link,
		    const struct advice_doc_job *job)
{
	for (size_t i = 0; i < link->n_jobs; i++)
		if (strcmp(link->jobs[i], job->name) == 0)
			return true;
	return false;
}
