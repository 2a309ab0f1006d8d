/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_api.h - requests to the HTTP API of antiphase-scheduler, for verbs.
 */
#ifndef CLI_SCHEDULER_API_H
#define CLI_SCHEDULER_API_H

struct err;
struct strbuf;

#define SCHEDULER_API_ADDRESS "127.0.0.1:7470"

/*
 * GETs 'path' and appends the body of the answer; messages name the requested object
 * by 'what' ("its advice").  Returns CLI_OK with 'ret_http' 200 or 404; or, with 'err'
 * filled, CLI_UNREACHABLE (no answer, or not from antiphase-scheduler) or CLI_USAGE
 * (no valid address).
 */
int scheduler_api_get(const char *address, const char *path, const char *what,
		      struct strbuf *body, int *ret_http, struct err *err);
/* Appends a name to a path, percent-encoded. */
void scheduler_api_escape(const char *text, struct strbuf *path);

/* Appends one or two lines on the age of the daemon's data, its gaps, and its modes. */
void scheduler_api_state(const char *address, struct strbuf *out);
/* The same from two answers, each empty if it did not come. */
void scheduler_api_state_text(const struct strbuf *health, const struct strbuf *config,
			      struct strbuf *out);

#endif
