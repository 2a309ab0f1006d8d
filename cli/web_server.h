/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_server.h - the page over a bus or a recording: GET / and what it reads
 *
 *	/, /app.js, ..., /tables           the page (lib/daemon/web_files.h)
 *	/api/v1/topology                   antiphase.topology/1
 *	/api/v1/top?at_us=T                antiphase.top/1
 *	/api/v1/links/NAME/circle?at_us=T  antiphase.circle/1
 *	/api/v1/links/NAME/series?at_us=T  antiphase.link_series/1
 *	/api/v1/history                    antiphase.link_history/2
 *
 * 'at_us' is a time of a recording, its end if absent.  The page itself has
 * antiphase.viewer/1, which says what is shown.  Nothing changes anything.
 */
#ifndef CLI_WEB_SERVER_H
#define CLI_WEB_SERVER_H

struct err;
struct loop;
struct web_server;
struct web_source;

/*
 * Serves 'source' (borrowed) at 'address', on loopback or a Unix socket.  Errors of
 * http_open().
 */
int web_server_open(struct loop *loop, const char *address, struct web_source *source,
		    struct web_server **ret_server, struct err *err);
void web_server_close(struct web_server *server);          /* Accepts NULL. */
unsigned web_server_port(const struct web_server *server); /* As http_port(). */

#endif
