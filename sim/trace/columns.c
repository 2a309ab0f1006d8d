/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/columns.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/utf8.h"

/* ---- The formats ----------------------------------------------------------------- */

#define AT(field) offsetof(struct jobtrace_job, field)
#define TEXT(name, field)                              \
	{                                              \
		COLUMN_TEXT, false, name, AT(field), 1 \
	}
#define S(name, field)                                    \
	{                                                 \
		COLUMN_SECONDS, false, name, AT(field), 1 \
	}
#define MS(name, field)                                      \
	{                                                    \
		COLUMN_SECONDS, false, name, AT(field), 1000 \
	}
#define TIME(name, field)                              \
	{                                              \
		COLUMN_TIME, false, name, AT(field), 1 \
	}
#define COUNT(name, field)                              \
	{                                               \
		COLUMN_COUNT, false, name, AT(field), 1 \
	}
#define CPUS(name, divisor)                                   \
	{                                                     \
		COLUMN_CPUS, false, name, AT(n_cpus), divisor \
	}
#define POD_MEMORY(name, divisor)                                   \
	{                                                           \
		COLUMN_MEMORY, false, name, AT(memory_gib), divisor \
	}
#define NEEDED(kind, name, field, divisor)           \
	{                                            \
		kind, true, name, AT(field), divisor \
	}
#define OTHER(name)                            \
	{                                      \
		COLUMN_TEXT, false, name, 0, 0 \
	}

