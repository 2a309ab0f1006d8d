/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_advice.h - the current advice of antiphase-scheduler: its answer over HTTP,
 * or a saved one.
 *
 *
 * The answer comes from outside: its size is bounded, and all of it is checked.
 */
#ifndef CLI_SCHEDULER_ADVICE_H
#define CLI_SCHEDULER_ADVICE_H

struct advice_doc;
struct err;
struct strbuf;

/*
 * Asks 'address' for the advice on 'job' (its name, or a prefix of only one name), or
 * on all jobs (NULL).  'ret_doc' has the time of the answer as 'at_us'; 'ret_body' is
 * the answer as received.  Returns CLI_OK; or, with 'err' filled, CLI_UNREACHABLE (no
 * answer, or not from antiphase-scheduler) or CLI_USAGE (no such job, no valid
 * address). 'ret_doc' needs advice_doc_fini() and 'ret_body' strbuf_free() either way.
 */
int scheduler_advice_ask(const char *address, const char *job,
			 struct advice_doc *ret_doc, struct strbuf *ret_body,
			 struct err *err);
/* The same from a file; CLI_USAGE for every failure. */
int scheduler_advice_read(const char *file, const char *job, struct advice_doc *ret_doc,
			  struct strbuf *ret_body, struct err *err);

#endif
