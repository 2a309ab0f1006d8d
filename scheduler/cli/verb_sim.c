/*
 * verb_sim.c - 'antiphase sim' is the program antiphase-sim: first the one
 * beside this program, so that a build tree works, then the one on the path.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "scheduler/cli/verbs.h"

/* Returns the path of 'program' in the directory of this one, or NULL. */
static char *
beside_us(const char *program)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	return slash ? xasprintf("%.*s/%s", (int)(slash - self), self, program) : NULL;
}

static int
run_sim(int argc, char **argv)
{
	static const char program[] = "antiphase-sim";
	char *path = beside_us(program);

	(void)argc;
	argv[0] = (char *)program;
	if (path && access(path, X_OK) == 0)
		execv(path, argv);
	execvp(program, argv);
	fprintf(stderr,
		"antiphase: cannot run %s: %s; is it installed beside antiphase?\n",
		program, strerror(errno));
	free(path);
	return CLI_UNREACHABLE;
}

const struct cli_verb verb_sim = {
	.name = "sim",
	.summary = "simulate jobs on a fabric: run, compare, flows",
	.usage = "VERB [options] FILE",
	.run = run_sim,
};
