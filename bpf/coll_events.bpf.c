/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * coll_events.bpf.c - uprobes on the entry and return of collectives.
 *
 * One pair of programs may be attached to several functions.  The message's size is
 * read from the arguments, where the C ABI passes them:
 *
 *	MPI_Allreduce(send, recv, int count, MPI_Datatype type, op, comm)
 *	ncclAllReduce(send, recv, size_t count, int type, op, comm, stream)
 *	gloo::allreduce(options)	unknown: inside a C++ object
 *
 * If the ring is full, a record is dropped and counted.
 */
#include "bpf/coll_events.h"

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * The offset of a predefined datatype's size in Open MPI 2 to 5: after the object
 * header (16 bytes), flags and ID (2 each) and a mask (4).
 */
#define OMPI_TYPE_SIZE_AT  24
#define OMPI_MAX_TYPE_SIZE 64

#define UNUSED __attribute__((unused))

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, COLL_RING_BYTES);
} coll_ring SEC(".maps");

/* Set before loading: the MPI library is Open MPI. */
const volatile _Bool is_open_mpi;

/* Dropped records. */
__u64 coll_lost;

static int
tell(__u8 source, __u8 is_exit, __u64 bytes)
{
	struct coll_record *record = bpf_ringbuf_reserve(&coll_ring, sizeof *record, 0);
	__u64 id = bpf_get_current_pid_tgid();

	if (!record) {
		__sync_fetch_and_add(&coll_lost, 1);
		return 0;
	}
	record->ns = bpf_ktime_get_ns();
	record->bytes = bytes;
	record->pid = (__u32)(id >> 32);
	record->tid = (__u32)id;
	record->source = source;
	record->is_exit = is_exit;
	__builtin_memset(record->zero, 0, sizeof record->zero);
	bpf_ringbuf_submit(record, 0);
	return 0;
}

SEC("uprobe")

int
mpi_enter(struct pt_regs *ctx)
{
	__u64 count = (__u32)PT_REGS_PARM3(ctx), type = PT_REGS_PARM4(ctx);
	__u64 size = 0;

	if (!is_open_mpi ||
	    bpf_probe_read_user(&size, sizeof size,
				(void *)(type + OMPI_TYPE_SIZE_AT)) ||
	    size > OMPI_MAX_TYPE_SIZE)
		size = 0;
	return tell(COLL_MPI, 0, count * size);
}

SEC("uretprobe")

int
mpi_exit(struct pt_regs *ctx UNUSED)
{
	return tell(COLL_MPI, 1, 0);
}

SEC("uprobe")

int
gloo_enter(struct pt_regs *ctx UNUSED)
{
	return tell(COLL_GLOO, 0, 0);
}

SEC("uretprobe")

int
gloo_exit(struct pt_regs *ctx UNUSED)
{
	return tell(COLL_GLOO, 1, 0);
}

/* Sizes by ncclDataType_t: two bits each, the base-2 logarithm. */
static __u64
nccl_type_bytes(__u32 type)
{
	/* int8 uint8 int32 uint32 int64 uint64 half float double bf16 f8e4 f8e5 */
	const __u32 log2_sizes = 0u << 0 | 0u << 2 | 2u << 4 | 2u << 6 | 3u << 8 |
				 3u << 10 | 1u << 12 | 2u << 14 | 3u << 16 | 1u << 18 |
				 0u << 20 | 0u << 22;

	return type < 12 ? 1ull << (log2_sizes >> (2 * type) & 3) : 0;
}

SEC("uprobe")

int
nccl_enter(struct pt_regs *ctx)
{
	__u64 count = PT_REGS_PARM3(ctx);
	__u32 type = (__u32)PT_REGS_PARM4(ctx);

	return tell(COLL_NCCL, 0, count * nccl_type_bytes(type));
}

SEC("uretprobe")

int
nccl_exit(struct pt_regs *ctx UNUSED)
{
	return tell(COLL_NCCL, 1, 0);
}
