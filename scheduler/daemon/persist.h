/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist.h - changes, actions, profiles and paths in the store (store.h), for the next
 * start.
 *
 * A restart goes on with them: it finds the changes at the cluster's scheduler, which
 * can be undone; it advises on a running job by the last profile until traffic shows a
 * new one; it assumes that a waiting job is like its last run; a running job has the
 * paths that it had.
 *
 * 'store' may be NULL everywhere: then nothing is kept or found.
 */
#ifndef SCHEDULER_DAEMON_PERSIST_H
#define SCHEDULER_DAEMON_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decide_action;
struct decide_change;
struct decide_changes;
struct err;
struct job;
struct profile;
struct sched_job;
struct scheduler_config;
struct store;
struct store_line;
struct strbuf;
struct topo;

/* Opens the store, or NULL: there is to be none.  0, or -errno with 'err' filled. */
int persist_open(const struct scheduler_config *config, struct store **ret_store,
		 struct err *err);
/* Applies what the configuration says now of how long things are kept. */
void persist_follow(struct store *store, const struct scheduler_config *config);

/* ---- Changes ------------------------------------------------------------------------ */

/* Stores the change of a job, or with 'change' NULL forgets it; written at once. */
void persist_keep_change(struct store *store, const char *job,
			 const struct decide_change *change);
/* Reads the changes of the last run: 0, or -errno with 'err' filled. */
int persist_read_changes(struct store *store, struct decide_changes *changes,
			 struct err *err);
/* A line of the log of actions; 'state' is "asked", "done" or "failed". */
void persist_log(struct store *store, const struct decide_action *action,
		 const char *state, const char *error);
/*
 * Appends such a line, an object, with its number as the first key.  False, with nothing
 * appended, if the row has no object with keys.
 */
bool persist_log_line(const struct store_line *line, struct strbuf *out);

/* ---- Profiles ------------------------------------------------------------------------- */

/*
 * Stores the profile of a job that runs on 'job->hosts' of 'topo': by its name, and by
 * user and name of 'known' (the job at the cluster's scheduler, or NULL).
 */
void persist_keep_profile(struct store *store, const struct topo *topo,
			  const struct job *job, const struct sched_job *known);
/*
 * Finds the profile of the last run with the same user, name and number of nodes, and
 * when it was estimated: 1; 0 if there is none, or it is older than 'max_age_us'; or
 * -errno with 'err' filled. The caller releases the profile.
 */
int persist_find_earlier(struct store *store, const struct sched_job *job,
			 int64_t max_age_us, struct profile *ret_profile,
			 int64_t *ret_at_us, struct err *err);

typedef void persist_profile_fn(void *ctx, const char *job,
				const struct profile *profile, const uint32_t *hosts,
				uint32_t n_hosts, int64_t at_us);
/*
 * Calls 'each' for the jobs of the last run with a profile not older than 'max_age_us'
 * whose hosts are all in 'topo'; hosts in order.  0, or -errno with 'err' filled.
 */
int persist_read_profiles(struct store *store, const struct topo *topo,
			  int64_t max_age_us, persist_profile_fn *each, void *ctx,
			  struct err *err);

/* ---- Paths: persist_paths.c ----------------------------------------------------------- */

/* Longer documents are not kept: 4,096 flows and as many hosts are some 100 kB. */
#define PERSIST_MAX_PATHS_BYTES (1u << 18)

/* The chosen paths of a running job, for these hosts and this fabric only. */
struct persist_paths {
	const struct topo *topo; /* Borrowed, as the hosts. */
	uint64_t fabric;         /* topo_digest() of it. */
	const uint32_t *hosts;
	uint32_t n_hosts;
	/* As in workload.h. */
	uint32_t n_connections;
	uint32_t *paths; /* Owned if they were found. */
	size_t n_paths;
};

/* Stores the paths of a job, or with 'paths' NULL forgets them. */
void persist_keep_paths(struct store *store, const char *job,
			const struct persist_paths *paths);
/*
 * Finds the paths of the job, which the caller frees, for the fabric and hosts in 'paths':
 * 1; 0 if there are none, or they are for others; or -errno with 'err' filled: what is
 * there is damaged.  Whether they fit the job's flows is checked by advisor_put().
 */
int persist_find_paths(struct store *store, const char *job,
		       struct persist_paths *paths, struct err *err);

#endif
