/* SPDX-License-Identifier: Apache-2.0 */
/* bench_extender.c - cost of a request to the extender: 5,000 nodes, no ranking */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/strbuf.h"
#include "scheduler/k8s/extender.h"

#define NODES  5000
#define PODS   64
#define ROUNDS 5

static int
rank_first(void *ctx, const struct extender_job *job, const char *const *offered,
	   size_t n_offered, struct extender_choice *choice, struct err *err)
{
	(void)ctx;
	(void)offered;
	(void)n_offered;
	(void)err;
	choice->n_chosen = job->n_nodes;
	choice->chosen = xcalloc(job->n_nodes, sizeof *choice->chosen);
	for (uint32_t i = 0; i < job->n_nodes; i++)
		choice->chosen[i] = i;
	return 0;
}

int
main(void)
{
	struct extender *extender = extender_new(NULL, rank_first, NULL);
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
				return 1;
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
	extender_free(extender);
	return 0;
}
