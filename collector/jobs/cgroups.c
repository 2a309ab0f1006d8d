/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "collector/jobs/cgroup_path.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define MAX_MOUNTINFO (4 << 20)

struct group {
	uint64_t id;
	char *path;    /* Owned.  From the root of the tree; "" for the root. */
	char *name;    /* Owned.  "": no job. */
	size_t rooted; /* The length of 'path' that belongs to root. */
	uint64_t walk;
	UT_hash_handle hh;
};

struct registration {
	char *name, *path; /* Owned. */
};

struct cgroups {
	char *root;                /* Owned. */
	struct cgroup_rules rules; /* Owned texts; may be NULL. */
	uid_t owner;               /* Who names jobs: root. */
	struct group *groups;
	VEC(struct registration) registrations;
	struct strtab *paths; /* Of registrations, with their numbers. */
	uint64_t walk, generation, n_refused;
	size_t n_walked;
};

static char *
copy_text(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

int
cgroups_open(const char *root, const struct cgroup_rules *rules,
	     struct cgroups **ret_cgroups, struct err *err)
{
	char found[CGROUP_MAX_PATH];
	struct cgroups *cgroups;
	struct statfs system;
	struct stat info;
	size_t length;
	char *text;
	int rc = rules ? cgroup_check_roots(rules->roots, err) : 0;

	if (rc < 0)
		return rc;
	if (!root) {
		rc = file_read("/proc/self/mountinfo", MAX_MOUNTINFO, &text, &length,
			       err);
		if (rc < 0)
			return rc;
		if (!cgroup_find_mount(text, length, found, sizeof found))
			rc = -ENOENT;
		free(text);
		if (rc < 0) {
			err_set(err, NULL, 0, 0,
				"cgroup v2 is not mounted: jobs cannot be told apart"
				" (mount -t cgroup2 none /sys/fs/cgroup)");
			return rc;
		}
		root = found;
	}
	if (stat(root, &info) < 0 || statfs(root, &system) < 0)
		return err_set_errno(err, root, errno,
				     "cannot read the control groups");
	cgroups = xcalloc(1, sizeof *cgroups);
	cgroups->root = xstrdup(root);
	cgroups->paths = strtab_new();
	if (rules) {
		cgroups->rules.services = copy_text(rules->services);
		cgroups->rules.roots = copy_text(rules->roots);
	}
	cgroups->owner = system.f_type == CGROUP2_SUPER_MAGIC ? 0 : info.st_uid;
	*ret_cgroups = cgroups;
	return 0;
}

static void
free_group(struct cgroups *cgroups, struct group *group)
{
	HASH_DEL(cgroups->groups, group);
	free(group->path);
	free(group->name);
	free(group);
}

void
cgroups_close(struct cgroups *cgroups)
{
	struct group *group, *next;

	if (!cgroups)
		return;
	HASH_ITER(hh, cgroups->groups, group, next)
	{
		free_group(cgroups, group);
	}
	for (size_t i = 0; i < cgroups->registrations.n; i++) {
		free(cgroups->registrations.items[i].name);
		free(cgroups->registrations.items[i].path);
	}
	vec_free(&cgroups->registrations);
	strtab_free(cgroups->paths);
	free(cgroups->root);
	free((char *)cgroups->rules.services);
	free((char *)cgroups->rules.roots);
	free(cgroups);
}

const char *
cgroups_root(const struct cgroups *cgroups)
{
	return cgroups->root;
}

uint64_t
cgroups_generation(const struct cgroups *cgroups)
{
	return cgroups->generation;
}

/* ---- Names ----------------------------------------------------------------------- */

/* The registration of the longest path that 'path' is in, or NULL.  O(depth). */
static const struct registration *
registration_of(const struct cgroups *cgroups, const char *path)
{
	char *above = xstrdup(path);
	const struct registration *found = NULL;

	for (;;) {
		uint32_t number = strtab_find(cgroups->paths, above);
		char *slash = strrchr(above, '/');

		if (number != STRTAB_NONE)
			found = &cgroups->registrations.items[number];
		if (found || !slash)
			break;
		*slash = '\0';
	}
	free(above);
	return found;
}

/* Whether only root can make directories in this one. */
static bool
is_rooted(const struct cgroups *cgroups, const struct stat *status)
{
	return status->st_uid == cgroups->owner &&
	       !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* As the argument of cgroup_job_name(), by a look at the tree.  O(depth). */
static size_t
rooted_length(const struct cgroups *cgroups, const char *path)
{
	struct strbuf whole = STRBUF_EMPTY;
	size_t rooted = 0, root = strlen(cgroups->root), at = 0;
	struct stat status;

	strbuf_puts(&whole, cgroups->root);
	strbuf_puts(&whole, path);
	for (;;) {
		char *end = whole.text + root + at, kept = *end;

		*end = '\0';
		if (lstat(whole.text, &status) < 0 || !is_rooted(cgroups, &status))
			break;
		*end = kept;
		rooted = at;
		if (!path[at])
			break;
		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
	}
	strbuf_free(&whole);
	return rooted;
}

static char *
name_of(const struct cgroups *cgroups, const char *path, size_t rooted)
{
	const struct registration *registered = registration_of(cgroups, path);
	char name[TELE_MAX_NAME + 1];

	if (registered)
		return xstrdup(registered->name);
	return xstrdup(cgroup_job_name(path, rooted, &cgroups->rules, name) ? name
									    : "");
}

/* Updates the job of 'path' and all groups below. */
static void
rename_below(struct cgroups *cgroups, const char *path)
{
	cgroups->generation++;
	for (struct group *group = cgroups->groups; group; group = group->hh.next) {
		if (!cgroup_is_below(group->path, path))
			continue;
		free(group->name);
		group->name = name_of(cgroups, group->path, group->rooted);
	}
}

/* ---- Registrations --------------------------------------------------------------- */

static int
check_name(const char *name, struct err *err)
{
	if (!*name || strlen(name) > TELE_MAX_NAME)
		return err_set(err, NULL, 0, 0, "a job's name has 1 to %d letters",
			       TELE_MAX_NAME);
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"\\(){},", *c))
			return err_set(err, NULL, 0, 0,
				       "a job's name has no blanks, quotes, brackets or"
				       " commas: '%s'",
				       name);
	return 0;
}

