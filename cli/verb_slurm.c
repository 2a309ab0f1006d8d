/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_slurm.c - 'antiphase slurm': Slurm's setup for antiphase, and its state.
 */
#include "cli/verb_slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run_program.h"
#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/findings.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/child.h"
#include "lib/daemon/http_ask.h"
#include "scheduler/slurm/slurm_site.h"
#include "scheduler/slurm/slurm_text.h"

#define DEFAULT_CONF  "/etc/slurm/slurm.conf"
#define DEFAULT_HOOKS "/usr/local/lib/antiphase"
#define DEFAULT_HTTP  "127.0.0.1:7470"
#define SECOND_NS     INT64_C(1000000000)

static const struct cli_verb verb_install, verb_status;

/* Values of options and what was found; texts are owned. */
struct found {
	const char *conf_option, *hooks_option, *library_option;
	char *conf_path, *conf, *plugstack_path, *plugstack, *gate, *hooks, *library;
};

/* ---- Finding Slurm --------------------------------------------------------------- */

/* The output of a command; NULL if it failed, with 'err' filled. */
struct printed {
	char *text;
	struct err *err;
};

static void
on_printed(void *ctx, const struct child_result *result)
{
	struct printed *printed = ctx;

	if (!result->why)
		printed->text = xstrdup(result->text);
	else if (printed->err)
		*printed->err = *result->why;
}

/*
 * Runs a command and returns what it printed in a new string.  0; or with 'err' filled,
 * which may be NULL, -EIO if the command failed, and -ENOENT if it does not exist.
 */
static int
print_of(const char *const *argv, char **ret_text, struct err *err)
{
	struct printed printed = { .err = err };
	const struct child_opts opts = { .argv = argv,
					 .timeout_ns = 5 * SECOND_NS,
					 .max_bytes = SLURM_SITE_MAX_BYTES,
					 .done = on_printed,
					 .ctx = &printed };
	int r = child_run(&opts, err);

	if (r < 0)
		return r;
	*ret_text = printed.text;
	return printed.text ? 0 : -EIO;
}

/* The file in scontrol's line "SLURM_CONF = /etc/slurm/slurm.conf"; NULL without it. */
static char *
conf_of_scontrol(void)
{
	static const char *const argv[] = { "scontrol", "show", "config", NULL };
	char *text = NULL, *path = NULL;
	const char *at;

	if (print_of(argv, &text, NULL) < 0)
		return NULL;
	at = strstr(text, "\nSLURM_CONF");
	if (at) {
		at += strcspn(at + 1, "=\n") + 1;
		at += strspn(at, "= ");
		path = xstrndup(at, strcspn(at, "\n"));
	}
	free(text);
	return path;
}

static char *
find_conf(const char *option)
{
	const char *variable = getenv("SLURM_CONF");
	char *path;

	if (option)
		return xstrdup(option);
	if (variable && *variable)
		return xstrdup(variable);
	if (access(DEFAULT_CONF, R_OK) == 0)
		return xstrdup(DEFAULT_CONF);
	path = conf_of_scontrol();
	return path ? path : xstrdup(DEFAULT_CONF);
}

/* The installed hooks: lib/antiphase beside the bin/ of this program. */
static char *
find_hooks(const char *option)
{
	char *directory, *path;

	if (option)
		return xstrdup(option);
	directory = program_directory();
	path = xasprintf("%s../lib/antiphase", directory ? directory : "/");
	free(directory);
	directory = realpath(path, NULL);
	free(path);
	if (directory)
		return directory;
	return xstrdup(DEFAULT_HOOKS);
}

static char *
read_text(const char *path, struct err *err)
{
	char *text;
	size_t n;

	return file_read(path, SLURM_SITE_MAX_BYTES, &text, &n, err) < 0 ? NULL : text;
}

static bool
has_plugin(const char *hooks)
{
	char *path = xasprintf("%s/spank_antiphase.so", hooks);
	bool is_there = access(path, R_OK) == 0;

	free(path);
	return is_there;
}

