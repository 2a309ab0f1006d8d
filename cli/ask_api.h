/*
 * ask_api.h - requests to the HTTP API of antiphase-scheduler, for verbs.
 */
#ifndef CLI_ASK_API_H
#define CLI_ASK_API_H

struct err;
struct strbuf;

#define ASK_API_HTTP "127.0.0.1:7470"

/*
 * GETs 'path' and appends the body of the answer; messages name the requested object
 * by 'what' ("its advice").  Returns CLI_OK with 'ret_http' 200 or 404; or, with 'err'
 * filled, CLI_UNREACHABLE (no answer, or not from antiphase-scheduler) or CLI_USAGE
 * (no valid address).
 */
int ask_api(const char *address, const char *path, const char *what,
	    struct strbuf *body, int *ret_http, struct err *err);
/* Appends a name to a path, percent-encoded. */
void ask_api_escape(const char *text, struct strbuf *path);

/* Appends one or two lines on the age of the daemon's data, its gaps, and its modes. */
void ask_api_footing(const char *address, struct strbuf *out);

#endif
