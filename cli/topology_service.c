/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_service.c - requests to antiphase-topology.
 */
#include "cli/topology_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/http_call.h"
#include "topology/service_reply.h"

#define TIMEOUT_NS ((int64_t)5 * 1000000000)

bool
topology_is_service(const char *path)
{
	return http_ask_address(path) != NULL;
}

int
topology_ask(const char *service, const char *op, const char *body,
	     struct strbuf *reply, struct err *err)
{
	char path[64];
	const struct http_call_opts opts = {
		.address = http_ask_address(service),
		.method = body ? "POST" : "GET",
		.path = path,
		.type = body ? "application/json" : NULL,
		.body = body,
		.timeout_ns = TIMEOUT_NS,
		.ca_file = getenv("ANTIPHASE_CA_FILE"),
		.token_file = getenv("ANTIPHASE_TOKEN_FILE"),
		.max_bytes = TOPO_MAX_REPLY_BYTES,
	};
	int r;

	if (!opts.address)
		return err_set(
			err, NULL, 0, 0,
			"'%s' is not the address of a service: expected "
			"'http://127.0.0.1:7462', 'unix:/PATH' or 'https://HOST'",
			service);
	snprintf(path, sizeof path, "/api/v1/%s", op);
	r = http_ask(&opts, reply, err);
	if (r == -EACCES || r == -EINVAL)
		return r;
	if (r < 0) {
		err_set(err, NULL, 0, 0,
			"no service answers at %s%s; check that antiphase-topology "
			"runs there",
			service, r == -ETIMEDOUT ? " in time" : "");
		return -ECONNREFUSED;
	}
	if (r == 200)
		return topo_reply_check(service, reply->text, reply->length, err);
	http_ask_error(service, r, reply->text, reply->length, err);
	return -EINVAL;
}

int
topology_ask_plan(const char *service, struct topo **ret_topo, struct err *err)
{
	struct strbuf reply = STRBUF_EMPTY;
	int r = topology_ask(service, "snapshot", NULL, &reply, err);

	if (r == 0)
		r = topo_reply_plan(service, reply.text, reply.length, ret_topo, err);
	strbuf_free(&reply);
	return r;
}

int
topology_fail(int error, const struct err *err)
{
	int status = cli_fail(error, err);

	if (error == -EACCES)
		return CLI_DENIED;
	return error == -ECONNREFUSED ? CLI_UNREACHABLE : status;
}
