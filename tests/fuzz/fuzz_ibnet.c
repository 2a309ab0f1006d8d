#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

/* The reader of ibnetdiscover; a fabric that it lets pass has to be good for routes. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xcalloc(size + 1, 1);
	struct topo *topo;
	struct err err;

	if (size)
		memcpy(text, data, size);
	if (topo_ibnet_read("fuzz", text, size, NULL, &topo, &err) == 0) {
		struct routes *routes = routes_new(topo, 1);
		size_t n;
		const uint32_t *hosts = topo_hosts(topo, &n);

		if (n > 1)
			(void)routes_n_paths(routes, hosts[0], hosts[n - 1]);
		routes_free(routes);
		topo_unref(topo);
	}
	free(text);
	return 0;
}
