/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_ini.c - a scenario from its text: sections, and the jobs in them.
 * The keys are in scenario_keys.c; what jobs mean on a fabric is
 * scenario_bind.c.
 */
#include "scheduler/core/workload/workload_ini.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strtab.h"
#include "scheduler/core/profile/profile_json.h"
#include "scheduler/core/workload/scenario_reader.h"
#include "topology/topo.h"

#define DEFAULT_ITERATIONS 200

/* 'count' makes many jobs from a short text, so their memory is limited, too. */
#define MAX_JOB_BYTES ((size_t)256 << 20)

static void
draft_fini(struct scenario_draft *draft)
{
	work_job_fini(&draft->job);
	free(draft->details.hosts);
	free(draft->profile);
	vec_free(&draft->segments);
	vec_free(&draft->messages);
	vec_free(&draft->segment_lines);
	segment_names_fini(&draft->segment_names);
	*draft = (struct scenario_draft){ 0 };
}

/* ---- Drafts to jobs -------------------------------------------------------------- */

static int
count_name(void *ctx, const char *name)
{
	uint32_t *n = ctx;

	(void)name;
	++*n;
	return 0;
}

static int
count_hosts(struct scenario_reader *r)
{
	struct scenario_draft *draft = &r->draft;
	const char *why = "too many names";

	if (!draft->details.hosts) {
		if (draft->has_nodes)
			return 0;
		return scenario_fail(
			r,
			"job '%s' needs 'hosts = NAMES', or 'nodes = N' to "
			"wait for a place",
			draft->job.name);
	}
	if (draft->has_nodes)
		return scenario_fail(
			r, "job '%s' has both 'hosts' and 'nodes'; expected one",
			draft->job.name);
	draft->job.n_hosts_wanted = 0;
	if (hostlist_expand(draft->details.hosts, TOPO_MAX_NODES, count_name,
			    &draft->job.n_hosts_wanted, &why) < 0) {
		r->line = draft->details.hosts_line;
		return scenario_fail(r, "hosts = %s: %s", draft->details.hosts, why);
	}
	return 0;
}

/* The profile with the name after '#', or the only one. */
static int
pick_profile(struct scenario_reader *r, const char *path, const char *name,
	     const struct profile_list *list, const struct profile **ret_profile)
{
	const char **names;

	if (!name && list->n == 1) {
		*ret_profile = &list->items[0];
		return 0;
	}
	*ret_profile = name ? profile_list_find(list, name) : NULL;
	if (*ret_profile)
		return 0;
	if (!name)
		return scenario_fail(
			r, "%s has %zu profiles; expected FILE#JOB to choose one", path,
			list->n);
	scenario_fail(r, "%s has no profile of job '%s'", path, name);
	names = xcalloc(list->n + 1, sizeof *names);
	for (size_t i = 0; i < list->n; i++)
		names[i] = list->items[i].job;
	err_suggest(r->err, name, names);
	free(names);
	return -EINVAL;
}

static void
take_profile(struct scenario_draft *draft, const struct profile *profile)
{
	struct work_job *job = &draft->job;
	double scale = draft->scale > 0 ? draft->scale : 1;

	profile_copy(profile, &job->profile);
	free(job->profile.job);
	job->profile.job = xstrdup(job->name);
	job->profile.bytes_per_iteration *= scale;
	for (size_t i = 0; i < job->profile.n_phases; i++)
		job->profile.phases[i].rate_bps *= scale;
	work_job_segments_from_profile(job);
	if (!draft->details.has_jitter)
		job->jitter_frac = work_job_jitter_of_profile(job);
	draft->details.has_profile = true;
}