static const struct column antiphase[] = {
	NEEDED(COLUMN_TEXT, "job_id", id, 1),
	NEEDED(COLUMN_SECONDS, "submit_s", submit_s, 1),
	NEEDED(COLUMN_GPUS, "num_gpus", n_gpus, 1),
	S("duration_s", duration_s),
	TEXT("user", user),
	TEXT("vc", vc),
	TEXT("model", model),
	TEXT("gpu_type", gpu_type),
	TEXT("mode", mode),
	S("start_s", start_s),
	S("end_s", end_s),
	S("expected_s", expected_s),
	S("iterations", iterations),
	S("iteration_s", iteration_s),
	S("load_s", stage_s[0]),
	S("gpu_s", stage_s[1]),
	S("network_s", stage_s[2]),
	COUNT("num_nodes", n_nodes),
	COUNT("batch", batch),
	{ COLUMN_PRIORITY, false, "priority", AT(priority), 1 },
	{ COLUMN_STATUS, false, "status", AT(status), 1 },
	S("gpu_memory_gib", gpu_memory_gib),
	S("memory_gib", memory_gib),
	CPUS("num_cpus", 1),
	{ 0 },
};
static const struct column philly[] = {
	NEEDED(COLUMN_TIME, "timestamp", submit_s, 1),
	NEEDED(COLUMN_SECONDS, "duration", duration_s, 1),
	NEEDED(COLUMN_GPUS, "num_gpus", n_gpus, 1),
	TEXT("cluster", vc),
	{ 0 },
};
static const struct column helios[] = {
	NEEDED(COLUMN_TEXT, "job_id", id, 1),
	NEEDED(COLUMN_TEXT, "vc", vc, 1),
	NEEDED(COLUMN_GPUS, "gpu_num", n_gpus, 1),
	NEEDED(COLUMN_TIME, "submit_time", submit_s, 1),
	NEEDED(COLUMN_SECONDS, "duration", duration_s, 1),
	TEXT("user", user),
	CPUS("cpu_num", 1),
	COUNT("node_num", n_nodes),
	TIME("start_time", start_s),
	TIME("end_time", end_s),
	{ COLUMN_STATUS, false, "state", AT(status), 1 },
	{ 0 },
};
/* Kalos's durations, unlike Seren's, include the time in the queue: times tell. */
static const struct column acme[] = {
	NEEDED(COLUMN_TEXT, "job_id", id, 1),
	NEEDED(COLUMN_TEXT, "type", model, 1),
	NEEDED(COLUMN_GPUS, "gpu_num", n_gpus, 1),
	NEEDED(COLUMN_TIME, "submit_time", submit_s, 1),
	NEEDED(COLUMN_TIME, "start_time", start_s, 1),
	NEEDED(COLUMN_TIME, "end_time", end_s, 1),
	TEXT("user", user),
	CPUS("cpu_num", 1),
	COUNT("node_num", n_nodes),
	POD_MEMORY("mem_per_pod_GB", 1.073741824),
	{ COLUMN_STATUS, false, "state", AT(status), 1 },
	{ 0 },
};
/* pai_task_table: without a header, or joined with other tables, with one. */
static const struct column pai_2020[] = {
	NEEDED(COLUMN_TEXT, "job_name", id, 1),
	NEEDED(COLUMN_TEXT, "task_name", model, 1),
	NEEDED(COLUMN_INSTANCES, "inst_num", n_gpus, 1),
	{ COLUMN_STATUS, false, "status", AT(status), 1 },
	NEEDED(COLUMN_STAMP, "start_time", start_s, 1),
	NEEDED(COLUMN_STAMP, "end_time", end_s, 1),
	CPUS("plan_cpu", 100),
	POD_MEMORY("plan_mem", 1),
	NEEDED(COLUMN_GPUS, "plan_gpu", n_gpus, 100),
	TEXT("gpu_type", gpu_type),
	TEXT("user", user),
	{ COLUMN_STATUS, false, "task_status", AT(status), 1 },
	{ COLUMN_STAMP, false, "job_start_time", AT(submit_s), 1 },
	{ 0 },
};
/* The machine is taken as 'vc'. */
static const struct column pai_instances[] = {
	NEEDED(COLUMN_TEXT, "job_name", id, 1),
	NEEDED(COLUMN_TEXT, "task_name", model, 1),
	OTHER("inst_name"),
	OTHER("worker_name"),
	OTHER("inst_id"),
	{ COLUMN_STATUS, false, "status", AT(status), 1 },
	NEEDED(COLUMN_STAMP, "start_time", start_s, 1),
	NEEDED(COLUMN_STAMP, "end_time", end_s, 1),
	NEEDED(COLUMN_TEXT, "machine", vc, 1),
	{ 0 },
};
static const struct column pai_2023[] = {
	NEEDED(COLUMN_TEXT, "name", id, 1),
	NEEDED(COLUMN_GPUS, "num_gpu", n_gpus, 1),
	NEEDED(COLUMN_GPUS, "gpu_milli", n_gpus, 1000),
	NEEDED(COLUMN_SECONDS, "creation_time", submit_s, 1),
	CPUS("cpu_milli", 1000),
	POD_MEMORY("memory_mib", 1024),
	S("scheduled_time", start_s),
	S("deletion_time", end_s),
	TEXT("gpu_spec", gpu_type),
	TEXT("qos", vc),
	{ COLUMN_STATUS, false, "pod_phase", AT(status), 1 },
	{ 0 },
};
static const struct column muri[] = {
	NEEDED(COLUMN_TEXT, "job_id", id, 1),
	NEEDED(COLUMN_GPUS, "num_gpu", n_gpus, 1),
	NEEDED(COLUMN_SECONDS, "submit_time", submit_s, 1000),
	NEEDED(COLUMN_SECONDS, "iterations", iterations, 1),
	NEEDED(COLUMN_TEXT, "model_name", model, 1),
	NEEDED(COLUMN_SECONDS, "duration", duration_s, 1000),
	NEEDED(COLUMN_SECONDS, "iteration_time", iteration_s, 1000),
	NEEDED(COLUMN_SECONDS, "resource_time_0", stage_s[0], 1000),
	MS("resource_time_1", stage_s[1]),
	MS("resource_time_2", stage_s[2]),
	COUNT("batch_size", batch),
	{ COLUMN_PRIORITY, false, "priority", AT(priority), 1 },
	{ 0 },
};
/* Astraea's, too, which has users. */
static const struct column tiresias[] = {
	NEEDED(COLUMN_TEXT, "job_id", id, 1),
	NEEDED(COLUMN_GPUS, "num_gpu", n_gpus, 1),
	NEEDED(COLUMN_SECONDS, "submit_time", submit_s, 1),
	NEEDED(COLUMN_SECONDS, "duration", duration_s, 1),
	NEEDED(COLUMN_TEXT, "model_name", model, 1),
	S("iterations", iterations),
	TEXT("user", user),
	S("expect_time", expected_s),
	{ 0 },
};
static const struct column pollux[] = {
	NEEDED(COLUMN_TEXT, "name", id, 1),
	NEEDED(COLUMN_SECONDS, "time", submit_s, 1),
	NEEDED(COLUMN_TEXT, "application", model, 1),
	NEEDED(COLUMN_GPUS, "num_replicas", n_gpus, 1),
	NEEDED(COLUMN_COUNT, "batch_size", batch, 1),
	{ 0 },
};
static const struct column synergy[] = {
	TEXT("id", id),
	TEXT("model", model),
	S("submit", submit_s),
	S("iterations", iterations),
	{ COLUMN_GPUS, false, "gpus", AT(n_gpus), 1 },
	{ 0 },
};
static const struct column gavel[] = {
	{ COLUMN_MODEL, false, "job_type", AT(model), 1 },
	OTHER("command"),
	OTHER("num_steps_arg"),
	OTHER("needs_data_dir"),
	S("total_steps", iterations),
	S("arrival", submit_s),
	{ COLUMN_GPUS, false, "scale_factor", AT(n_gpus), 1 },
	{ 0 },
};
static const struct column gavel_physical[] = {
	{ COLUMN_MODEL, false, "job_type", AT(model), 1 },
	OTHER("command"),
	OTHER("directory"),
	OTHER("num_steps_arg"),
	OTHER("needs_data_dir"),
	S("total_steps", iterations),
	{ COLUMN_GPUS, false, "scale_factor", AT(n_gpus), 1 },
	{ COLUMN_PRIORITY, false, "priority", AT(priority), 1 },
	OTHER("slo"),
	S("arrival", submit_s),
	{ 0 },
};
static const struct column shockwave[] = {
	{ COLUMN_MODEL, false, "job_type", AT(model), 1 },
	OTHER("command"),
	OTHER("directory"),
	OTHER("num_steps_arg"),
	OTHER("needs_data_dir"),
	S("total_steps", iterations),
	{ COLUMN_GPUS, false, "scale_factor", AT(n_gpus), 1 },
	TEXT("mode", mode),
	{ COLUMN_PRIORITY, false, "priority", AT(priority), 1 },
	OTHER("slo"),
	S("duration", duration_s),
	S("arrival", submit_s),
	{ 0 },
};

