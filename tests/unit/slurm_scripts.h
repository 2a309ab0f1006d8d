/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_scripts.h - a folder of scripts in place of Slurm's commands */
#ifndef TESTS_UNIT_SLURM_SCRIPTS_H
#define TESTS_UNIT_SLURM_SCRIPTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "tests/unit/test.h"

/*
 * Prints the file "jobs", fields of a job in their order; @ stands for the mark that
 * squeue gets in the first field's name.
 */
#define SCRIPTS_SQUEUE                                  \
	"#!/bin/sh\n"                                   \
	"case $* in *' -t PD,R '*) exit 0;; esac\n"     \
	"mark=${SQUEUE_FORMAT2#*:}; mark=${mark%%,*}\n" \
	"sed \"s/@/$mark/g\" \"${0%/*}/jobs\"\n"

/* A cluster of one node. */
#define SCRIPTS_SINFO_ONE_NODE "#!/bin/sh\necho 'n1|idle|train|4|||'\n"

/* A changed job starts and leaves the queue; "log" has what was sent. */
#define SCRIPTS_SCONTROL_STARTS                                          \
	"#!/bin/sh\n"                                                    \
	"case $1 in -V) echo slurm 22.05.8; exit;; esac\n"               \
	"echo \"$@\" >>\"${0%/*}/log\"\n"                                \
	"grep -v \"^${2#jobid=}@\" \"${0%/*}/jobs\" >\"${0%/*}/less\"\n" \
	"mv \"${0%/*}/less\" \"${0%/*}/jobs\"\n"

static inline void
scripts_put(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct err err;

	assert_int_equal(file_write(path, text, strlen(text), &err), 0);
	chmod(path, 0755);
	free(path);
}

/* What was sent, one line each; a new string. */
static inline char *
scripts_sent(const char *dir)
{
	char *path = xasprintf("%s/log", dir), *text = NULL;
	size_t n;

	if (file_read(path, 1 << 20, &text, &n, NULL) < 0)
		text = xstrdup("");
	free(path);
	return text;
}

/* A script that was cut off may still be writing its files. */
static inline void
scripts_remove(const char *dir)
{
	static const char *const files[] = { "squeue", "sinfo", "scontrol", "jobs",
					     "nodes",  "log",   "less",     NULL };
	int n_tries = 0;

	do {
		for (size_t i = 0; files[i]; i++) {
			char *path = xasprintf("%s/%s", dir, files[i]);

			unlink(path);
			free(path);
		}
		if (n_tries)
			usleep(10000);
	} while (rmdir(dir) < 0 && n_tries++ < 200);
	assert_int_equal(access(dir, F_OK), -1);
}

#endif
