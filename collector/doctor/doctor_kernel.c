/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_kernel.c - checks of the kernel: eBPF, capabilities, lockdown, cgroups, clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "collector/jobs/cgroup_path.h"
#include "collector/jobs/cgroups.h"
#include "collector/series/boot.h"
#include "collector/sources/bpf/src_bpf_probe.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/daemon/caps.h"

/* A larger error hides shifts of a few milliseconds. */
#define CLOCK_BOUND_NS INT64_C(1000000)

static const char as_root[] =
	"look again as root, or as the collector's user under systemd";

/* ---- eBPF ------------------------------------------------------------------------ */

/* True if the settings require eBPF. */
static bool
is_bpf_asked_for(const struct doctor *doctor)
{
	return doctor->config->sources & CONFIG_BPF;
}

/* A warning without eBPF; a failure if the settings require it. */
static enum finding_state
without_bpf(const struct doctor *doctor)
{
	return is_bpf_asked_for(doctor) ? FINDING_FAIL : FINDING_WARN;
}

static bool
is_denied(int error)
{
	return error == -EPERM || error == -EACCES;
}

static void
say_feature(struct doctor *doctor, const char *topic, int rc, enum finding_state state,
	    const char *what, const char *without, const char *remedy)
{
	if (rc == 0)
		doctor_add(doctor, FINDING_OK, topic, NULL, "%s", what);
	else
		doctor_add(doctor, state, topic, remedy, "%s: %s; %s", what,
			   strerror(-rc), without);
}

static void
look_at_bpf(struct doctor *doctor)
{
	enum finding_state state = without_bpf(doctor);
	struct bpf_probe probe;

	src_bpf_probe(&probe);
	if (is_denied(probe.tc) &&
	    (caps_effective() & CAPS_TELEMETRY) != CAPS_TELEMETRY) {
		doctor_add(doctor, FINDING_WARN, "ebpf", as_root,
			   "not checked: this user may not load programs");
		return;
	}
	say_feature(
		doctor, "ebpf", probe.tc, state, "tc programs can be loaded",
		"interfaces are counted by netlink, jobs are not",
		"allow bpf() to the collector: seccomp, LSM and lockdown may refuse "
		"it");
	if (probe.tc < 0)
		return;
	say_feature(
		doctor, "tcx", probe.tcx, FINDING_WARN,
		"programs are attached by TCX, and leave with their process",
		"clsact is used instead; its filters stay after a SIGKILL until the "
		"next start",
		"Linux 6.6 or later has TCX");
	say_feature(doctor, "tp_btf", probe.tp_btf, FINDING_WARN,
		    "tracepoints by BTF: what leaves the queue is seen",
		    "transmission is counted in front of the queue",
		    "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS");
	say_feature(doctor, "sk_storage", probe.sk_storage, state,
		    "sockets can remember their job", "jobs cannot be told apart",
		    "Linux 5.7 or later with CONFIG_BPF_SYSCALL");
	say_feature(doctor, "helpers", probe.helpers, state,
		    "all functions that our programs call are there",
		    "interfaces are counted by netlink, jobs are not",
		    "Linux 5.10 or later");
}

static void
look_at_rights(struct doctor *doctor)
{
	uint64_t missing = CAPS_TELEMETRY & ~caps_effective();
	char text[256];

	if (!missing)
		doctor_add(doctor, FINDING_OK, "capabilities", NULL, "%s",
			   caps_text(CAPS_TELEMETRY, text, sizeof text));
	else
		doctor_add(doctor,
			   is_bpf_asked_for(doctor) ? FINDING_FAIL : FINDING_WARN,
			   "capabilities",
			   "run as root, or by the systemd unit, which grants them",
			   "user %u lacks %s, which eBPF needs", (unsigned)geteuid(),
			   caps_text(missing, text, sizeof text));
}

void
doctor_check_kernel(struct doctor *doctor)
{
	struct utsname names;

	if (uname(&names) == 0)
		doctor_add(doctor, FINDING_OK, "kernel", NULL, "%s %s %s",
			   names.sysname, names.release, names.machine);
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		doctor_add(doctor, FINDING_OK, "btf", NULL,
			   "the kernel has type information");
	else
		doctor_add(
			doctor, without_bpf(doctor), "btf",
			"a kernel with CONFIG_DEBUG_INFO_BTF; in a container, /sys of "
			"the host",
			"/sys/kernel/btf/vmlinux: %s; no eBPF without it",
			strerror(errno));
	look_at_rights(doctor);
	look_at_bpf(doctor);
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0)
		doctor_add(doctor, FINDING_OK, "uprobes", NULL,
			   "antiphase-events can watch MPI and gloo");
	else
		doctor_add(
			doctor, FINDING_WARN, "uprobes",
			"use a kernel with CONFIG_UPROBE_EVENTS if you want collective events",
			"antiphase-events cannot watch programs");
}

/* "none [integrity] confidentiality". */
void
doctor_check_lockdown(struct doctor *doctor)
{
	char *line = doctor_line(doctor, "/sys/kernel/security/lockdown");

	if (!line)
		doctor_add(doctor, FINDING_OK, "lockdown", NULL,
			   "not checked (securityfs is not mounted, or not readable); "
			   "the check of eBPF covers it");
	else if (strstr(line, "[confidentiality]"))
		doctor_add(doctor, without_bpf(doctor), "lockdown",
			   "boot with lockdown=integrity or less",
			   "confidentiality: eBPF may not read kernel memory");
	else
		doctor_add(doctor, FINDING_OK, "lockdown", NULL, "%s", line);
	free(line);
}

/* ---- Control groups -------------------------------------------------------------- */

void
doctor_check_cgroups(struct doctor *doctor)
{
	char *text, *path = xasprintf("%s/proc/self/mountinfo", doctor->sysroot);
	char mount[CGROUP_MAX_PATH];
	size_t length;
	int rc = file_read(path, 4 << 20, &text, &length, NULL);

	free(path);
	if (rc < 0) {
		doctor_add(doctor, FINDING_WARN, "cgroups", "mount /proc",
			   "mounts not checked: %s", strerror(-rc));
		return;
	}
	if (cgroup_find_mount(text, length, mount, sizeof mount))
		doctor_add(doctor, FINDING_OK, "cgroups", NULL, "cgroup v2 at %s",
			   mount);
	else
		doctor_add(
			doctor, FINDING_WARN, "cgroups",
			"mount -t cgroup2 none /sys/fs/cgroup/unified; inside 'ip netns "
			"exec' mounts are hidden: use nsenter --net",
			"cgroup v2 is not mounted: jobs cannot be told apart");
	free(text);
}

/* ---- The clock ------------------------------------------------------------------- */

void
doctor_check_clock(struct doctor *doctor)
{
	static const char remedy[] = "chrony, or ptp4l and phc2sys where shifts of a "
				     "millisecond matter";
	int64_t error_ns = boot_clock_error_ns();

	if (error_ns < 0)
		doctor_add(doctor, FINDING_WARN, "clock", remedy,
			   "the kernel does not report the wall clock as "
			   "synchronized: hosts cannot be compared in time");
	else if (error_ns > CLOCK_BOUND_NS)
		doctor_add(doctor, FINDING_WARN, "clock", remedy,
			   "synchronized, but only within %.1f ms",
			   (double)error_ns * 1e-6);
	else
		doctor_add(doctor, FINDING_OK, "clock", NULL,
			   "synchronized within %.3f ms", (double)error_ns * 1e-6);
}
