/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_run.c - the driver for Slurm: its commands, run as children. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/alloc.h"
#include "lib/daemon/child.h"
#include "scheduler/slurm/slurm_priv.h"

#define MAX_WORDS 16

extern char **environ;

int
slurm_run(struct slurm *slurm, const char *program, const char *const *words,
	  const char *variable,
	  void (*done)(void *ctx, const struct child_result *result), void *ctx,
	  struct child **ret_child, struct err *err)
{
	const char *argv[MAX_WORDS + 2];
	char *path = slurm->bindir ? xasprintf("%s/%s", slurm->bindir, program)
				   : xstrdup(program);
	const struct child_opts opts = { .argv = argv,
					 .envp = slurm->env.items,
					 .timeout_ns = slurm->timeout_ns,
					 .max_bytes = SLURM_MAX_BYTES,
					 .done = done,
					 .ctx = ctx };
	size_t n = 0;
	int r;

	argv[n++] = path;
	while (*words) {
		BUG_ON(n > MAX_WORDS);
		argv[n++] = *words++;
	}
	argv[n] = NULL;
	/* The last place before the terminator is kept for the variable. */
	slurm->env.items[slurm->env.n - 2] = variable ? variable : "ANTIPHASE=1";
	r = child_start(slurm->loop, &opts, ret_child, err);
	if (r < 0)
		*ret_child = NULL;
	free(path);
	return r;
}

void
slurm_make_env(struct slurm *slurm)
{
	static const char *const unwanted[] = {
		"SQUEUE_", "SINFO_",          "SCONTROL_", "SLURM_TIME_FORMAT=",
		"TZ=",     "SLURM_CLUSTERS=", "LC_",       "LANG=",
		NULL,
	};
	static const char *const ours[] = { "TZ=UTC", "SLURM_TIME_FORMAT=standard",
					    "LC_ALL=C", NULL };

	for (char **at = environ; *at; at++) {
		bool is_wanted = true;

		for (size_t i = 0; unwanted[i]; i++)
			is_wanted &=
				strncmp(*at, unwanted[i], strlen(unwanted[i])) != 0;
		if (is_wanted)
			vec_push(&slurm->env, xstrdup(*at));
	}
	for (size_t i = 0; ours[i]; i++)
		vec_push(&slurm->env, xstrdup(ours[i]));
	vec_push(&slurm->env, NULL); /* For slurm_run(). */
	vec_push(&slurm->env, NULL);
}

void
slurm_draw_mark(char mark[SLURM_MARK_SIZE])
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		BUG("the kernel gives no random numbers: %s", strerror(errno));
	snprintf(mark, SLURM_MARK_SIZE, "~q%016llx~", (unsigned long long)random);
}
