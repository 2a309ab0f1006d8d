/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/routing.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "topology/route.h"

const char *const topo_method_names[] = { "up-down", "torus", "dragonfly", NULL };

/* Links of the longest path between hosts of a torus without a missing cable. */
static uint32_t
longest_of_torus(const struct topo_routing *routing)
{
	uint32_t n = 2;

	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++)
		n += routing->dims[i] / 2;
	return n;
}

static int
check_torus(const struct topo_routing *routing, uint32_t n_switches, struct err *err)
{
	struct strbuf text = STRBUF_EMPTY;
	double n = 1;
	int r = 0;

	topo_routing_text(routing, &text);
	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++)
		n *= routing->dims[i];
	if (n < n_switches || n > n_switches)
		r = err_set(err, NULL, 0, 0,
			    "a %s has %.0f switches, and this fabric has %u", text.text,
			    n, n_switches);
	else if (longest_of_torus(routing) > ROUTE_MAX_HOPS)
		r = err_set(err, NULL, 0, 0,
			    "paths of a %s have up to %u links, expected at most %d; "
			    "take more dimensions, or more equal ones",
			    text.text, longest_of_torus(routing), ROUTE_MAX_HOPS);
	strbuf_free(&text);
	return r;
}

static int
check_dragonfly(const struct topo_routing *routing, uint32_t n_switches,
		struct err *err)
{
	if (routing->n_groups < 2 || n_switches % routing->n_groups || !n_switches)
		return err_set(err, NULL, 0, 0,
			       "a dragonfly has 2 or more groups of the same number of "
			       "switches; this fabric has %u switches and %u groups",
			       n_switches, routing->n_groups);
	return 0;
}

int
topo_routing_check(const struct topo_routing *routing, uint32_t n_switches,
		   uint32_t n_upper, struct err *err)
{
	if (routing->method == TOPO_UP_DOWN)
		return 0;
	if (routing->method < TOPO_N_METHODS && n_upper)
		return err_set(err, NULL, 0, 0,
			       "all switches of a %s are of tier 1, and %u %s not",
			       topo_method_names[routing->method], n_upper,
			       n_upper == 1 ? "is" : "are");
	if (routing->method == TOPO_DRAGONFLY)
		return check_dragonfly(routing, n_switches, err);
	if (routing->method >= TOPO_N_METHODS || routing->n_dims < 1 ||
	    routing->n_dims > TOPO_MAX_DIMS)
		return err_set(err, NULL, 0, 0, "expected 1 to %d dimensions",
			       TOPO_MAX_DIMS);
	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++) {
		if (routing->dims[i] < 1 || routing->dims[i] > TOPO_MAX_NODES ||
		    (i >= routing->n_dims && routing->dims[i] != 1))
			return err_set(err, NULL, 0, 0,
				       "a dimension is %u, expected 1 to %d",
				       routing->dims[i], TOPO_MAX_NODES);
	}
	return check_torus(routing, n_switches, err);
}

void
topo_torus_place(const struct topo_routing *routing, uint32_t number, uint32_t *ret_at)
{
	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++) {
		ret_at[i] = number % routing->dims[i];
		number /= routing->dims[i];
	}
}

bool
topo_routing_allows(const struct topo_routing *routing, uint32_t a, uint32_t b)
{
	uint32_t at_a[TOPO_MAX_DIMS], at_b[TOPO_MAX_DIMS], n_apart = 0;
	bool are_neighbors = true;

	if (routing->method != TOPO_TORUS)
		return true;
	topo_torus_place(routing, a, at_a);
	topo_torus_place(routing, b, at_b);
	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++) {
		uint32_t size = routing->dims[i];
		uint32_t ahead = (at_b[i] + size - at_a[i]) % size;

		n_apart += ahead != 0;
		are_neighbors &= ahead <= 1 || ahead == size - 1;
	}
	return are_neighbors && n_apart == 1;
}

bool
topo_routing_is_same(const struct topo_routing *a, const struct topo_routing *b)
{
	return a->method == b->method && a->n_dims == b->n_dims &&
	       a->n_groups == b->n_groups && a->is_valiant == b->is_valiant &&
	       !memcmp(a->dims, b->dims, sizeof a->dims);
}

uint64_t
topo_routing_mix(const struct topo_routing *routing, uint64_t digest)
{
	digest = rng_mix(digest ^ routing->method);
	digest = rng_mix(digest ^
			 (2 * (uint64_t)routing->n_groups + routing->is_valiant));
	for (uint32_t i = 0; i < TOPO_MAX_DIMS; i++)
		digest = rng_mix(digest ^ routing->dims[i]);
	return digest;
}

void
topo_routing_text(const struct topo_routing *routing, struct strbuf *out)
{
	strbuf_puts(out, topo_method_names[routing->method]);
	for (uint32_t i = 0; i < routing->n_dims; i++)
		strbuf_printf(out, "%c%u", i ? 'x' : ' ', routing->dims[i]);
	if (routing->method == TOPO_DRAGONFLY)
		strbuf_printf(out, " of %u groups, %s", routing->n_groups,
			      routing->is_valiant ? "valiant" : "minimal");
}

int
topo_torus_parse(const char *text, struct topo_routing *ret_routing)
{
	struct topo_routing routing = { .method = TOPO_TORUS, .dims = { 1, 1, 1 } };

	for (;; text++) {
		char *end;
		unsigned long size;

		if (!isdigit((unsigned char)*text) || routing.n_dims == TOPO_MAX_DIMS)
			return -EINVAL;
		errno = 0;
		size = strtoul(text, &end, 10);
		if (errno || size < 1 || size > TOPO_MAX_NODES)
			return -EINVAL;
		routing.dims[routing.n_dims++] = (uint32_t)size;
		text = end;
		if (!*text)
			break;
		if (*text != 'x')
			return -EINVAL;
	}
	*ret_routing = routing;
	return 0;
}
