/*
 * advised.h - what antiphase-scheduler advises now: its answer over HTTP, or a saved one.
 *
 * The answer comes from outside: its size is bounded, and all of it is checked.
 */
#ifndef CLI_ADVISED_H
#define CLI_ADVISED_H

struct advice_doc;
struct err;
struct strbuf;

/*
 * Asks 'address' for the advice on 'job' (its name, or a prefix that only one job has), or
 * on all jobs (NULL).  'ret_doc' has the moment of the answer as 'at_us'; 'ret_body' is
 * the answer as it came.  Returns CLI_OK, or with 'err' filled CLI_UNREACHABLE (nothing
 * answers there, or something else than antiphase-scheduler does) or CLI_USAGE (no such
 * job, no such address).  'ret_doc' needs advice_doc_fini() and 'ret_body' strbuf_free()
 * either way.
 */
int advised_ask(const char *address, const char *job, struct advice_doc *ret_doc,
		struct strbuf *ret_body, struct err *err);
/* The same from a file; CLI_USAGE for all that is wrong. */
int advised_read(const char *file, const char *job, struct advice_doc *ret_doc,
		 struct strbuf *ret_body, struct err *err);

#endif
