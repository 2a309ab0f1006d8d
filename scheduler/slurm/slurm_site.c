/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_site.c - a site's Slurm configuration, and the steps to add antiphase to it.
 *
 * Files that slurm.conf includes are not read: settings in them are not seen, and the
 * plan says so.
 */
#include "scheduler/slurm/slurm_site.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/strbuf.h"

const char *const slurm_step_names[] = { "there", "add", "change", "copy", "by hand" };

/* ---- Settings of slurm.conf ------------------------------------------------------ */

/* A setting of the file. */
struct setting {
	const char *value; /* Borrowed; not terminated. */
	size_t n;
	unsigned line; /* 0: it is not set. */
};

/* Whether the line, which ends at 'end', begins with that word and '='. */
static bool
sets(const char *line, const char *end, const char *key, struct setting *ret)
{
	size_t n = strlen(key);

	while (line < end && isspace((unsigned char)*line))
		line++;
	if ((size_t)(end - line) < n || strncasecmp(line, key, n) != 0)
		return false;
	line += n;
	while (line < end && isspace((unsigned char)*line))
		line++;
	if (line == end || *line != '=')
		return false;
	line++;
	while (line < end && isspace((unsigned char)*line))
		line++;
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	ret->value = line;
	ret->n = (size_t)(end - line);
	return true;
}

/* The last line that sets it, as Slurm reads it; one setting a line. */
static struct setting
find_setting(const char *conf, const char *key)
{
	struct setting found = { .line = 0 };

	for (unsigned number = 1; *conf; number++) {
		size_t n = strcspn(conf, "\n"), n_text = n;
		const char *hash = memchr(conf, '#', n);

		if (hash)
			n_text = (size_t)(hash - conf);
		if (sets(conf, conf + n_text, key, &found))
			found.line = number;
		conf += n + (conf[n] == '\n');
	}
	return found;
}

char *
slurm_site_value(const char *conf, const char *key)
{
	struct setting setting = find_setting(conf, key);

	return setting.line ? xstrndup(setting.value, setting.n) : NULL;
}

/* Whether a list divided by commas has that name; "a=1" has the name "a". */
static bool
lists(struct setting list, const char *word)
{
	size_t n_word = strlen(word);

	for (size_t at = 0; at < list.n;) {
		size_t n = 0;

		while (at + n < list.n && list.value[at + n] != ',')
			n++;
		if (n >= n_word && strncasecmp(list.value + at, word, n_word) == 0 &&
		    (n == n_word || list.value[at + n_word] == '='))
			return true;
		at += n + 1;
	}
	return false;
}

/* ---- Steps ----------------------------------------------------------------------- */

/* The step takes ownership of 'text' and 'why'. */
static void
add_step(struct slurm_plan *plan, enum slurm_step_state state, const char *file,
	 unsigned line, char *text, const char *why)
{
	struct slurm_step step = { .state = state,
				   .file = xstrdup(file),
				   .line = line,
				   .text = text,
				   .why = xstrdup(why) };

	vec_push(&plan->steps, step);
}

static char *
line_of(const char *key, struct setting setting, const char *more)
{
	return xasprintf("%s=%.*s%s%s", key, (int)setting.n, setting.value,
			 setting.n && *more ? "," : "", more);
}

static void
plan_gate(const struct slurm_site *site, struct slurm_plan *plan)
{
	static const char why[] =
		"jobs of several nodes wait a few seconds for an answer; without one "
		"Slurm starts them";
	struct setting plugins = find_setting(site->conf, "JobSubmitPlugins");
	char *gate = slurm_site_beside(site->conf_path, "job_submit.lua");

	if (lists(plugins, "lua"))
		add_step(plan, SLURM_STEP_THERE, site->conf_path, plugins.line,
			 line_of("JobSubmitPlugins", plugins, ""), why);
	else
		add_step(plan, plugins.line ? SLURM_STEP_CHANGE : SLURM_STEP_ADD,
			 site->conf_path, plugins.line,
			 line_of("JobSubmitPlugins", plugins, "lua"), why);
	if (!site->gate)
		add_step(plan, SLURM_STEP_COPY, gate, 0,
			 xasprintf("cp %s/job_submit.lua %s", site->hooks, gate),
			 "the gate itself; its first lines are its settings");
	else if (strstr(site->gate, "antiphase"))
		add_step(plan, SLURM_STEP_THERE, gate, 0, xstrdup(""),
			 "the gate itself; its first lines are its settings");
	else
		add_step(
			plan, SLURM_STEP_BY_HAND, gate, 0,
			xasprintf("dofile(\"%s/job_submit.lua\")", site->hooks),
			"the site has a script of its own: this is its first line then, "
			"and its slurm_job_submit() calls antiphase_submit(job_desc)");
	free(gate);
}

