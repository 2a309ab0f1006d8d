/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.h - a fabric and its jobs, read from the files that a verb names.
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

struct cli_list;
struct cli_verb;
struct err;
struct routes;
struct scenario;
struct topo;

struct inputs {
	struct scenario *scenario; /* Owned; its workload is bound to the fabric. */
	struct topo *topo;         /* Owned. */
	struct routes *routes;     /* Owned. */
};

/*
 * Reads the jobs of 'jobs_path' and the fabric of 'fabric_path', or, if that is NULL,
 * the fabric that the jobs' file names.  Returns 0, or a negative errno with 'err'
 * filled. Release with inputs_fini().
 */
int inputs_load(struct inputs *inputs, const char *fabric_path, const char *jobs_path,
		struct err *err);

/*
 * Loads the running jobs from the telemetry sources 'from', on the fabric of a file.
 * Jobs that are left out are named on stderr.  Returns 0, or a negative errno with
 * 'err' filled; -ECANCELED if a message was printed and '*ret_status' is the exit
 * status.
 */
int inputs_load_live(struct inputs *inputs, const struct cli_verb *verb,
		     const char *fabric_path, const struct cli_list *from,
		     const char *keys, int *ret_status, struct err *err);
void inputs_fini(struct inputs *inputs); /* Accepts a zeroed one. */

#endif
