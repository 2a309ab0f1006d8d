/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_print.h - running jobs and their iterations, for people and for programs.
 */
#ifndef CLI_JOBS_PRINT_H
#define CLI_JOBS_PRINT_H

#include <stddef.h>

struct contention;
struct profiled_job;
struct screen;
struct strbuf;

/* The lines of a table of jobs: n + 1 with the heading, as links_table(). */
char **jobs_table(const struct screen *screen, const struct profiled_job *const *jobs,
		  size_t n, unsigned columns);

/* The details of one job; 'found' has its links. */
void jobs_detail(const struct screen *screen, const struct contention *found,
		 const struct profiled_job *job, struct strbuf *out);

#endif
