/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_paths.h - the chosen paths of an advice as prose
 *
 * Names the path of each flow, a source port that takes it, and the jobs that the flow
 * meets on its hashed path; for a job with several connections to each peer, the
 * settings of collective libraries that open them.
 */
#ifndef CLI_ADVICE_PATHS_H
#define CLI_ADVICE_PATHS_H

struct advice_doc_job;
struct strbuf;

/* Appends sentences, each with a blank behind it; none if all paths are hashed. */
void advice_paths_put(const struct advice_doc_job *job, struct strbuf *text);

#endif
