/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fabric.h - fabric files of each format; one target per format */
#ifndef TESTS_FUZZ_FUZZ_FABRIC_H
#define TESTS_FUZZ_FUZZ_FABRIC_H

#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

/* An accepted fabric must be usable for routes. */
static inline void
fuzz_fabric(const struct topo_read_opts *opts, const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct topo *topo;
	struct err err;

	if (topo_read("fuzz", text, size, opts, &topo, &err) == 0) {
		struct routes *routes = routes_new(topo, 1);
		size_t n;
		const uint32_t *hosts = topo_hosts(topo, &n);

		if (n > 1)
			(void)routes_n_paths(routes, hosts[0], hosts[n - 1]);
		routes_free(routes);
		topo_unref(topo);
	}
	free(text);
}

#endif
