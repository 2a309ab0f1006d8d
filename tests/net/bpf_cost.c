/*
 * bpf_cost.c - what the kernel's own statistics say of eBPF programs, for bench.sh.
 *
 * The kernel takes the time of each run only while somebody holds a descriptor of
 * BPF_ENABLE_STATS; this does for as long as it runs, so that nothing stays switched
 * on.  Commands are lines on stdin, each is answered by lines and a final ".":
 *
 *	snap            "NAME ID RUNS NS" for each program of the machine
 *	floor IFACE     attaches a program that does nothing, both ways: what taking the
 *	                time costs by itself
 *	off             detaches it
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

/* BPF_TCX_INGRESS and BPF_TCX_EGRESS, which the headers of Debian 12 lack. */
#define TCX_INGRESS 46
#define TCX_EGRESS  47

static int links[2] = { -1, -1 };

static void
detach(void)
{
	for (int i = 0; i < 2; i++) {
		if (links[i] >= 0)
			close(links[i]);
		links[i] = -1;
	}
}

/* "return TCX_NEXT", attached twice. */
static int
attach_floor(const char *interface)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	unsigned ifindex = if_nametoindex(interface);
	int fd;

	if (!ifindex)
		return -errno;
	detach();
	fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "ap_floor", "GPL", insns, 2, NULL);
	if (fd < 0)
		return -errno;
	links[0] = bpf_link_create(fd, (int)ifindex, TCX_INGRESS, NULL);
	links[1] = bpf_link_create(fd, (int)ifindex, TCX_EGRESS, NULL);
	close(fd);
	return links[0] < 0 || links[1] < 0 ? -EOPNOTSUPP : 0;
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
			rc = attach_floor(line + 6);
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
