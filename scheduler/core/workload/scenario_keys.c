/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_keys.c - the keys of a scenario and their values.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/scenario_reader.h"
#include "scheduler/core/workload/segment_text.h"
#include "topology/topo.h"

/* Sums of such times do not overflow. */
#define MAX_TIME_NS INT64_C(1000000000000000000)

#define MAX_ITERATIONS 10000000

/* Times the steps of the largest groups, it is less than MAX_TIME_NS. */
#define MAX_LATENCY_NS INT64_C(1000000000)

const char *const scenario_pacing_names[N_SCENARIO_PACINGS] = {
	"none", "once", "realign", "gate", "steer", NULL,
};

/* "aligned", "random"; NULL-terminated. */
static const char *const scenario_phases_names[N_SCENARIO_PHASES] = {
	"aligned",
	"random",
	NULL,
};

int
scenario_fail(struct scenario_reader *r, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return err_set(r->err, r->scenario->file, r->line, 0, "%s", text);
}

/* ---- Values -------------------------------------------------------------------- */

static int
read_count(struct scenario_reader *r, const char *value, uint64_t min, uint64_t max,
	   uint64_t *ret_n)
{
	size_t n_digits = strspn(value, "0123456789");
	uint64_t n = 0;

	if (n_digits && !value[n_digits] && n_digits <= 19)
		n = strtoull(value, NULL, 10);
	if (!n_digits || value[n_digits] || n_digits > 19 || n < min || n > max)
		return scenario_fail(
			r, "expected a whole number from %llu to %llu, not '%s'",
			(unsigned long long)min, (unsigned long long)max, value);
	*ret_n = n;
	return 0;
}

static int
read_u32(struct scenario_reader *r, const char *value, uint32_t min, uint32_t max,
	 uint32_t *ret_n)
{
	uint64_t n;

	if (read_count(r, value, min, max, &n) < 0)
		return -EINVAL;
	*ret_n = (uint32_t)n;
	return 0;
}

int
scenario_read_time(struct scenario_reader *r, const char *value, int64_t *ret_ns)
{
	int64_t ns;

	if (units_parse_ns(value, &ns) < 0)
		return scenario_fail(r, "expected " UNITS_WANT_TIME ", not '%s'",
				     value);
	if (ns > MAX_TIME_NS)
		return scenario_fail(r, "expected at most 1e9 s, not '%s'", value);
	*ret_ns = ns;
	return 0;
}

/* Index of 'value' in the NULL-terminated list 'words', or -EINVAL. */
static int
read_word(struct scenario_reader *r, const char *value, const char *const *words)
{
	int found = words_index(value, words);

	if (found >= 0)
		return found;
	scenario_fail(r, "expected one of");
	for (int i = 0; words[i]; i++)
		err_append(r->err, "%s %s", i ? "," : "", words[i]);
	err_append(r->err, "; not '%s'", value);
	err_suggest(r->err, value, words);
	return -EINVAL;
}

/* ---- [sim] --------------------------------------------------------------------- */

static int
set_sim_iterations(struct scenario_reader *r, const char *value)
{
	return read_count(r, value, 1, MAX_ITERATIONS, &r->scenario->sim.iterations);
}

static int
set_warmup(struct scenario_reader *r, const char *value)
{
	return read_count(r, value, 0, MAX_ITERATIONS,
			  &r->scenario->sim.warmup_iterations);
}

static int
set_duration(struct scenario_reader *r, const char *value)
{
	int error = scenario_read_time(r, value, &r->scenario->sim.duration_ns);

	if (error == 0 && r->scenario->sim.duration_ns == 0)
		return scenario_fail(r, "expected a time above 0, not '%s'", value);
	return error;
}

static int
set_seed(struct scenario_reader *r, const char *value)
{
	return read_count(r, value, 0, INT64_MAX, &r->scenario->sim.seed);
}

static int
set_pacing(struct scenario_reader *r, const char *value)
{
	int i = read_word(r, value, scenario_pacing_names);

	if (i < 0)
		return i;
	r->scenario->sim.pacing = (enum scenario_pacing)(i + 1);
	return 0;
}

static int
set_phases(struct scenario_reader *r, const char *value)
{
	int i = read_word(r, value, scenario_phases_names);

	if (i < 0)
		return i;
	r->scenario->sim.phases = (enum scenario_phases)(i + 1);
	return 0;
}

static int
set_mtu(struct scenario_reader *r, const char *value)
{
	double bytes;

	if (units_parse_bytes(value, &bytes) < 0)
		return scenario_fail(r, "expected " UNITS_WANT_BYTES ", not '%s'",
				     value);
	if (!(bytes >= 64) || bytes > 65536)
		return scenario_fail(r, "expected 64 B to 64 KiB, not '%s'", value);
	r->scenario->sim.mtu_bytes = bytes;
	return 0;
}

