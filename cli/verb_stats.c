/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_stats.c - 'antiphase stats': metrics of the running collector, read over its
 * control socket.  They are those of /metrics, so that there is one list of them.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/daemon/control.h"
#include "lib/daemon/runtime_dirs.h"

#define ASK_NS     INT64_C(5000000000)
#define MAX_LABELS 4

struct metric {
	const char *name; /* Borrowed from the text, as the other members. */
	size_t n_labels;
	const char *labels[MAX_LABELS], *values[MAX_LABELS];
	const char *number;
};

/* A label's value up to its closing quote, unescaped in place; NULL if malformed. */
static char *
take_value(char *at)
{
	char *to = at;

	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			*to++ = *at == 'n' ? '\n' : *at;
		} else {
			*to++ = *at;
		}
	}
	if (!*at)
		return NULL;
	*to = '\0';
	return at + 1;
}

/* Parses 'name{label="value",...} number' in place. */
static bool
parse_metric(char *line, struct metric *metric)
{
	char *at = line + strcspn(line, "{ ");
	bool has_labels = *at == '{';

	*metric = (struct metric){ .name = line };
	if (!*at || at == line)
		return false;
	*at++ = '\0';
	while (has_labels && *at != '}') {
		char *equals = strchr(at, '=');

		if (!equals || equals[1] != '"' || metric->n_labels == MAX_LABELS)
			return false;
		*equals = '\0';
		metric->labels[metric->n_labels] = at;
		metric->values[metric->n_labels++] = equals + 2;
		at = take_value(equals + 2);
		if (!at || (*at != ',' && *at != '}'))
			return false;
		at += *at == ',';
	}
	at += has_labels;
	metric->number = at + strspn(at, " ");
	return *metric->number != '\0';
}

static void
print_json(const struct metric *metrics, size_t n)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.stats/1");
	jsonw_int(&w, "at_us", clk_wall_us());
	jsonw_array(&w, "figures");
	for (size_t i = 0; i < n; i++) {
		double value = strtod(metrics[i].number, NULL);

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "name", metrics[i].name);
		jsonw_array(&w, "labels");
		for (size_t k = 0; k < metrics[i].n_labels; k++) {
			jsonw_object(&w, NULL);
			jsonw_str(&w, "label", metrics[i].labels[k]);
			jsonw_str(&w, "value", metrics[i].values[k]);
			jsonw_end(&w);
		}
		jsonw_end(&w);
		if (value >= 0 && value < 9e15 && value == floor(value))
			jsonw_int(&w, "value", (int64_t)value);
		else
			jsonw_num(&w, "value", value);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static double
sum_of(const struct metric *metrics, size_t n, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(metrics[i].name, name) == 0)
			sum += strtod(metrics[i].number, NULL);
	}
	return sum;
}

/* The collector's cost in one line: the first question about a daemon on every host. */
static void
print_cost(const struct metric *metrics, size_t n)
{
	double up_s = (double)clk_wall_us() * 1e-6 -
		      sum_of(metrics, n, "process_start_time_seconds");
	double cpu_s = sum_of(metrics, n, "process_cpu_seconds_total");
	double runs = sum_of(metrics, n, "antiphase_collector_bpf_runs_total");
	double run_s = sum_of(metrics, n, "antiphase_collector_bpf_seconds_total");

	printf("cost: %.2f %% of a core over %.0f s, %.1f MB", 100 * cpu_s / up_s, up_s,
	       sum_of(metrics, n, "process_resident_memory_bytes") * 1e-6);
	if (runs > 0)
		printf(", %.0f ns per packet", run_s / runs * 1e9);
	printf("; lost: %.0f\n\n",
	       sum_of(metrics, n, "antiphase_collector_lost_total"));
}

static void
print_text(const struct metric *metrics, size_t n, bool is_all)
{
	struct table t;

	if (is_all)
		print_cost(metrics, n);
	table_init(&t, (const char *const[]){ "METRIC", "LABELS", "%VALUE", NULL });
	for (size_t i = 0; i < n; i++) {
		struct strbuf of = STRBUF_EMPTY;

		for (size_t k = 0; k < metrics[i].n_labels; k++)
			strbuf_printf(&of, "%s%s", k ? " " : "", metrics[i].values[k]);
		table_cell(&t, "%s", metrics[i].name);
		table_cell(&t, "%s", of.text);
		table_cell(&t, "%.15g", strtod(metrics[i].number, NULL));
		strbuf_free(&of);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

/* Prints the metrics whose name contains 'part'; modifies 'text'. */
static void
print_metrics(char *text, const char *part, bool is_json)
{
	VEC(struct metric) metrics = VEC_EMPTY;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct metric metric;

		if (*line != '#' && parse_metric(line, &metric) &&
		    (!part || strstr(metric.name, part)))
			vec_push(&metrics, metric);
	}
	if (is_json)
		print_json(metrics.items, metrics.n);
	else
		print_text(metrics.items, metrics.n, !part);
	vec_free(&metrics);
}

static int
run_stats(int argc, char **argv)
{
	static const char *const words[] = { "stats", NULL };
	const char *runtime_dir = COLLECTOR_RUNTIME_DIR;
	bool is_json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL, "print JSON"),
		CLI_OPT("runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
			"directory of the collector's socket (default: " COLLECTOR_RUNTIME_DIR
			")"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_stats, opts, argc, argv), rc;
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	char *path;

	if (first < 0)
		return cli_status(first);
	path = xasprintf("%s/collector.sock", runtime_dir);
	rc = control_ask(path, words, ASK_NS, &reply, &err);
	if (rc < 0)
		err_print(&err, stderr);
	else if (reply.length)
		print_metrics(reply.text, argv[first], is_json);
	strbuf_free(&reply);
	free(path);
	return control_exit_status(rc);
}

const struct cli_verb verb_stats = {
	.name = "stats",
	.summary = "show metrics of the running collector: cost, losses, counts",
	.usage = "[--json] [PART]",
	.examples = "  antiphase stats\n"
		    "  antiphase stats lost\n"
		    "  antiphase stats --json\n",
	.run = run_stats,
	.operands = "at most one PART of a name",
	.max_operands = 1,
};
