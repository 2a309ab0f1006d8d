/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/http_call.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <curl/curl.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"

struct http_client {
	struct loop *loop;
	CURLM *multi;            /* Owned. */
	struct loop_item *timer; /* NULL: not set. */
};

/* A descriptor that libcurl waits for. */
struct wanted {
	struct http_client *client;
	curl_socket_t fd;
	struct loop_item *in, *out; /* NULL: not waiting to read, to write. */
};

struct http_call {
	struct http_client *client;
	bool is_own_client;
	CURL *easy;                 /* Owned. */
	struct curl_slist *headers; /* Owned. */
	char *address;
	struct strbuf body;
	size_t n_bytes, max_bytes;
	bool has_headers; /* All of them were received. */
	char why[CURL_ERROR_SIZE];
	void (*done)(void *ctx, int status, const char *body, size_t n);
	void *ctx;
};

/* ---- Addresses ------------------------------------------------------------------- */

/* True if the whole text is a number from 1 to 65535. */
static bool
is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && port > 0 && port <= 65535;
}

/* "127.0.0.1:80" or "[::1]:80"; sets 'ret_is_loopback'. */
static bool
is_numeric(const char *text, bool *ret_is_loopback)
{
	const char *colon = strrchr(text, ':');
	struct in6_addr v6;
	struct in_addr v4;
	char host[64];
	size_t n;

	if (!colon || (size_t)(colon - text) >= sizeof host || !is_port(colon + 1))
		return false;
	n = (size_t)(colon - text);
	memcpy(host, text, n);
	host[n] = '\0';
	if (*host == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &v6) != 1)
			return false;
		*ret_is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		return true;
	}
	if (inet_pton(AF_INET, host, &v4) != 1)
		return false;
	*ret_is_loopback = ntohl(v4.s_addr) >> 24 == 127;
	return true;
}

/* "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT". */
static bool
is_host(const char *text)
{
	size_t n = *text == '[' ? strcspn(text, "]") + 1
				: strspn(text, "abcdefghijklmnopqrstuvwxyz"
					       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					       "0123456789.-");

	return n > 0 && n <= strlen(text) && strlen(text) < 256 &&
	       (!text[n] || (text[n] == ':' && is_port(text + n + 1)));
}

/* The start of a URL for 'address'; 0, -EINVAL or -EACCES. */
static int
read_address(const char *address, bool is_anywhere, struct strbuf *url, struct err *err)
{
	bool is_loopback;

	if (*address == '/') {
		if (strlen(address) >= sizeof((struct sockaddr_un *)0)->sun_path)
			return err_set(err, NULL, 0, 0,
				       "'%.40s...' is too long for a socket", address);
		strbuf_puts(url, "http://localhost");
		return 0;
	}
	if (strncmp(address, "https://", 8) == 0 && is_host(address + 8)) {
		strbuf_puts(url, address);
		return 0;
	}
	if (strncmp(address, "http://", 7) == 0)
		address += 7;
	if (!is_numeric(address, &is_loopback))
		return err_set(err, NULL, 0, 0,
			       "'%.64s' is not ADDRESS:PORT, https://HOST:PORT or a "
			       "socket's path",
			       address);
	if (!is_loopback && !is_anywhere) {
		err_set(err, NULL, 0, 0,
			"%s is not on this host; without TLS (https://...) only "
			"loopback is allowed",
			address);
		return -EACCES;
	}
	strbuf_printf(url, "http://%s", address);
	return 0;
}

int
http_call_check(const char *address, struct err *err)
{
	struct strbuf url = STRBUF_EMPTY;
	int r = read_address(address, false, &url, err);

	strbuf_free(&url);
	return r;
}

/* ---- The end of a call ----------------------------------------------------------- */

void
http_call_cancel(struct http_call *call)
{
	if (!call)
		return;
	curl_multi_remove_handle(call->client->multi, call->easy);
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->headers);
	if (call->is_own_client)
		http_client_free(call->client);
	strbuf_free(&call->body);
	free(call->address);
	free(call);
}

