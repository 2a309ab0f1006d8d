/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/service_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "topology/read.h"

int
topo_reply_check(const char *from, const char *reply, size_t n, struct err *err)
{
	struct json_doc *doc = NULL;
	int r = json_parse(from, reply, n, &doc, err);

	if (r == 0)
		r = json_check_schema(doc, "antiphase.topology_reply", 1, err);
	json_doc_free(doc);
	return r;
}

int
topo_reply_plan(const char *from, const char *reply, size_t n, struct topo **ret_topo,
		struct err *err)
{
	static const char key[] = "\"topology\": ";
	const char *begin, *end;
	char *plan;
	int r = topo_reply_check(from, reply, n, err);

	if (r < 0)
		return r;
	/* The plan is a document of its own within the reply, whose last '}' follows. */
	begin = strstr(reply, key);
	end = strrchr(reply, '}');
	if (!begin || begin + sizeof key - 1 >= end)
		return err_set(err, from, 0, 0, "the reply has no plan");
	begin += sizeof key - 1;
	plan = xstrndup(begin, (size_t)(end - begin));
	r = topo_json_read(from, plan, strlen(plan), NULL, ret_topo, err);
	free(plan);
	return r;
}
