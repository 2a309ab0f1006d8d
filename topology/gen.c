/* SPDX-License-Identifier: Apache-2.0 */
/* gen.c - code shared by the generators. */
#include "topology/gen.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen_priv.h"
#include "topology/topo.h"

#define MAX_OVERSUBSCRIPTION 1e6
#define TOLERANCE            1e-9 /* Relative tolerance for numbers typed by users. */

int
gen_check_ranges(const struct gen_range *ranges, int n, struct err *err)
{
	for (int i = 0; i < n; i++) {
		const struct gen_range *r = &ranges[i];

		if (r->value < r->min || r->value > r->max)
			return err_set(err, NULL, 0, 0,
				       "number of %s is %u, expected %u to %u", r->what,
				       r->value, r->min, r->max);
	}
	return 0;
}

int
gen_check_bps(const char *what, double bps, struct err *err)
{
	if (bps >= 1 && bps <= TOPO_MAX_BPS)
		return 0;
	return err_set(err, NULL, 0, 0,
		       "capacity of %s is %g Gb/s, expected above 0 and at most %g",
		       what, bps / 1e9, TOPO_MAX_BPS / 1e9);
}

struct gen_speeds
gen_speeds_or(const struct gen_speeds *speeds, double bps, double default_bps)
{
	struct gen_speeds all = { .n = 1 };

	BUG_ON(speeds->n > GEN_MAX_SPEEDS);
	if (speeds->n > 0)
		return *speeds;
	all.items[0].bps = bps != 0 ? bps : default_bps;
	return all;
}

double
gen_speed_of(const struct gen_speeds *speeds, uint32_t part)
{
	uint32_t i = 0;

	while (i + 1 < speeds->n && part >= speeds->items[i].n_parts)
		part -= speeds->items[i++].n_parts;
	return round(speeds->items[i].bps);
}

int
gen_check_speeds(const struct gen_speeds *speeds, const char *whose, uint32_t n_parts,
		 const char *parts, struct err *err)
{
	double n = 0;

	if (speeds->n == 1 && speeds->items[0].n_parts == 0)
		return 0;
	for (uint32_t i = 0; i < speeds->n; i++)
		n += speeds->items[i].n_parts;
	if (n < n_parts || n > n_parts)
		return err_set(
			err, NULL, 0, 0,
			"the speeds of %s are those of %.0f %s, expected %u, or one "
			"speed for all",
			whose, n, parts, n_parts);
	return 0;
}

int
gen_check_size(double n_nodes, double n_cables, struct err *err)
{
	if (n_nodes > TOPO_MAX_NODES)
		err_set(err, NULL, 0, 0, "that makes %.0f nodes, expected at most %d",
			n_nodes, TOPO_MAX_NODES);
	else if (2 * n_cables > TOPO_MAX_LINKS)
		err_set(err, NULL, 0, 0, "that makes %.0f cables, expected at most %d",
			n_cables, TOPO_MAX_LINKS / 2);
	else
		return 0;
	return -E2BIG;
}

/* The number of upper switches for the oversubscription, which must be whole. */
static int
derive_above(struct gen_uplinks *u, double want_bps, struct err *err)
{
	double n = want_bps / (u->n_parallel * u->uplink_bps);
	double whole = nearbyint(n);

	if (whole < 1 || whole > TOPO_MAX_NODES || fabs(n - whole) > TOLERANCE * n)
		return err_set(err, NULL, 0, 0,
			       "%s has %g Gb/s down and at %g:1 needs %g Gb/s up: %g "
			       "%s with %u x %g Gb/s each, expected a whole number; "
			       "give the number of %s or another uplink speed",
			       u->below, u->down_bps / 1e9, u->oversubscription,
			       want_bps / 1e9, n, u->above, u->n_parallel,
			       u->uplink_bps / 1e9, u->above);
	u->n_above = (uint32_t)whole;
	return 0;
}

