/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobtrace.h - a reader of job traces of clusters, in any known format.
 *
 * A trace is read as a stream: files of any length, compressed by gzip or xz, or a
 * member of an archive ("muri_traces.tar.xz:simulator/trace-data/trace3.csv").
 * Malformed rows are counted; the first ones are kept with file and line for a report,
 * and reading continues.  Too many of them (more than one in ten after the first 100
 * rows, or all) mean another format, which is an error.  Valid rows without interest
 * (jobs without GPUs) are counted by reason.
 *
 * Rows follow RFC 4180: a quoted field may span lines, and the row's line is its
 * first.  A quote that is not closed within 1 MiB, or closed wrongly, makes its line
 * alone a malformed row; reading continues with the next line, so no quote swallows
 * the rows behind it.  A quote that begins within text that was searched in vain, and
 * is still open at the end of one of its lines, has the same end: O(n) in all.
 */
#ifndef SIM_TRACE_JOBTRACE_H
#define SIM_TRACE_JOBTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct jobtrace;

#define JOBTRACE_N_STAGES 3 /* Loading, GPU, network (Muri). */
#define JOBTRACE_MAX_GPUS 65536

enum jobtrace_status {
	JOBTRACE_UNKNOWN,
	JOBTRACE_COMPLETED,
	JOBTRACE_CANCELLED,
	JOBTRACE_FAILED,
};

/* Texts are valid until the next job; "": not in the trace. */
struct jobtrace_job {
	const char *id, *user, *vc, *model, *gpu_type;
	const char *mode;      /* Of batch sizes: "static", "accordion", "gns". */
	double submit_s;       /* Unix time, or relative, as in the trace. */
	double start_s, end_s; /* When it ran; NAN: unknown. */
	double duration_s;     /* On GPUs, in all; NAN: unknown. */
	double expected_s;     /* Predicted by its user; NAN: unknown, as below. */
	double iterations, iteration_s;
	double stage_s[JOBTRACE_N_STAGES]; /* Of an iteration. */
	double gpu_memory_gib, memory_gib; /* For each GPU: of it, of the node. */
	double n_cpus;                     /* In all. */
	uint32_t n_gpus;                   /* Above 0. */
	uint32_t n_nodes, batch;           /* 0: unknown. */
	int32_t priority;
	enum jobtrace_status status;
	uint64_t line;
};

/* Sets all fields to unknown. */
void jobtrace_clear(struct jobtrace_job *ret_job);

enum jobtrace_format {
	JOBTRACE_AUTO,      /* Detected from the first row. */
	JOBTRACE_ANTIPHASE, /* Our own CSV: a header with the names of these fields. */
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
	JOBTRACE_BSC,
	JOBTRACE_N_FORMATS,
	JOBTRACE_PAI_INSTANCES = JOBTRACE_N_FORMATS, /* For jobtrace_join() only. */
};

extern const char
	*const jobtrace_format_names[]; /* "auto", "antiphase", ...; ends with NULL. */

/* Rows read so far. */
struct jobtrace_counts {
	uint64_t rows, jobs;
	uint64_t malformed;
	uint64_t no_gpus,
		not_run;   /* Left out: without GPUs; never ran, nothing known. */
	uint64_t rounded;  /* Fractions of a GPU, rounded up. */
	uint64_t unjoined; /* Jobs without a row in the joined table. */
};

/*
 * "-" is standard input.  Jobs come in the order of the file.  Returns 0 or -errno
 * with 'err' filled.
 */
int jobtrace_open(const char *path, enum jobtrace_format format,
		  struct jobtrace **ret_trace, struct err *err);
void jobtrace_close(struct jobtrace *trace); /* Accepts NULL. */
enum jobtrace_format jobtrace_format(const struct jobtrace *trace);

/*
 * Joins Alibaba's pai_instance_table to a trace of its tasks, before the first job is
 * read: a job starts with its first instance, ends with its last one, and has as many
 * nodes as they have machines.  Reads the table to its end: about 200 bytes for each
 * task and 8 for each instance are kept.  Returns 0 or -errno with 'err' filled.
 */
int jobtrace_join(struct jobtrace *trace, const char *path, struct err *err);
/* The joined table, for its counts and faults; NULL: none. */
const struct jobtrace *jobtrace_joined(const struct jobtrace *trace);

/* Returns 1 with the next job, 0 at the end, -errno with 'err' filled. */
int jobtrace_next(struct jobtrace *trace, struct jobtrace_job *ret_job,
		  struct err *err);

struct jobtrace_counts jobtrace_counts(const struct jobtrace *trace);
/* The first malformed rows, at most 10: "FILE:LINE: what"; NULL beyond. */
const char *jobtrace_fault(const struct jobtrace *trace, size_t i);

/* Writes our own CSV, which keeps all fields: the header, and a row. */
void jobtrace_write_header(FILE *out);
void jobtrace_write(FILE *out, const struct jobtrace_job *job);

#endif
