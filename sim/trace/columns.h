/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - formats of separated fields: a table of columns each. */
#ifndef SIM_TRACE_COLUMNS_H
#define SIM_TRACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/trace/jobtrace.h"

#define COLUMNS_MAX 64 /* Fields of a row. */
/* Bound of all times, so that written traces can be read again. */
#define COLUMNS_MAX_SECONDS 1e12

enum column_kind {
	COLUMN_END, /* Ends a table. */
	COLUMN_TEXT,
	COLUMN_MODEL, /* "NAME", or "NAME (batch size N)". */
	COLUMN_SECONDS, /* Or GiB: a number over 'divisor'; "", "None" and the like: NAN. */
	COLUMN_STAMP, /* Such seconds on a clock; 0 is NAN, too. */
	COLUMN_TIME,  /* Date and time, with or without a zone, or a number. */
	COLUMN_COUNT, /* A whole number, 0 or more; "" is 0. */
	COLUMN_GPUS,  /* A number over 'divisor'; multiplied with others of its kind. */
	COLUMN_INSTANCES, /* Of the job: GPUs, CPUs and memory are for each. */
	COLUMN_CPUS,      /* A number over 'divisor'. */
	COLUMN_MEMORY,    /* GiB over 'divisor' of an instance, else of a node. */
	COLUMN_PRIORITY,
	COLUMN_STATUS,
};

struct column {
	enum column_kind kind;
	bool is_needed; /* Required in the header. */
	const char *name;
	size_t offset; /* Of struct jobtrace_job. */
	double divisor;
};

struct columns {
	enum jobtrace_format format;
	char separator;
	bool has_header; /* Without: the table's columns in order. */
	const struct column *columns;
};

/* State at the end of a text within a row. */
enum columns_place {
	COLUMNS_AT_BEGIN, /* Of a field. */
	COLUMNS_IN_PLAIN,
	COLUMNS_IN_QUOTES,     /* The row continues in the next line. */
	COLUMNS_BEHIND_QUOTES, /* Or between two quotes that mean one. */
	COLUMNS_BROKEN,        /* Text after closing quotes. */
};

/* The state after 'text', which begins in 'from'; RFC 4180.  O(n). */
enum columns_place columns_scan(enum columns_place from, const char *text,
				char separator);

/*
 * Splits a row in place; fields may be quoted (RFC 4180). Returns the number of
 * fields, or -1: more than COLUMNS_MAX, or an unclosed quote.
 */
int columns_split(char *row, char separator, char **ret_fields);

/*
 * The format with these fields, or NULL. ret_of[i] is the column of field i; NULL:
 * ignored.
 */
const struct columns *columns_find(enum jobtrace_format format, char *const *fields,
				   int n, char separator, const struct column **ret_of);

/*
 * Fills a job from a row's fields, whose texts it uses.  Returns NULL, or what is
 * wrong in '*ret_field'. '*ret_rounded': a fraction of a GPU was rounded up.
 */
const char *columns_read(const struct column *const *of, char *const *fields, int n,
			 struct jobtrace_job *ret_job, int *ret_field,
			 bool *ret_rounded);

/* For other readers: NULL, or the fault of a name. */
const char *columns_check_name(const char *text);
/* Reads a time as above, or NAN.  Returns false if it is invalid. */
bool columns_time(const char *text, double *ret_s);
enum jobtrace_status columns_status(const char *text);

#endif
