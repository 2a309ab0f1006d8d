/* SPDX-License-Identifier: Apache-2.0 */
/* control_ask.c - the client of control.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/daemon/control.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/http_call.h"

#define PATIENCE_NS INT64_C(5000000000)

/* The words as JSON; free with free(). */
static char *
write_words(const char *const *words)
{
	struct jsonw w;
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_array(&w, NULL);
	for (size_t i = 0; words[i]; i++)
		jsonw_str(&w, NULL, words[i]);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	return text;
}

/* The path as an address, which begins with a slash; free with free(). */
static char *
absolute(const char *path)
{
	char *directory = *path == '/' ? NULL : get_current_dir_name();
	char *whole = xasprintf("%s%s%s", directory ? directory : "",
				directory ? "/" : "", path);

	free(directory);
	return whole;
}

/* Fills 'err' with the reason why there is no reply. */
static int
explain(const char *path, int error, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	switch (error) {
	case -ECONNREFUSED:
		/* A socket has the name of its daemon: "collector.sock". */
		err_set(err, path, 0, 0,
			"no daemon answers there; is it running "
			"(systemctl status antiphase-%.*s), and with this "
			"runtime directory?",
			(int)strcspn(name, "."), name);
		return error;
	case -ETIMEDOUT:
	case -EAGAIN:
		err_set(err, path, 0, 0, "the daemon did not answer in time");
		return -ETIMEDOUT;
	case -EACCES:
		err_append(err, "; ask as root, or as the daemon's user or group");
		return error;
	case -EPROTO:
	case -ECONNRESET:
	case -EPIPE:
		err_set(err, path, 0, 0,
			"the daemon hung up: too many ask at once, or it is ending");
		return -EBUSY;
	default:
		return error;
	}
}

static int
errno_of(int status)
{
	switch (status) {
	case 200:
		return 0;
	case 400:
		return -EINVAL;
	case 403:
		return -EPERM;
	case 404:
		return -ENOENT;
	case 409:
		return -EEXIST;
	case 413:
		return -EFBIG;
	case 501:
		return -EOPNOTSUPP;
	case 503:
		return -EBUSY;
	case 507:
		return -E2BIG;
	default:
		return -EIO;
	}
}

int
control_ask(const char *path, const char *const *words, int64_t timeout_ns,
	    struct strbuf *reply, struct err *err)
{
	struct strbuf body = STRBUF_EMPTY;
	char *arguments = write_words(words), *address = absolute(path);
	const struct http_call_opts opts = {
		.address = address,
		.method = "POST",
		.path = "/control",
		.type = "application/json",
		.body = arguments,
		.timeout_ns = timeout_ns,
		.max_bytes = CONTROL_MAX_REPLY + 65536,
	};
	int status = http_ask(&opts, &body, err), r;

	free(arguments);
	free(address);
	r = status < 0 ? explain(path, status, err) : errno_of(status);
	if (r == 0)
		strbuf_add(reply, body.text, body.length);
	else if (status > 0)
		http_ask_error(NULL, status, body.text, body.length, err);
	strbuf_free(&body);
	return r;
}

int
control_exit_status(int error)
{
	switch (error) {
	case 0:
		return CLI_OK;
	case -EINVAL:
	case -EFBIG:
		return CLI_USAGE;
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EBUSY:
		return CLI_UNREACHABLE;
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
		return CLI_DENIED;
	default:
		return CLI_NO;
	}
}

int
control_ask_print(const char *runtime_dir, const char *daemon, const char *const *words)
{
	char *path = xasprintf("%s/%s.sock", runtime_dir, daemon);
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int rc = control_ask(path, words, PATIENCE_NS, &reply, &err);

	if (rc < 0)
		err_print(&err, stderr);
	else
		fputs(reply.text, stdout);
	strbuf_free(&reply);
	free(path);
	return control_exit_status(rc);
}
