/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_extender.c - cost of requests to the extender, without rankings: of an ordinary
 * one, and how long the longest bodies hold the daemon's loop
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "scheduler/k8s/extender.h"

#define NODES  5000
#define PODS   64
#define ROUNDS 5

#define MAX_BODY 3000000u /* As scheduler/daemon/k8s.c has it. */

static struct extender *extender;

static int
rank_first(void *ctx, const struct extender_job *job, const char *const *offered,
	   size_t n_offered, struct extender_choice *choice, struct err *err)
{
	(void)ctx;
	(void)offered;
	(void)err;
	choice->n_chosen = job->n_nodes < n_offered ? job->n_nodes : n_offered;
	choice->chosen = xcalloc(choice->n_chosen + 1, sizeof *choice->chosen);
	for (uint32_t i = 0; i < choice->n_chosen; i++)
		choice->chosen[i] = i;
	return 0;
}

static void
ordinary(void)
{
	int64_t worst_ns = 0, sum_ns = 0;

	for (int round = 0; round < ROUNDS; round++)
		for (int pod = 0; pod < PODS; pod++) {
			struct strbuf body = STRBUF_EMPTY, out = STRBUF_EMPTY;
			int64_t ns;

			strbuf_printf(&body,
				      "{\"Pod\":{\"metadata\":{\"name\":\"w-%d\","
				      "\"labels\":{\"job\":\"j\"},\"annotations\":{"
				      "\"antiphase.io/pods\":\"%d\"}}},\"NodeNames\":[",
				      pod, PODS);
			for (int i = 0; i < NODES; i++)
				strbuf_printf(&body, "%s\"node-%05d.cluster\"",
					      i ? "," : "", i);
			strbuf_puts(&body, "]}");
			ns = clk_cpu_ns();
			if (extender_filter(extender, body.text, body.length, 0, &out,
					    NULL) < 0 ||
			    extender_prioritize(extender, body.text, body.length, 0,
						&out, NULL) < 0)
				exit(1);
			ns = clk_cpu_ns() - ns;
			sum_ns += ns;
			if (ns > worst_ns)
				worst_ns = ns;
			strbuf_free(&body);
			strbuf_free(&out);
		}
	printf("extender: %d nodes, filter and prioritize of one pod (CPU time)\n"
	       "  mean %.2f ms, worst %.2f ms\n",
	       NODES, (double)sum_ns / 1e6 / (ROUNDS * PODS), (double)worst_ns / 1e6);
}

/* ---- The longest bodies -------------------------------------------------------------- */

/* Each is a begin, as many of the middle as there is room for, and an end. */
static const struct {
	const char *what, *begin, *middle, *end;
} shapes[] = {
	{ "numbers", "{\"Pod\":{\"spec\":[", "0,", "0]},\"NodeNames\":[]}" },
	{ "objects", "{\"Pod\":{\"spec\":[", "{},", "0]},\"NodeNames\":[]}" },
	{ "texts", "{\"Pod\":{\"spec\":[", "\"\",", "0]},\"NodeNames\":[]}" },
	{ "members", "{\"Pod\":{\"metadata\":{\"name\":\"w\"}},", "\"\":0,",
	  "\"NodeNames\":[]}" },
	{ "a fault at the end", "{\"Pod\":{\"metadata\":{\"name\":\"w\"}},", "\"\":0,",
	  "\"NodeNames\":[1]}" },
	{ "owners", "{\"Pod\":{\"metadata\":{\"name\":\"w\",\"ownerReferences\":[",
	  "{},", "{}]}},\"NodeNames\":[]}" },
	{ "labels", "{\"Pod\":{\"metadata\":{\"name\":\"w\",\"labels\":{", "\"\":0,",
	  "\"k\":\"v\"}}},\"NodeNames\":[]}" },
	{ "annotations", "{\"Pod\":{\"metadata\":{\"name\":\"w\",\"annotations\":{",
	  "\"\":0,", "\"antiphase.io/pods\":\"1\"}}},\"NodeNames\":[]}" },
	{ "escapes", "{\"Pod\":{\"metadata\":{\"name\":\"", "\\u00e9",
	  "\",\"name\":\"w\"}},\"NodeNames\":[]}" },
};

/* The least of some rounds: what the machine does besides does not count. */
static int64_t
least_ns(const struct strbuf *body)
{
	int64_t least = INT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		struct strbuf out = STRBUF_EMPTY;
		int64_t ns = clk_cpu_ns();

		extender_filter(extender, body->text, body->length, 0, &out, NULL);
		ns = clk_cpu_ns() - ns;
		if (ns < least)
			least = ns;
		strbuf_free(&out);
	}
	return least;
}

static void
print_longest(const char *what, struct strbuf *body)
{
	printf("  %-20s %7zu bytes  %6.2f ms\n", what, body->length,
	       (double)least_ns(body) / 1e6);
	strbuf_clear(body);
}

static void
longest(void)
{
	struct strbuf body = STRBUF_EMPTY;

	printf("longest bodies, one verb (CPU time, least of %d)\n", ROUNDS);
	strbuf_puts(&body, "{\"Pod\":{\"metadata\":{\"name\":\"w\"},\"spec\":[");
	while (body.length < 1500000)
		strbuf_puts(&body,
			    "{\"name\":\"SOME_VARIABLE\",\"value\":\"its value\"},");
	strbuf_puts(&body, "0]},\"NodeNames\":[");
	for (int i = 0; i < NODES; i++)
		strbuf_printf(&body, "%s\"%0253d\"", i ? "," : "", i);
	strbuf_puts(&body, "]}");
	print_longest("the longest in use", &body);
	strbuf_puts(&body, "{\"Pod\":{\"metadata\":{\"name\":\"w\",\"annotations\":{"
			   "\"antiphase.io/pods\":\"9999\",\"antiphase.io/placement\":"
			   "\"required\"}}},\"NodeNames\":[");
	for (int i = 0; i < EXTENDER_MAX_NODES; i++)
		strbuf_printf(&body, "%s\"%d\"", i ? "," : "", i);
	strbuf_puts(&body, "]}");
	print_longest("most nodes, required", &body);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		size_t n = strlen(shapes[i].middle);

		strbuf_puts(&body, shapes[i].begin);
		while (body.length + n + strlen(shapes[i].end) <= MAX_BODY)
			strbuf_puts(&body, shapes[i].middle);
		strbuf_puts(&body, shapes[i].end);
		print_longest(shapes[i].what, &body);
	}
	strbuf_free(&body);
}

int
main(void)
{
	extender = extender_new(NULL, rank_first, NULL);
	ordinary();
	longest();
	extender_free(extender);
	return 0;
}