/* Formats with more required columns are tried first. */
static const struct columns columns_table[] = {
	{ JOBTRACE_MURI, ',', true, muri },
	{ JOBTRACE_TIRESIAS, ',', true, tiresias },
	{ JOBTRACE_PAI_2020, ',', true, pai_2020 },
	{ JOBTRACE_PAI_2023, ',', true, pai_2023 },
	{ JOBTRACE_PAI_INSTANCES, ',', true, pai_instances },
	{ JOBTRACE_POLLUX, ',', true, pollux },
	{ JOBTRACE_HELIOS, ',', true, helios },
	{ JOBTRACE_ACME, ',', true, acme },
	{ JOBTRACE_PHILLY_CSV, ',', true, philly },
	{ JOBTRACE_ANTIPHASE, ',', true, antiphase },
	{ JOBTRACE_SYNERGY, ',', false, synergy },
	{ JOBTRACE_PAI_2020, ',', false, pai_2020 },
	{ JOBTRACE_PAI_INSTANCES, ',', false, pai_instances },
	{ JOBTRACE_GAVEL, '\t', false, gavel },
	{ JOBTRACE_GAVEL, '\t', false, gavel_physical },
	{ JOBTRACE_SHOCKWAVE, '\t', false, shockwave },
	{ 0 },
};

/* ---- Rows ------------------------------------------------------------------------ */

enum columns_place
columns_scan(enum columns_place from, const char *text, char separator)
{
	for (; *text && from != COLUMNS_BROKEN; text++) {
		if (from == COLUMNS_IN_QUOTES)
			from = *text == '"' ? COLUMNS_BEHIND_QUOTES : from;
		else if (*text == separator)
			from = COLUMNS_AT_BEGIN;
		else if (*text == '"' && from != COLUMNS_IN_PLAIN)
			from = COLUMNS_IN_QUOTES;
		else
			from = from == COLUMNS_BEHIND_QUOTES ? COLUMNS_BROKEN
							     : COLUMNS_IN_PLAIN;
	}
	return from;
}

