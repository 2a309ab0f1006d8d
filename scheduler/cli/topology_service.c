/*
 * topology_service.c - questions to antiphase-topology.
 */
#include "scheduler/cli/topology_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/wire/bus.h"
#include "lib/wire/rpc.h"
#include "topology/read.h"

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

/* An error reply: its message, and its hint. */
static int
read_error(const struct json_doc *doc, const char *endpoint, struct err *err)
{
	const struct json *error = json_find(json_root(doc), "error");
	const char *message, *hint;

	if (!error)
		return 0;
	if (json_get_str(doc, error, "message", &message, err) < 0)
		return -EINVAL;
	err_set(err, endpoint, 0, 0, "%s", message);
	if (json_get_str(doc, error, "hint", &hint, NULL) == 0)
		err_append(err, " (%s)", hint);
	return -EINVAL;
}

int
topology_ask(const char *endpoint, const char *request, char **ret_reply, size_t *ret_n,
	     struct err *err)
{
	struct json_doc *doc = NULL;
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
	r = json_parse(endpoint, reply, n, &doc, err);
	if (r == 0)
		r = json_check_schema(doc, "antiphase.topology_reply", 1, err);
	if (r == 0)
		r = read_error(doc, endpoint, err);
	json_doc_free(doc);
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
	static const char key[] = "\"topology\": ";
	char *reply, *begin, *end;
	size_t n;
	int r = topology_ask(endpoint, "{\"op\":\"snapshot\"}", &reply, &n, err);

	if (r < 0)
		return r;
	/* The plan is a document of its own within the reply, whose last '}' follows. */
	begin = strstr(reply, key);
	end = strrchr(reply, '}');
	if (begin && end > begin) {
		begin += sizeof key - 1;
		*end = '\0';
		r = topo_json_read(endpoint, begin, (size_t)(end - begin), NULL,
				   ret_topo, err);
	} else {
		r = err_set(err, endpoint, 0, 0, "the reply has no plan");
	}
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
