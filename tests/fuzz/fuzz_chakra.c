/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_chakra.c - bytes as Chakra execution traces: the first one is the number of
 * ranks, less 1; all ranks have the same file, or, with its highest bit, the rest is
 * two files of two ranks, divided in the middle
 */
#include "sim/import/chakra.h"
#include "tests/fuzz/op_scenario_check.h"

#define MAX_RANKS 8
#define IN_TWO    0x80

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_table table;
	struct err err = { 0 };
	uint32_t n_ranks;
	int r = 0;

	if (!size)
		return 0;
	op_table_init(&table);
	n_ranks = data[0] & IN_TWO ? 2 : data[0] % MAX_RANKS + 1;
	for (uint32_t rank = 0; rank < n_ranks && r == 0; rank++) {
		const uint8_t *from = data + 1;
		size_t n = size - 1, half = n / 2;

		if (data[0] & IN_TWO) {
			from += rank * half;
			n = rank ? n - half : half;
		}
		r = chakra_read("x", rank, from, n, &table, &err);
	}
	BUG_ON(r < 0 && !err.text[0]);
	if (r == 0)
		op_scenario_check(&table);
	op_table_fini(&table);
	return 0;
}
