/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_op_csv.c - texts as operations in a CSV file */
#include "sim/import/op_csv.h"
#include "tests/fuzz/op_scenario_check.h"
#include "tests/unit/memory_file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	struct op_table table;
	struct err err = { 0 };
	int r;

	op_table_init(&table);
	r = op_csv_read(memory_file_set(&file, data, size), &table, &err);
	BUG_ON(r < 0 && !err.text[0]);
	if (r == 0)
		op_scenario_check(&table);
	op_table_fini(&table);
	return 0;
}