/* Slurm's commands are to read the slurm.conf of --conf, too. */
static void
tell_commands(const char *conf_option)
{
	char *path = conf_option ? realpath(conf_option, NULL) : NULL;

	if (path)
		setenv("SLURM_CONF", path, 1);
	free(path);
}

/* Returns 0, or CLI_UNREACHABLE if there is no slurm.conf. */
static int
find_site(struct found *found, struct slurm_site *ret_site)
{
	struct err err;
	char *gate_path;

	found->conf_path = find_conf(found->conf_option);
	found->conf = read_text(found->conf_path, &err);
	if (!found->conf) {
		err_append(&err,
			   "; give the path of the cluster's slurm.conf with --conf");
		err_print(&err, stderr);
		return CLI_UNREACHABLE;
	}
	found->plugstack_path = slurm_site_plugstack(found->conf_path, found->conf);
	found->plugstack = read_text(found->plugstack_path, NULL);
	gate_path = slurm_site_beside(found->conf_path, "job_submit.lua");
	found->gate = read_text(gate_path, NULL);
	free(gate_path);
	found->hooks = find_hooks(found->hooks_option);
	found->library =
		found->library_option
			? xstrdup(found->library_option)
			: slurm_site_beside(found->hooks, "libantiphase-pacer.so");
	*ret_site = (struct slurm_site){
		.conf_path = found->conf_path,
		.conf = found->conf,
		.plugstack_path = found->plugstack_path,
		.plugstack = found->plugstack,
		.gate = found->gate,
		.hooks = found->hooks,
		.has_plugin = has_plugin(found->hooks),
		.library = found->library,
	};
	return 0;
}

static void
found_fini(struct found *found)
{
	free(found->conf_path);
	free(found->conf);
	free(found->plugstack_path);
	free(found->plugstack);
	free(found->gate);
	free(found->hooks);
	free(found->library);
}

/* ---- install --------------------------------------------------------------------- */

static void
print_plan(const struct slurm_plan *plan)
{
	size_t n_left = 0;

	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct slurm_step *step = &plan->steps.items[i];

		if (step->line)
			printf("%s:%u: ", step->file, step->line);
		else
			printf("%s: ", step->file);
		printf("%s\n", slurm_step_names[step->state]);
		if (step->text[0])
			printf("    %s\n", step->text);
		printf("  (%s)\n", step->why);
		n_left += step->state != SLURM_STEP_THERE;
	}
	if (n_left)
		printf("\n%zu steps are missing; nothing was changed.  Do them, "
		       "restart slurmctld (a new JobSubmitPlugins\n"
		       "needs that; otherwise 'scontrol reconfigure' is enough), "
		       "then run 'antiphase slurm status'.\n",
		       n_left);
	else
		puts("\nNothing is missing.");
}

static void
print_plan_json(const struct slurm_site *site, const struct slurm_plan *plan)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.slurm_install/2");
	jsonw_str(&w, "slurm_conf", site->conf_path);
	jsonw_array(&w, "steps");
	for (size_t i = 0; i < plan->steps.n; i++) {
		const struct slurm_step *step = &plan->steps.items[i];

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "state", slurm_step_names[step->state]);
		jsonw_str(&w, "file", step->file);
		if (step->line)
			jsonw_int(&w, "line", step->line);
		else
			jsonw_null(&w, "line");
		jsonw_str(&w, "text", step->text);
		jsonw_str(&w, "why", step->why);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

#define FIND_OPTIONS(found)                                                \
	CLI_OPT("conf", 0, CLI_STR, &(found).conf_option, "FILE",          \
		"Slurm's slurm.conf (default: $SLURM_CONF, " DEFAULT_CONF  \
		", or what scontrol says)"),                               \
		CLI_OPT("hooks", 0, CLI_STR, &(found).hooks_option, "DIR", \
			"directory of spank_antiphase.so and job_submit.lua")

