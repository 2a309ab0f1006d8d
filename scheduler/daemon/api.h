/*
 * api.h - the API's answers, a file for each kind of thing: docs/api.md lists them, and
 * docs/openapi.json says what they look like.
 */
#ifndef SCHEDULER_DAEMON_API_H
#define SCHEDULER_DAEMON_API_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/jsonw.h"
#include "lib/daemon/http.h"
#include "scheduler/daemon/daemon.h"

/* Begins a document in memory, and makes it the body of a reply. */
struct api_text {
	struct jsonw w;
	FILE *out;
	char *text;
	size_t length;
};

void api_begin(struct api_text *text, const char *schema);
/* Ends the document's root, too. */
void api_end(struct api_text *text, struct http_reply *reply);

/* A parameter of the query: a number of 0 or more, 'fallback' without; false if not. */
bool api_number(const struct http_request *request, const char *name, int64_t fallback,
		int64_t *ret_value);

/* Of a list, in one answer: whoever asks next waits for no longer than for that. */
#define API_MAX_PAGE  250
#define API_MAX_HOSTS 250

/* ?limit=N&after=NAME of a list; 'after' NULL: not asked for by name. */
struct api_page {
	size_t limit;
	const char *after;
};

/* Reads them; false: answered by 400. */
bool api_page_read(const struct http_request *request, struct http_reply *reply,
		   struct api_page *ret_page);
/* "left_out" and "next_after": of 'n' items that are left 'n_told' are told. */
void api_page_end(size_t n, size_t n_told, const char *last, struct jsonw *w);
/* telemetry_status(), with not too many hosts. */
struct status api_picture(const struct daemon *d);

/* api_facts.c: what is seen. */
void api_health(void *daemon, const struct http_request *request,
		struct http_reply *reply);
void api_topology(void *daemon, const struct http_request *request,
		  struct http_reply *reply);
void api_links(void *daemon, const struct http_request *request,
	       struct http_reply *reply);
void api_link(void *daemon, const struct http_request *request,
	      struct http_reply *reply);
void api_jobs(void *daemon, const struct http_request *request,
	      struct http_reply *reply);
void api_job(void *daemon, const struct http_request *request,
	     struct http_reply *reply);
void api_series(void *daemon, const struct http_request *request,
		struct http_reply *reply);

/* api_advice.c: what is advised, and may be done. */
void api_advices(void *daemon, const struct http_request *request,
		 struct http_reply *reply);
void api_advice(void *daemon, const struct http_request *request,
		struct http_reply *reply);
void api_ask_advice(void *daemon, const struct http_request *request,
		    struct http_reply *reply);
void api_config(void *daemon, const struct http_request *request,
		struct http_reply *reply);
void api_modes(void *daemon, const struct http_request *request,
	       struct http_reply *reply);
void api_poke(void *daemon, const struct http_request *request,
	      struct http_reply *reply);

/* api_changes.c: what was done about it, and undoing that. */
void api_changes(void *daemon, const struct http_request *request,
		 struct http_reply *reply);
void api_job_deed(void *daemon, const struct http_request *request,
		  struct http_reply *reply);

/* api_k8s.c: kube-scheduler's extender; its routes are those of k8s.h. */
void api_k8s_open(struct daemon *d);

#endif
