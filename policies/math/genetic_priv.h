/* SPDX-License-Identifier: Apache-2.0 */
/*
 * genetic_priv.h - what the files of genetic.h share.
 *
 *	genetic.c        populations: carried on, evaluated, selected
 *	genetic_breed.c  a child of two plans, and its repair
 */
#ifndef POLICIES_MATH_GENETIC_PRIV_H
#define POLICIES_MATH_GENETIC_PRIV_H

#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "policies/math/genetic.h"

/* A row is inherited with its sums and its value. */
struct plan {
	uint16_t *cells;               /* [n_rows][n_columns] */
	uint32_t *n_units, *n_columns; /* Of each row. */
	double *worths;                /* Of each row. */
	double worth;
	uint32_t n_pieces; /* Elements above 0. */
	uint64_t hash;     /* If computed. */
	bool is_hashed;
};

struct genetic {
	uint32_t n_rows, n_columns;
	VEC(struct plan *) plans; /* Best first. */
	VEC(struct plan *) spare; /* Of the same size. */
	/* Of the matrix under repair: free units of columns; their exclusive row. */
	int32_t *left;
	uint32_t *owner;
	uint32_t *n_there, *one_there; /* Rows in a column, and one of them. */
	uint32_t *order;               /* Of columns, at random. */
	/* Of the new plan: rows unlike the parent's; rows with any element. */
	bool *is_changed;
	uint32_t *holders, n_holders;
};

struct search {
	struct genetic *g;
	const struct genetic_problem *p;
	struct rng *rng;
	const struct plan *now; /* That of p->now. */
	uint32_t most_capacity; /* Of all columns. */
};

static inline uint16_t *
genetic_row_of(const struct genetic *g, const struct plan *plan, uint32_t row)
{
	return plan->cells + (size_t)row * g->n_columns;
}

/* The most that fits into an element. */
static inline uint32_t
genetic_capacity(const struct search *s, uint32_t column)
{
	uint32_t capacity = s->p->capacities[column];

	return capacity < UINT16_MAX ? capacity : UINT16_MAX;
}

/* A random number below n. */
static inline uint32_t
genetic_draw(struct rng *rng, uint32_t n)
{
	return (uint32_t)(((rng_next(rng) >> 32) * n) >> 32);
}

/* A child: 'one' up to the row 'point', then 'other', some rows changed; repaired. */
void genetic_cross(const struct search *s, const struct plan *one,
		   const struct plan *other, uint32_t point, struct plan *child);
/* Computes the sums of all rows, of which none is inherited, and the units left. */
void genetic_sum(const struct search *s, struct plan *plan);
/* Repairs invalid rows; the units left in columns are known. */
void genetic_mend(const struct search *s, struct plan *plan);

#endif