static int
run_install(int argc, char **argv)
{
	struct found found = { .conf = NULL };
	bool is_json = false, is_dry = true;
	const struct cli_opt opts[] = {
		CLI_OPT("dry-run", 'n', CLI_FLAG, &is_dry, NULL,
			"print the missing steps (the default; nothing is ever "
			"changed)"),
		FIND_OPTIONS(found),
		CLI_OPT("library", 0, CLI_STR, &found.library_option, "FILE",
			"path of the pacer on the hosts of jobs (default: beside DIR)"),
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_install, opts, argc, argv), status;
	struct slurm_site site;
	struct slurm_plan plan;

	if (first < 0)
		return cli_status(first);
	status = find_site(&found, &site);
	if (status == 0) {
		slurm_site_plan(&site, &plan);
		if (is_json)
			print_plan_json(&site, &plan);
		else
			print_plan(&plan);
		slurm_plan_fini(&plan);
		status = cli_finish(CLI_OK);
	}
	found_fini(&found);
	return status;
}

static const struct cli_verb verb_install = {
	.name = "slurm install",
	.summary = "print the lines that Slurm's configuration files need",
	.usage = "[options]",
	.examples = "  antiphase slurm install --conf slurm.conf\n"
		    "  antiphase slurm install --dry-run --json\n",
	.run = run_install,
	.operands = "",
};

/* ---- status ---------------------------------------------------------------------- */

/* Checks Slurm's commands and its controller.  False without commands. */
static bool
check_slurm(struct findings *findings)
{
	static const char *const version[] = { "scontrol", "-V", NULL };
	static const char *const ping[] = { "scontrol", "ping", NULL };
	static const char supported[] = "supported releases: 22.05 to 26.05";
	struct err err = { .line = 0 };
	char *text = NULL;
	int r = print_of(version, &text, &err);
	bool is_supported, is_up;

	if (r < 0) {
		findings_add(
			findings, FINDING_FAIL, "slurm",
			r == -ENOENT
				? "install slurm-client on the host of "
				  "antiphase-scheduler"
				: "mend Slurm's configuration on this host; --conf "
				  "FILE names another slurm.conf",
			"%s", err.text);
		return false;
	}
	text[strcspn(text, "\n")] = '\0';
	is_supported = slurm_version(text) >= 2205 && slurm_version(text) <= 2605;
	findings_add(findings, is_supported ? FINDING_OK : FINDING_WARN, "slurm",
		     is_supported ? NULL : supported, "%s", text);
	free(text);
	r = print_of(ping, &text, &err);
	is_up = r == 0 && strstr(text, " UP");
	findings_add(findings, is_up ? FINDING_OK : FINDING_FAIL, "slurmctld",
		     is_up ? NULL : "antiphase works without it, and gives no advice",
		     "%.*s", (int)strcspn(r == 0 ? text : err.text, "\n"),
		     r == 0 ? text : err.text);
	if (r == 0)
		free(text);
	return true;
}

/* Checks the installation, by the list of missing steps. */
static void
check_site(struct findings *findings, const struct slurm_site *site)
{
	struct slurm_plan plan;

	slurm_site_plan(site, &plan);
	for (size_t i = 0; i < plan.steps.n; i++) {
		const struct slurm_step *step = &plan.steps.items[i];
		bool is_there = step->state == SLURM_STEP_THERE;

		findings_add(findings, is_there ? FINDING_OK : FINDING_WARN, "setup",
			     is_there ? NULL : "run 'antiphase slurm install'",
			     "%s: %s%s%s", step->file, slurm_step_names[step->state],
			     step->text[0] ? ": " : "", step->text);
	}
	slurm_plan_fini(&plan);
}

/*
 * Checks whether Slurm knows which nodes are close: by a plug-in with topology.conf, or by
 * topology.yaml (25.05 and later).
 */
static void
check_topology(struct findings *findings, const struct slurm_site *site)
{
	static const char *const flat[] = { "topology/default", "topology/flat",
					    "topology/none", NULL };
	char *plugin = slurm_site_value(site->conf, "TopologyPlugin");
	char *yaml = slurm_site_beside(site->conf_path, "topology.yaml");

	if (access(yaml, F_OK) == 0)
		findings_add(findings, FINDING_OK, "topology", NULL, "%s", yaml);
	else if (plugin && words_index(plugin, flat) < 0)
		findings_add(findings, FINDING_OK, "topology", NULL,
			     "TopologyPlugin=%s", plugin);
	else
		findings_add(
			findings, FINDING_WARN, "topology",
			"write topology.conf and set TopologyPlugin=topology/tree; "
			"'antiphase topology import' reads it, too",
			"Slurm knows no topology, and places jobs without one");
	free(plugin);
	free(yaml);
}

