/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_policies.c - 'antiphase sim policies': policies and their parameters.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "policies/places.h"
#include "sim/replay/replay.h"
#include "sim/verbs.h"

static const char *const drives[] = {
	[POL_EVENTS] = "events",
	[POL_ROUNDS] = "rounds",
	[POL_LEASES] = "leases",
};
static const char *const keeps[] = {
	[POL_KEEP_NOTHING] = "nothing",
	[POL_KEEP_PLACE] = "place",
	[POL_KEEP_ALL] = "all",
	[POL_KEEP_CHOSEN] = "chosen",
};

/* Effects of a job that does not fit. */
static const char *const fits[] = {
	[POL_STRICT] = "strict",
	[POL_SKIP] = "skip",
};
static const char *const fit_texts[] = {
	[POL_STRICT] = "a job that does not fit blocks those behind it",
	[POL_SKIP] = "a job that does not fit is skipped",
};

/* The policy's value of a parameter, else the mechanism's default. */
static double
default_of(const struct policy_spec *spec, const struct pol_param *param)
{
	for (const struct pol_param *p = spec->params; p && p->name; p++)
		if (strcmp(p->name, param->name) == 0)
			return p->value;
	return param->value;
}

/* ---- For people ------------------------------------------------------------------ */

static void
put_table(FILE *out)
{
	static const char *const headings[] = { "POLICY", "DRIVE", "WHAT", "SOURCE",
						NULL };
	struct table t;

	table_init(&t, headings);
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		table_cell(&t, "%s", spec->name);
		table_cell(&t, "%s", drives[spec->drive]);
		table_cell(&t, "%s", spec->text);
		table_cell(&t, "%s", spec->source);
	}
	table_print(&t, out);
	table_fini(&t);
	fputs("\nPlacements:", out);
	for (const struct pol_place *const *place = place_all; *place; place++)
		fprintf(out, " %s", (*place)->module.name);
	fputc('\n', out);
}

static void
put_params(const struct policy_spec *spec, FILE *out)
{
	static const char *const headings[] = { "PARAMETER", "%DEFAULT", "%MIN",
						"%MAX",      "WHAT",     NULL };
	struct replay_module modules[REPLAY_MODULES];
	size_t n = replay_modules(spec, NULL, modules);
	struct table t;

	table_init(&t, headings);
	for (size_t i = 0; i < n; i++)
		for (const struct pol_param *p = modules[i].module->params;
		     p && p->name; p++) {
			table_cell(&t, "%s", p->name);
			table_cell(&t, "%g", default_of(spec, p));
			table_cell(&t, "%g", p->min);
			table_cell(&t, "%g", p->max);
			table_cell(&t, "%s", p->text);
		}
	if (t.cells.n) {
		fputc('\n', out);
		table_print(&t, out);
	}
	table_fini(&t);
}

static void
put_policy(const struct policy_spec *spec, FILE *out)
{
	struct replay_module modules[REPLAY_MODULES];
	size_t n = replay_modules(spec, NULL, modules);

	fprintf(out, "%s: %s\n", spec->name, spec->text);
	fprintf(out, "  %-10s %s\n", "source", spec->source);
	fprintf(out, "  %-10s %s", "drive", drives[spec->drive]);
	if (spec->drive != POL_EVENTS)
		fprintf(out, " of %g s", spec->round_s);
	fputc('\n', out);
	fprintf(out, "  %-10s %s\n", "keeps", keeps[spec->keep]);
	if (spec->restart_s > 0)
		fprintf(out, "  %-10s %g s\n", "restart", spec->restart_s);
	if (spec->order)
		fprintf(out, "  %-10s %s: %s\n", "fit", fits[spec->order->fit],
			fit_texts[spec->order->fit]);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  %-10s %s: %s\n", modules[i].slot,
			modules[i].module->name, modules[i].module->text);
	put_params(spec, out);
}

/* ---- For programs ---------------------------------------------------------------- */

static void
put_json_module(const struct policy_spec *spec, const struct replay_module *module,
		struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "slot", module->slot);
	jsonw_str(w, "name", module->module->name);
	jsonw_str(w, "text", module->module->text);
	jsonw_array(w, "parameters");
	for (const struct pol_param *p = module->module->params; p && p->name; p++) {
		jsonw_object(w, NULL);
		jsonw_str(w, "name", p->name);
		jsonw_str(w, "text", p->text);
		jsonw_num(w, "default", default_of(spec, p));
		jsonw_num(w, "min", p->min);
		jsonw_num(w, "max", p->max);
		jsonw_bool(w, "whole", p->is_whole);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void
put_json(const struct policy_spec *only, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.sim_policies/2");
	jsonw_array(&w, "policies");
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		struct replay_module modules[REPLAY_MODULES];
		size_t n = replay_modules(spec, NULL, modules);

		if (only && spec != only)
			continue;
		jsonw_object(&w, NULL);
		jsonw_str(&w, "name", spec->name);
		jsonw_str(&w, "text", spec->text);
		jsonw_str(&w, "source", spec->source);
		jsonw_str(&w, "drive", drives[spec->drive]);
		jsonw_str(&w, "keeps", keeps[spec->keep]);
		jsonw_str(&w, "fit", spec->order ? fits[spec->order->fit] : NULL);
		jsonw_num(&w, "round_s",
			  spec->drive == POL_EVENTS ? NAN : spec->round_s);
		jsonw_num(&w, "restart_s", spec->restart_s);
		jsonw_array(&w, "mechanisms");
		for (size_t i = 0; i < n; i++)
			put_json_module(spec, &modules[i], &w);
		jsonw_end(&w);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
run_policies(int argc, char **argv)
{
	bool json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL,
			"machine-readable: antiphase.sim_policies/2"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_sim_policies, opts, argc, argv);
	const struct policy_spec *only = NULL;

	if (first < 0)
		return cli_status(first);
	if (argc - first > 1)
		return cli_usage_error(&verb_sim_policies, "expected at most one name");
	if (argc - first == 1) {
		only = policy_find(argv[first]);
		if (!only)
			return cli_usage_error(&verb_sim_policies,
					       "there is no policy '%.40s'",
					       argv[first]);
	}
	if (json)
		put_json(only, stdout);
	else if (only)
		put_policy(only, stdout);
	else
		put_table(stdout);
	return cli_finish(CLI_OK);
}

const struct cli_verb verb_sim_policies = {
	.name = "policies",
	.summary = "list scheduling policies and their parameters",
	.usage = "[options] [NAME]",
	.examples = "  antiphase sim policies\n"
		    "  antiphase sim policies 2d-las\n",
	.run = run_policies,
};
