/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strtab.h"

#include <stdlib.h>
#include <string.h>

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

struct entry {
	char *name;        /* Owned. */
	uint32_t id;       /* Its place in 'entries'. */
	UT_hash_handle hh; /* By 'name'. */
};

struct strtab {
	struct entry *hash;          /* The same entries, by name. */
	VEC(struct entry *) entries; /* Owned; indexed by number; NULL: free. */
	VEC(uint32_t) free_ids;
};

struct strtab *
strtab_new(void)
{
	return xcalloc(1, sizeof(struct strtab));
}

void
strtab_free(struct strtab *tab)
{
	if (!tab)
		return;
	HASH_CLEAR(hh, tab->hash);
	for (size_t i = 0; i < tab->entries.n; i++) {
		if (!tab->entries.items[i])
			continue;
		free(tab->entries.items[i]->name);
		free(tab->entries.items[i]);
	}
	vec_free(&tab->entries);
	vec_free(&tab->free_ids);
	free(tab);
}

uint32_t
strtab_intern(struct strtab *tab, const char *name)
{
	size_t length = strlen(name);
	struct entry *entry;
	unsigned hash;

	HASH_VALUE(name, length, hash);
	HASH_FIND_BYHASHVALUE(hh, tab->hash, name, length, hash, entry);
	if (entry)
		return entry->id;

	entry = xcalloc(1, sizeof *entry);
	entry->name = xstrndup(name, length);
	if (tab->free_ids.n) {
		entry->id = tab->free_ids.items[--tab->free_ids.n];
	} else {
		BUG_ON(tab->entries.n >= STRTAB_NONE);
		entry->id = (uint32_t)tab->entries.n;
		vec_push(&tab->entries, NULL);
	}
	tab->entries.items[entry->id] = entry;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, tab->hash, entry->name, length, hash, entry);
	return entry->id;
}

void
strtab_remove(struct strtab *tab, uint32_t id)
{
	struct entry *entry;

	BUG_ON(id >= tab->entries.n || !tab->entries.items[id]);
	entry = tab->entries.items[id];
	HASH_DELETE(hh, tab->hash, entry);
	free(entry->name);
	free(entry);
	tab->entries.items[id] = NULL;
	vec_push(&tab->free_ids, id);
}

uint32_t
strtab_find(const struct strtab *tab, const char *name)
{
	struct entry *entry;

	HASH_FIND(hh, tab->hash, name, strlen(name), entry);
	return entry ? entry->id : STRTAB_NONE;
}

const char *
strtab_name(const struct strtab *tab, uint32_t id)
{
	BUG_ON(id >= tab->entries.n || !tab->entries.items[id]);
	return tab->entries.items[id]->name;
}

uint32_t
strtab_n(const struct strtab *tab)
{
	return (uint32_t)tab->entries.n;
}
