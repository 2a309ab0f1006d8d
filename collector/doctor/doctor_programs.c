/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_programs.c - checks that other programs make: 'antiphase slurm status' and
 * 'antiphase store check'; and the versions of the daemons that run.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/child.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/settings.h"
#include "topology/settings.h"

#define ASK_NS    INT64_C(1000000000)
#define RUN_NS    INT64_C(20000000000)
#define MAX_BYTES ((size_t)1 << 20)

/* ---- Running 'antiphase' --------------------------------------------------------- */

/* "antiphase" beside this program, in ../bin of it if it is installed, or by $PATH. */
static char *
find_antiphase(void)
{
	char exe[PATH_MAX], *slash, *file;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (int i = 0; slash && i < 2; i++) {
		file = xasprintf("%s/%santiphase", exe, i ? "../bin/" : "");
		if (access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return xstrdup("antiphase");
}

struct answer {
	char *text; /* Owned; NULL: none. */
	struct err *err;
};

/* Status 1 is an answer, too: no. */
static void
on_answer(void *ctx, const struct child_result *result)
{
	struct answer *answer = ctx;

	if (result->status == CLI_OK || result->status == CLI_NO)
		answer->text = xmemdup(result->text, result->n + 1, 1);
	else
		*answer->err = *result->why;
}

/* The document that it prints, parsed; NULL with 'err' filled.  Free both. */
static struct json_doc *
ask(const char *const *words, const char *schema, int version, char **ret_text,
    struct err *err)
{
	char *program = find_antiphase();
	const char *argv[8] = { program };
	struct answer answer = { NULL, err };
	const struct child_opts opts = { .argv = argv,
					 .name = "antiphase",
					 .timeout_ns = RUN_NS,
					 .max_bytes = MAX_BYTES,
					 .done = on_answer,
					 .ctx = &answer };
	struct json_doc *doc = NULL;

	for (size_t i = 0; words[i]; i++)
		argv[i + 1] = words[i];
	*ret_text = NULL;
	if (child_run(&opts, err) == 0 && answer.text) {
		*ret_text = answer.text;
		if (json_parse("antiphase", answer.text, strlen(answer.text), &doc,
			       err) == 0 &&
		    json_check_schema(doc, schema, version, err) < 0) {
			json_doc_free(doc);
			doc = NULL;
		}
	}
	free(program);
	return doc;
}

/* ---- Slurm ----------------------------------------------------------------------- */

/*
 * Takes over a finding, unless it is about what the doctor checks itself, or a line of
 * Slurm's files that is right.  None is worse than a warning: the collector works.
 */
static void
take_finding(struct doctor *doctor, const struct json_doc *doc, const struct json *at)
{
	const char *state, *topic, *text, *remedy = NULL;
	bool is_ok;

	if (json_as_object(doc, at, NULL) < 0 ||
	    json_get_str(doc, at, "state", &state, NULL) < 0 ||
	    json_get_str(doc, at, "topic", &topic, NULL) < 0 ||
	    json_get_str(doc, at, "text", &text, NULL) < 0 ||
	    json_opt_str(doc, at, "remedy", &remedy, NULL) < 0)
		return;
	is_ok = strcmp(state, "OK") == 0;
	if (strcmp(topic, "daemon") == 0 || (is_ok && strcmp(topic, "setup") == 0))
		return;
	doctor_add(doctor, is_ok ? FINDING_OK : FINDING_WARN,
		   strcmp(topic, "spank") == 0 ? "spank" : "slurm",
		   is_ok    ? NULL
		   : remedy ? remedy
			    : "run 'antiphase slurm status'",
		   "%s", text);
}

void
doctor_check_slurm(struct doctor *doctor)
{
	static const char *const words[] = { "slurm", "status", "--json", NULL };
	struct err err = { .line = 0 };
	const struct json *array;
	char *text;
	struct json_doc *doc = ask(words, "antiphase.slurm_status", 2, &text, &err);
	size_t n;

	if (!doc ||
	    json_get_array(doc, json_root(doc), "findings", &array, &n, &err) < 0)
		doctor_add(doctor, FINDING_WARN, "slurm",
			   "run 'antiphase slurm status'", "not checked: %s", err.text);
	else
		for (const struct json *at = json_first(array); at; at = json_next(at))
			take_finding(doctor, doc, at);
	json_doc_free(doc);
	free(text);
}

/* ---- The store ------------------------------------------------------------------- */

static void
ask_store(struct doctor *doctor, const char *path)
{
	const char *const words[] = { "store", "check", "--json", path, NULL };
	struct err err = { .line = 0 };
	const struct json *array;
	const char *fault = NULL;
	int64_t bytes = 0;
	char *text;
	struct json_doc *doc = ask(words, "antiphase.store_check", 1, &text, &err);
	size_t n;

	if (!doc ||
	    json_get_array(doc, json_root(doc), "faults", &array, &n, &err) < 0) {
		doctor_add(doctor, FINDING_WARN, "store",
			   "run 'antiphase store check FILE' as root",
			   "%s: not "
			   "checked: %s",
			   path, err.text);
	} else if (n) {
		json_as_str(doc, json_first(array), &fault, NULL);
		doctor_add(doctor, FINDING_FAIL, "store",
			   "stop antiphase-scheduler and restore a backup: "
			   "antiphase-store(1)",
			   "%s: %zu fault%s: %s", path, n, n == 1 ? "" : "s",
			   fault ? fault : "");
	} else {
		json_opt_int(doc, json_root(doc), "size_bytes", 0, INT64_MAX >> 11,
			     &bytes, NULL);
		doctor_add(doctor, FINDING_OK, "store", NULL, "%s is whole, %.1f MB",
			   path, (double)bytes / 1e6);
	}
	json_doc_free(doc);
	free(text);
}

void
doctor_check_store(struct doctor *doctor)
{
	struct settings *settings = doctor_scheduler_settings(doctor);
	const char *path = settings_text(settings, "scheduler", "store");
	struct stat status;

	if (!settings_is_none(path)) {
		if (stat(path, &status) == 0)
			ask_store(doctor, path);
		else if (errno != ENOENT)
			doctor_add(doctor, FINDING_WARN, "store", "run as root",
				   "%s: %s", path, strerror(errno));
	}
	settings_free(settings);
}

/* ---- Versions -------------------------------------------------------------------- */

/* The value of a label of antiphase_build_info in the text of metrics; false without. */
static bool
read_label(const char *text, const char *label, char ret_value[64])
{
	const char *at = strstr(text, "\nantiphase_build_info{"), *value, *end;
	char *start = xasprintf("%s=\"", label);
	bool is_there = false;
	size_t n;

	if (at) {
		end = at + 1 + strcspn(at + 1, "\n");
		value = strstr(at, start);
		if (value && value < end) {
			value += strlen(start);
			n = strcspn(value, "\"\n");
			snprintf(ret_value, 64, "%.*s", n < 64 ? (int)n : 63, value);
			/* Any user may listen at the port. */
			is_there = value[n] == '"' && words_is_name(ret_value, 63);
		}
	}
	free(start);
	return is_there;
}

/* Compares a daemon, if it runs; adds it to 'same' if it fits. */
static void
look_at_version(struct doctor *doctor, const char *name, const char *address,
		const char *own, struct strbuf *same)
{
	struct strbuf body = STRBUF_EMPTY;
	char version[64];

	if (!settings_is_none(address) &&
	    http_ask_get(address, "/metrics", ASK_NS, &body, NULL) == 200 &&
	    read_label(body.text, "version", version)) {
		if (strcmp(version, own) == 0)
			strbuf_printf(same, "%s%s", same->length ? ", " : "", name);
		else
			doctor_add(doctor, FINDING_WARN, "version",
				   "restart it ('systemctl restart'), or upgrade the "
				   "older one",
				   "%s, which runs, is of version %.63s; this program "
				   "of %s",
				   name, version, own);
	}
	strbuf_free(&body);
}

void
doctor_check_versions(struct doctor *doctor)
{
	struct settings *scheduler = doctor_scheduler_settings(doctor);
	struct settings *topology = settings_new(&settings_topology);
	struct strbuf same = STRBUF_EMPTY;
	char own[64];

	if (sscanf(cli_version(), "%*s %63s", own) != 1)
		snprintf(own, sizeof own, "unknown");
	settings_load(topology, doctor->config_file, NULL);
	look_at_version(doctor, "antiphase-collector", doctor->config->metrics, own,
			&same);
	look_at_version(doctor, "antiphase-topology",
			settings_text(topology, "topology", "metrics"), own, &same);
	look_at_version(doctor, "antiphase-scheduler",
			settings_text(scheduler, "scheduler", "http"), own, &same);
	if (same.length)
		doctor_add(doctor, FINDING_OK, "version", NULL,
			   "%s and this program are of version %s", same.text, own);
	strbuf_free(&same);
	settings_free(topology);
	settings_free(scheduler);
}
