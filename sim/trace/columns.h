/*
 * columns.h - rows of separated fields, as jobs: a table a format.
 */
#ifndef SIM_TRACE_COLUMNS_H
#define SIM_TRACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/trace/jobtrace.h"

#define COLUMNS_MAX 64 /* Fields of a row. */
/* Of any time, also of one that is counted of others: what is written is read again. */
#define COLUMNS_MAX_SECONDS 1e12

enum column_kind {
	COLUMN_END, /* Ends a table. */
	COLUMN_TEXT,
	COLUMN_MODEL,   /* "NAME", or "NAME (batch size N)". */
	COLUMN_SECONDS, /* A number, over 'divisor'; "", "None" and the like: NAN. */
	COLUMN_TIME,    /* A date and a time, with or without a zone, or a number. */
	COLUMN_COUNT,   /* A whole number, 0 or more; "" is 0. */
	COLUMN_GPUS, /* A number over 'divisor'; multiplies with others of its kind. */
	COLUMN_PRIORITY,
	COLUMN_STATUS,
};

struct column {
	enum column_kind kind;
	bool is_needed; /* A header without it is of another format. */
	const char *name;
	size_t offset; /* Of struct jobtrace_job. */
	double divisor;
};

struct columns {
	enum jobtrace_format format;
	char separator;
	bool has_header; /* Else columns are those of the table, in its order. */
	const struct column *columns;
};

/* Where in a row a text of it ends. */
enum columns_place {
	COLUMNS_AT_BEGIN, /* Of a field. */
	COLUMNS_IN_PLAIN,
	COLUMNS_IN_QUOTES,     /* The row goes on behind the line's end. */
	COLUMNS_BEHIND_QUOTES, /* Or amid two, which stand for one. */
	COLUMNS_BROKEN,        /* Something stands behind quotes that end. */
};

/* Of a text that begins at 'from'; for quotes, as RFC 4180 has them.  O(n). */
enum columns_place columns_scan(enum columns_place from, const char *text,
				char separator);

/*
 * Splits a row in place: fields may be quoted, as RFC 4180 has it.  Returns how many, or
 * -1 if they are more than COLUMNS_MAX or a quote is not closed.
 */
int columns_split(char *row, char separator, char **ret_fields);

/*
 * The format whose columns are there, or NULL.  ret_of[i] is the column of field i, or
 * NULL for one that is of no interest.
 */
const struct columns *columns_find(enum jobtrace_format format, char *const *fields,
				   int n, char separator, const struct column **ret_of);

/*
 * Fills a job from a row's fields; NULL, or what is wrong with it and in which field.
 * Texts are of the fields.  'rounded': a fraction of a GPU became a whole one.
 */
const char *columns_read(const struct column *const *of, char *const *fields, int n,
			 struct jobtrace_job *ret_job, int *ret_field,
			 bool *ret_rounded);

/* For others: NULL, or what is wrong with a name. */
const char *columns_check_name(const char *text);
/* A time as above, NAN if there is none; false if it is something else. */
bool columns_time(const char *text, double *ret_s);
enum jobtrace_status columns_status(const char *text);

#endif
