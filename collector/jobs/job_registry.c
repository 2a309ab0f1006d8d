/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/job_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/jobs/cgroups.h"
#include "collector/jobs/registry_lines.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define MAX_FILE_BYTES (64 << 20)

struct job_registry {
	struct cgroups *cgroups; /* Borrowed. */
	char *file;              /* Owned. */
	struct strtab *paths;    /* Numbers are indexes in 'is_gone'. */
	VEC(bool) is_gone;
	size_t n_gone;
};

/* The directory of a path in the tree; free with free(). */
static char *
directory_of(const struct job_registry *registry, const char *path)
{
	return xasprintf("%s%s%s", cgroups_root(registry->cgroups),
			 *path == '/' ? "" : "/", path);
}

static bool
is_there(const struct job_registry *registry, const char *path)
{
	char *directory = directory_of(registry, path);
	struct stat info;
	bool so = stat(directory, &info) == 0 && S_ISDIR(info.st_mode);

	free(directory);
	return so;
}

/* ---- The file -------------------------------------------------------------------- */

static int
write_all(const struct job_registry *registry, struct err *err)
{
	struct strbuf out = STRBUF_EMPTY;
	int rc;

	for (size_t i = 0; i < cgroups_n_registered(registry->cgroups); i++) {
		struct cgroups_registration one =
			cgroups_registered(registry->cgroups, i);

		registry_lines_add(&out, one.name, one.path);
	}
	rc = file_write(registry->file, out.text, out.length, err);
	strbuf_free(&out);
	return rc;
}

/* Writes a line at the end, or nothing: no part of it is left before the next one. */
static int
write_line(const struct job_registry *registry, int fd, const struct strbuf *line,
	   struct err *err)
{
	struct stat info;
	ssize_t n;
	int rc;

	if (fstat(fd, &info) < 0)
		return err_set_errno(err, registry->file, errno, "cannot write");
	n = write(fd, line->text, line->length);
	if (n == (ssize_t)line->length)
		return 0;
	/* A part was written: there was no room for the rest. */
	rc = err_set_errno(err, registry->file, n < 0 ? errno : ENOSPC, "cannot write");
	if (n > 0 && ftruncate(fd, info.st_size) < 0)
		err_append(err, ", and a part of a line is left in it");
	return rc;
}

/* Appends one line instead of rewriting a file of thousands. */
static int
append(const struct job_registry *registry, const char *name, const char *path,
       struct err *err)
{
	struct strbuf line = STRBUF_EMPTY;
	int fd = open(registry->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	int rc = 0;

	if (fd < 0)
		return err_set_errno(err, registry->file, errno, "cannot open");
	registry_lines_add(&line, name, path);
	rc = write_line(registry, fd, &line, err);
	if (close(fd) < 0 && rc == 0) /* Some file systems tell it only here. */
		rc = err_set_errno(err, registry->file, errno, "cannot write");
	strbuf_free(&line);
	return rc;
}

/* Registers the job of a line; false if it is not one any more. */
static bool
take_line(void *ctx, const char *name, const char *path)
{
	struct job_registry *registry = ctx;
	struct err err = { 0 };

	if (!name) {
		log_warn("collector", "%s: a line without a job and a control group",
			 registry->file);
		return false;
	}
	if (cgroups_register(registry->cgroups, name, path, &err) == 0)
		return true;
	log_info("collector", "job %s of an earlier run is dropped: %s: %s", name, path,
		 err.text);
	return false;
}

static int
read_all(struct job_registry *registry, struct err *err)
{
	char *text;
	size_t length, n_bad;
	int rc = file_read(registry->file, MAX_FILE_BYTES, &text, &length, err);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	n_bad = registry_lines_read(text, take_line, registry);
	free(text);
	return n_bad ? write_all(registry, err) : 0;
}

int
job_registry_open(const char *file, struct cgroups *cgroups,
		  struct job_registry **ret_registry, struct err *err)
{
	struct job_registry *registry = xcalloc(1, sizeof *registry);
	int rc;