/* Fills n_above and uplink_bps, or an error if the numbers do not fit. */
static int
resolve(struct gen_uplinks *u, struct err *err)
{
	double ratio = u->oversubscription, up_bps;

	if (!(ratio >= 0) || ratio > MAX_OVERSUBSCRIPTION)
		return err_set(
			err, NULL, 0, 0,
			"oversubscription is %g, expected above 0 and at most %g",
			ratio, MAX_OVERSUBSCRIPTION);
	if (u->uplink_bps == 0 && u->n_above && ratio > 0)
		u->uplink_bps = round(u->down_bps / ratio / u->n_above / u->n_parallel);
	else if (u->uplink_bps == 0)
		u->uplink_bps = u->default_bps;
	if (gen_check_bps("an uplink", u->uplink_bps, err) < 0)
		return -EINVAL;
	if (!u->n_above) {
		if (ratio == 0)
			u->oversubscription = ratio = 1;
		if (derive_above(u, u->down_bps / ratio, err) < 0)
			return -EINVAL;
	}
	up_bps = u->uplink_bps * u->n_parallel * u->n_above;
	/* Capacities are whole bits per second: allow for that rounding. */
	if (ratio > 0 &&
	    fabs(u->down_bps / ratio - up_bps) >
		    TOLERANCE * up_bps + u->n_parallel * (double)u->n_above)
		return err_set(
			err, NULL, 0, 0,
			"%s has %g Gb/s down and %u x %u x %g = %g Gb/s up, "
			"which is %g:1, not %g:1; leave out the number of %s, the "
			"uplink speed or the oversubscription",
			u->below, u->down_bps / 1e9, u->n_above, u->n_parallel,
			u->uplink_bps / 1e9, up_bps / 1e9, u->down_bps / up_bps, ratio,
			u->above);
	u->oversubscription = u->down_bps / up_bps;
	return 0;
}

int
gen_resolve_part(struct gen_uplinks *u, const char *part, uint32_t number,
		 uint32_t *n_above, struct err *err)
{
	uint32_t n_given = u->n_above;
	int r = resolve(u, err);

	if (r < 0) {
		if (number > 0)
			err_append(err, " (%s%u)", part, number);
		return r;
	}
	if (!n_given && *n_above && u->n_above != *n_above)
		return err_set(
			err, NULL, 0, 0,
			"%s%u needs %u %s and %s0 %u, expected as many; give the "
			"number of %s, or other uplink speeds",
			part, number, u->n_above, u->above, part, *n_above, u->above);
	*n_above = u->n_above;
	return 0;
}

uint32_t
gen_hosts(struct topo_builder *b, uint32_t n, uint32_t n_slots)
{
	uint32_t first = 0, id = 0;
	char name[TOPO_MAX_NAME + 1];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "h%u", i);
		BUG_ON(topo_builder_host(b, name, n_slots, &id) < 0);
		if (i == 0)
			first = id;
	}
	return first;
}

uint32_t
gen_switches(struct topo_builder *b, const char *prefix, uint32_t n, uint32_t tier)
{
	uint32_t first = 0, id = 0;
	char name[TOPO_MAX_NAME + 1];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s%u", prefix, i);
		BUG_ON(topo_builder_switch(b, name, tier, &id) < 0);
		if (i == 0)
			first = id;
	}
	return first;
}

int
gen_check_balance(const struct gen_balance *balance, uint32_t n_tiers, struct err *err)
{
	if (balance->n_tiers > n_tiers)
		return err_set(
			err, NULL, 0, 0,
			"--balance has %u words, expected at most %u: one a tier "
			"of switches, or one for all",
			balance->n_tiers, n_tiers);
	return 0;
}

void
gen_set_balance(struct topo_builder *b, uint32_t n_tiers,
		const struct gen_balance *balance)
{
	for (uint32_t i = 0; balance->n_tiers > 0 && i < n_tiers; i++) {
		uint32_t given = i < balance->n_tiers ? i : balance->n_tiers - 1;

		BUG_ON(topo_builder_balance(b, i + 1, balance->tiers[given]) < 0);
	}
}

void
gen_cable(struct topo_builder *b, uint32_t a, uint32_t a_port, uint32_t z,
	  uint32_t z_port, double bps)
{
	char a_name[16], z_name[16];

	snprintf(a_name, sizeof a_name, "p%u", a_port);
	snprintf(z_name, sizeof z_name, "p%u", z_port);
	BUG_ON(topo_builder_cable(b, a, a_name, z, z_name, bps, bps) < 0);
}
