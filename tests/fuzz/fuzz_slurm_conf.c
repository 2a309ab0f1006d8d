/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_slurm_conf.c - Slurm's topology.conf as a fabric */
#include "tests/fuzz/fuzz_fabric.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Lists may expand to a million names, which is slow for one input. */
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_SLURM,
					     .max_names = 5000 };

	fuzz_fabric(&opts, data, size);
	return 0;
}