int
columns_split(char *row, char separator, char **ret_fields)
{
	int n = 0;

	for (char *at = row;;) {
		char *to = at;

		if (n == COLUMNS_MAX)
			return -1;
		ret_fields[n++] = at;
		if (*at == '"') {
			for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
				at += *at == '"';
				*to++ = *at;
			}
			if (*at++ != '"' || (*at && *at != separator))
				return -1;
		} else {
			at += strcspn(at, (char[]){ separator, '\0' });
			to = at;
		}
		if (!*at) {
			*to = '\0';
			return n;
		}
		at++;
		*to = '\0';
	}
}

static const struct column *
find_column(const struct column *columns, const char *name)
{
	for (; columns->kind; columns++)
		if (strcmp(columns->name, name) == 0)
			return columns;
	return NULL;
}

static bool
has_needed(const struct column *columns, const struct column *const *of, int n)
{
	for (; columns->kind; columns++) {
		int i = 0;

		while (i < n && of[i] != columns)
			i++;
		if (columns->is_needed && i == n)
			return false;
	}
	return true;
}

static bool
is_number(enum column_kind kind)
{
	switch (kind) {
	case COLUMN_SECONDS:
	case COLUMN_STAMP:
	case COLUMN_GPUS:
	case COLUMN_INSTANCES:
	case COLUMN_CPUS:
	case COLUMN_MEMORY:
		return true;
	default:
		return false;
	}
}

/* Takes the first 'n' columns of a table without a header. */
static bool
by_order(const struct columns *format, char *const *fields, int n,
	 const struct column **ret_of)
{
	int n_columns = 0, n_raw;
	char *end;

	while (format->columns[n_columns].kind)
		n_columns++;
	/* Columns joined to PAI's table do not count. */
	n_raw = format->format == JOBTRACE_PAI_2020 ? 10 : n_columns;
	if (n != n_raw)
		return false;
	for (int i = 0; i < n; i++) {
		ret_of[i] = &format->columns[i];
		if (!is_number(ret_of[i]->kind))
			continue;
		strtod(fields[i], &end);
		if (*end)
			return false;
	}
	return true;
}

static bool
by_name(const struct columns *format, char *const *fields, int n,
	const struct column **ret_of)
{
	for (int i = 0; i < n; i++)
		ret_of[i] = find_column(format->columns, fields[i]);
	return has_needed(format->columns, ret_of, n);
}

const struct columns *
columns_find(enum jobtrace_format format, char *const *fields, int n, char separator,
	     const struct column **ret_of)
{
	for (const struct columns *c = columns_table; c->columns; c++) {
		if ((format != JOBTRACE_AUTO && format != c->format) ||
		    separator != c->separator)
			continue;
		if (c->has_header ? by_name(c, fields, n, ret_of)
				  : by_order(c, fields, n, ret_of))
			return c;
	}
	return NULL;
}

/* ---- Values ---------------------------------------------------------------------- */

static bool
is_nothing(const char *text)
{
	return !*text || strcmp(text, "None") == 0 || strcmp(text, "nan") == 0 ||
	       strcmp(text, "NaN") == 0 || strcmp(text, "NULL") == 0;
}

static bool
read_number(const char *text, double max, double *ret_value)
{
	char *end;

	if (is_nothing(text)) {
		*ret_value = NAN;
		return true;
	}
	*ret_value = strtod(text, &end);
	if (end == text || memchr(text, 'x', (size_t)(end - text)) ||
	    memchr(text, 'X', (size_t)(end - text)))
		return false; /* No hexadecimal numbers. */
	end += strspn(end, " \t");
	return !*end && fabs(*ret_value) <= max;
}

/* Reads a whole number, also "3.0", which some traces have in columns with gaps. */
static bool
read_whole(const char *text, double min, double max, double *ret_value)
{
	return read_number(text, max, ret_value) &&
	       (isnan(*ret_value) ||
		(*ret_value >= min && *ret_value == floor(*ret_value)));
}

