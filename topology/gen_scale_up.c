/* SPDX-License-Identifier: Apache-2.0 */
/* gen_scale_up.c - scale-up domains, added to a fabric. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"

static int
check(const struct topo *topo, const struct gen_scale_up *o, struct err *err)
{
	uint32_t n = topo_n_hosts(topo);

	if (!o->n_hosts)
		return err_set(err, NULL, 0, 0,
			       "--scale-up-gbps needs --scale-up N: hosts of a domain");
	if (o->n_hosts < 2 || o->n_hosts > n || n % o->n_hosts)
		return err_set(err, NULL, 0, 0,
			       "%u hosts make no whole number of scale-up domains of "
			       "%u, expected a divisor of 2 or more",
			       n, o->n_hosts);
	if (o->bps == 0)
		return err_set(err, NULL, 0, 0,
			       "--scale-up needs --scale-up-gbps GBPS: interface of a "
			       "host to its domain's switch");
	if (gen_check_bps("a scale-up interface", o->bps, err) < 0)
		return -EINVAL;
	return gen_check_size((double)topo_n_nodes(topo) + n / o->n_hosts,
			      topo_n_links(topo) / 2. + n, err);
}

int
gen_scale_up(struct topo *topo, const struct gen_scale_up *o, struct topo **ret_topo,
	     struct err *err)
{
	struct topo_builder *b;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);
	int r;

	if (!o->n_hosts && o->bps == 0) {
		*ret_topo = topo;
		return 0;
	}
	r = check(topo, o, err);
	if (r < 0) {
		topo_unref(topo);
		return r;
	}
	b = topo_builder_from(topo, NULL, NULL);
	for (size_t i = 0, k = 0; i < n; i++) {
		char name[TOPO_MAX_NAME + 1];
		uint32_t node = topo_n_nodes(topo) + (uint32_t)(i / o->n_hosts);
		size_t n_ports;

		if (i % o->n_hosts == 0) {
			snprintf(name, sizeof name, "scaleup%zu", k++);
			BUG_ON(topo_builder_switch(b, name, 1, &node) < 0 ||
			       topo_builder_scale_up(b, node) < 0);
		}
		topo_links_out(topo, hosts[i], &n_ports);
		gen_cable(b, hosts[i], (uint32_t)n_ports, node,
			  (uint32_t)(i % o->n_hosts), round(o->bps));
	}
	topo_unref(topo);
	*ret_topo = topo_builder_finish(b);
	return 0;
}
