/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay_inputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/stats.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "policies/inside.h"
#include "scheduler/core/advise/advise.h"
#include "sim/jobs/recipe.h"
#include "sim/trace/lines.h"

/* ---- Policies -------------------------------------------------------------------- */

static int
find_named(char *names, const struct policy_spec **ret_specs, size_t *ret_n,
	   struct err *err)
{
	const char *known[REPLAY_MAX_POLICIES * 4];
	size_t n_known = 0;
	char *rest = NULL;

	for (const struct policy_spec *spec = policy_table;
	     spec->name && n_known < sizeof known / sizeof *known - 1; spec++)
		known[n_known++] = spec->name;
	known[n_known] = NULL;
	for (char *name = strtok_r(names, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		const struct policy_spec *spec = policy_find(name);

		if (!spec) {
			err_set(err, NULL, 0, 0,
				"there is no policy '%.40s'; 'antiphase sim policies' "
				"lists them",
				name);
			err_suggest(err, name, known);
			return -EINVAL;
		}
		if (*ret_n == REPLAY_MAX_POLICIES)
			return err_set(err, NULL, 0, 0, "more than %d policies",
				       REPLAY_MAX_POLICIES);
		ret_specs[(*ret_n)++] = spec;
	}
	return *ret_n ? 0 : err_set(err, NULL, 0, 0, "--policy names no policy");
}

static int
find_policies(const char *policies, struct replay_inputs *inputs, struct err *err)
{
	char *names = xstrdup(policies);
	int r = find_named(names, inputs->specs, &inputs->n_specs, err);

	free(names);
	return r;
}

static int
find_augments(const char *names, struct replay_inputs *inputs, struct err *err)
{
	struct words words;
	int r = 0;

	words_split(&words, names, ",");
	for (size_t i = 0; r == 0 && i < words.items.n; i++) {
		const char *name = words.items.items[i];
		int augment = words_index(name, fabric_augment_names);

		if (augment < 0) {
			r = err_set(err, NULL, 0, 0, "--augment has no choice '%.40s'",
				    name);
			err_suggest(err, name, fabric_augment_names);
		} else if (inputs->n_augments == REPLAY_MAX_AUGMENTS) {
			r = err_set(err, NULL, 0, 0, "more than %d of --augment",
				    REPLAY_MAX_AUGMENTS);
		} else {
			inputs->augments[inputs->n_augments++] =
				(enum fabric_augment)augment;
		}
	}
	words_fini(&words);
	if (r == 0 && !inputs->n_augments)
		r = err_set(err, NULL, 0, 0, "--augment names nothing");
	return r;
}

/* Checks that some policy has each parameter. */
static int
check_sets(const struct replay_args *args, const struct replay_inputs *inputs,
	   struct err *err)
{
	for (size_t i = 0; i < args->sets.n; i++) {
		const char *set = args->sets.items[i];
		bool is_known = false;

		for (size_t p = 0; p < inputs->n_specs; p++)
			is_known |=
				replay_has_param(inputs->specs[p], args->place, set);
		if (!is_known)
			return err_set(
				err, NULL, 0, 0,
				"no policy of --policy has the parameter '%.*s'; see "
				"'antiphase sim policies %s'",
				(int)strcspn(set, "="), set, inputs->specs[0]->name);
	}
	return 0;
}

/* Whether a mechanism uses GPU seconds of past jobs. */
static bool
takes_samples(const struct policy_spec *spec)
{
	struct replay_module modules[REPLAY_MODULES];
	size_t n = replay_modules(spec, NULL, modules);

	for (size_t i = 0; i < n; i++)
		if (modules[i].module->samples)
			return true;
	return false;
}

/* Checks that each option applies to some policy. */
static int
check_used(const struct replay_args *args, const struct replay_inputs *inputs,
	   struct err *err)
{
	bool has_place = !args->place, has_rounds = isnan(args->round_s);
	bool has_samples = !args->samples;
	const char *first = inputs->specs[0]->name;

