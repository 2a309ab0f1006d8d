/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_probe.h - a test of this kernel's support of eBPF
 *
 * Loads a program of two instructions and attaches it to the loopback interface for a
 * moment, where it passes every packet.  Leaves nothing behind.
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_PROBE_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 if it works, or the negative errno of the refusal. */
struct bpf_probe {
	int tc;         /* Loading a tc program. */
	int tcx;        /* Attaching it by TCX. */
	int tp_btf;     /* A program on a tracepoint, by BTF. */
	int sk_storage; /* Storage with sockets: the cache of jobs. */
	int helpers;    /* Calls of the programs. */
};

void src_bpf_probe(struct bpf_probe *ret_probe);

/*
 * Number of other programs' TCX attachments to an interface, or -errno.  'names' gets
 * their names, as far as the kernel reports them.
 */
int src_bpf_others(int ifindex, bool is_ingress, char *names, size_t size);

#endif
