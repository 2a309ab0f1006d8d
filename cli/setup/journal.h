/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - what 'antiphase setup' did to a host, so that it can be taken back
 *
 * Each step is in the journal before it is taken, so that a kill at any moment loses
 * nothing: the disk tells whether it took effect.  A file is ours, unchanged, while its
 * checksum is one of those in the journal.
 *
 * The journal is root's, and not beside files of the daemons' user, who could make root
 * remove other files with it.  Besides, only the steps that setup knows are accepted.
 */
#ifndef CLI_SETUP_JOURNAL_H
#define CLI_SETUP_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct err;

#define JOURNAL_DIR  "/var/lib/antiphase-setup"
#define JOURNAL_FILE JOURNAL_DIR "/journal.json"

enum journal_kind {
	JOURNAL_FILE_WRITTEN, /* 'target' is a path. */
	JOURNAL_KEYS_MADE,    /* A directory; the versions are those of self.pub. */
	JOURNAL_UNIT_ENABLED, /* A unit, which was not enabled or did not run. */
	JOURNAL_RESTART,      /* A unit that is still to be restarted. */
	N_JOURNAL_KINDS,
};

#define JOURNAL_VERSIONS 2 /* That before an update, and that after it. */

struct journal_version {
	uint32_t crc32c;
	uint64_t bytes;
};

struct journal_entry {
	enum journal_kind kind;
	char *target; /* Owned.  Without the root. */
	bool is_made; /* Its directory did not exist: undo removes it if it is empty. */
	bool was_enabled, was_active; /* Of a unit, before. */
	struct journal_version versions[JOURNAL_VERSIONS];
	size_t n_versions;
};

struct journal {
	VEC(struct journal_entry) entries; /* In the order of the steps. */
};

struct journal_version journal_version_of(const char *text, size_t length);

/* The entry, or NULL; borrowed until the next change. */
struct journal_entry *journal_find(const struct journal *journal,
				   enum journal_kind kind, const char *target);
/* The same, added if it is new. */
struct journal_entry *journal_put(struct journal *journal, enum journal_kind kind,
				  const char *target);
void journal_remove(struct journal *journal, enum journal_kind kind,
		    const char *target);
void journal_fini(struct journal *journal);

/* Adds a version; of more than JOURNAL_VERSIONS, the first goes. */
void journal_add_version(struct journal_entry *entry, struct journal_version version);
bool journal_has_version(const struct journal_entry *entry,
			 struct journal_version version);

/* antiphase.setup_journal/1 as a new string. */
char *journal_text(const struct journal *journal);
/* Reads it; 0, or -EINVAL with 'err' filled and the journal empty. */
int journal_parse(struct journal *journal, const char *file, const char *text,
		  size_t length, struct err *err);

/* Reads ROOT/JOURNAL_FILE; without one it is empty.  0, or -errno with 'err' filled. */
int journal_load(struct journal *journal, const char *root, struct err *err);
/*
 * Replaces the file, and flushes it to the disk; an empty journal is no file and no
 * directory.  0, or -errno with 'err' filled.
 */
int journal_save(const struct journal *journal, const char *root, struct err *err);

#endif
