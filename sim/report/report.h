/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - CSV files of results, with their provenance.
 *
 * Each verb writes its own tables and JSON; this is what their CSV files have in
 * common.
 */
#ifndef SIM_REPORT_REPORT_H
#define SIM_REPORT_REPORT_H

#include <stddef.h>
#include <stdio.h>

struct err;

/* First lines of each CSV file. */
struct provenance {
	const char *version;
	const char *command;
	const char *scenario; /* File. */
	const char *seeds;    /* "1" or "1..10". */
};

struct csv_file {
	const char *name; /* "jobs.csv". */
	void (*put)(const void *ctx, FILE *out);
};

/*
 * Writes the first of 'n' files to 'path'; if that is a directory or ends with '/',
 * writes all of them into it.  "-" is standard output.  Each file begins with lines of
 * '#' that state its provenance.  Returns 0 or a negative errno with 'err' filled.
 */
int report_csv(const char *path, const struct provenance *provenance,
	       const struct csv_file *files, size_t n, const void *ctx,
	       struct err *err);

/* The command line: "antiphase-sim VERB ...". Free with free(). */
char *report_command(int argc, char **argv);

#endif
