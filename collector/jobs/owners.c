/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/owners.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

struct owner *
owners_get(struct owners *owners, uid_t uid, const char *job)
{
	struct owner *owner;

	for (size_t i = 0; i < owners->items.n; i++)
		if (owners->items.items[i]->uid == uid &&
		    !strcmp(owners->items.items[i]->job, job))
			return owners->items.items[i];
	owner = xcalloc(1, sizeof *owner);
	owner->uid = uid;
	strcpy(owner->job, job);
	vec_push(&owners->items, owner);
	return owner;
}

size_t
owners_n_of_none(const struct owners *owners)
{
	size_t n = 0;

	for (size_t i = 0; i < owners->items.n; i++)
		if (!*owners->items.items[i]->job)
			n += owners->items.items[i]->n_connections;
	return n;
}

void
owners_second(struct owners *owners)
{
	size_t kept = 0;

	for (size_t i = 0; i < owners->items.n; i++) {
		struct owner *owner = owners->items.items[i];

		owner->n_read = 0;
		if (owner->n_connections)
			owners->items.items[kept++] = owner;
		else
			free(owner);
	}
	owners->items.n = kept;
}

void
owners_fini(struct owners *owners)
{
	for (size_t i = 0; i < owners->items.n; i++)
		free(owners->items.items[i]);
	vec_free(&owners->items);
}
