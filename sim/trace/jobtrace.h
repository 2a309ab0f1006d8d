/*
 * jobtrace.h - the jobs of a cluster's trace, one after another, whatever its format.
 *
 * Read as a stream: files of any length, compressed by gzip or xz, or a member of an archive
 * ("muri_traces.tar.xz:simulator/trace-data/trace3.csv").  A row that is malformed is
 * counted, its first ones are kept with file and line to be told, and the reading goes
 * on; too many of them (more than one in ten after the first 100 rows, or all) are an
 * error, as that is another format.  A row that is fine and not of interest (a job without
 * GPUs) is counted as left out, by reason.
 *
 * Rows are as RFC 4180 has them: a field in quotes may go over lines, and the row's line is
 * the one it begins on.  A quote that is not closed within 1 MiB, or not right, makes its
 * line alone a malformed row, and the reading goes on with the next line: no quote
 * swallows the rows behind it.  One that begins within the text that was looked through in
 * vain, and is still open where a line of it ends, has the same end: O(n) in all.
 */
#ifndef SIM_TRACE_JOBTRACE_H
#define SIM_TRACE_JOBTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct jobtrace;

#define JOBTRACE_N_STAGES 3 /* Loading, GPU, network: as Muri has them. */
#define JOBTRACE_MAX_GPUS 65536

enum jobtrace_status {
	JOBTRACE_UNKNOWN,
	JOBTRACE_COMPLETED,
	JOBTRACE_CANCELLED,
	JOBTRACE_FAILED,
};

/* Texts are borrowed until the next one is read; "" where the trace has none. */
struct jobtrace_job {
	const char *id, *user, *vc, *model, *gpu_type;
	const char *mode;      /* Of batch sizes: "static", "accordion", "gns". */
	double submit_s;       /* As the trace has it: Unix time, or since its begin. */
	double start_s, end_s; /* What the cluster made of it; NAN: not told. */
	double duration_s;     /* On GPUs, in all; NAN: not told. */
	double expected_s;     /* What its user said; NAN: not told, as below. */
	double iterations, iteration_s;
	double stage_s[JOBTRACE_N_STAGES]; /* Of an iteration. */
	uint32_t n_gpus;                   /* Above 0. */
	uint32_t n_nodes, batch;           /* 0: not told. */
	int32_t priority;
	enum jobtrace_status status;
	uint64_t line;
};

/* A job of which nothing is known. */
void jobtrace_clear(struct jobtrace_job *ret_job);

enum jobtrace_format {
	JOBTRACE_AUTO,      /* By the first row. */
	JOBTRACE_ANTIPHASE, /* Our own CSV: a header with names of the fields above. */
	JOBTRACE_PHILLY_JSON,
	JOBTRACE_PHILLY_CSV,
	JOBTRACE_HELIOS,
	JOBTRACE_PAI_2020,
	JOBTRACE_PAI_2023,
	JOBTRACE_ACME,
	JOBTRACE_GAVEL,
	JOBTRACE_SHOCKWAVE,
	JOBTRACE_MURI,
	JOBTRACE_TIRESIAS,
	JOBTRACE_POLLUX,
	JOBTRACE_SYNERGY,
	JOBTRACE_N_FORMATS,
};

extern const char
	*const jobtrace_format_names[]; /* "auto", "antiphase", ...; ends with NULL. */

/* What was read so far. */
struct jobtrace_counts {
	uint64_t rows, jobs;
	uint64_t malformed;
	uint64_t no_gpus,
		not_run;  /* Left out: without GPUs; never ran, nothing is known. */
	uint64_t rounded; /* Fractions of GPUs, which became a whole one. */
};

/*
 * "-" is standard input.  'format' as told or as found; jobs come in the order of the
 * file.  0 or -errno with 'err' filled.
 */
int jobtrace_open(const char *path, enum jobtrace_format format,
		  struct jobtrace **ret_trace, struct err *err);
void jobtrace_close(struct jobtrace *trace); /* Accepts NULL. */
enum jobtrace_format jobtrace_format(const struct jobtrace *trace);

/* 1 with the next job, 0 at the end, -errno with 'err' filled. */
int jobtrace_next(struct jobtrace *trace, struct jobtrace_job *ret_job,
		  struct err *err);

struct jobtrace_counts jobtrace_counts(const struct jobtrace *trace);
/* The first rows that were malformed, at most 10: "FILE:LINE: what"; NULL past them. */
const char *jobtrace_fault(const struct jobtrace *trace, size_t i);

/* Our own CSV, which keeps all that a job has: the header, and a row each. */
void jobtrace_write_header(FILE *out);
void jobtrace_write(FILE *out, const struct jobtrace_job *job);

#endif