/* The status of the reply, or -errno; with 'why' where strerror() is too vague. */
static int
result_of(struct http_call *call, CURLcode code)
{
	long status = 0, error = 0;

	if (!*call->why)
		strncat(call->why, curl_easy_strerror(code), sizeof call->why - 1);
	switch (code) {
	case CURLE_OK:
		curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
		if (call->has_headers && status >= 100 && status <= 999)
			return (int)status;
		break;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_WRITE_ERROR:
		return -EFBIG;
	case CURLE_COULDNT_RESOLVE_HOST:
		return -EHOSTUNREACH;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION:
		return -EACCES;
	case CURLE_COULDNT_CONNECT:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &error);
		return error ? -(int)error : -ECONNREFUSED;
	case CURLE_PARTIAL_FILE:
		return -EPROTO;
	default:
		break;
	}
	strcpy(call->why, "not an HTTP server");
	return -EPROTO;
}

/* Frees the call before done(), which may start the next one. */
static void
finish(struct http_call *call, CURLcode code)
{
	void (*done)(void *ctx, int status, const char *body, size_t n) = call->done;
	void *ctx = call->ctx;
	int status = result_of(call, code);
	struct strbuf body = call->body;

	call->body = (struct strbuf)STRBUF_EMPTY;
	if (status < 0) {
		strbuf_clear(&body);
		strbuf_printf(&body, "%s: %s", call->address,
			      status == -EPROTO || status == -EACCES ||
					      status == -EHOSTUNREACH
				      ? call->why
				      : strerror(-status));
	}
	http_call_cancel(call);
	done(ctx, status, body.text, body.length);
	strbuf_free(&body);
}

/* ---- The loop -------------------------------------------------------------------- */

/* Runs libcurl and finishes the calls that are done. */
static void
go_on(struct http_client *client, curl_socket_t fd)
{
	const CURLMsg *message;
	int n;

	curl_multi_socket_action(client->multi, fd, 0, &n);
	while ((message = curl_multi_info_read(client->multi, &n))) {
		CURLcode code = message->data.result;
		struct http_call *call;
		bool is_own;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		is_own = call->is_own_client;
		finish(call, code);
		if (is_own) /* finish() freed the client. */
			return;
	}
}

static void
on_ready(void *ctx)
{
	const struct wanted *wanted = ctx;

	go_on(wanted->client, wanted->fd);
}

static void
on_due(void *ctx, int64_t now_ns, int64_t missed)
{
	struct http_client *client = ctx;

	(void)now_ns;
	(void)missed;
	loop_remove(client->loop, client->timer);
	client->timer = NULL;
	go_on(client, CURL_SOCKET_TIMEOUT);
}

/* libcurl's callback: call go_on() in 'ms' milliseconds; -1: never. */
static int
set_timer(CURLM *multi, long ms, void *ctx)
{
	struct http_client *client = ctx;

	(void)multi;
	if (client->timer)
		loop_remove(client->loop, client->timer);
	client->timer =
		ms < 0 ? NULL
		       : loop_every(client->loop, ms ? (int64_t)ms * 1000000 : 1,
				    on_due, client);
	return 0;
}

/* Starts or stops waiting for one direction of a descriptor. */
static void
set_item(struct wanted *wanted, struct loop_item **item, bool is_on,
	 struct loop_item *(*add)(struct loop *loop, int fd, void (*ready)(void *ctx),
				  void *ctx))
{
	if (is_on && !*item) {
		*item = add(wanted->client->loop, wanted->fd, on_ready, wanted);
	} else if (!is_on && *item) {
		loop_remove(wanted->client->loop, *item);
		*item = NULL;
	}
}

/* libcurl's callback: call go_on() when the descriptor is ready for 'what'. */
static int
set_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *fd_ctx)
{
	struct http_client *client = ctx;
	struct wanted *wanted = fd_ctx;

	(void)easy;
	if (!wanted) {
		wanted = xcalloc(1, sizeof *wanted);
		*wanted = (struct wanted){ .client = client, .fd = fd };
		curl_multi_assign(client->multi, fd, wanted);
	}
	set_item(wanted, &wanted->in, what == CURL_POLL_IN || what == CURL_POLL_INOUT,
		 loop_fd);
	set_item(wanted, &wanted->out, what == CURL_POLL_OUT || what == CURL_POLL_INOUT,
		 loop_fd_out);
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(client->multi, fd, NULL);
		free(wanted);
	}
	return 0;
}

struct http_client *
http_client_new(struct loop *loop)
{
	struct http_client *client = xcalloc(1, sizeof *client);

	client->loop = loop;
	BUG_ON(curl_global_init(CURL_GLOBAL_DEFAULT));
	client->multi = curl_multi_init();
	BUG_ON(!client->multi);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	return client;
}

