/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_rules.h - the job of a packet, by addresses and ports
 *
 * For captures and samples, where no cgroup is known.  A rule is
 *
 *	JOB=[ADDRESS[/BITS][,ADDRESS[/BITS]]][:PORT[-PORT]]
 *
 * such as "41=10.0.0.1,10.0.0.2" (between the two), "42=10.0.0.0/24:5000-5999" (to or
 * from one of these, by one of these ports), "43=:4791", "44=[fd00::/64]:80".  The
 * first rule that matches counts; the direction of the packet does not matter.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_JOB_RULES_H
#define COLLECTOR_SOURCES_PACKETS_JOB_RULES_H

#include <stddef.h>

struct err;
struct packet;
struct job_rules;

#define JOB_RULES_MAX 4096

/* Reads 'n' rules.  0 with '*ret_rules' new, or -EINVAL with 'err' filled. */
int job_rules_new(const char *const *rules, size_t n, struct job_rules **ret_rules,
		  struct err *err);
void job_rules_free(struct job_rules *rules); /* Accepts NULL. */

/* The job's name, borrowed; NULL if no rule matches.  O(rules). */
const char *job_rules_match(const struct job_rules *rules, const struct packet *packet);

#endif
