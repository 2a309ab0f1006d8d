/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_topology_request.c - requests to the topology service, one per line */
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "tests/fuzz/fuzz.h"
#include "topology/gen.h"
#include "topology/service.h"
#include "topology/topo.h"

static void
hear(void *ctx, const char *topic, const char *text)
{
	struct json_doc *doc;

	(void)ctx;
	(void)topic;
	BUG_ON(json_parse("change", text, strlen(text), &doc, NULL) < 0);
	json_doc_free(doc);
}

static void
ask(struct service *s, char *request, int64_t now_us)
{
	struct strbuf reply = STRBUF_EMPTY;
	char *body = request;
	const char *op = strsep(&body, " ");
	struct json_doc *doc;
	unsigned status =
		service_answer(s, op, body, body ? strlen(body) : 0, now_us, &reply);

	/* Every reply is a document. */
	BUG_ON(json_parse("reply", reply.text, reply.length, &doc, NULL) < 0);
	BUG_ON(json_check_schema(doc, "antiphase.topology_reply", 1, NULL) < 0);
	BUG_ON((status == 200) != !json_find(json_root(doc), "error"));
	json_doc_free(doc);
	strbuf_free(&reply);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct service_opts opts = { .max_age_us = 5, .announce = hear };
	const struct gen_leaf_spine fabric = { .n_leaves = 2,
					       .hosts_per_leaf = 2,
					       .n_spines = 2 };
	struct service *s = service_new(&opts);
	char *text = fuzz_text(data, size), *at = text;
	struct topo *plan;

	BUG_ON(gen_leaf_spine(&fabric, &plan, NULL) < 0);
	service_set_plan(s, plan, "fuzz", 0);
	topo_unref(plan);
	for (int64_t now_us = 1; at; now_us++) {
		char *line = strsep(&at, "\n");

		ask(s, line, now_us);
		service_tick(s, now_us);
	}
	ask(s, (char[]){ "seen" }, 100);
	ask(s, (char[]){ "diff" }, 100);
	service_free(s);
	free(text);
	return 0;
}
