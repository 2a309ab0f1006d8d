/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_print.h - output of 'antiphase compat', for people and for programs.
 */
#ifndef CLI_COMPAT_PRINT_H
#define CLI_COMPAT_PRINT_H

struct compat;
struct compat_job;

struct compat_answer {
	double capacity_bps;
	const char *solver;            /* Borrowed; its name. */
	const struct compat_job *jobs; /* Borrowed; compat->n_jobs of them. */
	const struct compat *compat;   /* Borrowed. */
};

/* Prints the JSON document antiphase.compat/2 on stdout. */
void compat_print_json(const struct compat_answer *answer);

/* Prints tables and their meaning on stdout, within 80 columns. */
void compat_print_text(const struct compat_answer *answer);

#endif