	for (size_t i = 0; i < inputs->n_specs; i++) {
		const struct policy_spec *spec = inputs->specs[i];

		has_place |= spec->place != NULL;
		has_rounds |= spec->drive != POL_EVENTS;
		has_samples |= takes_samples(spec);
	}
	if (!has_place)
		return err_set(err, NULL, 0, 0,
			       "--place does not apply to %s, whose planner places "
			       "jobs; leave it out",
			       first);
	if (!has_rounds)
		return err_set(
			err, NULL, 0, 0,
			"--round does not apply to %s, which has neither rounds nor "
			"leases; leave it out",
			first);
	if (!has_samples)
		return err_set(err, NULL, 0, 0,
			       "--samples does not apply to %s, only to 2d-gittins",
			       first);
	return 0;
}

/* ---- Jobs ------------------------------------------------------------------------ */

/* Reads the first number of each row; a first row without one is a heading. */
static int
load_samples(const char *path, struct replay_inputs *inputs, struct err *err)
{
	VEC(double) samples = VEC_EMPTY;
	struct lines *lines;
	char *line, *end;
	size_t n;
	int r = lines_open(path, &lines, err);

	if (r < 0)
		return r;
	while ((r = lines_next(lines, &line, &n, err)) > 0) {
		double value = strtod(line, &end);

		if (!line[strspn(line, " \t")])
			continue;
		if (end == line && lines_number(lines) == 1)
			continue;
		if (end == line || !(value >= 0) || !isfinite(value)) {
			r = err_set(err, path, (unsigned)lines_number(lines), 0,
				    "expected GPU seconds");
			break;
		}
		vec_push(&samples, value);
	}
	lines_close(lines);
	if (r == 0 && !samples.n)
		r = err_set(err, path, 0, 0, "has no samples");
	if (samples.n)
		stats_sort(samples.items, samples.n);
	inputs->samples = samples.items;
	inputs->opts.policy.samples = samples.items;
	inputs->opts.policy.n_samples = samples.n;
	return r;
}

/* Speeds of jobs on the named types. */
static int
load_speeds(const struct replay_args *args, const char *path,
	    struct replay_inputs *inputs, struct err *err)
{
	struct throughputs *table = NULL;
	int r = 0;

	if (!args->apps && !args->throughputs != !strtab_n(inputs->cluster.types))
		return err_set(
			err, NULL, 0, 0,
			"--throughputs and types of GPUs in --cluster go together");
	if (!args->throughputs)
		return 0;
	r = throughputs_load(args->throughputs, &table, err);
	if (r == 0)
		r = replay_speeds_find(table, &inputs->cluster, &inputs->list,
				       &inputs->speeds, err);
	throughputs_free(table);
	inputs->opts.speeds = inputs->speeds.items ? &inputs->speeds : NULL;
	if (r == 0 && inputs->speeds.n_dropped)
		fprintf(stderr,
			"%s: %s: jobs not measured on all GPU types of the "
			"cluster, left out: %zu\n",
			log_program(), path, inputs->speeds.n_dropped);
	return r;
}

static int
load_jobs(const struct replay_args *args, const char *path, struct joblist *ret_list,
	  struct err *err)
{
	enum jobtrace_format format =
		(enum jobtrace_format)words_index(args->format, jobtrace_format_names);
	struct joblist_filter filter;

	if (recipe_is(path))
		return joblist_make(path, (uint64_t)args->seed, ret_list, err);
	joblist_filter_init(&filter);
	/* Durations are not those of the trace. */
	filter.keeps_unknown = args->throughputs || args->apps;
	return joblist_load(path, format, &filter, ret_list, err);
}

static void
fit_memory(const struct replay_args *args, const char *path,
	   struct replay_inputs *inputs)
{
	size_t n = replay_cluster_fit(&inputs->cluster, args->memory_factor,
				      &inputs->list);

	if (n)
		fprintf(stderr,
			"%s: %s: jobs with more GPUs than in the trace, for "
			"their memory: %zu\n",
			log_program(), path, n);
}

/* Reports jobs that cannot run, which are left out. */
static int
report_dropped(const char *path, struct replay_inputs *inputs, struct err *err)
{
	uint32_t most = replay_cluster_most(&inputs->cluster);

	if (inputs->apps) /* No job is left out. */
		inputs->list.n_no_duration = 0;
	joblist_report(&inputs->list, path);
	if (inputs->n_too_large)
		fprintf(stderr,
			"%s: %s: jobs with more than the cluster's %u "
			"GPUs%s, left out: %zu\n",
			log_program(), path, most,
			inputs->cluster.cluster.n_types > 1 ? " of one type" : "",
			inputs->n_too_large);
	if (inputs->list.n)
		return 0;
	return err_set(err, path, 0, 0, "has no jobs to replay%s",
		       inputs->list.n_no_duration
			       ? "; --throughputs or --apps may supply their durations"
			       : "");
}

static int
load_fabric(const struct replay_args *args, const char *path,
	    struct replay_inputs *inputs, struct err *err)
{
	int r = replay_fabric_load(args->fabric, args->models,
				   (uint32_t)args->model_gpus, (uint64_t)args->seed,
				   &inputs->list, &inputs->opts, &inputs->fabric, err);

