/* SPDX-License-Identifier: Apache-2.0 */
/* advice_payers.h - the jobs that lose by an advice: how much, why, and who gains */
#ifndef CLI_ADVICE_PAYERS_H
#define CLI_ADVICE_PAYERS_H

struct advice_doc;
struct strbuf;

/* Appends a paragraph, after an empty line; nothing if no job loses. */
void advice_payers_put(const struct advice_doc *doc, struct strbuf *out);

#endif