static int
read_profile(struct scenario_reader *r)
{
	struct scenario_draft *draft = &r->draft;
	char *hash = strrchr(draft->profile, '#');
	struct profile_list list = { 0 };
	const struct profile *profile;
	const char *name = NULL, *why;
	char *path, *text = NULL;
	size_t length;
	int error;

	r->line = draft->profile_line;
	if (hash) {
		*hash = '\0';
		name = hash + 1;
	}
	path = scenario_path_beside(r->scenario->file, draft->profile);
	error = r->io->read(r->io->ctx, path, PROFILE_JSON_MAX_BYTES, &text, &length,
			    r->err);
	if (error < 0) {
		err_append(r->err, "; it is named in %s:%u", r->scenario->file,
			   r->line);
		goto out;
	}
	error = profile_json_parse(path, text, length, &list, r->err);
	if (error < 0)
		goto out;
	error = pick_profile(r, path, name, &list, &profile);
	if (error < 0)
		goto out;
	take_profile(draft, profile);
	if (profile_normalize(&draft->job.profile, &why) < 0)
		error = scenario_fail(r, "scale = %g: %s", draft->scale, why);
out:
	profile_list_fini(&list);
	free(path);
	free(text);
	return error;
}

static void
take_segments(struct scenario_draft *draft)
{
	draft->job.n_segments = draft->segments.n;
	draft->job.segments = draft->segments.items;
	draft->segments.items = NULL;
	vec_free(&draft->segments);
}

/* Reads the traffic: a profile, or segments. */
static int
read_traffic(struct scenario_reader *r)
{
	struct scenario_draft *draft = &r->draft;
	double compute_ns = 0, bytes = 0;

	if (draft->profile && draft->segments.n)
		return scenario_fail(
			r,
			"job '%s' has both 'profile' and 'segment'; expected "
			"one",
			draft->job.name);
	if (draft->profile) {
		if (read_profile(r) < 0)
			return -EINVAL;
	} else {
		if (!draft->segments.n)
			return scenario_fail(
				r,
				"job '%s' needs 'segment = compute 35 ms', "
				"'segment = send 125 MB' or 'profile = FILE'",
				draft->job.name);
		if (draft->scale > 0)
			return scenario_fail(r,
					     "job '%s' has 'scale', which belongs to "
					     "'profile'",
					     draft->job.name);
		take_segments(draft);
		if (segment_names_resolve(&draft->segment_names, r->scenario->file,
					  &draft->job, r->err) < 0)
			return -EINVAL;
	}
	for (size_t i = 0; i < draft->job.n_segments; i++) {
		compute_ns += (double)draft->job.segments[i].compute_ns;
		bytes += draft->job.segments[i].nic_bytes;
	}
	if (!(compute_ns > 0) && draft->job.n_hosts_wanted == 1)
		return scenario_fail(
			r,
			"job '%s' has one host, so what it sends takes no time; "
			"expected it to compute, too",
			draft->job.name);
	if (!(compute_ns + bytes > 0))
		return scenario_fail(r, "job '%s' has iterations that take no time",
				     draft->job.name);
	return 0;
}

/* Adds the draft as a job with the name 'name', which it takes over. */
static int
add_job(struct scenario_reader *r, char *name)
{
	struct scenario *s = r->scenario;
	struct scenario_draft *draft = &r->draft;
	size_t i = s->workload.n;
	struct work_job *job;

	if (strtab_find(r->names, name) != STRTAB_NONE) {
		scenario_fail(r, "there is a job '%s' already, on line %u", name,
			      s->details[strtab_find(r->names, name)].line);
		free(name);
		return -EINVAL;
	}
	if (i == WORK_MAX_JOBS) {
		free(name);
		return scenario_fail(r, "more than %d jobs", WORK_MAX_JOBS);
	}
	r->n_bytes += draft->job.n_segments * sizeof(struct work_segment) +
		      draft->job.n_needs * sizeof(struct work_need);
	if (draft->details.hosts)
		r->n_bytes += strlen(draft->details.hosts) +
			      draft->job.n_hosts_wanted * sizeof(uint32_t);
	if (r->n_bytes > MAX_JOB_BYTES) {
		free(name);
		return scenario_fail(r, "the jobs together take more than %zu MB",
				     MAX_JOB_BYTES >> 20);
	}
	strtab_intern(r->names, name);
	if (i == r->jobs_capacity) {
		r->jobs_capacity = 2 * r->jobs_capacity + 8;
		s->workload.jobs = xreallocarray(s->workload.jobs, r->jobs_capacity,
						 sizeof *s->workload.jobs);
		s->details =
			xreallocarray(s->details, r->jobs_capacity, sizeof *s->details);
	}
	job = &s->workload.jobs[i];
	work_job_copy(&draft->job, job);
	free(job->name);
	job->name = name;
	free(job->profile.job);
	job->profile.job = draft->details.has_profile ? xstrdup(name) : NULL;
	if (!job->first_port)
		job->first_port = (uint16_t)(1024 + i * 251 % 64000);
	if (!draft->details.has_weight)
		job->weight = (double)job->n_hosts_wanted * job->slots_per_host;
	s->details[i] = draft->details;
	if (draft->details.hosts)
		s->details[i].hosts = xstrdup(draft->details.hosts);
	s->details[i].is_message =
		xmemdup(draft->messages.items, draft->messages.n, sizeof(bool));
	s->workload.n++;
	return 0;
}

