/*
 * scenario_fabric.c - the fabric that a scenario names: a file, or words for a
 * generator as 'antiphase topology generate' takes them.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "scheduler/core/workload_ini.h"
#include "topology/read.h"

int
scenario_fabric(const struct scenario *scenario, const struct scenario_io *io,
		struct topo **ret_topo, struct err *err)
{
	const struct scenario_fabric *fabric = &scenario->fabric;
	char *text;
	size_t length;
	int error;

	if (!fabric->file) {
		err_set(err, scenario->file, 0, 0,
			"no fabric; expected 'file = FABRIC' in [fabric], or --fabric");
		return -ENOENT;
	}
	error = io->read(io->ctx, fabric->file, TOPO_MAX_FILE_BYTES, &text, &length,
			 err);
	if (error < 0)
		return error;
	error = topo_read(fabric->file, text, length, NULL, ret_topo, err);
	free(text);
	return error;
}
