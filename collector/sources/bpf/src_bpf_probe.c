/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/src_bpf_probe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Values of enum bpf_attach_type that libbpf 1.1's headers do not have. */
#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_EGRESS  ((enum bpf_attach_type)47)

/* Names of our programs. */
#define OUR_NAME "antiphase_"

#define LOOPBACK 1
#define MAX_IDS  64

/* "return -1": lets the next program decide; TC_ACT_UNSPEC and TCX_NEXT alike. */
static const struct bpf_insn pass[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* "return 0", as a tracepoint program must. */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int
silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

static void
probe_tc(struct bpf_probe *probe)
{
	int link, fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "antiphase_probe",
				     "Dual BSD/GPL", pass, 2, NULL);

	probe->tc = fd < 0 ? fd : 0;
	if (fd < 0) {
		probe->tcx = fd;
		return;
	}
	link = bpf_link_create(fd, LOOPBACK, TCX_INGRESS, NULL);
	probe->tcx = link < 0 ? link : 0;
	if (link >= 0)
		close(link);
	close(fd);
}

static int
probe_tp_btf(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	int fd, id = libbpf_find_vmlinux_btf_id("net_dev_start_xmit", BPF_TRACE_RAW_TP);

	if (id < 0)
		return id;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "antiphase_probe", "Dual BSD/GPL",
			   nothing, 2, &opts);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int
probe_helpers(void)
{
	static const enum bpf_func_id ids[] = {
		BPF_FUNC_ktime_get_ns,   BPF_FUNC_skb_cgroup_id,
		BPF_FUNC_skc_lookup_tcp, BPF_FUNC_sk_storage_get,
		BPF_FUNC_sk_fullsock,    BPF_FUNC_get_hash_recalc,
	};

	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		int rc = libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, ids[i], NULL);

		if (rc <= 0)
			return rc < 0 ? rc : -EOPNOTSUPP;
	}
	return 0;
}

void
src_bpf_probe(struct bpf_probe *ret_probe)
{
	libbpf_print_fn_t before = libbpf_set_print(silent);
	int rc;

	probe_tc(ret_probe);
	if (ret_probe->tc < 0) {
		ret_probe->tp_btf = ret_probe->sk_storage = ret_probe->helpers =
			ret_probe->tc;
	} else {
		ret_probe->tp_btf = probe_tp_btf();
		rc = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_SK_STORAGE, NULL);
		ret_probe->sk_storage = rc > 0 ? 0 : rc < 0 ? rc : -EOPNOTSUPP;
		ret_probe->helpers = probe_helpers();
	}
	libbpf_set_print(before);
}

/* Empty if the kernel does not report it. */
static void
name_of(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof info;
	int fd = bpf_prog_get_fd_by_id(id);

	name[0] = '\0';
	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0)
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	close(fd);
}

int
src_bpf_others(int ifindex, bool is_ingress, char *names, size_t size)
{
	uint32_t ids[MAX_IDS], n = MAX_IDS, flags = 0;
	int others = 0;
	size_t at = 0;
	int rc = bpf_prog_query(ifindex, is_ingress ? TCX_INGRESS : TCX_EGRESS, 0,
				&flags, ids, &n);

	names[0] = '\0';
	if (rc < 0)
		return errno ? -errno : rc;
	for (uint32_t i = 0; i < n && i < MAX_IDS; i++) {
		char name[BPF_OBJ_NAME_LEN];

		name_of(ids[i], name);
		if (strncmp(name, OUR_NAME, strlen(OUR_NAME)) == 0)
			continue;
		others++;
		if (at < size)
			at += (size_t)snprintf(names + at, size - at, "%s%s",
					       at ? ", " : "",
					       *name ? name : "unnamed");
	}
	return others;
}
