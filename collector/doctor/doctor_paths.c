/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_paths.c - what moving flows needs, if the settings ask for it */
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/settings.h"
#include "lib/wire/port_range.h"

#define BPF_FS_NUMBER 0xcafe4a11

static void
look_at_range(struct doctor *doctor)
{
	char *reserved =
		doctor_line(doctor, "/proc/sys/net/ipv4/ip_local_reserved_ports");
	const char *text = doctor->config->wire_ports;
	struct port_range range;
	struct err err = { 0 };

	if (port_range_parse(text, &range, &err) < 0 ||
	    port_range_check(&range, reserved ? reserved : "", &err) < 0)
		doctor_add(doctor, FINDING_FAIL, "paths",
			   "reserve the ports in a file of /etc/sysctl.d", "%s",
			   err.text);
	else
		doctor_add(doctor, FINDING_OK, "paths", NULL,
			   "wire ports %s are reserved", text);
	free(reserved);
}

/* The directory itself may be missing: the collector makes it. */
static void
look_at_bpf_fs(struct doctor *doctor)
{
	const char *dir = doctor->config->wire_ports_dir;
	char *below = xasprintf("%s%s", doctor->sysroot, dir);
	struct statfs fs;
	int rc = statfs(below, &fs);

	if (rc < 0 && errno == ENOENT)
		rc = statfs(dirname(below), &fs);
	if (rc == 0 && (uint32_t)fs.f_type == BPF_FS_NUMBER)
		doctor_add(doctor, FINDING_OK, "paths", NULL,
			   "%s is in a BPF file system", dir);
	else if (rc < 0 && errno == EACCES)
		doctor_add(doctor, FINDING_WARN, "paths", "run as root",
			   "%s: not checked: permission denied", dir);
	else
		doctor_add(doctor, FINDING_FAIL, "paths",
			   "run 'mount -t bpf bpf /sys/fs/bpf'",
			   "%s is not in a BPF file system", dir);
	free(below);
}

static void
look_at_orders(struct doctor *doctor)
{
	if (settings_is_none(doctor->config->orders))
		doctor_add(
			doctor, FINDING_FAIL, "paths",
			"set [pacer] orders to the endpoint that antiphase-scheduler "
			"announces at",
			"flows are moved by the scheduler's orders, and there are "
			"none");
}

void
doctor_check_paths(struct doctor *doctor)
{
	if (settings_is_none(doctor->config->wire_ports))
		return;
	look_at_range(doctor);
	look_at_bpf_fs(doctor);
	look_at_orders(doctor);
}
