/* SPDX-License-Identifier: Apache-2.0 */
/* gen_priv.h - shared by gen*.c */
#ifndef TOPOLOGY_GEN_PRIV_H
#define TOPOLOGY_GEN_PRIV_H

#include <stdint.h>

#include "topology/topo.h"

struct err;
struct gen_balance;
struct gen_option;
struct gen_speeds;

/* One number of the options: its name and bounds. */
struct gen_range {
	const char *what;
	uint32_t value, min, max;
};

/* Checks 'n' limits.  Returns 0 or -EINVAL. */
int gen_check_ranges(const struct gen_range *ranges, int n, struct err *err);

/* Checks that a rate is above 0 and at most TOPO_MAX_BPS. */
int gen_check_bps(const char *what, double bps, struct err *err);

/* The speeds, or if none are given 'bps' for all parts; if that is 0, 'default_bps'. */
struct gen_speeds gen_speeds_or(const struct gen_speeds *speeds, double bps,
				double default_bps);

/* The speed of part number 'part', a whole number; 0 if none is given. */
double gen_speed_of(const struct gen_speeds *speeds, uint32_t part);

/* Checks that there are speeds for 'n_parts' parts, "leaves"; 'whose' is "hosts". */
int gen_check_speeds(const struct gen_speeds *speeds, const char *whose,
		     uint32_t n_parts, const char *parts, struct err *err);

/*
 * Checks that a fabric with these numbers of nodes and cables is possible, before
 * anything is allocated.  Doubles, since products of options may be huge.
 */
int gen_check_size(double n_nodes, double n_cables, struct err *err);

/* The downward capacity of a switch of one tier, and its uplinks. */
struct gen_uplinks {
	const char *below;       /* "a leaf". */
	const char *above;       /* "spines". */
	double down_bps;         /* Capacity of its downward ports. */
	uint32_t n_parallel;     /* Cables to each switch above. */
	double default_bps;      /* Of an uplink, if no option gives it. */
	uint32_t n_above;        /* Switches above it; 0: derived. */
	double uplink_bps;       /* Of one cable; 0: derived. */
	double oversubscription; /* 0: derived. */
};

/*
 * Fills n_above and uplink_bps for part number 'number' of a fabric whose parts, "leaf",
 * share the switches above them, or an error if the numbers do not fit.  If '*n_above' is
 * 0 it becomes what this part needs, and further parts must need as many.
 */
int gen_resolve_part(struct gen_uplinks *uplinks, const char *part, uint32_t number,
		     uint32_t *n_above, struct err *err);

/*
 * Adds 'n' nodes named 'prefix' and a number from 0; returns the id of the first, which
 * the others follow.  Cannot fail, because the sizes have been checked.
 */
uint32_t gen_hosts(struct topo_builder *builder, uint32_t n, uint32_t n_slots);
uint32_t gen_switches(struct topo_builder *builder, const char *prefix, uint32_t n,
		      uint32_t tier);

/*
 * Says how the switches of tiers 1 to 'n_tiers' balance, which gen_check_balance() has
 * found to be enough for the options.
 */
int gen_check_balance(const struct gen_balance *balance, uint32_t n_tiers,
		      struct err *err);
void gen_set_balance(struct topo_builder *builder, uint32_t n_tiers,
		     const struct gen_balance *balance);

/* A full-duplex cable between ports "p<a_port>" and "p<z_port>". */
void gen_cable(struct topo_builder *builder, uint32_t a, uint32_t a_port, uint32_t z,
	       uint32_t z_port, double bps);

/*
 * Reads the text of an option into its member, as its type says.  Returns 0, or -EINVAL
 * with what was expected in 'err'.
 */
int gen_read_value(const struct gen_option *option, const char *text, void *member,
		   struct err *err);

#endif
