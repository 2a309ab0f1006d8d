/*
 * report.h - the results of a run and of a comparison, as tables for people,
 * JSON, and CSV.
 */
#ifndef SIM_REPORT_REPORT_H
#define SIM_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/run/experiment.h"

struct err;

/* Where figures come from: the first lines of each CSV file. */
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
 * Writes the first of 'n' files to 'path'; if that is a directory or ends with
 * '/', all of them, in it.  "-" is standard output.  Each begins with lines that
 * start with '#' and say where it comes from.  Returns 0 or a negative errno with
 * 'err' filled.
 */
int report_csv(const char *path, const struct provenance *provenance,
	       const struct csv_file *files, size_t n, const void *ctx,
	       struct err *err);

/* The command as it was given: "antiphase-sim VERB ...".  Free with free(). */
char *report_command(int argc, char **argv);

/* ---- One run --------------------------------------------------------------------- */

struct run_report {
	const struct scenario *scenario;
	const struct sim_plan *plan;
	const struct topo *topo;
	const struct experiment *experiment;
	const char *policy;
	uint64_t seed;
	bool all_links; /* In the table: also those that one job has for itself. */
};

void run_report_table(const struct run_report *report, FILE *out);
void run_report_json(const struct run_report *report, FILE *out);

/* jobs.csv, links.csv and iterations.csv; see report_csv(). */
int run_report_csv(const struct run_report *report, const char *path,
		   const struct provenance *provenance, struct err *err);

/* ---- A comparison ---------------------------------------------------------------- */

struct comparison;

struct comparison_report {
	const struct scenario *scenario;
	const struct comparison *comparison;
	const char *const *policies; /* Names. */
	size_t n_policies;
	const uint64_t *seeds;
	bool was_interrupted;
	bool utf8; /* In the table. */
};

void comparison_report_table(const struct comparison_report *report, FILE *out);
void comparison_report_json(const struct comparison_report *report, FILE *out);

/* policies.csv and jobs.csv, a row a run; see report_csv(). */
int comparison_report_csv(const struct comparison_report *report, const char *path,
			  const struct provenance *provenance, struct err *err);

#endif
