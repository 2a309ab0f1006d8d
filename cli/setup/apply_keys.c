/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_keys.c - a pair of keys, made aside and then given its names
 *
 * The secret has to belong to the daemons' user.  That user owns the directory, too, and
 * could put other files there; so files are changed only in our own new directory, and
 * what is in the directory of keys is renamed or removed, never opened.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/setup/apply.h"
#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/wire/bus.h"

#define DAEMON_USER "antiphase"

/* The daemons' user and group on the host; false without one. */
static bool
find_user(const struct survey *survey, uid_t *ret_uid, gid_t *ret_gid)
{
	char *path = survey_path(survey, "/etc/passwd");
	FILE *in = fopen(path, "re");
	const struct passwd *user = NULL;

	free(path);
	while (in && (user = fgetpwent(in)) && strcmp(user->pw_name, DAEMON_USER) != 0)
		;
	if (user) {
		*ret_uid = user->pw_uid;
		*ret_gid = user->pw_gid;
	}
	if (in)
		fclose(in);
	return user;
}

void
setup_drop_new_keys(const struct survey *survey)
{
	static const char *const names[] = { "/self.key", "/self.pub", "" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = survey_path(survey, SETUP_NEW_KEYS "%s", names[i]);

		if (i < 2)
			unlink(path);
		else
			rmdir(path);
		free(path);
	}
}

int
setup_make_keys(const struct survey *survey, char **ret_public, struct err *err)
{
	char *dir = survey_path(survey, SETUP_NEW_KEYS);
	char *secret = xasprintf("%s/self.key", dir);
	char *public = xasprintf("%s/self.pub", dir);
	size_t length;
	uid_t uid;
	gid_t gid;
	int r;

	/* What a kill has left is perhaps half a pair. */
	setup_drop_new_keys(survey);
	r = bus_keys_new(dir, err);
	if (r == 0 && geteuid() == 0 && find_user(survey, &uid, &gid) &&
	    (chown(secret, uid, gid) < 0 || chown(public, uid, gid) < 0))
		r = err_set_errno(err, dir, errno, "cannot give it to " DAEMON_USER);
	if (r == 0)
		r = file_read(public, 4096, ret_public, &length, err);
	free(public);
	free(secret);
	free(dir);
	return r;
}

int
setup_place_keys(const struct survey *survey, struct err *err)
{
	static const char *const names[] = { "self.pub", "self.key" };
	char *dir = survey_path(survey, SETUP_KEYS);
	bool is_new = mkdir(dir, 0755) == 0;
	uid_t uid;
	gid_t gid;
	int r = 0;

	if (!is_new && errno != EEXIST)
		r = err_set_errno(err, dir, errno, "cannot make the directory");
	for (int i = 0; i < 2 && r == 0; i++) {
		char *from = survey_path(survey, SETUP_NEW_KEYS "/%s", names[i]);
		char *to = survey_path(survey, SETUP_KEYS "/%s", names[i]);

		if (rename(from, to) < 0)
			r = err_set_errno(err, to, errno, "cannot rename");
		free(from);
		free(to);
	}
	if (r == 0 && is_new && geteuid() == 0 && find_user(survey, &uid, &gid) &&
	    chown(dir, uid, gid) < 0)
		r = err_set_errno(err, dir, errno, "cannot give it to " DAEMON_USER);
	setup_drop_new_keys(survey);
	free(dir);
	return r;
}
