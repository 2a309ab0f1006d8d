/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_fabric.c - the fabric that a scenario names: a file, or words for a
 * generator as 'antiphase topology generate' takes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "scheduler/core/workload/workload_ini.h"
#include "topology/gen_table.h"
#include "topology/read.h"

/* The generator knows no files, so this adds the place of its words to errors. */
static int
generate(const struct scenario *scenario, struct topo **ret_topo, struct err *err)
{
	struct err said = { .text = "" };
	int error = gen_text(scenario->fabric.generate, ret_topo, &said);

	if (error < 0)
		err_set(err, scenario->file, scenario->fabric.line, 0, "%s", said.text);
	return error;
}

int
scenario_fabric(const struct scenario *scenario, const struct scenario_io *io,
		struct topo **ret_topo, struct err *err)
{
	const struct scenario_fabric *fabric = &scenario->fabric;
	char *text;
	size_t length;
	int error;

	if (fabric->generate)
		return generate(scenario, ret_topo, err);
	if (!fabric->file) {
		err_set(err, scenario->file, 0, 0,
			"no fabric; expected 'file = FABRIC' or 'generate = leaf-spine ...' "
			"in [fabric]");
		return -ENOENT;
	}
	error = io->read(io->ctx, fabric->file, TOPO_MAX_FILE_BYTES, &text, &length,
			 err);
	if (error < 0) {
		if (fabric->line)
			err_append(err, "; it is named in %s:%u", scenario->file,
				   fabric->line);
		return error;
	}
	error = topo_read(fabric->file, text, length, NULL, ret_topo, err);
	free(text);
	return error;
}
