/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/store/store_priv.h"

/* How many names of recently used links and jobs are remembered, at most. */
#define MAX_KNOWN 200000

/* The resolution of a name's last use in the file. */
#define SEEN_US INT64_C(86400000000)

int64_t
store_find_name(struct store *store, const char *name)
{
	sqlite3_stmt *find;
	int64_t id = 0;

	if (store->names) {
		uint32_t number = strtab_find(store->names, name);

		if (number != STRTAB_NONE)
			return store->known.items[number].id;
	}
	find = store_statement(store, SQL_NAME_FIND);
	if (!find)
		return 0;
	sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(find) == SQLITE_ROW)
		id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	return id;
}

/* Finds a name in the file, or adds it. */
static struct store_name
name_in_file(struct store *store, const char *name, int64_t at_us)
{
	sqlite3_stmt *find = store_statement(store, SQL_NAME_FIND), *add;
	struct store_name found = { 0 };

	if (!find)
		return found;
	sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(find) == SQLITE_ROW)
		found = (struct store_name){ .id = sqlite3_column_int64(find, 0),
					     .seen_us = sqlite3_column_int64(find, 1) };
	sqlite3_reset(find);
	if (found.id)
		return found;
	add = store_statement(store, SQL_NAME_ADD);
	if (!add)
		return found;
	sqlite3_bind_text(add, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(add, 2, at_us);
	if (store_run(store, add) == 0)
		found = (struct store_name){ .id = sqlite3_last_insert_rowid(store->db),
					     .seen_us = at_us };
	return found;
}

int64_t
store_name(struct store *store, const char *name, int64_t at_us)
{
	struct store_name *known;
	uint32_t number;

	if (store->names && strtab_n(store->names) >= MAX_KNOWN)
		store_forget_names(store);
	if (!store->names)
		store->names = strtab_new();
	number = strtab_intern(store->names, name);
	if (number == store->known.n)
		vec_push(&store->known, name_in_file(store, name, at_us));
	known = &store->known.items[number];
	if (known->id && at_us - known->seen_us > SEEN_US) {
		sqlite3_stmt *seen = store_statement(store, SQL_NAME_SEEN);

		if (seen) {
			sqlite3_bind_int64(seen, 1, known->id);
			sqlite3_bind_int64(seen, 2, at_us);
			store_run(store, seen);
			known->seen_us = at_us;
		}
	}
	return known->id;
}