const struct scenario_key scenario_sim_keys[] = {
	{ "iterations", set_sim_iterations, false },
	{ "warmup_iterations", set_warmup, false },
	{ "duration", set_duration, false },
	{ "seed", set_seed, false },
	{ "pacing", set_pacing, false },
	{ "phases", set_phases, false },
	{ "mtu", set_mtu, false },
	{ NULL, NULL, false },
};

/* ---- [fabric] ------------------------------------------------------------------ */

char *
scenario_path_beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (*path == '/' || !slash)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - file), file, path);
}

static int
set_fabric(struct scenario_reader *r, char **text, char *value)
{
	struct scenario_fabric *fabric = &r->scenario->fabric;

	if (fabric->file || fabric->generate) {
		free(value);
		return scenario_fail(
			r, "a fabric has either 'file' or 'generate', not both");
	}
	*text = value;
	fabric->line = r->line;
	return 0;
}

static int
set_fabric_file(struct scenario_reader *r, const char *value)
{
	if (!*value)
		return scenario_fail(r, "expected the path of a fabric file");
	return set_fabric(r, &r->scenario->fabric.file,
			  scenario_path_beside(r->scenario->file, value));
}

static int
set_fabric_generate(struct scenario_reader *r, const char *value)
{
	return set_fabric(r, &r->scenario->fabric.generate, xstrdup(value));
}

static int
set_ecmp_seed(struct scenario_reader *r, const char *value)
{
	return read_count(r, value, 0, INT64_MAX, &r->scenario->fabric.ecmp_seed);
}

const struct scenario_key scenario_fabric_keys[] = {
	{ "file", set_fabric_file, false },
	{ "generate", set_fabric_generate, false },
	{ "ecmp_seed", set_ecmp_seed, false },
	{ NULL, NULL, false },
};

/* ---- [job NAME] ---------------------------------------------------------------- */

static int
set_hosts(struct scenario_reader *r, const char *value)
{
	if (!*value)
		return scenario_fail(r, "expected names of hosts such as 'h[0-3]'");
	r->draft.details.hosts = xstrdup(value);
	r->draft.details.hosts_line = r->line;
	return 0;
}

static int
set_nodes(struct scenario_reader *r, const char *value)
{
	r->draft.has_nodes = true;
	return read_u32(r, value, 1, TOPO_MAX_NODES, &r->draft.job.n_hosts_wanted);
}

static int
set_slots(struct scenario_reader *r, const char *value)
{
	return read_u32(r, value, 1, TOPO_MAX_SLOTS, &r->draft.job.slots_per_host);
}

static int
set_segment(struct scenario_reader *r, const char *value)
{
	struct work_segment segment;
	bool is_message;
	char *text;
	int error;

	if (r->draft.segments.n == WORK_MAX_SEGMENTS)
		return scenario_fail(r, "a job has at most %d segments",
				     WORK_MAX_SEGMENTS);
	if (segment_names_add(&r->draft.segment_names, r->scenario->file, r->line,
			      value, &text, r->err) < 0)
		return -EINVAL;
	error = segment_text_parse(r->scenario->file, r->line, text, &segment,
				   &is_message, r->err);
	free(text);
	if (error < 0)
		return -EINVAL;
	vec_push(&r->draft.segments, segment);
	vec_push(&r->draft.messages, is_message);
	vec_push(&r->draft.segment_lines, r->line);
	return 0;
}

static int
set_group(struct scenario_reader *r, const char *value, enum rank_group kind)
{
	return read_u32(r, value, 1, TOPO_MAX_NODES, &r->draft.job.ranks.size[kind]);
}

static int
set_tp(struct scenario_reader *r, const char *value)
{
	return set_group(r, value, RANK_GROUP_TP);
}

static int
set_dp(struct scenario_reader *r, const char *value)
{
	return set_group(r, value, RANK_GROUP_DP);
}

static int
set_ep(struct scenario_reader *r, const char *value)
{
	return set_group(r, value, RANK_GROUP_EP);
}

static int
set_pp(struct scenario_reader *r, const char *value)
{
	return set_group(r, value, RANK_GROUP_PP);
}

static int
set_latency(struct scenario_reader *r, const char *value)
{
	if (scenario_read_time(r, value, &r->draft.job.latency_ns) < 0)
		return -EINVAL;
	if (r->draft.job.latency_ns > MAX_LATENCY_NS)
		return scenario_fail(r, "expected at most 1 s, not '%s'", value);
	return 0;
}

static int
set_profile(struct scenario_reader *r, const char *value)
{
	if (!*value || *value == '#')
		return scenario_fail(r,
				     "expected 'FILE' or 'FILE#JOB' of a profile file");
	r->draft.profile = xstrdup(value);
	r->draft.profile_line = r->line;
	return 0;
}

static int
set_scale(struct scenario_reader *r, const char *value)
{
	char *end;
	double scale = strtod(value, &end);

	if (!isdigit((unsigned char)*value) || *end || !(scale >= 1e-6) || scale > 1e6)
		return scenario_fail(r, "expected a factor from 1e-6 to 1e6, not '%s'",
				     value);
	r->draft.scale = scale;
	return 0;
}

