/* SPDX-License-Identifier: Apache-2.0 */
/*
 * genetic_priv.h - what the files of genetic.h share.
 *
 *	genetic.c        populations: carried on, judged, selected
 *	genetic_breed.c  a child of two plans, and mending what may not be
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
	uint64_t hash;     /* If it is known. */
	bool is_hashed;
};

struct genetic {
	uint32_t n_rows, n_columns;
	VEC(struct plan *) plans; /* Best first. */
	VEC(struct plan *) spare; /* Of the same size. */
	/* Of the matrix under repair: room of columns, and their exclusive row. */
	int32_t *left;
	uint32_t *owner;
	uint32_t *n_there, *one_there; /* Rows of a column, and one of them. */
	uint32_t *order;               /* Of columns, drawn. */
	/*
	 * Of the one that is bred: rows that are not as inherited; those that hold
	 * any.
	 */
	bool *is_changed;
	uint32_t *holders, n_holders;
};

struct search {
	struct genetic *g;
	const struct genetic_problem *p;
	struct rng *rng;
	const struct plan *now; /* That of p->now. */
	uint32_t most_capacity; /* Of any column. */
};

static inline uint16_t *
genetic_row_of(const struct genetic *g, const struct plan *plan, uint32_t row)
{
	return plan->cells + (size_t)row * g->n_columns;
}

/* What fits into an element. */
static inline uint32_t
genetic_capacity(const struct search *s, uint32_t column)
{
	uint32_t capacity = s->p->capacities[column];

	return capacity < UINT16_MAX ? capacity : UINT16_MAX;
}

/* Below n. */
static inline uint32_t
genetic_draw(struct rng *rng, uint32_t n)
{
	return (uint32_t)(((rng_next(rng) >> 32) * n) >> 32);
}

/* A child: 'one' up to the row 'point', then 'other', some rows changed; and mended. */
void genetic_cross(const struct search *s, const struct plan *one,
		   const struct plan *other, uint32_t point, struct plan *child);
/*
 * Finds the sums of all rows, of which none is as inherited, and what is left of
 * columns.
 */
void genetic_sum(const struct search *s, struct plan *plan);
/* What may not be is mended; what is left of columns is known. */
void genetic_mend(const struct search *s, struct plan *plan);

#endif