/* Stores the path from the root of the tree, without a '/' at its end. */
static int
clean_path(const struct cgroups *cgroups, const char *given, struct strbuf *path,
	   struct err *err)
{
	char real[PATH_MAX];
	struct stat status;

	if (strlen(given) >= CGROUP_MAX_PATH)
		return err_set(err, NULL, 0, 0, "the path is too long");
	if (!realpath(given, real) || !cgroup_is_below(real, cgroups->root)) {
		strbuf_printf(path, "%s/%s", cgroups->root, given);
		if (!realpath(path->text, real))
			return err_set_errno(err, given, errno,
					     "no such control group");
	}
	if (!cgroup_is_below(real, cgroups->root) || stat(real, &status) < 0 ||
	    !S_ISDIR(status.st_mode))
		return err_set(err, given, 0, 0, "not a control group below %s",
			       cgroups->root);
	strbuf_clear(path);
	strbuf_puts(path, real + strlen(cgroups->root));
	if (!path->length)
		return err_set(err, given, 0, 0,
			       "the root of all control groups is not a job");
	return 0;
}

int
cgroups_register(struct cgroups *cgroups, const char *name, const char *path,
		 struct err *err)
{
	struct strbuf clean = STRBUF_EMPTY;
	uint32_t number;
	int rc = check_name(name, err);

	if (rc == 0)
		rc = clean_path(cgroups, path, &clean, err);
	number = rc == 0 ? strtab_find(cgroups->paths, clean.text) : STRTAB_NONE;
	if (number != STRTAB_NONE) {
		const struct registration *one = &cgroups->registrations.items[number];

		if (!strcmp(one->name, name))
			goto out;
		err_set(err, path, 0, 0, "already registered as job '%s'", one->name);
		rc = -EEXIST;
	}
	if (rc == 0 && cgroups->registrations.n >= CGROUPS_MAX_REGISTERED) {
		err_set(err, NULL, 0, 0, "%d jobs are registered: remove some first",
			CGROUPS_MAX_REGISTERED);
		rc = -E2BIG;
	}
	if (rc == 0) {
		struct registration new = { xstrdup(name), strbuf_steal(&clean) };

		strtab_intern(cgroups->paths, new.path);
		vec_push(&cgroups->registrations, new);
		rename_below(cgroups, new.path);
	}
out:
	strbuf_free(&clean);
	return rc;
}

/* Those of this name and of this path; NULL: of any. */
static size_t
unregister(struct cgroups *cgroups, const char *name, const char *path)
{
	size_t kept = 0, n = cgroups->registrations.n;

	for (size_t i = 0; i < n; i++) {
		struct registration one = cgroups->registrations.items[i];

		if ((name && strcmp(one.name, name)) ||
		    (path && strcmp(one.path, path))) {
			cgroups->registrations.items[kept++] = one;
			continue;
		}
		free(one.name);
		free(one.path);
	}
	cgroups->registrations.n = kept;
	if (kept == n)
		return 0;
	strtab_free(cgroups->paths);
	cgroups->paths = strtab_new();
	for (size_t i = 0; i < kept; i++)
		strtab_intern(cgroups->paths, cgroups->registrations.items[i].path);
	rename_below(cgroups, "");
	return n - kept;
}

size_t
cgroups_unregister(struct cgroups *cgroups, const char *name)
{
	return unregister(cgroups, name, NULL);
}