/* Checks whether Slurm loads the plug-in here: sbatch's help then has its option. */
static void
check_spank(struct findings *findings)
{
	static const char *const help[] = { "sbatch", "--help", NULL };
	struct err err = { .line = 0 };
	char *text = NULL;

	if (print_of(help, &text, &err) == 0 && strstr(text, "--antiphase="))
		findings_add(findings, FINDING_OK, "spank", NULL,
			     "sbatch knows --antiphase on this host");
	else
		findings_add(findings, FINDING_WARN, "spank",
			     "check that plugstack.conf has spank_antiphase.so, built "
			     "for this Slurm release",
			     "%s",
			     text ? "sbatch does not know --antiphase on this host"
				  : err.text);
	free(text);
}

static void
check_daemon(struct findings *findings, const char *address)
{
	struct strbuf body = STRBUF_EMPTY;
	struct err err = { .line = 0 };
	int r = http_ask_get(address, "/api/v1/health", SECOND_NS, &body, &err);

	if (r == 200) {
		findings_add(findings, FINDING_OK, "daemon", NULL,
			     "antiphase-scheduler answers at %s", address);
	} else {
		if (r >= 0)
			err_set(&err, NULL, 0, 0, "%s answers with status %d", address,
				r);
		findings_add(findings, FINDING_FAIL, "daemon",
			     "run 'systemctl start antiphase-scheduler'; until then "
			     "gates open by themselves",
			     "antiphase-scheduler: %s", err.text);
	}
	strbuf_free(&body);
}

static void
print_findings_json(const struct findings *findings)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.slurm_status/2");
	findings_json(findings, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static int
run_status(int argc, char **argv)
{
	struct found found = { .conf = NULL };
	const char *address = DEFAULT_HTTP;
	bool is_json = false;
	const struct cli_opt opts[] = {
		FIND_OPTIONS(found),
		CLI_OPT("http", 0, CLI_STR, &address, "ADDRESS:PORT",
			"address of antiphase-scheduler (default: " DEFAULT_HTTP ")"),
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_status, opts, argc, argv), status = 0;
	struct findings findings = { 0 };
	struct slurm_site site;
	bool has_commands;

	if (first < 0)
		return cli_status(first);
	status = find_site(&found, &site);
	if (status == 0) {
		tell_commands(found.conf_option);
		has_commands = check_slurm(&findings);
		check_topology(&findings, &site);
		check_site(&findings, &site);
		if (has_commands)
			check_spank(&findings);
		check_daemon(&findings, address);
		if (is_json)
			print_findings_json(&findings);
		else
			findings_print(&findings, stdout);
		status = cli_finish(findings_worst(&findings) == FINDING_FAIL ? CLI_NO
									      : CLI_OK);
		findings_fini(&findings);
	}
	found_fini(&found);
	return status;
}

static const struct cli_verb verb_status = {
	.name = "slurm status",
	.summary = "check Slurm, its antiphase plug-ins, and antiphase-scheduler",
	.usage = "[options]",
	.examples = "  antiphase slurm status\n",
	.run = run_status,
	.operands = "",
};

static const struct cli_verb *const subverbs[] = { &verb_install, &verb_status,
						   &verb_slurm_release, NULL };

static int
run_slurm(int argc, char **argv)
{
	return cli_subverbs(&verb_slurm, subverbs, argc, argv);
}

const struct cli_verb verb_slurm = {
	.name = "slurm",
	.summary = "install, check and clean up the integration with Slurm",
	.usage = "VERB [options]",
	.examples = "  antiphase slurm install --conf slurm.conf\n"
		    "  antiphase slurm status\n"
		    "  antiphase slurm release --dry-run\n",
	.run = run_slurm,
};
