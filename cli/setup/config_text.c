/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/config_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define COLUMNS 88

/* ---- The lines ------------------------------------------------------------------- */

/* The line takes ownership of 'value'. */
static void __attribute__((format(printf, 5, 6)))
add(config_lines *lines, const char *section, const char *key, char *value,
    const char *fmt, ...)
{
	struct config_line line = { section, key, value, NULL };
	char why[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	line.why = xstrdup(why);
	vec_push(lines, line);
}

static void
add_source(const struct survey *survey, config_lines *lines)
{
	struct strbuf up = STRBUF_EMPTY, physical = STRBUF_EMPTY;

	for (size_t i = 0; i < survey->interfaces.n; i++) {
		const struct survey_interface *at = &survey->interfaces.items[i];
		struct strbuf *list = at->is_physical ? &physical : &up;

		if (at->is_physical || at->is_up)
			strbuf_printf(list, "%s%s", list->length ? "," : "", at->name);
	}
	add(lines, "source", "source", NULL, "%s%s.",
	    survey->has_btf ? "eBPF, as the kernel has type information: traffic by job"
			    : "The kernel's counters of interfaces, as it has no type "
			      "information for eBPF",
	    survey->has_rdma ? "; and the ports of RDMA devices" : "");
	if (physical.length)
		add(lines, "source", "interface", NULL,
		    "Empty: all physical interfaces, here %s.", physical.text);
	else if (up.length)
		add(lines, "source", "interface", strbuf_steal(&up),
		    "No interface is physical; these are up.");
	strbuf_free(&up);
	strbuf_free(&physical);
}

/* True if the head listens to its nodes without a proxy. */
static bool
is_direct(const struct survey *survey)
{
	return survey->slurm.nodes.n <= CONFIG_MAX_ENDPOINTS;
}

static void
add_bus(const struct survey *survey, config_lines *lines)
{
	bool is_beyond = survey_is_clustered(survey) && survey->slurm.is_node;

	if (!survey->has_program[SURVEY_COLLECTOR])
		return;
	if (is_beyond) {
		add(lines, "bus", "endpoint", xstrdup("tcp://*:7461"),
		    "antiphase-scheduler on %s subscribes.",
		    survey->slurm.controller ? survey->slurm.controller
					     : "another host");
		add(lines, "bus", "keys", xstrdup(SETUP_KEYS),
		    "Beyond loopback the bus needs keys: antiphase-keys(1).");
	} else {
		add(lines, "bus", "endpoint", NULL,
		    "No other host of a cluster is known: loopback is enough.");
	}
}

static char *
endpoints(const struct survey *survey)
{
	struct strbuf list = STRBUF_EMPTY;

	for (size_t i = 0; i < survey->slurm.nodes.n; i++)
		strbuf_printf(&list, "%stcp://%s:7461", i ? "," : "",
			      survey->slurm.nodes.items[i]);
	return strbuf_steal(&list);
}

static void
add_scheduler(const struct survey *survey, config_lines *lines)
{
	if (!survey->has_program[SURVEY_SCHEDULER] || !survey_is_head(survey))
		return;
	if (survey_is_clustered(survey) && is_direct(survey)) {
		add(lines, "scheduler", "bus", endpoints(survey),
		    "The collectors of Slurm's nodes.");
		add(lines, "scheduler", "keys", xstrdup(SETUP_KEYS),
		    "To reach other hosts; each has to allow this host's key.");
	} else if (survey_is_clustered(survey)) {
		add(lines, "scheduler", "bus", NULL,
		    "%zu nodes are too many for one receiver: name the racks' proxies "
		    "here (antiphase-proxy(1)), and set keys.",
		    survey->slurm.nodes.n);
	}
	if (!survey->has_program[SURVEY_TOPOLOGY])
		add(lines, "scheduler", "topology",
		    survey->fabric ? xstrdup(SETUP_FABRIC) : xstrdup("none"),
		    "antiphase-topology is not installed here.");
	if (!survey->slurm_conf)
		return;
	add(lines, "scheduler", "scheduler", xstrdup("slurm"),
	    "%s names this host as slurmctld's.", survey->slurm_conf);
	if (survey->slurm_bindir)
		add(lines, "scheduler", "slurm_bindir", xstrdup(survey->slurm_bindir),
		    "Slurm's commands are not on the daemon's path.");
	add(lines, "scheduler", "mode", NULL,
	    "observe: it changes nothing in Slurm until you say advise or enforce.");
}

void
config_lines_of(const struct survey *survey, config_lines *ret_lines)
{
	*ret_lines = (config_lines)VEC_EMPTY;
	if (survey->has_program[SURVEY_COLLECTOR])
		add_source(survey, ret_lines);
	add_bus(survey, ret_lines);
	add_scheduler(survey, ret_lines);
}

void
config_lines_fini(config_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++) {
		free(lines->items[i].value);
		free(lines->items[i].why);
	}
	vec_free(lines);
}

/* ---- The file -------------------------------------------------------------------- */

static void
put_comment(struct strbuf *out, const char *text)
{
	struct strbuf lines = STRBUF_EMPTY;

	strbuf_wrap(&lines, text, 0, 0, COLUMNS - 2);
	for (const char *at = lines.text; *at;) {
		size_t n = strcspn(at, "\n");

		strbuf_printf(out, "# %.*s\n", (int)n, at);
		at += n + (at[n] == '\n');
	}
	strbuf_free(&lines);
}

char *
config_text(const config_lines *lines, const char *host)
{
	struct strbuf out = STRBUF_EMPTY, head = STRBUF_EMPTY;
	const char *section = "";

	strbuf_printf(
		&head,
		"Settings of antiphase's daemons on %s: antiphase.conf(5). Made by "
		"'antiphase setup' from what it found; yours to change, it does not "
		"replace a changed file. 'antiphase setup --undo' takes it back.",
		host);
	put_comment(&out, head.text);
	for (size_t i = 0; i < lines->n; i++) {
		const struct config_line *line = &lines->items[i];

		if (strcmp(line->section, section) != 0)
			strbuf_printf(&out, "\n[%s]\n", line->section);
		else
			strbuf_puts(&out, "\n");
		section = line->section;
		put_comment(&out, line->why);
		strbuf_printf(&out, "%s%s =%s%s\n", line->value ? "" : "#", line->key,
			      line->value ? " " : "", line->value ? line->value : "");
	}
	strbuf_free(&head);
	return strbuf_steal(&out);
}
