/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"

char *
program_directory(void)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	return slash ? xstrndup(self, (size_t)(slash - self) + 1) : NULL;
}

int
run_program(const char *program, const char *typed, int argc, char **argv)
{
	static const char *const places[] = { "", "../sbin/" };
	char *directory = program_directory();
	char **words = xcalloc((size_t)argc + 2, sizeof *words);

	words[0] = (char *)typed;
	memcpy(words + 1, argv, (size_t)argc * sizeof *words);
	for (size_t i = 0; directory && i < sizeof places / sizeof places[0]; i++) {
		char *path = xasprintf("%s%s%s", directory, places[i], program);

		if (access(path, X_OK) == 0)
			execv(path, words);
		free(path);
	}
	execvp(program, words);
	fprintf(stderr,
		"antiphase: cannot run %s: %s; install it in the same "
		"directory as antiphase\n",
		program, strerror(errno));
	free(words);
	free(directory);
	return CLI_UNREACHABLE;
}
