/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - what 'antiphase setup' finds out about a host
 *
 * Reads files, and asks lldpcli, scontrol's files and systemctl; changes nothing.  With a
 * root, all paths and programs are below it, and nothing is asked of the running kernel:
 * for images of hosts, and for tests.  Everything that is read is untrusted: what cannot
 * be understood becomes a finding, never a failure.
 */
#ifndef CLI_SETUP_SURVEY_H
#define CLI_SETUP_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/setup/slurm_facts.h"
#include "lib/base/findings.h"
#include "lib/base/vec.h"

#define SURVEY_MAX_BYTES ((size_t)4 << 20) /* Of each file but fabrics. */

struct survey_interface {
	char *name;  /* Owned. */
	double gbps; /* 0: unknown. */
	bool is_physical, is_up;
};

enum survey_program {
	SURVEY_COLLECTOR,
	SURVEY_TOPOLOGY,
	SURVEY_SCHEDULER,
	N_SURVEY_PROGRAMS,
};

/* "antiphase-collector", ...; also the names of their units. */
extern const char *const survey_program_names[N_SURVEY_PROGRAMS];

struct survey_unit {
	bool is_there, is_enabled, is_active;
};

struct survey {
	const char *root; /* Borrowed; "": the running host. */
	char *host;       /* Owned.  The host name up to its first dot. */
	VEC(struct survey_interface) interfaces; /* By name, without lo. */
	bool has_btf, has_rdma, has_systemd, has_keys;
	bool is_peer_allowed; /* 'allow' or 'servers' has a key. */
	bool is_kubernetes;   /* A node of it. */
	bool has_program[N_SURVEY_PROGRAMS];
	struct survey_unit units[N_SURVEY_PROGRAMS]; /* Only with systemd. */
	char *slurm_conf;   /* Owned; the path without the root; NULL: no Slurm. */
	char *slurm_bindir; /* Owned; NULL: squeue is on the usual path, or missing. */
	struct slurm_facts slurm;
	/*
	 * The fabric as Slurm's files or LLDP show it, as antiphase.topology/1; owned;
	 * NULL: neither does.  'fabric_from' is for people.
	 */
	char *fabric;
	char *fabric_from;
	bool is_fabric_partial;   /* Only this host's cables. */
	struct findings findings; /* One line for each thing that was looked at. */
};

/*
 * Looks at the host below 'root' ("": this one; borrowed).  Release with survey_fini().
 * Takes up to 10 s where lldpcli or systemctl hang.
 */
void survey_read(struct survey *survey, const char *root);
void survey_fini(struct survey *survey);

/* One path, such as /etc/slurm/slurm.conf, below the root.  Free with free(). */
char *survey_path(const struct survey *survey, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool survey_has(const struct survey *survey, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The text of a small file, or NULL.  Free with free(). */
char *survey_text(const struct survey *survey, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "/usr/sbin/lldpcli", below the root: on the usual path, or NULL.  Free with free(). */
char *survey_program(const struct survey *survey, const char *name);

/* True if this host is to run antiphase-topology and antiphase-scheduler. */
bool survey_is_head(const struct survey *survey);
/* True if other hosts connect to this one's bus, or this one to theirs. */
bool survey_is_clustered(const struct survey *survey);

/* survey_cluster.c: Slurm, Kubernetes, LLDP and the fabric that they show. */
void survey_cluster(struct survey *survey);

#endif
