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

/* What the text of an option is, and the member that it fills (gen.h). */
enum gen_type {
	GEN_COUNT,   /* uint32_t: a whole number, at least 1. */
	GEN_GBPS,    /* double, in b/s: a rate in Gb/s, above 0. */
	GEN_SPEEDS,  /* struct gen_speeds: "100", or "6x100,2x400". */
	GEN_RATIO,   /* double, above 0; also written "2:1". */
	GEN_WORD,    /* uint32_t: the number of one of 'words'. */
	GEN_BALANCE, /* struct gen_balance: "spray", or "hash,spray". */
	GEN_DIMS,    /* uint32_t[TOPO_MAX_DIMS]: "8", "8x8" or "8x8x4". */
};

struct gen_option {
	const char *name; /* "hosts-per-leaf". */
	enum gen_type type;
	const char *argument; /* "N". */
	const char *help;     /* One line. */
	size_t offset;        /* Of the member in the kind's structure. */
	bool is_needed;
	const char *const *words; /* NULL-terminated; NULL: not words. */
};

struct gen_kind {
	const char *name;    /* "leaf-spine". */
	const char *summary; /* One line. */
	const struct gen_option *options;
	size_t n_options; /* At most GEN_MAX_OPTIONS. */
};

#define GEN_N_KINDS 7

extern const struct gen_kind gen_kinds[GEN_N_KINDS];

/* The kind of that name, or NULL with 'err' filled. */
const struct gen_kind *gen_find_kind(const char *name, struct err *err);

/*
 * Makes a fabric; texts[i] is that of option i, NULL if it is not given.  Returns 0,
 * -EINVAL or -E2BIG, as the functions of gen.h.
 */
int gen_build(const struct gen_kind *kind, const char *const *texts,
	      struct topo **ret_topo, struct err *err);

/*
 * Makes a fabric from words separated by blanks: a kind, then options as
 * "--name value" or "--name=value".  Returns as gen_build().
 */
int gen_text(const char *text, struct topo **ret_topo, struct err *err);

#endif
