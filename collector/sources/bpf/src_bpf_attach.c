/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/src_bpf_attach.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/sources/bpf/tc_dump.h"
#include "lib/base/err.h"
#include "lib/base/log.h"

/* Values of enum bpf_attach_type that libbpf 1.1's headers do not have. */
#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_EGRESS  ((enum bpf_attach_type)47)

/* The place of our filters in a clsact qdisc. */
#define OUR_HANDLE   0xa9
#define OUR_PRIORITY 0xa9a9
#define OUR_NAME     "antiphase_"

static const enum bpf_tc_attach_point points[] = { BPF_TC_INGRESS, BPF_TC_EGRESS };

static int
attach_tcx(struct bpf_attachment *a, int ingress_prog_fd, int egress_prog_fd)
{
	int rc;

	a->ingress_fd = bpf_link_create(ingress_prog_fd, a->ifindex, TCX_INGRESS, NULL);
	if (a->ingress_fd < 0)
		return a->ingress_fd;
	a->egress_fd = bpf_link_create(egress_prog_fd, a->ifindex, TCX_EGRESS, NULL);
	if (a->egress_fd >= 0) {
		a->kind = BPF_ATTACH_TCX;
		return 0;
	}
	rc = a->egress_fd;
	close(a->ingress_fd);
	a->ingress_fd = -1;
	return rc;
}

/* libbpf requires zeroes also between the members. */
static struct bpf_tc_hook
hook_of(int ifindex, enum bpf_tc_attach_point point)
{
	struct bpf_tc_hook hook;

	memset(&hook, 0, sizeof hook);
	hook.sz = sizeof hook;
	hook.ifindex = ifindex;
	hook.attach_point = point;
	return hook;
}

static struct bpf_tc_opts
our_opts(void)
{
	struct bpf_tc_opts opts;

	memset(&opts, 0, sizeof opts);
	opts.sz = sizeof opts;
	opts.handle = OUR_HANDLE;
	opts.priority = OUR_PRIORITY;
	return opts;
}

/* Whether one of our programs is at our place. */
static bool
is_ours(int ifindex, enum bpf_tc_attach_point point)
{
	struct bpf_tc_hook hook = hook_of(ifindex, point);
	struct bpf_tc_opts opts = our_opts();
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof info;
	bool ours;
	int fd;

	if (bpf_tc_query(&hook, &opts) < 0)
		return false;
	fd = bpf_prog_get_fd_by_id(opts.prog_id);
	if (fd < 0)
		return false;
	ours = !bpf_obj_get_info_by_fd(fd, &info, &length) &&
	       !strncmp(info.name, OUR_NAME, strlen(OUR_NAME));
	close(fd);
	return ours;
}

static int
detach_filter(int ifindex, enum bpf_tc_attach_point point)
{
	struct bpf_tc_hook hook = hook_of(ifindex, point);
	struct bpf_tc_opts opts = our_opts();

	return bpf_tc_detach(&hook, &opts);
}

static void
destroy_qdisc(int ifindex)
{
	struct bpf_tc_hook hook = hook_of(
		ifindex, (enum bpf_tc_attach_point)(BPF_TC_INGRESS | BPF_TC_EGRESS));

	bpf_tc_hook_destroy(&hook);
}

static void
count_filter(void *ctx, const struct nlmsghdr *message)
{
	int *count = ctx;

	*count += message->nlmsg_type == RTM_NEWTFILTER;
}

/* True if one side of a clsact qdisc has no filter. */
static bool
is_side_empty(int ifindex, uint32_t side)
{
	const struct tcmsg about = { .tcm_family = AF_UNSPEC,
				     .tcm_ifindex = ifindex,
				     .tcm_parent = TC_H_MAKE(TC_H_CLSACT, side) };
	int count = 0;

	return tc_dump(RTM_GETTFILTER, &about, count_filter, &count) == 0 && count == 0;
}

