/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

const char *const setup_files[] = { SETUP_CONFIG, SETUP_DROP_IN, SETUP_FABRIC,
				    SETUP_PROPOSED, NULL };
const char *const setup_units[] = { "antiphase-collector", "antiphase-topology",
				    "antiphase-scheduler", NULL };

int
targets_make_dir(const char *root, const char *dir, struct err *err)
{
	char *path = xasprintf("%s%s", root, dir);
	int r = 0;

	for (char *slash = path + strlen(root); r == 0 && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			r = err_set_errno(err, path, errno,
					  "cannot make the directory");
		if (slash)
			*slash = '/';
	}
	free(path);
	return r;
}

/* ".21124-0" */
static bool
is_temporary(const char *ending)
{
	static const char digits[] = "0123456789";
	size_t n;

	if (*ending++ != '.')
		return false;
	n = strspn(ending, digits);
	if (!n || ending[n] != '-')
		return false;
	ending += n + 1;
	return *ending && !ending[strspn(ending, digits)];
}

void
targets_sweep(const char *root, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = xasprintf("%s%.*s", root, (int)(slash - path), path);
	struct dirent **found = NULL;
	size_t n_name = strlen(slash + 1);
	int n = scandir(dir, &found, NULL, NULL);

	for (int i = 0; i < n; i++) {
		const char *name = found[i]->d_name;

		if (strncmp(name, slash + 1, n_name) == 0 &&
		    is_temporary(name + n_name)) {
			char *full = xasprintf("%s/%s", dir, name);

			unlink(full);
			free(full);
		}
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	free(dir);
}
