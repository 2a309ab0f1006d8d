/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/dctcp.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "build/bpf/dctcp.skel.h"

/* Younger than libbpf 1.1. */
#define MAP_NEEDS_LINK    (1u << 13) /* BPF_F_LINK */
#define ATTACH_STRUCT_OPS ((enum bpf_attach_type)44)

static int
silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

const char *
dctcp_register(void)
{
	struct dctcp_bpf *skel;

	libbpf_set_print(silent);
	skel = dctcp_bpf__open();
	/* Without a link it would stay registered after this process. */
	if (!skel || bpf_map__set_map_flags(skel->maps.ap_dctcp, MAP_NEEDS_LINK) ||
	    dctcp_bpf__load(skel) || !bpf_map__attach_struct_ops(skel->maps.ap_dctcp))
		return NULL;
	if (bpf_link_create(bpf_map__fd(skel->maps.ap_dctcp), 0, ATTACH_STRUCT_OPS,
			    NULL) < 0 &&
	    errno != EEXIST)
		return NULL;
	return "ap_dctcp";
}
