/* SPDX-License-Identifier: Apache-2.0 */
/* http_check.c - who may ask for what: a request is checked before its body is read. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/daemon/http_priv.h"

/* ---- Permission ------------------------------------------------------------------ */

/* Takes the same time wherever the texts differ; the token's length is not secret. */
static bool
is_equal_secret(const char *a, const char *b)
{
	size_t n = strlen(a), n_b = strlen(b);
	volatile unsigned char different = n != n_b;

	for (size_t i = 0; i < n && n_b; i++)
		different |= (unsigned char)(a[i] ^ b[i % n_b]);
	return !different;
}

static bool
has_token(const struct http *http, struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       "Authorization");

	return said && strncmp(said, scheme, sizeof scheme - 1) == 0 &&
	       is_equal_secret(said + sizeof scheme - 1, http->token);
}

static void
check_token(struct http *http, struct MHD_Connection *connection,
	    struct http_reply *early)
{
	if (!http->token)
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "no_token",
				 "set token_file in [scheduler]; the token is sent as "
				 "'Authorization: Bearer TOKEN'",
				 "this request needs a token, and none is set");
	else if (!has_token(http, connection))
		http_reply_error(early, MHD_HTTP_UNAUTHORIZED, "wrong_token",
				 "send 'Authorization: Bearer TOKEN', with the token "
				 "of token_file",
				 "this request needs the token");
}

/*
 * Refuses requests of web pages: a page in a browser on this host could POST to
 * loopback unnoticed.  Browsers send the page's origin, other clients do not.
 */
static void
refuse_browser(struct MHD_Connection *connection, struct http_reply *early)
{
	if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					MHD_HTTP_HEADER_ORIGIN))
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "cross_site",
				 "ask with a program such as curl",
				 "web pages may not send POST requests");
}

/* Whether "HOST", "HOST:PORT" or "[ADDRESS]:PORT" is this host by a name that it has. */
static bool
is_this_host(const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	char name[64];
	struct in_addr v4;

	if (n >= sizeof name || n > strlen(host))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
	       (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/*
 * Refuses requests for another host: a web page's name can be made to lead to loopback,
 * and the browser then gives the answers to the page.  It still says the page's name.
 */
static void
refuse_host(const struct http *http, struct MHD_Connection *connection,
	    struct http_reply *early)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_HOST);

	if (!http->path && host && !is_this_host(host))
		http_reply_error(early, MHD_HTTP_FORBIDDEN, "wrong_host",
				 "ask 127.0.0.1 or localhost; a proxy in front has to "
				 "send 'Host: localhost'",
				 "this is not '%.80s'", host);
}

/* ---- Length ---------------------------------------------------------------------- */

size_t
http_announced_bytes(struct MHD_Connection *connection)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text ? (size_t)strtoull(text, NULL, 10) : 0;
}

void
http_refuse_length(struct http_reply *early, size_t max)
{
	if (max)
		http_reply_error(early, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "",
				 "the body is longer than %zu bytes", max);
	else
		http_reply_error(early, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "",
				 "this request takes no body");
}

void
http_refuse_bodies(const struct http *http, size_t n, struct http_reply *early)
{
	if (n && http->body_bytes + n > HTTP_MAX_BODIES)
		http_reply_error(early, MHD_HTTP_SERVICE_UNAVAILABLE, "busy",
				 "ask again in a moment",
				 "too many bodies are being received");
}

/* ---- The request ----------------------------------------------------------------- */

void
http_check(struct http *http, struct MHD_Connection *connection, const char *path,
	   const char *method, struct http_exchange *exchange)
{
	bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	struct http_reply *early = &exchange->early;
	size_t n = http_announced_bytes(connection);

	refuse_host(http, connection, early);
	if (early->status)
		return;
	exchange->route = http_find_route(http, method, path, &exchange->rest);
	if (!exchange->route) {
		if (!is_get ||
		    (!http_find_page(http, path) && !http_find_stream(http, path)))
			http_refuse_path(http, method, path, early);
		else if (n)
			http_refuse_length(early, 0);
		return;
	}
	if (exchange->route->route.needs_token)
		check_token(http, connection, early);
	else if (!is_get)
		refuse_browser(connection, early);
	if (!early->status)
		http_refuse_parameters(connection, &exchange->route->route, early);
	if (!early->status && n > exchange->route->route.max_body)
		http_refuse_length(early, exchange->route->route.max_body);
	if (!early->status)
		http_refuse_bodies(http, n, early);
}