static void
plan_spank(const struct slurm_site *site, struct slurm_plan *plan)
{
	static const char why[] =
		"jobs get the pacer, and --antiphase=on|off|profile; on all nodes, and "
		"built for this release of Slurm";
	unsigned number = 1;

	for (const char *at = site->plugstack ? site->plugstack : ""; *at; number++) {
		size_t n = strcspn(at, "\n");
		const char *name = memmem(at, n, "spank_antiphase", 15);
		const char *hash = memchr(at, '#', n);

		if (name && !(hash && hash < name)) {
			add_step(plan, SLURM_STEP_THERE, site->plugstack_path, number,
				 xstrndup(at, n), why);
			return;
		}
		at += n + (at[n] == '\n');
	}
	add_step(
		plan, site->has_plugin ? SLURM_STEP_ADD : SLURM_STEP_BY_HAND,
		site->plugstack_path, 0,
		xasprintf("optional %s/spank_antiphase.so preload=%s", site->hooks,
			  site->library),
		site->has_plugin
			? why
			: "the plug-in was not built, or is in another directory: build "
			  "antiphase where libslurm-dev of this release of Slurm is "
			  "installed, then add this line; until then jobs run without "
			  "the pacer");
}

static void
plan_poke(const struct slurm_site *site, struct slurm_plan *plan, const char *key)
{
	static const char why[] =
		"tells the daemon at once that a job starts or has ended; optional, as it "
		"also looks by itself";
	struct setting setting = find_setting(site->conf, key);
	char *ours = xasprintf("%s/prolog_slurmctld.sh", site->hooks);

	if (!setting.line)
		add_step(plan, SLURM_STEP_ADD, site->conf_path, 0,
			 xasprintf("%s=%s", key, ours), why);
	else if (memmem(setting.value, setting.n, "prolog_slurmctld.sh", 19))
		add_step(plan, SLURM_STEP_THERE, site->conf_path, setting.line,
			 line_of(key, setting, ""), why);
	else
		add_step(plan, SLURM_STEP_BY_HAND, site->conf_path, setting.line,
			 xasprintf("%s || :", ours),
			 "the site has a script of its own: this may go into it");
	free(ours);
}

/*
 * With Slurm's defaults, and without other events, Slurm notices the end of a gate only
 * every 60 s, and a job that was let go starts up to 3 s later.
 */
static void
plan_scheduler(const struct slurm_site *site, struct slurm_plan *plan)
{
	struct setting setting = find_setting(site->conf, "SchedulerParameters");
	struct strbuf more = STRBUF_EMPTY;

	if (!lists(setting, "sched_interval"))
		strbuf_puts(&more, "sched_interval=5");
	if (!lists(setting, "batch_sched_delay"))
		strbuf_printf(&more, "%sbatch_sched_delay=0", more.length ? "," : "");
	add_step(plan,
		 !more.length   ? SLURM_STEP_THERE
		 : setting.line ? SLURM_STEP_CHANGE
				: SLURM_STEP_ADD,
		 site->conf_path, setting.line,
		 line_of("SchedulerParameters", setting, more.text),
		 "or else Slurm may notice up to 60 s late that a gate is open, and "
		 "starts a job up to 3 s after it was let go");
	strbuf_free(&more);
}

static void
plan_includes(const struct slurm_site *site, struct slurm_plan *plan)
{
	const char *at = site->conf;

	for (unsigned number = 1; *at; number++) {
		size_t n = strcspn(at, "\n");
		const char *word = at + strspn(at, " \t");

		if (strncasecmp(word, "Include", 7) == 0 && strchr(" \t", word[7]))
			add_step(
				plan, SLURM_STEP_BY_HAND, site->conf_path, number,
				xstrndup(at, n),
				"this file was not read: what it sets is not seen here");
		at += n + (at[n] == '\n');
	}
}

char *
slurm_site_beside(const char *conf_path, const char *name)
{
	const char *slash = strrchr(conf_path, '/');

	return xasprintf("%.*s%s", slash ? (int)(slash - conf_path) + 1 : 0, conf_path,
			 name);
}

char *
slurm_site_plugstack(const char *conf_path, const char *conf)
{
	struct setting setting = find_setting(conf, "PlugStackConfig");

	if (setting.n)
		return xstrndup(setting.value, setting.n);
	return slurm_site_beside(conf_path, "plugstack.conf");
}

void
slurm_site_plan(const struct slurm_site *site, struct slurm_plan *ret_plan)
{
	*ret_plan = (struct slurm_plan){ VEC_EMPTY };
	plan_gate(site, ret_plan);
	plan_scheduler(site, ret_plan);
	plan_spank(site, ret_plan);
	plan_poke(site, ret_plan, "PrologSlurmctld");
	plan_poke(site, ret_plan, "EpilogSlurmctld");
	plan_includes(site, ret_plan);
}

void
slurm_plan_fini(struct slurm_plan *plan)
{
	for (size_t i = 0; i < plan->steps.n; i++) {
		free(plan->steps.items[i].file);
		free(plan->steps.items[i].text);
		free(plan->steps.items[i].why);
	}
	vec_free(&plan->steps);
}