/* Refuses dates such as the 30th of February. */
static bool
is_date(const struct tm *tm)
{
	struct tm date = { .tm_year = tm->tm_year,
			   .tm_mon = tm->tm_mon,
			   .tm_mday = tm->tm_mday };

	timegm(&date);
	return date.tm_mday == tm->tm_mday;
}

bool
columns_time(const char *text, double *ret_s)
{
	struct tm tm = { 0 };
	const char *rest;
	char *end;
	int zone = 0;

	if (is_nothing(text) || (*text != ' ' && strlen(text) < 19))
		return read_number(text, COLUMNS_MAX_SECONDS, ret_s);
	rest = strptime(text, "%Y-%m-%d", &tm);
	if (!rest || (*rest != ' ' && *rest != 'T'))
		return read_number(text, COLUMNS_MAX_SECONDS, ret_s);
	rest = strptime(rest + 1, "%H:%M:%S", &tm);
	if (!rest || !is_date(&tm))
		return false;
	if ((*rest == '+' || *rest == '-') && isdigit((unsigned char)rest[1])) {
		long hours = strtol(rest + 1, &end, 10);
		long minutes = *end == ':' ? strtol(end + 1, &end, 10) : 0;

		if (*end || hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
			return false;
		zone = (int)(hours * 3600 + minutes * 60) * (*rest == '-' ? -1 : 1);
	} else if (*rest && strcmp(rest, "Z") != 0) {
		return false;
	}
	*ret_s = (double)timegm(&tm) - zone;
	return true;
}

enum jobtrace_status
columns_status(const char *text)
{
	static const struct {
		const char *text;
		enum jobtrace_status status;
	} words[] = {
		{ "COMPLETED", JOBTRACE_COMPLETED },
		{ "Pass", JOBTRACE_COMPLETED },
		{ "Terminated", JOBTRACE_COMPLETED },
		{ "Succeeded", JOBTRACE_COMPLETED },
		{ "completed", JOBTRACE_COMPLETED },
		{ "CANCELLED", JOBTRACE_CANCELLED },
		{ "Killed", JOBTRACE_CANCELLED },
		{ "cancelled", JOBTRACE_CANCELLED },
		{ "FAILED", JOBTRACE_FAILED },
		{ "Failed", JOBTRACE_FAILED },
		{ "failed", JOBTRACE_FAILED },
		{ "TIMEOUT", JOBTRACE_FAILED },
		{ "NODE_FAIL", JOBTRACE_FAILED },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].text, text) == 0)
			return words[i].status;
	return JOBTRACE_UNKNOWN;
}

static void
read_model(char *text, struct jobtrace_job *job)
{
	char *batch = strstr(text, " (batch size ");

	job->model = text;
	if (!batch)
		return;
	job->batch = (uint32_t)strtoul(batch + strlen(" (batch size "), NULL, 10);
	*batch = '\0';
}

const char *
columns_check_name(const char *text)
{
	for (; *text; text++)
		if (utf8_control(text))
			return "expected no control characters";
	return NULL;
}

/* What is known of a job only when all its columns are read. */
struct sizes {
	double n_gpus, n_instances; /* GPUs: of an instance. */
	double memory_gib;          /* Of an instance or a node. */
	bool has_instances;
};

/* A number, 0 or more, over the divisor. */
static bool
read_amount(const char *text, double divisor, double *ret_value)
{
	if (!read_number(text, COLUMNS_MAX_SECONDS, ret_value) || *ret_value < 0)
		return false;
	*ret_value /= divisor;
	return true;
}

static const char *
read_value(const struct column *column, char *text, struct jobtrace_job *job,
	   struct sizes *sizes)
{
	void *at = (char *)job + column->offset;
	double value = 0;

