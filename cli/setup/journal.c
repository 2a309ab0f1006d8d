/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "lib/wire/crc32c.h"

#define SCHEMA      "antiphase.setup_journal"
#define MAX_BYTES   ((size_t)1 << 20)
#define MAX_ENTRIES 64

static const char *const kind_names[N_JOURNAL_KINDS + 1] = {
	[JOURNAL_FILE_WRITTEN] = "file",
	[JOURNAL_KEYS_MADE] = "keys",
	[JOURNAL_UNIT_ENABLED] = "unit",
	[JOURNAL_RESTART] = "restart",
};

/* ---- Entries --------------------------------------------------------------------- */

struct journal_version
journal_version_of(const char *text, size_t length)
{
	return (struct journal_version){ crc32c(0, (const uint8_t *)text, length),
					 length };
}

struct journal_entry *
journal_find(const struct journal *journal, enum journal_kind kind, const char *target)
{
	for (size_t i = 0; i < journal->entries.n; i++) {
		struct journal_entry *entry = &journal->entries.items[i];

		if (entry->kind == kind && strcmp(entry->target, target) == 0)
			return entry;
	}
	return NULL;
}

struct journal_entry *
journal_put(struct journal *journal, enum journal_kind kind, const char *target)
{
	struct journal_entry *entry = journal_find(journal, kind, target);

	if (entry)
		return entry;
	vec_push(&journal->entries,
		 ((struct journal_entry){ .kind = kind, .target = xstrdup(target) }));
	return &journal->entries.items[journal->entries.n - 1];
}

void
journal_remove(struct journal *journal, enum journal_kind kind, const char *target)
{
	struct journal_entry *entry = journal_find(journal, kind, target);
	size_t i;

	if (!entry)
		return;
	free(entry->target);
	i = (size_t)(entry - journal->entries.items);
	journal->entries.n--;
	memmove(entry, entry + 1, (journal->entries.n - i) * sizeof *entry);
}

void
journal_fini(struct journal *journal)
{
	for (size_t i = 0; i < journal->entries.n; i++)
		free(journal->entries.items[i].target);
	vec_free(&journal->entries);
}

void
journal_add_version(struct journal_entry *entry, struct journal_version version)
{
	if (journal_has_version(entry, version))
		return;
	if (entry->n_versions == JOURNAL_VERSIONS)
		memmove(entry->versions, entry->versions + 1,
			(--entry->n_versions) * sizeof *entry->versions);
	entry->versions[entry->n_versions++] = version;
}

bool
journal_has_version(const struct journal_entry *entry, struct journal_version version)
{
	for (size_t i = 0; i < entry->n_versions; i++)
		if (entry->versions[i].crc32c == version.crc32c &&
		    entry->versions[i].bytes == version.bytes)
			return true;
	return false;
}

/* ---- Text ------------------------------------------------------------------------ */

char *
journal_text(const struct journal *journal)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;

	BUG_ON(!out);
	jsonw_document(&w, out, SCHEMA "/1");
	jsonw_array(&w, "entries");
	for (size_t i = 0; i < journal->entries.n; i++) {
		const struct journal_entry *entry = &journal->entries.items[i];

		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "kind", kind_names[entry->kind]);
		jsonw_str(&w, "target", entry->target);
		jsonw_bool(&w, "is_made", entry->is_made);
		jsonw_bool(&w, "was_enabled", entry->was_enabled);
		jsonw_bool(&w, "was_active", entry->was_active);
		jsonw_flat_array(&w, "versions");
		for (size_t v = 0; v < entry->n_versions; v++) {
			jsonw_flat_object(&w, NULL);
			jsonw_int(&w, "crc32c", entry->versions[v].crc32c);
			jsonw_int(&w, "bytes", (int64_t)entry->versions[v].bytes);
			jsonw_end(&w);
		}
		jsonw_end(&w);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	return text;
}