static bool
is_qdisc_empty(int ifindex)
{
	return is_side_empty(ifindex, TC_H_MIN_INGRESS) &&
	       is_side_empty(ifindex, TC_H_MIN_EGRESS);
}

int
bpf_attach_clean(int ifindex)
{
	int n = 0;

	for (size_t i = 0; i < 2; i++)
		if (is_ours(ifindex, points[i]) &&
		    detach_filter(ifindex, points[i]) == 0)
			n++;
	if (n && is_qdisc_empty(ifindex))
		destroy_qdisc(ifindex);
	return n;
}

static int
attach_filter(int ifindex, enum bpf_tc_attach_point point, int prog_fd)
{
	struct bpf_tc_hook hook = hook_of(ifindex, point);
	struct bpf_tc_opts opts = our_opts();

	opts.prog_fd = prog_fd;
	return bpf_tc_attach(&hook, &opts);
}

static int
attach_clsact(struct bpf_attachment *a, int ingress_prog_fd, int egress_prog_fd)
{
	struct bpf_tc_hook hook = hook_of(a->ifindex, BPF_TC_INGRESS);
	int rc = bpf_tc_hook_create(&hook);

	if (rc < 0 && rc != -EEXIST)
		return rc;
	a->owns_qdisc = rc == 0;
	a->kind = BPF_ATTACH_CLSACT;
	rc = attach_filter(a->ifindex, BPF_TC_INGRESS, ingress_prog_fd);
	if (rc == 0) {
		rc = attach_filter(a->ifindex, BPF_TC_EGRESS, egress_prog_fd);
		if (rc == 0)
			return 0;
		detach_filter(a->ifindex, BPF_TC_INGRESS);
	}
	if (a->owns_qdisc)
		destroy_qdisc(a->ifindex);
	return rc == -EEXIST ? -EBUSY : rc;
}

static const char *
remedy(int rc)
{
	switch (-rc) {
	case EPERM:
	case EACCES:
		return " (requires CAP_NET_ADMIN and CAP_BPF)";
	case EBUSY:
		return " (another collector runs here, or a killed one has not ended yet)";
	case EINVAL:
		return " (TCX requires Linux 6.6; use clsact)";
	default:
		return "";
	}
}

int
bpf_attach(struct bpf_attachment *ret_attachment, int ifindex, const char *name,
	   int ingress_prog_fd, int egress_prog_fd, enum bpf_attach_kind kind,
	   struct err *err)
{
	struct bpf_attachment a = { .ifindex = ifindex,
				    .ingress_fd = -1,
				    .egress_fd = -1 };
	int rc = -EINVAL;

	if (kind != BPF_ATTACH_CLSACT)
		rc = attach_tcx(&a, ingress_prog_fd, egress_prog_fd);
	/* An older kernel does not know this type of attachment. */
	if (kind == BPF_ATTACH_CLSACT || (kind == BPF_ATTACH_AUTO && rc == -EINVAL))
		rc = attach_clsact(&a, ingress_prog_fd, egress_prog_fd);
	if (rc < 0) {
		err_set_errno(err, name, rc, "cannot attach programs");
		err_append(err, "%s", remedy(rc));
		return rc;
	}
	*ret_attachment = a;
	log_dbg("bpf", "%s: attached by %s", name,
		a.kind == BPF_ATTACH_TCX ? "TCX" : "clsact");
	return 0;
}

void
bpf_detach(struct bpf_attachment *a)
{
	if (a->ingress_fd >= 0)
		close(a->ingress_fd);
	if (a->egress_fd >= 0)
		close(a->egress_fd);
	a->ingress_fd = a->egress_fd = -1;
	if (a->kind != BPF_ATTACH_CLSACT)
		return;
	for (size_t i = 0; i < 2; i++)
		if (is_ours(a->ifindex, points[i]))
			detach_filter(a->ifindex, points[i]);
	if (a->owns_qdisc && is_qdisc_empty(a->ifindex))
		destroy_qdisc(a->ifindex);
	a->kind = BPF_ATTACH_AUTO;
}