	switch (column->kind) {
	case COLUMN_TEXT:
		if (!(column->divisor > 0))
			return NULL;
		*(const char **)at = text;
		return columns_check_name(text);
	case COLUMN_MODEL:
		read_model(text, job);
		return columns_check_name(text);
	case COLUMN_SECONDS:
		if (!read_number(text, COLUMNS_MAX_SECONDS, &value))
			return "expected a number";
		*(double *)at = value / column->divisor;
		return NULL;
	case COLUMN_STAMP:
		if (!read_amount(text, column->divisor, &value))
			return "expected seconds, 0 or more";
		*(double *)at = value > 0 ? value : NAN;
		return NULL;
	case COLUMN_TIME:
		return columns_time(text, at)
			       ? NULL
			       : "expected YYYY-MM-DD HH:MM:SS, or a number";
	case COLUMN_COUNT:
		if (!read_whole(text, 0, UINT32_MAX, &value))
			return "expected a whole number";
		*(uint32_t *)at = isnan(value) ? 0 : (uint32_t)value;
		return NULL;
	case COLUMN_GPUS:
		if (!read_amount(text, column->divisor, &value))
			return "expected a number of GPUs";
		sizes->n_gpus *= isnan(value) ? 0 : value;
		return NULL;
	case COLUMN_INSTANCES:
		if (!read_amount(text, column->divisor, &value))
			return "expected a number of instances";
		sizes->n_instances = isnan(value) ? 0 : value;
		sizes->has_instances = true;
		return NULL;
	case COLUMN_CPUS:
		return read_amount(text, column->divisor, at)
			       ? NULL
			       : "expected a number of CPUs";
	case COLUMN_MEMORY:
		return read_amount(text, column->divisor, &sizes->memory_gib)
			       ? NULL
			       : "expected an amount of memory";
	case COLUMN_PRIORITY:
		if (!read_whole(text, -INT32_MAX, INT32_MAX, &value))
			return "expected a whole number";
		*(int32_t *)at = isnan(value) ? 0 : (int32_t)value;
		return NULL;
	case COLUMN_STATUS:
		*(enum jobtrace_status *)at = columns_status(text);
		return NULL;
	case COLUMN_END:
		break;
	}
	return NULL;
}

/* Amounts of the whole job; NULL, or what is wrong. */
static const char *
add_up(const struct sizes *sizes, struct jobtrace_job *job, bool *ret_rounded)
{
	double n_gpus = sizes->n_gpus * sizes->n_instances;
	double n_pods =
		sizes->has_instances ? sizes->n_instances : fmax(job->n_nodes, 1);

	if (n_gpus > JOBTRACE_MAX_GPUS)
		return "too many GPUs";
	*ret_rounded = n_gpus > 0 && n_gpus < ceil(n_gpus);
	job->n_gpus = (uint32_t)ceil(n_gpus);
	job->n_cpus *= sizes->n_instances;
	if (job->n_cpus > COLUMNS_MAX_SECONDS)
		return "too many CPUs";
	if (!job->n_gpus || isnan(sizes->memory_gib))
		return NULL;
	job->memory_gib = sizes->memory_gib * n_pods / job->n_gpus;
	return job->memory_gib > COLUMNS_MAX_SECONDS ? "too much memory" : NULL;
}

const char *
columns_read(const struct column *const *of, char *const *fields, int n,
	     struct jobtrace_job *ret_job, int *ret_field, bool *ret_rounded)
{
	struct sizes sizes = { .n_gpus = 1, .n_instances = 1, .memory_gib = NAN };

	jobtrace_clear(ret_job);
	for (int i = 0; i < n; i++) {
		const char *why =
			of[i] ? read_value(of[i], fields[i], ret_job, &sizes) : NULL;

		*ret_field = i;
		if (why)
			return why;
	}
	*ret_field = -1;
	if (isnan(ret_job->submit_s))
		ret_job->submit_s = ret_job->start_s;
	if (isnan(ret_job->duration_s))
		ret_job->duration_s = ret_job->end_s - ret_job->start_s;
	if (ret_job->duration_s < 0)
		return "it ends before it starts";
	if (ret_job->duration_s > COLUMNS_MAX_SECONDS)
		return "its duration is too large";
	if (ret_job->iterations < 0 || ret_job->iteration_s < 0)
		return "a negative number of iterations";
	for (int i = 0; i < JOBTRACE_N_STAGES; i++)
		if (ret_job->stage_s[i] < 0)
			return "a negative stage time";
	return add_up(&sizes, ret_job, ret_rounded);
}
