/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_cost.c - the kernel's statistics of eBPF programs, for bench.sh
 *
 * The kernel times programs only while a process holds a descriptor of
 * BPF_ENABLE_STATS; this program holds one while it runs, so nothing stays switched on.
 * Commands are lines on stdin; each reply is some lines and a final ".":
 *
 *	snap            "NAME ID RUNS NS" for each program of the machine
 *	floor IFACE     attaches empty programs at the hooks of the measured ones: the
 *	                cost of timing itself
 *	clock IFACE     attaches programs that only read the clock
 *	off             detaches them
 */
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* BPF_TCX_INGRESS and BPF_TCX_EGRESS, which the headers of Debian 12 lack. */
#define TCX_INGRESS 46
#define TCX_EGRESS  47

/* The hooks of the measured programs, and the programs to compare with. */
static const struct hook {
	const char *name;
	enum bpf_prog_type type;
	int attach;
} hooks[] = {
	{ "tx", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP },
	{ "offer", BPF_PROG_TYPE_SCHED_CLS, TCX_EGRESS },
	{ "rx", BPF_PROG_TYPE_SCHED_CLS, TCX_INGRESS },
};

#define N_HOOKS (sizeof(hooks) / sizeof(*hooks))

static int links[N_HOOKS] = { -1, -1, -1 };

static void
detach(void)
{
	for (size_t i = 0; i < N_HOOKS; i++) {
		if (links[i] >= 0)
			close(links[i]);
		links[i] = -1;
	}
}

/* "return TCX_NEXT", with or without reading the clock first. */
static int
load(const struct hook *hook, bool with_clock)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_prog_load_opts opts = { .sz = sizeof(opts) };
	char name[BPF_OBJ_NAME_LEN];
	int id;

	if (hook->type == BPF_PROG_TYPE_TRACING) {
		id = libbpf_find_vmlinux_btf_id("net_dev_start_xmit", BPF_TRACE_RAW_TP);
		if (id < 0)
			return id;
		opts.attach_btf_id = (uint32_t)id;
		opts.expected_attach_type = BPF_TRACE_RAW_TP;
	}
	snprintf(name, sizeof(name), "ap_%s_%s", with_clock ? "clock" : "floor",
		 hook->name);
	return bpf_prog_load(hook->type, name, "GPL", insns + !with_clock,
			     2 + with_clock, &opts);
}

static int
attach_one(const struct hook *hook, int fd, int ifindex)
{
	return hook->type == BPF_PROG_TYPE_TRACING
		       ? bpf_raw_tracepoint_open(NULL, fd)
		       : bpf_link_create(fd, ifindex,
					 (enum bpf_attach_type)hook->attach, NULL);
}

static int
attach(const char *interface, bool with_clock)
{
	unsigned ifindex = if_nametoindex(interface);

	if (!ifindex)
		return -errno;
	detach();
	for (size_t i = 0; i < N_HOOKS; i++) {
		int fd = load(&hooks[i], with_clock);

		if (fd < 0)
			return fd;
		links[i] = attach_one(&hooks[i], fd, (int)ifindex);
		close(fd);
		if (links[i] < 0)
			return links[i];
	}
	return 0;
}

static void
snap(void)
{
	uint32_t id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = { .id = 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
			printf("%s %u %llu %llu\n", info.name[0] ? info.name : "-", id,
			       info.run_cnt, info.run_time_ns);
		close(fd);
	}
}

int
main(void)
{
	char line[256];
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0) {
		fprintf(stderr, "bpf_cost: the kernel's statistics: %s\n",
			strerror(errno));
		return 5;
	}
	while (fgets(line, sizeof(line), stdin)) {
		int rc = 0;

		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "snap") == 0)
			snap();
		else if (strcmp(line, "off") == 0)
			detach();
		else if (strncmp(line, "floor ", 6) == 0)
			rc = attach(line + 6, false);
		else if (strncmp(line, "clock ", 6) == 0)
			rc = attach(line + 6, true);
		else
			rc = -EINVAL;
		if (rc < 0)
			printf("error %s: %s\n", line, strerror(-rc));
		printf(".\n");
		fflush(stdout);
	}
	detach();
	close(fd);
	return 0;
}
