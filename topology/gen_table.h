/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_table.h - the generators by name, with a table of their options, shared by the
 * command line, its help and scenario files:
 *
 *	leaf-spine --leaves 6 --hosts-per-leaf 4 --gbps 50 --oversubscription 2
 */
#ifndef TOPOLOGY_GEN_TABLE_H
#define TOPOLOGY_GEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct topo;

#define GEN_MAX_OPTIONS 16

enum gen_type {
	GEN_COUNT, /* A whole number, at least 1. */
	GEN_GBPS,  /* A rate in Gb/s, above 0. */
	GEN_RATIO, /* Above 0; also written "2:1". */
	GEN_WORD,  /* One of 'words'. */
	GEN_DIMS,  /* "8", "8x8" or "8x8x4". */
};

struct gen_option {
	const char *name; /* "hosts-per-leaf". */
	enum gen_type type;
	const char *argument; /* "N". */
	const char *help;     /* One line. */
	size_t offset;        /* Of the member in the kind's structure. */
	bool is_needed;
	const char *const *words; /* Of GEN_WORD; NULL-terminated. */
};

struct gen_kind {
	const char *name;    /* "leaf-spine". */
	const char *summary; /* One line. */
	const struct gen_option *options;
	size_t n_options; /* At most GEN_MAX_OPTIONS. */
};

#define GEN_N_KINDS 7

/* A value of GEN_DIMS is size 0 + GEN_MAX_DIM * (size 1 + GEN_MAX_DIM * size 2). */
#define GEN_MAX_DIM 131072 /* More than any size. */

extern const struct gen_kind gen_kinds[GEN_N_KINDS];

/* The kind of that name, or NULL with 'err' filled. */
const struct gen_kind *gen_find_kind(const char *name, struct err *err);

/*
 * Makes a fabric; values[i] is that of option i, 0 if it is not given; that of a
 * GEN_WORD is the number of the word, from 1.  Returns 0,
 * -EINVAL or -E2BIG, as the functions of gen.h.
 */
int gen_build(const struct gen_kind *kind, const double *values, struct topo **ret_topo,
	      struct err *err);

/* Reads a value of GEN_DIMS.  Returns 0 or -EINVAL with 'err' filled. */
int gen_parse_dims(const struct gen_option *option, const char *text, double *ret_value,
		   struct err *err);

/*
 * Makes a fabric from words separated by blanks: a kind, then options as
 * "--name value" or "--name=value".  Returns as gen_build().
 */
int gen_text(const char *text, struct topo **ret_topo, struct err *err);

#endif
