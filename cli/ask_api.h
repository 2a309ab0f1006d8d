/*
 * ask_api.h - questions to the API of antiphase-scheduler, for verbs.
 */
#ifndef CLI_ASK_API_H
#define CLI_ASK_API_H

struct err;
struct strbuf;

#define ASK_API_HTTP "127.0.0.1:7470"

/*
 * GETs 'path' and appends what is answered; 'what' is asked for, as messages name it
 * ("its advice").  CLI_OK with 'ret_http' 200 or 404; or with 'err' filled
 * CLI_UNREACHABLE (nobody there, or not ours) or CLI_USAGE (no address).
 */
int ask_api(const char *address, const char *path, const char *what,
	    struct strbuf *body, int *ret_http, struct err *err);
/* Adds a name to a path: all but what is harmless there is escaped. */
void ask_api_escape(const char *text, struct strbuf *path);

/* How fresh the daemon's data is, what it lacks, and what it may do, in a line or two. */
void ask_api_footing(const char *address, struct strbuf *out);

#endif