void
http_client_free(struct http_client *client)
{
	if (!client)
		return;
	curl_multi_cleanup(client->multi);
	if (client->timer)
		loop_remove(client->loop, client->timer);
	curl_global_cleanup();
	free(client);
}

/* ---- The call -------------------------------------------------------------------- */

/* Counts received bytes; returns 0, which ends the call, beyond the limit. */
static size_t
count(struct http_call *call, size_t n)
{
	call->n_bytes += n;
	return call->n_bytes <= call->max_bytes ? n : 0;
}

static size_t
on_header(char *line, size_t one, size_t n, void *ctx)
{
	struct http_call *call = ctx;

	(void)one;
	call->has_headers = n == 2 && memcmp(line, "\r\n", 2) == 0;
	return count(call, n);
}

static size_t
on_body(char *bytes, size_t one, size_t n, void *ctx)
{
	struct http_call *call = ctx;

	(void)one;
	if (!count(call, n))
		return 0;
	strbuf_add(&call->body, bytes, n);
	return n;
}

static void
add_header(struct http_call *call, const char *name, const char *value)
{
	char *line = xasprintf("%s: %s", name, value);

	call->headers = curl_slist_append(call->headers, line);
	free(line);
}

/* Sends the token of the file, without blanks around it. */
static int
add_token(struct http_call *call, const char *file, struct err *err)
{
	char *text, *begin, *value;
	struct err why;
	size_t n;
	int r = file_read(file, HTTP_CALL_MAX_TOKEN, &text, &n, &why);

	if (r < 0) {
		err_set(err, NULL, 0, 0, "%s: %s", file, why.text);
		return r;
	}
	begin = text + strspn(text, " \t\r\n");
	n = strlen(begin);
	while (n && strchr(" \t\r\n", begin[n - 1]))
		begin[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (begin[i] <= ' ' || begin[i] > '~')
			r = -EINVAL;
	if (!n || r < 0) {
		r = err_set(err, NULL, 0, 0, "%s: not a bearer token", file);
	} else {
		value = xasprintf("Bearer %s", begin);
		add_header(call, "Authorization", value);
		free(value);
	}
	free(text);
	return r;
}

/* Sets all of the request except its URL. */
static int
set_request(struct http_call *call, const struct http_call_opts *opts, bool is_tls,
	    struct err *err)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, opts->method);
	if (opts->accept)
		add_header(call, "Accept", opts->accept);
	if (opts->type) {
		add_header(call, "Content-Type", opts->type);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(opts->body));
		curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, opts->body);
	}
	if (is_tls && opts->token_file)
		return add_token(call, opts->token_file, err);
	return 0;
}

static void
set_limits(struct http_call *call, const struct http_call_opts *opts)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Cancelling does not wait until a name is resolved. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			 (long)((opts->timeout_ns + 999999) / 1000000));
	if (opts->ca_file) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, opts->ca_file);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

int
http_call(struct loop *loop, const struct http_call_opts *opts,
	  void (*done)(void *ctx, int status, const char *body, size_t n), void *ctx,
	  struct http_call **ret_call, struct err *err)
{
	struct strbuf url = STRBUF_EMPTY;
	struct http_call *call;
	int r = read_address(opts->address, opts->is_anywhere, &url, err);

	if (r < 0)
		return r;
	if (strlen(opts->path) + (opts->type ? strlen(opts->body) : 0) >
	    HTTP_CALL_MAX_REQUEST) {
		strbuf_free(&url);
		return err_set_errno(err, opts->address, E2BIG,
				     "cannot send the request");
	}
	strbuf_puts(&url, opts->path);
	call = xcalloc(1, sizeof *call);
	*call = (struct http_call){
		.client = opts->client ? opts->client : http_client_new(loop),
		.is_own_client = !opts->client,
		.easy = curl_easy_init(),
		.address = xstrdup(opts->address),
		.body = STRBUF_EMPTY,
		.max_bytes = opts->max_bytes,
		.done = done,
		.ctx = ctx,
	};
	BUG_ON(!call->easy);
	curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->why);
	curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_URL, url.text);
	if (*opts->address == '/')
		curl_easy_setopt(call->easy, CURLOPT_UNIX_SOCKET_PATH, opts->address);
	set_limits(call, opts);
	r = set_request(call, opts, strncmp(url.text, "https:", 6) == 0, err);
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	strbuf_free(&url);
	if (r == 0)
		curl_multi_add_handle(call->client->multi, call->easy);
	if (r < 0)
		http_call_cancel(call);
	else
		*ret_call = call;
	return r;
}