/* Makes jobs from the job section that ends here. */
static int
finish_draft(struct scenario_reader *r)
{
	struct scenario_draft *draft = &r->draft;
	unsigned line = r->line;
	int error = 0;

	if (!r->in_job)
		return 0;
	r->in_job = false;
	r->line = draft->details.line;
	if (count_hosts(r) < 0 || read_traffic(r) < 0 || scenario_ranks_finish(r) < 0)
		return -EINVAL;
	r->line = draft->details.line;
	if (draft->job.stop_ns <= draft->job.arrival_ns)
		return scenario_fail(r, "job '%s' stops before it arrives",
				     draft->job.name);
	if (!draft->count)
		error = add_job(r, xstrdup(draft->job.name));
	for (uint32_t i = 1; error == 0 && i <= draft->count; i++)
		error = add_job(r, xasprintf("%s-%u", draft->job.name, i));
	draft_fini(draft);
	r->line = line;
	return error;
}

/* ---- Sections -------------------------------------------------------------------- */

static int
start_job(struct scenario_reader *r, const char *name)
{
	name += strspn(name, " \t");
	if (strlen(name) > TOPO_MAX_NAME ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789._-/+@") != strlen(name))
		return scenario_fail(r,
				     "a job's name has up to %d letters, digits or "
				     "'._-/+@'; '%s' has not",
				     TOPO_MAX_NAME, name);
	r->keys = scenario_job_keys;
	r->in_job = true;
	r->draft.details.line = r->line;
	r->draft.job.name = xstrdup(name);
	r->draft.job.slots_per_host = 1;
	r->draft.job.stop_ns = ENGINE_NEVER;
	return 0;
}

static int
start_once(struct scenario_reader *r, const char *section, unsigned *line,
	   const struct scenario_key *keys)
{
	if (*line)
		return scenario_fail(r, "[%s] is here twice, first on line %u", section,
				     *line);
	*line = r->line;
	r->keys = keys;
	return 0;
}

static int
start_section(struct scenario_reader *r, const char *section)
{
	static const char *const sections[] = { "sim", "fabric", "job", "event", NULL };

	memset(r->seen, 0, sizeof r->seen);
	memset(r->is_set, 0, sizeof r->is_set);
	if (!strcmp(section, "sim"))
		return start_once(r, section, &r->sim_line, scenario_sim_keys);
	if (!strcmp(section, "fabric"))
		return start_once(r, section, &r->fabric_line, scenario_fabric_keys);
	if (!strncmp(section, "job", 3) && strchr(" \t", section[3]) && section[3])
		return start_job(r, section + 3);
	if (!strncmp(section, "event", 5) && strchr(" \t", section[5]) && section[5])
		return scenario_event_start(r,
					    section + 6 + strspn(section + 6, " \t"));
	if (!strcmp(section, "job") || !strcmp(section, "event"))
		return scenario_fail(r, "[%s] has no name; expected '[%s NAME]'",
				     section, section);
	scenario_fail(r,
		      "unknown section [%s]; expected [sim], [fabric], [job NAME] or "
		      "[event NAME]",
		      section);
	err_suggest(r->err, section, sections);
	return -EINVAL;
}

static int
set_key(struct scenario_reader *r, const struct cfg_entry *entry)
{
	const char *names[SCENARIO_MAX_KEYS + 1] = { NULL };
	size_t i;

	if (!r->keys)
		return scenario_fail(
			r,
			"'%s' stands before the first section; expected [sim], "
			"[fabric], [job NAME] or [event NAME]",
			entry->key);
	for (i = 0; r->keys[i].name && strcmp(r->keys[i].name, entry->key); i++)
		names[i] = r->keys[i].name;
	if (!r->keys[i].name) {
		scenario_fail(r, "unknown key '%s' in [%s]", entry->key,
			      entry->section);
		err_suggest(r->err, entry->key, names);
		return -EINVAL;
	}
	if (r->seen[i] && !r->keys[i].may_repeat)
		return scenario_fail(r, "'%s' is here twice, first on line %u",
				     entry->key, r->seen[i]);
	r->seen[i] = entry->line;
	return scenario_set_is_instead(r, entry->key)
		       ? 0
		       : scenario_set_key(r, &r->keys[i], entry->value);
}

static int
take_entry(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	struct scenario_reader *r = ctx;

	(void)err; /* The same as the reader's. */
	r->line = entry->line;
	if (entry->key)
		return set_key(r, entry);
	if (scenario_set_rest(r) < 0 || finish_draft(r) < 0 ||
	    scenario_event_finish(r) < 0)
		return -EINVAL;
	return start_section(r, entry->section);
}

/* Sections that the file omits may still have settings. */
static int
finish(struct scenario_reader *r)
{
	if (scenario_set_rest(r) < 0 || finish_draft(r) < 0 ||
	    scenario_event_finish(r) < 0)
		return -EINVAL;
	r->line = 0;
	if (!r->sim_line && (start_section(r, "sim") < 0 || scenario_set_rest(r) < 0))
		return -EINVAL;
	if (!r->fabric_line &&
	    (start_section(r, "fabric") < 0 || scenario_set_rest(r) < 0))
		return -EINVAL;
	return scenario_set_end(r);
}

int
scenario_parse(const char *file, const char *text, size_t length,
	       const struct scenario_io *io, struct scenario **ret_scenario,
	       struct err *err)
{
	return scenario_parse_set(file, text, length, io, NULL, 0, ret_scenario, err);
}

int
scenario_parse_set(const char *file, const char *text, size_t length,
		   const struct scenario_io *io, const char *const *sets, size_t n_sets,
		   struct scenario **ret_scenario, struct err *err)
{
	struct scenario *scenario = xcalloc(1, sizeof *scenario);
	struct scenario_reader r = { .scenario = scenario, .io = io, .err = err };
	int error;

	scenario->file = xstrdup(file);
	scenario->sim.duration_ns = ENGINE_NEVER;
	scenario->sim.seed = 1;
	scenario->fabric.ecmp_seed = 1;
	r.names = strtab_new();
	error = scenario_set_begin(&r, sets, n_sets);
	if (error == 0)
		error = cfg_parse(file, text, length, take_entry, &r, err);
	if (error == 0)
		error = finish(&r);
	if (error == 0 && !scenario->workload.n) {
		r.line = 0;
		error = scenario_fail(&r, "no [job NAME] section");
	}
	if (!scenario->sim.iterations && scenario->sim.duration_ns == ENGINE_NEVER)
		scenario->sim.iterations = DEFAULT_ITERATIONS;
	if (error == 0 && scenario->sim.iterations &&
	    scenario->sim.warmup_iterations >= scenario->sim.iterations) {
		r.line = r.sim_line;
		error = scenario_fail(
			&r, "%llu warmup_iterations leave none of %llu to measure",
			(unsigned long long)scenario->sim.warmup_iterations,
			(unsigned long long)scenario->sim.iterations);
	}
	draft_fini(&r.draft);
	scenario_set_fini(&r);
	strtab_free(r.names);
	if (error < 0) {
		scenario_free(scenario);
		return error;
	}
	*ret_scenario = scenario;
	return 0;
}

void
scenario_free(struct scenario *scenario)
{
	if (!scenario)
		return;
	for (size_t i = 0; i < scenario->workload.n; i++) {
		free(scenario->details[i].hosts);
		free(scenario->details[i].is_message);
	}
	for (size_t i = 0; i < scenario->n_events; i++)
		scenario_event_fini(&scenario->events[i]);
	workload_fini(&scenario->workload);
	free(scenario->events);
	free(scenario->details);
	free(scenario->fabric.file);
	free(scenario->fabric.generate);
	free(scenario->file);
	free(scenario);
}
