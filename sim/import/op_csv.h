/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_csv.h - reader of operations in a CSV file, for traces that are in no format that
 * the importer knows:
 *
 *	rank,id,op,name,bytes,duration_us,needs,group,peer,tag
 *	0,1,compute,forward,,40000,,,,
 *	0,2,allreduce,gradients,200000000,,1,dp0,,
 *
 * Columns are found by their names in the first line; rank, id and op are required.
 * 'op' is compute, barrier, send, recv or a collective of a scenario, 'bytes' the size
 * of its message.  'needs' has ids of the same rank with blanks between them.
 * antiphase-import(1) describes it.
 */
#ifndef SIM_IMPORT_OP_CSV_H
#define SIM_IMPORT_OP_CSV_H

struct err;
struct op_table;

/*
 * Adds the operations of a file, which may be packed.  Returns 0, or -EINVAL, -E2BIG
 * or that of reading, with 'err' filled.
 */
int op_csv_read(const char *path, struct op_table *table, struct err *err);

#endif
