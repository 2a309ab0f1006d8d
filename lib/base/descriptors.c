/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/descriptors.h"

#include <errno.h>
#include <sys/resource.h>

#include "lib/base/err.h"

int
descriptors_raise(struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_max >= DESCRIPTORS_LEAST)
		return 0;
	err_set(err, NULL, 0, 0,
		"may open only %llu files, and needs %d: raise LimitNOFILE= of the unit, or "
		"the hard limit of the shell (ulimit -Hn)",
		(unsigned long long)limit.rlim_max, DESCRIPTORS_LEAST);
	return -EACCES;
}