static int
set_collective(struct scenario_reader *r, const char *value)
{
	int i = read_word(r, value, collective_names);

	if (i < 0)
		return i;
	r->draft.job.collective = (enum collective)i;
	return 0;
}

static int
set_jitter(struct scenario_reader *r, const char *value)
{
	double frac;

	if (units_parse_frac(value, &frac) < 0 || frac > WORK_MAX_JITTER)
		return scenario_fail(r, "expected %s, at most 1, not '%s'",
				     UNITS_WANT_FRAC, value);
	r->draft.job.jitter_frac = frac;
	r->draft.details.has_jitter = true;
	return 0;
}

/* "SHARE of TIME". */
static int
set_stalls(struct scenario_reader *r, const char *value)
{
	const char *of = strstr(value, " of ");
	char share[64];
	double frac;
	int64_t mean_ns;

	if (!of || (size_t)(of - value) >= sizeof share)
		goto bad;
	memcpy(share, value, of - value);
	share[of - value] = '\0';
	if (units_parse_frac(share, &frac) < 0 || frac > 1 ||
	    units_parse_ns(of + strlen(" of "), &mean_ns) < 0 || mean_ns < 0 ||
	    mean_ns > WORK_MAX_STALL_NS)
		goto bad;
	r->draft.job.stall_frac = frac;
	r->draft.job.stall_ns = (double)mean_ns;
	return 0;
bad:
	return scenario_fail(
		r,
		"expected a share, at most 1, of a mean time, at most 1 min, "
		"such as '5 %% of 40 ms', not '%s'",
		value);
}

static int
set_weight(struct scenario_reader *r, const char *value)
{
	char *end;
	double weight = strtod(value, &end);

	if (!isdigit((unsigned char)*value) || *end || !(weight > 0) || weight > 1e9)
		return scenario_fail(
			r, "expected a weight above 0 and at most 1e9, not '%s'",
			value);
	r->draft.job.weight = weight;
	r->draft.details.has_weight = true;
	return 0;
}

static int
set_arrival(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &r->draft.job.arrival_ns);
}

static int
set_stop(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &r->draft.job.stop_ns);
}

static int
set_shift(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &r->draft.job.shift_ns);
}

static int
set_job_iterations(struct scenario_reader *r, const char *value)
{
	return read_count(r, value, 1, MAX_ITERATIONS, &r->draft.job.max_iterations);
}

static int
set_job_count(struct scenario_reader *r, const char *value)
{
	return read_u32(r, value, 1, WORK_MAX_JOBS, &r->draft.count);
}

static int
set_port(struct scenario_reader *r, const char *value)
{
	uint64_t port;

	if (read_count(r, value, 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	r->draft.job.first_port = (uint16_t)port;
	return 0;
}

static int
set_connections(struct scenario_reader *r, const char *value)
{
	return read_u32(r, value, 1, WORK_MAX_CONNECTIONS, &r->draft.job.n_connections);
}

static int
set_movable(struct scenario_reader *r, const char *value)
{
	static const char *const words[] = { "no", "yes", NULL };
	int i = read_word(r, value, words);

	if (i < 0)
		return i;
	r->draft.job.is_movable = i > 0;
	return 0;
}

static int
set_move_cost(struct scenario_reader *r, const char *value)
{
	r->draft.job.has_move_cost = true;
	return scenario_read_time(r, value, &r->draft.job.move_cost_ns);
}

static int
set_remaining(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &r->draft.job.left_ns);
}

static int
set_running_for(struct scenario_reader *r, const char *value)
{
	return scenario_read_time(r, value, &r->draft.job.ran_ns);
}

const struct scenario_key scenario_job_keys[] = {
	{ "hosts", set_hosts, false },
	{ "nodes", set_nodes, false },
	{ "slots", set_slots, false },
	{ "tp", set_tp, false },
	{ "dp", set_dp, false },
	{ "ep", set_ep, false },
	{ "pp", set_pp, false },
	{ "latency", set_latency, false },
	{ "segment", set_segment, true },
	{ "profile", set_profile, false },
	{ "scale", set_scale, false },
	{ "collective", set_collective, false },
	{ "jitter", set_jitter, false },
	{ "stalls", set_stalls, false },
	{ "weight", set_weight, false },
	{ "arrival", set_arrival, false },
	{ "stop", set_stop, false },
	{ "shift", set_shift, false },
	{ "iterations", set_job_iterations, false },
	{ "count", set_job_count, false },
	{ "port", set_port, false },
	{ "connections", set_connections, false },
	{ "movable", set_movable, false },
	{ "move_cost", set_move_cost, false },
	{ "remaining", set_remaining, false },
	{ "running_for", set_running_for, false },
	{ NULL, NULL, false },
};
