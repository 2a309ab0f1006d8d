/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chakra.h - reader of Chakra execution traces (schema/protobuf/et_def.proto of
 * mlcommons/chakra)
 *
 * A file, NAME.RANK.et, has the nodes of one rank as Protocol Buffers messages, each
 * after its length: one of global metadata, then one for each node.  Six fields of nodes
 * and nine attributes are used and all others skipped, so a reader of the wire format
 * of its own is shorter than code generated for the whole schema, needs no library,
 * and bounds what it keeps.
 *
 *	COMP, MEM_LOAD, MEM_STORE   the duration as computing
 *	COMM_COLL                   comm_type, comm_size, and pg_name or comm_group
 *	COMM_SEND, COMM_RECV        comm_size, comm_dst or comm_src, comm_tag
 *	METADATA, INVALID, BARRIER  only their dependencies
 *
 * Control and data dependencies count alike.  comm_size is what each rank has before
 * the operation, as Chakra's converter for PyTorch writes it.
 *
 * Pure.
 */
#ifndef SIM_IMPORT_CHAKRA_H
#define SIM_IMPORT_CHAKRA_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct op_table;

#define CHAKRA_MAX_FILE    (256u << 20)
#define CHAKRA_MAX_MESSAGE (1u << 20)

/* RANK of "NAME.RANK.et", also with a suffix such as ".xz".  0 or -EINVAL with 'err'. */
int chakra_rank_of(const char *path, uint32_t *ret_rank, struct err *err);

/*
 * Adds the nodes in the 'size' bytes of 'file'.  Returns 0, or -EINVAL or -E2BIG with
 * 'err' filled: messages cut off or not as the schema has them, with their number and
 * place; operations that the simulator does not have.
 */
int chakra_read(const char *file, uint32_t rank, const void *bytes, size_t size,
		struct op_table *table, struct err *err);

#endif
