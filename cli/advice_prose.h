/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_prose.h - advice documents (advice_doc.h) as prose.
 *
 * The text of a job or a link has the same five parts: what we saw, what we conclude,
 * what we advise, what it should give, what would change our mind.  Lines are broken at
 * 78 columns.  Texts of a document come from outside: their control characters are
 * replaced, so that none of them can steer a terminal.
 */
#ifndef CLI_ADVICE_PROSE_H
#define CLI_ADVICE_PROSE_H

struct advice_doc;
struct advice_doc_job;
struct advice_doc_link;
struct strbuf;

/* Each appends to 'out'. */
void advice_prose_job(const struct advice_doc *doc, const struct advice_doc_job *job,
		      struct strbuf *out);
void advice_prose_link(const struct advice_doc *doc, const struct advice_doc_link *link,
		       struct strbuf *out);
/* One sentence on all jobs, then one on each. */
void advice_prose_all(const struct advice_doc *doc, struct strbuf *out);

#endif
