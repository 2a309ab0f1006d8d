/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hypernodes.c - HyperNodes in JSON or YAML as fabrics: an accepted fabric is the
 * same after writing and reading
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz_fabric.h"
#include "topology/k8s.h"

static const char nodes[] =
	"{\"items\":[{\"metadata\":{\"name\":\"n1\",\"labels\":{\"rack\":\"a\"}}},"
	"{\"metadata\":{\"name\":\"n2\",\"labels\":{\"rack\":\"b\"}}},"
	"{\"metadata\":{\"name\":\"gpu-03.x\",\"labels\":{\"rack\":\"b\"}}}]}";

/* Removes comments, such as the number of switches of a HyperNode. */
static void
drop_remarks(char *text)
{
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next != '\0';
		if (*line == '#')
			continue;
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

static char *
write_text(const struct topo *topo, size_t *ret_n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);
	int r = topo_hypernodes_write(topo, out, NULL);

	fclose(out);
	if (r < 0) {
		free(text);
		return NULL;
	}
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct topo_k8s_opts k8s = { .nodes_file = "nodes",
						  .nodes_text = nodes,
						  .n_nodes_text = sizeof nodes - 1 };
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_HYPERNODES,
					     .max_names = 10000,
					     .k8s = &k8s };
	char *text = fuzz_text(data, size), *once, *twice;
	struct topo *topo, *again;
	size_t n;

	fuzz_fabric(&opts, data, size);
	if (topo_read("fuzz", text, size, &opts, &topo, NULL) == 0) {
		once = write_text(topo, &n);
		/* Hosts that are not Nodes are left out on the way back. */
		if (once &&
		    topo_hypernodes_read("again", once, n, NULL, &again, NULL) == 0) {
			twice = write_text(again, &n);
			if (!twice)
				abort();
			drop_remarks(once);
			drop_remarks(twice);
			if (strcmp(once, twice) != 0)
				abort();
			free(twice);
			topo_unref(again);
		} else if (once) {
			abort();
		}
		free(once);
		topo_unref(topo);
	}
	free(text);
	return 0;
}
