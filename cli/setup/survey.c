/* SPDX-License-Identifier: Apache-2.0 */
/* survey.c - paths below a root; kernel, interfaces, clock, keys, programs and units */
#include "cli/setup/survey.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/child.h"
#include "lib/daemon/spawn.h"
#include "lib/wire/bus.h"
#include "topology/topo.h"

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define ASK_NS     INT64_C(3000000000)

const char *const survey_program_names[] = {
	[SURVEY_COLLECTOR] = "antiphase-collector",
	[SURVEY_TOPOLOGY] = "antiphase-topology",
	[SURVEY_SCHEDULER] = "antiphase-scheduler",
};

/* ---- Paths ----------------------------------------------------------------------- */

static char *
path_of(const struct survey *survey, const char *fmt, va_list args)
{
	char path[4096];

	vsnprintf(path, sizeof path, fmt, args);
	return xasprintf("%s%s", survey->root, path);
}

char *
survey_path(const struct survey *survey, const char *fmt, ...)
{
	va_list args;
	char *path;

	va_start(args, fmt);
	path = path_of(survey, fmt, args);
	va_end(args);
	return path;
}

bool
survey_has(const struct survey *survey, const char *fmt, ...)
{
	va_list args;
	char *path;
	bool is_there;

	va_start(args, fmt);
	path = path_of(survey, fmt, args);
	va_end(args);
	is_there = access(path, F_OK) == 0;
	free(path);
	return is_there;
}

char *
survey_text(const struct survey *survey, const char *fmt, ...)
{
	va_list args;
	char *path, *text;
	size_t length;
	int r;

	va_start(args, fmt);
	path = path_of(survey, fmt, args);
	va_end(args);
	r = file_read(path, SURVEY_MAX_BYTES, &text, &length, NULL);
	free(path);
	return r < 0 ? NULL : text;
}

char *
survey_program(const struct survey *survey, const char *name)
{
	const char *path = *survey->root ? NULL : getenv("PATH");
	char *list = path ? xasprintf("%s:" USUAL_PATH, path) : xstrdup(USUAL_PATH);
	char *found = spawn_find(survey->root, list, name);

	free(list);
	return found;
}

