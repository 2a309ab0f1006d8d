/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cgroup_path.c - paths of control groups, and /proc/self/mountinfo */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/jobs/cgroup_path.h"
#include "lib/base/alloc.h"
#include "tests/fuzz/fuzz.h"

static void
check_name(const char *path, const char *services, const char *roots)
{
	const struct cgroup_rules rules = { services, roots };
	char name[TELE_MAX_NAME + 1], less[TELE_MAX_NAME + 1];

	if (!cgroup_job_name(path, CGROUP_ALL_ROOTED, &rules, name)) {
		BUG_ON(cgroup_job_name(path, strlen(path) / 2, &rules, less));
		return;
	}
	BUG_ON(!services && cgroup_job_name(path, 0, &rules, less));
	BUG_ON(!*name || strlen(name) > TELE_MAX_NAME);
	for (const char *c = name; *c; c++)
		BUG_ON(!isprint((unsigned char)*c) || *c == '/');
	/* What follows a path must not decide its job. */
	BUG_ON(!strchr(path, name[0] == 'p' && name[3] == '-' ? 'p' : name[0]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xcalloc(size + 1, 1), mount[64];

	if (size)
		memcpy(text, data, size);
	check_name(text, NULL, NULL);
	check_name(text, "*.service,a*.scope,,x", "/a,,/b/");
	if (cgroup_check_roots(text, NULL) == 0)
		check_name("/a/slurm/job_1", NULL, text);
	if (cgroup_find_mount(text, size, mount, sizeof mount)) {
		BUG_ON(!*mount || strlen(mount) >= sizeof mount);
		BUG_ON(!memmem(text, size, "cgroup2", 7));
	}
	free(text);
	return 0;
}
