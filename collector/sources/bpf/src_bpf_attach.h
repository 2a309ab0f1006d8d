/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_attach.h - attaching the two tc programs to an interface
 *
 * Through TCX where the kernel has it (Linux 6.6): the kernel detaches such a program
 * when its process ends, for any reason.  Otherwise through a clsact qdisc: its filters
 * survive a killed process, so they have a handle, a priority and a name of our own,
 * and leftovers of an earlier run are removed first.
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_ATTACH_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_ATTACH_H

#include <stdbool.h>

struct err;

enum bpf_attach_kind {
	BPF_ATTACH_AUTO, /* TCX, or clsact if there is none. */
	BPF_ATTACH_TCX,
	BPF_ATTACH_CLSACT,
};

struct bpf_attachment {
	enum bpf_attach_kind kind; /* The kind used. */
	int ifindex;
	int ingress_fd, egress_fd; /* Owned.  TCX links, or -1. */
	bool owns_qdisc;           /* This process created the clsact qdisc. */
};

/*
 * Attaches the programs.  Returns 0, or -errno with a remedy in 'err': -ENODEV if the
 * interface is gone, -EBUSY if another collector has filters there.
 */
int bpf_attach(struct bpf_attachment *ret_attachment, int ifindex, const char *name,
	       int ingress_prog_fd, int egress_prog_fd, enum bpf_attach_kind kind,
	       struct err *err);
void bpf_detach(struct bpf_attachment *attachment);

/*
 * Removes what a killed run left on the interface: its filters, and the clsact qdisc if
 * it is otherwise empty.  Returns the number of filters.
 */
int bpf_attach_clean(int ifindex);

#endif
