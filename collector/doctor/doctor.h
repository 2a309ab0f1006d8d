/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h - findings about this host's support, each with a remedy
 *
 * A finding is OK, WARN (the collector misses something, or measures it less exactly)
 * or FAIL (the collector cannot do what its settings ask for).  The checks run as any
 * user; a check that lacks permission says so.
 */
#ifndef COLLECTOR_DOCTOR_DOCTOR_H
#define COLLECTOR_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/findings.h"

struct config;
struct settings;

struct doctor {
	const struct config *config; /* Borrowed. */
	const char *config_file;     /* Borrowed; NULL: SETTINGS_FILE. */
	const char *sysroot;         /* Before /proc and /sys; "": none.  For tests. */
	struct findings findings;
};

void doctor_init(struct doctor *doctor, const struct config *config);
void doctor_fini(struct doctor *doctor);

#define doctor_add(doctor, ...) findings_add(&(doctor)->findings, __VA_ARGS__)

/* doctor_kernel.c */
void doctor_check_kernel(struct doctor *doctor);
void doctor_check_lockdown(struct doctor *doctor);
void doctor_check_cgroups(struct doctor *doctor);
void doctor_check_clock(struct doctor *doctor);
/* doctor_net.c */
void doctor_check_interfaces(struct doctor *doctor);
/* The keys and ports of the collector, and the keys of the other daemons. */
void doctor_check_bus(struct doctor *doctor);
/* doctor_paths.c */
void doctor_check_paths(struct doctor *doctor);
/* doctor_scheduler.c */
void doctor_check_scheduler(struct doctor *doctor);
/* doctor_settings.c */
/* [scheduler] http, store and keys; free with settings_free(). */
struct settings *doctor_scheduler_settings(const struct doctor *doctor);
/* doctor_fabric.c */
void doctor_check_fabric(struct doctor *doctor);
/* doctor_programs.c: what 'antiphase slurm status' and 'store check' find; versions */
void doctor_check_slurm(struct doctor *doctor);
void doctor_check_store(struct doctor *doctor);
void doctor_check_versions(struct doctor *doctor);

void doctor_print(const struct doctor *doctor, FILE *out);
void doctor_print_json(const struct doctor *doctor, FILE *out);

/* The first line of a file below the sysroot; NULL.  Free with free(). */
char *doctor_line(const struct doctor *doctor, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