	if (r == 0 && inputs->fabric.n_drawn)
		fprintf(stderr,
			"%s: %s: jobs with a random model, since the trace "
			"names none in %s: %llu of %zu\n",
			log_program(), path, args->models,
			(unsigned long long)inputs->fabric.n_drawn, inputs->list.n);
	return r;
}

/* Reads applications, as measured on each type of GPUs if types have names. */
static int
load_apps(const char *path, struct replay_inputs *inputs, struct err *err)
{
	uint32_t n_types = strtab_n(inputs->cluster.types), n = n_types ? n_types : 1;
	VEC(struct app) apps = VEC_EMPTY;
	int r = 0;

	for (uint32_t type = 0; r == 0 && type < n; type++) {
		const char *name =
			n_types ? strtab_name(inputs->cluster.types, type) : NULL;
		struct app *more;
		size_t n_more;

		r = apps_read(path, name, &more, &n_more, err);
		if (r < 0)
			break;
		inputs->opts.n_apps = n_more;
		for (size_t i = 0; i < n_more; i++)
			vec_push(&apps, more[i]);
		free(more);
	}
	inputs->apps = apps.items;
	inputs->n_apps = apps.n;
	inputs->opts.apps = inputs->apps;
	inputs->opts.apps_by_type = n_types > 0;
	return r;
}

/* The servers of the cluster, by name. */
static int
find_inside(const char *name, struct pol_cluster *cluster, struct err *err)
{
	cluster->inside = inside_find(name);
	if (!cluster->inside) {
		err_set(err, NULL, 0, 0, "there is no server '%.40s'; expected", name);
		for (const struct pol_inside *in = inside_table; in->name; in++)
			err_append(err, "%s %s", in == inside_table ? "" : ",",
				   in->name);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (cluster->n_gpus[i] == cluster->inside->n_gpus)
			return 0;
	return err_set(err, NULL, 0, 0,
		       "--inside %s has %u GPUs, and no node of --cluster has as many",
		       name, cluster->inside->n_gpus);
}

/* ---- All inputs ------------------------------------------------------------------ */

static const double *
given(const double *value)
{
	return isnan(*value) ? NULL : value;
}

static struct replay_opts
opts_of(const struct replay_args *args)
{
	return (struct replay_opts){
		.semantics = (enum replay_semantics)words_index(args->semantics,
								replay_semantics_names),
		.policy = { .seed = (uint64_t)args->seed,
			    .sets = args->sets.items,
			    .n_sets = args->sets.n,
			    .round_s = args->round_s,
			    .restart_s = args->restart_s,
			    .resize_s = given(&args->resize_s),
			    .migrate_s = given(&args->migrate_s),
			    .place = args->place },
		.until_s = args->until_s,
		.fabric = { .moves_per_hour = args->moves_per_hour,
			    .move_cost_s = args->move_cost_s,
			    .jitter_frac = args->jitter,
			    .max_iterations = (uint32_t)args->iterations,
			    .measure = args->measure },
	};
}

int
replay_inputs_read(const struct replay_args *args, const char *path,
		   struct replay_inputs *ret_inputs, struct err *err)
{
	struct replay_inputs *in = ret_inputs;
	int r;

	*in = (struct replay_inputs){ .opts = opts_of(args) };
	r = find_policies(args->policies, in, err);
	if (r == 0)
		r = find_augments(args->augment, in, err);
	if (r == 0 && args->levers)
		r = advise_levers_read(args->levers, &in->opts.fabric.levers, err);
	if (r == 0)
		r = replay_cluster_parse(args->cluster, &in->cluster, err);
	if (r == 0 && args->memory)
		r = replay_cluster_set_memory(&in->cluster, args->memory, err);
	if (r == 0 && args->inside)
		r = find_inside(args->inside, &in->cluster.cluster, err);
	in->opts.cluster = in->cluster.cluster;
	if (r == 0)
		r = check_sets(args, in, err);
	if (r == 0)
		r = check_used(args, in, err);
	if (r == 0 && args->samples)
		r = load_samples(args->samples, in, err);
	if (r == 0 && args->apps)
		r = load_apps(args->apps, in, err);
	if (r == 0)
		r = load_jobs(args, path, &in->list, err);
	if (r == 0 && args->memory)
		fit_memory(args, path, in);
	if (r == 0)
		in->n_too_large = joblist_drop_above(&in->list,
						     replay_cluster_most(&in->cluster));
	/* Speeds are by job, so no job is left out after them. */
	if (r == 0)
		r = load_speeds(args, path, in, err);
	if (r == 0)
		r = report_dropped(path, in, err);
	if (r == 0 && args->fabric)
		r = load_fabric(args, path, in, err);
	if (r < 0)
		replay_inputs_fini(in);
	return r;
}

void
replay_inputs_fini(struct replay_inputs *inputs)
{
	replay_cluster_fini(&inputs->cluster);
	replay_speeds_fini(&inputs->speeds);
	joblist_fini(&inputs->list);
	replay_fabric_fini(&inputs->fabric);
	apps_free(inputs->apps, inputs->n_apps);
	free(inputs->samples);
}
