/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h - the name of a new file in its own folder: group set-up and tear-down */
#ifndef TESTS_UNIT_TEMP_FILE_H
#define TESTS_UNIT_TEMP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char temp_folder[64], temp_path[96];

static inline int
temp_file_setup(void **state)
{
	(void)state;
	snprintf(temp_folder, sizeof temp_folder, "/tmp/antiphase-test-XXXXXX");
	if (!mkdtemp(temp_folder))
		return -1;
	snprintf(temp_path, sizeof temp_path, "%s/file", temp_folder);
	return 0;
}

static inline int
temp_file_teardown(void **state)
{
	(void)state;
	unlink(temp_path);
	return rmdir(temp_folder); /* Fails if a test left a file behind. */
}

#endif
