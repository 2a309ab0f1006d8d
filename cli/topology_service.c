/*
 * topology_service.c - questions to antiphase-topology.
 */
#include "cli/topology_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/rpc.h"
#include "topology/reply.h"

#define TIMEOUT_NS ((int64_t)5 * 1000000000)

const char *topology_keys;

int
topology_load_keys(struct bus_keys **ret_keys, struct err *err)
{
	const char *directory =
		topology_keys ? topology_keys : getenv("ANTIPHASE_KEYS");

	*ret_keys = NULL;
	return directory && *directory ? bus_keys_load(directory, ret_keys, err) : 0;
}

bool
topology_is_endpoint(const char *path)
{
	return strncmp(path, "tcp://", 6) == 0 || strncmp(path, "ipc://", 6) == 0;
}

int
topology_ask(const char *endpoint, const char *request, char **ret_reply, size_t *ret_n,
	     struct err *err)
{
	struct bus_keys *keys;
	char *reply;
	size_t n;
	int r = topology_load_keys(&keys, err);

	if (r < 0)
		return r;
	r = rpc_call(endpoint, keys, request, TIMEOUT_NS, &reply, &n, err);
	bus_keys_free(keys);
	if (r == -EACCES)
		return r;
	if (r < 0) {
		err_append(err, "; is antiphase-topology running there?");
		return -ECONNREFUSED;
	}
	r = topo_reply_check(endpoint, reply, n, err);
	if (r < 0) {
		free(reply);
		return r;
	}
	*ret_reply = reply;
	*ret_n = n;
	return 0;
}

int
topology_ask_plan(const char *endpoint, struct topo **ret_topo, struct err *err)
{
	char *reply;
	size_t n;
	int r = topology_ask(endpoint, "{\"op\":\"snapshot\"}", &reply, &n, err);

	if (r < 0)
		return r;
	r = topo_reply_plan(endpoint, reply, n, ret_topo, err);
	free(reply);
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