	registry->cgroups = cgroups;
	registry->file = xstrdup(file);
	registry->paths = strtab_new();
	rc = read_all(registry, err);
	if (rc < 0) {
		job_registry_close(registry);
		return rc;
	}
	*ret_registry = registry;
	return 0;
}

void
job_registry_close(struct job_registry *registry)
{
	if (!registry)
		return;
	strtab_free(registry->paths);
	vec_free(&registry->is_gone);
	free(registry->file);
	free(registry);
}

/* ---- Changes --------------------------------------------------------------------- */

int
job_registry_add(struct job_registry *registry, const char *name, const char *path,
		 struct err *err)
{
	size_t n = cgroups_n_registered(registry->cgroups);
	int rc = cgroups_register(registry->cgroups, name, path, err);
	char *known;

	if (rc < 0 || cgroups_n_registered(registry->cgroups) == n)
		return rc;
	known = xstrdup(cgroups_registered(registry->cgroups, n).path);
	rc = append(registry, name, known, err);
	if (rc < 0) {
		cgroups_unregister_path(registry->cgroups, known);
		err_append(err, "; job %s is not added", name);
	}
	free(known);
	return rc;
}

int
job_registry_remove(struct job_registry *registry, const char *name, size_t *ret_n,
		    struct err *err)
{
	int rc;

	*ret_n = cgroups_unregister(registry->cgroups, name);
	if (!*ret_n) {
		err_set(err, NULL, 0, 0, "no job '%s' was added by hand", name);
		return -ENOENT;
	}
	rc = write_all(registry, err);
	if (rc < 0)
		err_append(err,
			   "; job %s is removed now, and will be there again after a "
			   "restart",
			   name);
	return rc;
}

void
job_registry_check(struct job_registry *registry,
		   void (*gone)(void *ctx, const char *name, const char *path),
		   void *ctx)
{
	registry->n_gone = 0;
	for (size_t i = 0; i < cgroups_n_registered(registry->cgroups); i++) {
		struct cgroups_registration one =
			cgroups_registered(registry->cgroups, i);
		uint32_t number = strtab_intern(registry->paths, one.path);
		bool is_gone = !is_there(registry, one.path);

		if (number == registry->is_gone.n)
			vec_push(&registry->is_gone, false);
		if (is_gone && !registry->is_gone.items[number] && gone)
			gone(ctx, one.name, one.path);
		registry->is_gone.items[number] = is_gone;
		registry->n_gone += is_gone;
	}
}

size_t
job_registry_n_gone(const struct job_registry *registry)
{
	return registry->n_gone;
}

/* ---- The list -------------------------------------------------------------------- */

static void
write_json(const struct job_registry *registry, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.collector_jobs/2");
	jsonw_int(&w, "at_us", clk_wall_us());
	jsonw_array(&w, "jobs");
	for (size_t i = 0; i < cgroups_n_registered(registry->cgroups); i++) {
		struct cgroups_registration one =
			cgroups_registered(registry->cgroups, i);

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "job", one.name);
		jsonw_str(&w, "cgroup", one.path);
		jsonw_bool(&w, "is_there", is_there(registry, one.path));
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
write_table(const struct job_registry *registry, FILE *out)
{
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "CGROUP", "STATE", NULL });
	for (size_t i = 0; i < cgroups_n_registered(registry->cgroups); i++) {
		struct cgroups_registration one =
			cgroups_registered(registry->cgroups, i);

		table_cell(&t, "%s", one.name);
		table_cell(&t, "%s", one.path);
		table_cell(&t, "%s", is_there(registry, one.path) ? "there" : "gone");
	}
	table_print(&t, out);
	table_fini(&t);
}

void
job_registry_write(const struct job_registry *registry, bool is_json,
		   struct strbuf *out)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return;
	if (is_json)
		write_json(registry, stream);
	else
		write_table(registry, stream);
	fclose(stream);
	strbuf_add(out, text, length);
	free(text);
}