/* The first line of a file, or NULL. */
static char *
line_of(const struct survey *survey, const char *path)
{
	char *text = survey_text(survey, "%s", path);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- The host and its kernel ----------------------------------------------------- */

static void
look_at_kernel(struct survey *survey)
{
	char *name = line_of(survey, "/proc/sys/kernel/hostname");
	char *release = line_of(survey, "/proc/sys/kernel/osrelease");

	if (!name)
		name = line_of(survey, "/etc/hostname");
	if (name)
		name[strcspn(name, ".")] = '\0';
	if (name && topo_name_is_valid(name)) {
		survey->host = xstrdup(name);
		findings_add(&survey->findings, FINDING_OK, "host", NULL, "%s", name);
	} else {
		survey->host = xstrdup("localhost");
		findings_add(&survey->findings, FINDING_WARN, "host",
			     "set it with 'hostnamectl set-hostname NAME'",
			     "this host has no name");
	}
	survey->has_btf = survey_has(survey, "/sys/kernel/btf/vmlinux");
	if (survey->has_btf)
		findings_add(&survey->findings, FINDING_OK, "kernel", NULL,
			     "Linux %s with type information: eBPF can count jobs",
			     release ? release : "(release unknown)");
	else
		findings_add(
			&survey->findings, FINDING_WARN, "kernel",
			"use a kernel with CONFIG_DEBUG_INFO_BTF; until then interfaces "
			"are counted, jobs are not",
			"Linux %s without type information (/sys/kernel/btf/vmlinux)",
			release ? release : "(release unknown)");
	free(name);
	free(release);
}

/* ---- Interfaces ------------------------------------------------------------------ */

static void
take_interface(struct survey *survey, const char *name)
{
	char *speed_path = xasprintf("/sys/class/net/%s/speed", name);
	char *state_path = xasprintf("/sys/class/net/%s/operstate", name);
	char *speed = line_of(survey, speed_path);
	char *state = line_of(survey, state_path);
	double mbps = speed ? strtod(speed, NULL) : 0;
	struct survey_interface interface = {
		.name = xstrdup(name),
		.gbps = mbps > 0 && mbps < 1e8 ? mbps / 1000 : 0,
		.is_physical = survey_has(survey, "/sys/class/net/%s/device", name),
		.is_up = state &&
			 (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0),
	};

	vec_push(&survey->interfaces, interface);
	free(speed_path);
	free(state_path);
	free(speed);
	free(state);
}

/* "eth0 (100 Gb/s), eth1 (down)": those that are physical, or else those that are up. */
static void
say_interfaces(struct survey *survey)
{
	struct strbuf text = STRBUF_EMPTY;
	size_t n[2] = { 0 };

	for (int physical = 1; physical >= 0 && !n[1]; physical--)
		for (size_t i = 0; i < survey->interfaces.n; i++) {
			const struct survey_interface *at =
				&survey->interfaces.items[i];

			if (at->is_physical != (physical == 1) ||
			    (!physical && !at->is_up))
				continue;
			if (n[physical]++ >= 16)
				continue;
			strbuf_printf(&text, "%s%s", text.length ? ", " : "", at->name);
			if (!at->is_up)
				strbuf_puts(&text, " (down)");
			else if (at->gbps > 0)
				strbuf_printf(&text, " (%g Gb/s)", at->gbps);
		}
	if (n[0] + n[1] > 16)
		strbuf_printf(&text, " and %zu others", n[0] + n[1] - 16);
	if (n[1])
		findings_add(&survey->findings, FINDING_OK, "interfaces", NULL, "%s%s",
			     text.text, survey->has_rdma ? "; RDMA devices" : "");
	else if (n[0])
		findings_add(&survey->findings, FINDING_OK, "interfaces", NULL,
			     "no physical ones; up: %s", text.text);
	else
		findings_add(&survey->findings, FINDING_WARN, "interfaces",
			     "run 'ip link'; name those to count: [source] interface",
			     "none is physical, and none is up");
	strbuf_free(&text);
}

static void
look_at_interfaces(struct survey *survey)
{
	char *path = survey_path(survey, "/sys/class/net");
	struct dirent **found = NULL;
	int n = scandir(path, &found, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		/* The settings name them in lists: only names that fit there. */
		if (words_is_name(found[i]->d_name, 15) && found[i]->d_name[0] != '.' &&
		    strcmp(found[i]->d_name, "lo") != 0)
			take_interface(survey, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	free(path);
	path = survey_path(survey, "/sys/class/infiniband");
	n = scandir(path, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		survey->has_rdma |= found[i]->d_name[0] != '.';
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	free(path);
	say_interfaces(survey);
}

/* ---- The clock ------------------------------------------------------------------- */

static const char *
clock_source(const struct survey *survey)
{
	if (survey_has(survey, "/run/ptp4l"))
		return "ptp4l";
	if (survey_has(survey, "/run/chrony/chronyd.pid") ||
	    survey_has(survey, "/run/chrony/chronyd.sock"))
		return "chrony";
	if (survey_has(survey, "/run/systemd/timesync/synchronized"))
		return "systemd-timesyncd";
	return NULL;
}

/* The kernel is asked by the doctor's check; of an image there are only files. */
static void
look_at_clock(struct survey *survey)
{
	const char *source = clock_source(survey);
	struct config config;
	struct doctor doctor;

	if (source)
		findings_add(&survey->findings, FINDING_OK, "clock", NULL, "set by %s",
			     source);
	if (*survey->root) {
		if (!source)
			findings_add(&survey->findings, FINDING_WARN, "clock",
				     "install chrony, or ptp4l and phc2sys",
				     "no program that sets the clock runs");
		return;
	}
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor_check_clock(&doctor);
	for (size_t i = 0; i < doctor.findings.n; i++) {
		const struct finding *at = &doctor.findings.items[i];

		findings_add(&survey->findings, at->state, at->topic, at->remedy, "%s",
			     at->text);
	}
	doctor_fini(&doctor);
	config_fini(&config);
}

/* ---- Programs and units ---------------------------------------------------------- */

/* Runs 'systemctl VERB UNIT'; true for status 0. */
static void
on_answer(void *ctx, const struct child_result *result)
{
	bool *is_yes = ctx;

	*is_yes = result->status == 0;
}

static bool
ask_systemctl(const char *program, const char *verb, const char *unit)
{
	const char *const argv[] = { program, "--quiet", verb, unit, NULL };
	bool is_yes = false;
	const struct child_opts opts = { .argv = argv,
					 .timeout_ns = ASK_NS,
					 .max_bytes = 4096,
					 .done = on_answer,
					 .ctx = &is_yes };

	return child_run(&opts, NULL) == 0 && is_yes;
}

static bool
has_unit(const struct survey *survey, const char *name)
{
	static const char *const places[] = { "/etc", "/usr/local/lib", "/usr/lib",
					      "/lib" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (survey_has(survey, "%s/systemd/system/%s.service", places[i], name))
			return true;
	return false;
}

static void
look_at_programs(struct survey *survey)
{
	char *systemctl = survey_program(survey, "systemctl");
	struct strbuf names = STRBUF_EMPTY;

	survey->has_systemd = systemctl && survey_has(survey, "/run/systemd/system");
	for (int i = 0; i < N_SURVEY_PROGRAMS; i++) {
		const char *name = survey_program_names[i];
		struct survey_unit *unit = &survey->units[i];
		char *program = survey_program(survey, name);

		unit->is_there = survey->has_systemd && has_unit(survey, name);
		if (unit->is_there) {
			unit->is_enabled = ask_systemctl(systemctl, "is-enabled", name);
			unit->is_active = ask_systemctl(systemctl, "is-active", name);
		}
		survey->has_program[i] = program || unit->is_there;
		if (survey->has_program[i])
			strbuf_printf(&names, "%s%s%s", names.length ? ", " : "", name,
				      unit->is_active ? " (runs)" : "");
		free(program);
	}
	if (names.length)
		findings_add(&survey->findings, FINDING_OK, "programs", NULL, "%s",
			     names.text);
	else
		findings_add(&survey->findings, FINDING_WARN, "programs",
			     "install antiphase-collector on hosts that run jobs",
			     "no daemon of antiphase is installed on this host");
	if (!survey->has_systemd)
		findings_add(&survey->findings, FINDING_OK, "systemd", NULL,
			     "does not run here: units stay as they are");
	strbuf_free(&names);
	free(systemctl);
}

/* ---- Keys ------------------------------------------------------------------------ */

static bool
has_entry(const struct survey *survey, const char *dir)
{
	char *path = survey_path(survey, BUS_DEFAULT_KEYS "/%s", dir);
	DIR *in = opendir(path);
	bool is_one = false;

	free(path);
	if (!in)
		return false;
	for (struct dirent *at; !is_one && (at = readdir(in));)
		is_one = strstr(at->d_name, ".pub") && at->d_name[0] != '.';
	closedir(in);
	return is_one;
}

static void
look_at_keys(struct survey *survey)
{
	survey->has_keys = survey_has(survey, BUS_DEFAULT_KEYS "/self.key");
	survey->is_peer_allowed = has_entry(survey, "allow") ||
				  has_entry(survey, "servers") ||
				  survey_has(survey, BUS_DEFAULT_KEYS "/server.pub");
	if (survey->has_keys && survey_is_clustered(survey) && !survey->is_peer_allowed)
		findings_add(
			&survey->findings, FINDING_WARN, "keys",
			survey->slurm.is_controller
				? "for each node: 'antiphase keys server --for NODE "
				  "KEY' with the node's self.pub"
				: "run 'antiphase keys allow --hosts \"\" HEAD KEY' "
				  "with the self.pub of antiphase-scheduler's host",
			BUS_DEFAULT_KEYS " has a pair, but no other host's key");
	else
		findings_add(&survey->findings, FINDING_OK, "keys", NULL, "%s",
			     survey->has_keys ? BUS_DEFAULT_KEYS " has a pair"
					      : "none in " BUS_DEFAULT_KEYS);
}

/* ---- All ------------------------------------------------------------------------- */

bool
survey_is_head(const struct survey *survey)
{
	return (survey->has_program[SURVEY_TOPOLOGY] ||
		survey->has_program[SURVEY_SCHEDULER]) &&
	       (!survey->slurm_conf || survey->slurm.is_controller);
}

bool
survey_is_clustered(const struct survey *survey)
{
	size_t n_self = survey->slurm.is_node;

	return survey->slurm_conf &&
	       (survey->slurm.is_controller ? survey->slurm.nodes.n > n_self
					    : survey->slurm.is_node);
}

void
survey_read(struct survey *survey, const char *root)
{
	*survey = (struct survey){ .root = root };
	look_at_kernel(survey);
	look_at_interfaces(survey);
	look_at_clock(survey);
	look_at_programs(survey);
	survey_cluster(survey);
	look_at_keys(survey);
}

void
survey_fini(struct survey *survey)
{
	for (size_t i = 0; i < survey->interfaces.n; i++)
		free(survey->interfaces.items[i].name);
	vec_free(&survey->interfaces);
	slurm_facts_fini(&survey->slurm);
	findings_fini(&survey->findings);
	free(survey->host);
	free(survey->slurm_conf);
	free(survey->slurm_bindir);
	free(survey->fabric);
	free(survey->fabric_from);
}
