/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_scheduler.c - checks of a scheduler on this host: Slurm's commands,
 * antiphase-scheduler and its inputs, the library for jobs and its socket.
 *
 * Most hosts need none of these, so a missing one is no warning.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings.h"
#include "lib/daemon/spawn.h"

#define ASK_NS INT64_C(1000000000)
#define PACER  "libantiphase-pacer.so"

static void
look_at_slurm(struct doctor *doctor)
{
	static const char *const commands[] = { "squeue", "sinfo", "scontrol" };
	const char *path = getenv("PATH");
	struct strbuf missing = STRBUF_EMPTY;
	char *first = NULL;

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char *file = spawn_find("", path ? path : "/usr/bin:/bin", commands[i]);

		if (!file)
			strbuf_printf(&missing, "%s%s", missing.length ? ", " : "",
				      commands[i]);
		else if (!first)
			first = file;
		else
			free(file);
	}
	if (!first)
		doctor_add(doctor, FINDING_OK, "slurm", NULL,
			   "no Slurm commands on this host's path");
	else if (missing.length)
		doctor_add(doctor, FINDING_WARN, "slurm",
			   "set [scheduler] slurm_bindir to the directory that has all",
			   "found %s, but not %s", first, missing.text);
	else
		doctor_add(doctor, FINDING_OK, "slurm", NULL, "found %s", first);
	if (first)
		doctor_check_slurm(doctor);
	strbuf_free(&missing);
	free(first);
}

/* Reports what antiphase.health/1 says is missing for advice. */
static void
look_at_health(struct doctor *doctor, const char *address, const struct strbuf *body)
{
	struct json_doc *doc = NULL;
	bool is_ok = false, is_stopped = false;
	const char *fabric_error = NULL, *host_error = NULL;

	if (json_parse(address, body->text, body->length, &doc, NULL) < 0 ||
	    json_check_schema(doc, "antiphase.health", 1, NULL) < 0) {
		doctor_add(doctor, FINDING_WARN, "scheduler",
			   "run 'ss -ltnp' to see which program listens there",
			   "%s answers, but not as antiphase-scheduler does", address);
		json_doc_free(doc);
		return;
	}
	/* Null members keep their defaults. */
	json_opt_bool(doc, json_root(doc), "is_ok", &is_ok, NULL);
	json_opt_bool(doc, json_root(doc), "is_stopped", &is_stopped, NULL);
	json_opt_str(doc, json_root(doc), "fabric_error", &fabric_error, NULL);
	json_opt_str(doc, json_root(doc), "host_error", &host_error, NULL);
	if (is_ok)
		doctor_add(doctor, FINDING_OK, "scheduler", NULL,
			   "antiphase-scheduler answers at %s%s", address,
			   is_stopped ? "; its kill switch is on" : "");
	else
		doctor_add(
			doctor, FINDING_WARN, "scheduler",
			"see 'antiphase advice' and its log; it must reach collectors, "
			"antiphase-topology and Slurm",
			"antiphase-scheduler answers at %s, but lacks inputs for "
			"advice%s%s%s%s",
			address, fabric_error ? "; fabric: " : "",
			fabric_error ? fabric_error : "", host_error ? "; Slurm: " : "",
			host_error ? host_error : "");
	json_doc_free(doc);
}

static void
look_at_scheduler(struct doctor *doctor)
{
	struct settings *settings = doctor_scheduler_settings(doctor);
	struct strbuf body = STRBUF_EMPTY;
	struct err err = { .line = 0 };
	const char *address = settings_text(settings, "scheduler", "http");

	if (settings_is_none(address))
		doctor_add(doctor, FINDING_OK, "scheduler", NULL,
			   "its API is off on this host ([scheduler] http)");
	else if (http_ask_get(address, "/api/v1/health", ASK_NS, &body, &err) < 0)
		doctor_add(doctor, FINDING_OK, "scheduler", NULL,
			   "no antiphase-scheduler on this host (%s); one host of a "
			   "cluster needs it",
			   err.text);
	else
		look_at_health(doctor, address, &body);
	strbuf_free(&body);
	settings_free(settings);
}

/* Looks beside this program in a build folder, or in ../lib if installed. */
static char *
find_library(void)
{
	char exe[PATH_MAX], *slash, *file;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (int i = 0; i < 2; i++) {
		file = i ? xasprintf("%s/../lib/" PACER, exe)
			 : xasprintf("%s/" PACER, exe);
		if (access(file, R_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

static void
look_at_pacer(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	char *library = find_library(), *path;
	struct stat status;

	if (library)
		doctor_add(doctor, FINDING_OK, "pacer", NULL, "found %s", library);
	else
		doctor_add(doctor, FINDING_WARN, "pacer",
			   "run 'make install' on hosts that run jobs; without "
			   "the library jobs run, but are not shifted",
			   PACER " is not beside this program");
	free(library);
	if (settings_is_none(config->pacer_socket))
		return;
	path = *config->pacer_socket
		       ? xstrdup(config->pacer_socket)
		       : xasprintf("%s/" COLLECTOR_SOCKETS_DIR "/pacer.sock",
				   config->runtime_dir);
	if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		doctor_add(doctor, FINDING_OK, "pacer", NULL, "jobs connect to %s%s",
			   path,
			   settings_is_none(config->orders)
				   ? "; orders are off ([pacer] orders = none)"
				   : "");
	free(path);
}

void
doctor_check_scheduler(struct doctor *doctor)
{
	look_at_slurm(doctor);
	look_at_scheduler(doctor);
	look_at_pacer(doctor);
}