size_t
cgroups_unregister_path(struct cgroups *cgroups, const char *path)
{
	return unregister(cgroups, NULL, path);
}

size_t
cgroups_n_registered(const struct cgroups *cgroups)
{
	return cgroups->registrations.n;
}

struct cgroups_registration
cgroups_registered(const struct cgroups *cgroups, size_t i)
{
	const struct registration *one = &cgroups->registrations.items[i];

	return (struct cgroups_registration){ one->name, one->path };
}

/* ---- Walking the tree ------------------------------------------------------------ */

static void
note_group(struct cgroups *cgroups, uint64_t id, const char *path, size_t rooted)
{
	struct group *group;

	HASH_FIND(hh, cgroups->groups, &id, sizeof id, group);
	/* Inode numbers are reused in time. */
	if (group && (strcmp(group->path, path) || group->rooted != rooted)) {
		free_group(cgroups, group);
		group = NULL;
	}
	if (!group) {
		char name[TELE_MAX_NAME + 1];

		group = xcalloc(1, sizeof *group);
		group->id = id;
		group->path = xstrdup(path);
		group->rooted = rooted;
		group->name = name_of(cgroups, path, rooted);
		HASH_ADD(hh, cgroups->groups, id, sizeof group->id, group);
		cgroups->n_refused +=
			!*group->name &&
			cgroup_job_name(path, CGROUP_ALL_ROOTED, &cgroups->rules, name);
	}
	group->walk = cgroups->walk;
	cgroups->n_walked++;
}

static void walk(struct cgroups *cgroups, int parent_fd, const char *entry,
		 struct strbuf *path, bool is_in_rooted, size_t rooted, unsigned depth);

static void
walk_below(struct cgroups *cgroups, int fd, struct strbuf *path, bool is_in_rooted,
	   size_t rooted, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		size_t length = path->length;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		strbuf_putc(path, '/');
		strbuf_puts(path, entry->d_name);
		walk(cgroups, dirfd(dir), entry->d_name, path, is_in_rooted, rooted,
		     depth + 1);
		path->length = length;
		path->text[length] = '\0';
	}
	closedir(dir);
}

/*
 * One directory and all below it; ignores one that disappeared meanwhile.  'rooted' is
 * the length of the part of 'path' that belongs to root, 'is_in_rooted' whether that is
 * all but this one.
 */
static void
walk(struct cgroups *cgroups, int parent_fd, const char *entry, struct strbuf *path,
     bool is_in_rooted, size_t rooted, unsigned depth)
{
	struct stat status;
	int fd;

	if (cgroups->n_walked >= CGROUPS_MAX ||
	    fstatat(parent_fd, entry, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	is_in_rooted &= is_rooted(cgroups, &status);
	if (is_in_rooted)
		rooted = path->length;
	note_group(cgroups, status.st_ino, path->text, rooted);
	/* Each directory below is a link: with "." and ".." alone there is none. */
	if (status.st_nlink == 2 || depth >= CGROUPS_MAX_DEPTH)
		return;
	fd = openat(parent_fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		walk_below(cgroups, fd, path, is_in_rooted, rooted, depth);
}

int
cgroups_scan(struct cgroups *cgroups)
{
	struct strbuf path = STRBUF_EMPTY;
	struct group *group, *next;

	cgroups->walk++;
	cgroups->n_walked = 0;
	if (access(cgroups->root, F_OK) < 0)
		return -errno;
	walk(cgroups, AT_FDCWD, cgroups->root, &path, true, 0, 0);
	strbuf_free(&path);
	HASH_ITER(hh, cgroups->groups, group, next)
	{
		if (group->walk != cgroups->walk)
			free_group(cgroups, group);
	}
	return (int)cgroups->n_walked;
}

uint64_t
cgroups_n_refused(const struct cgroups *cgroups)
{
	return cgroups->n_refused;
}

const char *
cgroups_job(const struct cgroups *cgroups, uint64_t id)
{
	struct group *group;

	HASH_FIND(hh, cgroups->groups, &id, sizeof id, group);
	return group ? group->name : NULL;
}

bool
cgroups_job_of_path(const struct cgroups *cgroups, const char *path,
		    char ret_name[TELE_MAX_NAME + 1])
{
	char *name = name_of(cgroups, path, CGROUP_ALL_ROOTED);
	bool is_job = *name;

	/* Most processes belong to no job: only then is it worth a look at the tree. */
	if (is_job) {
		free(name);
		name = name_of(cgroups, path, rooted_length(cgroups, path));
		is_job = *name;
	}

	if (is_job)
		tele_set_name(ret_name, name);
	free(name);
	return is_job;
}

void
cgroups_each_job(const struct cgroups *cgroups,
		 void (*found)(void *ctx, uint64_t id, const char *name), void *ctx)
{
	for (struct group *group = cgroups->groups; group; group = group->hh.next)
		if (*group->name)
			found(ctx, group->id, group->name);
}