static int
read_versions(const struct json_doc *doc, const struct json *object,
	      struct journal_entry *entry, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, object, "versions", &array, &n, err) < 0)
		return -EINVAL;
	if (n > JOURNAL_VERSIONS)
		return json_fail(doc, array, err, "more than %d versions",
				 JOURNAL_VERSIONS);
	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		int64_t crc, bytes;

		if (json_as_object(doc, at, err) < 0 ||
		    json_get_int(doc, at, "crc32c", 0, UINT32_MAX, &crc, err) < 0 ||
		    json_get_int(doc, at, "bytes", 0, INT64_C(1) << 40, &bytes, err) <
			    0)
			return -EINVAL;
		journal_add_version(entry, (struct journal_version){ (uint32_t)crc,
								     (uint64_t)bytes });
	}
	return 0;
}

/* Only what setup itself does: a forged journal removes nothing else. */
static bool
is_known(enum journal_kind kind, const char *target)
{
	switch (kind) {
	case JOURNAL_FILE_WRITTEN:
		return words_index(target, setup_files) >= 0;
	case JOURNAL_KEYS_MADE:
		return strcmp(target, SETUP_KEYS) == 0;
	default:
		return words_index(target, setup_units) >= 0;
	}
}

static int
read_entry(struct journal *journal, const struct json_doc *doc, const struct json *at,
	   struct err *err)
{
	const char *kind, *target;
	struct journal_entry *entry;
	int k;

	if (json_as_object(doc, at, err) < 0 ||
	    json_get_str(doc, at, "kind", &kind, err) < 0 ||
	    json_get_str(doc, at, "target", &target, err) < 0)
		return -EINVAL;
	k = words_index(kind, kind_names);
	if (k < 0 || !is_known((enum journal_kind)k, target))
		return json_fail(doc, at, err, "'%s %s' is no step of setup", kind,
				 target);
	entry = journal_put(journal, (enum journal_kind)k, target);
	if (json_opt_bool(doc, at, "is_made", &entry->is_made, err) < 0 ||
	    json_opt_bool(doc, at, "was_enabled", &entry->was_enabled, err) < 0 ||
	    json_opt_bool(doc, at, "was_active", &entry->was_active, err) < 0)
		return -EINVAL;
	return read_versions(doc, at, entry, err);
}

int
journal_parse(struct journal *journal, const char *file, const char *text,
	      size_t length, struct err *err)
{
	struct json_doc *doc = NULL;
	const struct json *array = NULL;
	size_t n = 0;
	int r;

	*journal = (struct journal){ VEC_EMPTY };
	r = json_parse(file, text, length, &doc, err);
	if (r == 0)
		r = json_check_schema(doc, SCHEMA, 1, err);
	if (r == 0)
		r = json_get_array(doc, json_root(doc), "entries", &array, &n, err);
	if (r == 0 && n > MAX_ENTRIES)
		r = json_fail(doc, array, err, "more than %d entries", MAX_ENTRIES);
	for (const struct json *at = r == 0 ? json_first(array) : NULL; r == 0 && at;
	     at = json_next(at))
		r = read_entry(journal, doc, at, err);
	json_doc_free(doc);
	if (r < 0)
		journal_fini(journal);
	return r < 0 ? -EINVAL : 0;
}

/* ---- File ------------------------------------------------------------------------ */

int
journal_load(struct journal *journal, const char *root, struct err *err)
{
	char *path = xasprintf("%s" JOURNAL_FILE, root), *text;
	size_t length;
	int r = 0;

	*journal = (struct journal){ VEC_EMPTY };
	if (access(path, F_OK) == 0 || errno != ENOENT) {
		r = file_read(path, MAX_BYTES, &text, &length, err);
		if (r == 0) {
			r = journal_parse(journal, path, text, length, err);
			free(text);
		}
	}
	free(path);
	return r;
}

int
journal_save(const struct journal *journal, const char *root, struct err *err)
{
	char *path = xasprintf("%s" JOURNAL_FILE, root), *text;
	char *dir = xasprintf("%s" JOURNAL_DIR, root);
	int r = 0;

	if (!journal->entries.n) {
		if (unlink(path) < 0 && errno != ENOENT)
			r = err_set_errno(err, path, errno, "cannot remove");
		/* A directory that has other files stays. */
		if (r == 0)
			rmdir(dir);
	} else {
		r = targets_make_dir(root, JOURNAL_DIR, err);
		text = journal_text(journal);
		if (r == 0)
			r = file_write(path, text, strlen(text), err);
		free(text);
	}
	free(dir);
	free(path);
	return r;
}
