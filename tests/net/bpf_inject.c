/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_inject.c - drops or marks packets on an interface
 *
 *	bpf_inject loss|ce ingress|egress ONE_IN IFACE
 *
 * Prints "ready"; for a line on stdin it prints "INJECTED SEEN"; at the end of stdin it
 * detaches and exits.
 */
#include <linux/types.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/inject.skel.h"

#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_EGRESS  ((enum bpf_attach_type)47)

int
main(int argc, char **argv)
{
	struct inject_bpf *skel;
	const struct bpf_program *program;
	char line[64];

	if (argc != 5 || !(skel = inject_bpf__open()))
		return 2;
	skel->rodata->one_in = (uint32_t)atoi(argv[3]);
	if (inject_bpf__load(skel) < 0)
		return 1;
	program = strcmp(argv[1], "ce") ? skel->progs.ap_inject_loss
					: skel->progs.ap_inject_ce;
	if (bpf_link_create(bpf_program__fd(program), (int)if_nametoindex(argv[4]),
			    strcmp(argv[2], "egress") ? TCX_INGRESS : TCX_EGRESS,
			    NULL) < 0) {
		perror(argv[4]);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		printf("%llu %llu\n", (unsigned long long)skel->bss->injected,
		       (unsigned long long)skel->bss->seen);
		fflush(stdout);
	}
	inject_bpf__destroy(skel);
	return 0;
}
