/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/modes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "scheduler/scheduler_driver.h"

const char *const mode_names[] = { "observe", "advise", "enforce", NULL };

static int
take_one(struct modes *modes, char *word, struct err *err)
{
	char *equals = strchr(word, '=');
	int mode;

	if (!equals)
		return err_set(err, NULL, 0, 0,
			       "'%s' is no PARTITION=MODE, such as train=enforce",
			       word);
	*equals = '\0';
	mode = words_index(equals + 1, mode_names);
	if (mode < 0) {
		err_set(err, NULL, 0, 0,
			"'%s' is not a mode; it is observe, advise or enforce",
			equals + 1);
		err_suggest(err, equals + 1, mode_names);
		return -EINVAL;
	}
	if (!words_is_name(word, MODES_MAX_NAME))
		return err_set(err, NULL, 0, 0,
			       "'%s' is not a valid name of a partition", word);
	if (modes_change(modes, word, (enum mode)mode) < 0)
		return err_set(err, NULL, 0, 0, "more than %d partitions",
			       MODES_MAX_PARTITIONS);
	return 0;
}

int
modes_parse(const char *usual, const char *list, struct modes *ret_modes,
	    struct err *err)
{
	int mode = words_index(usual, mode_names), rc = 0;
	struct modes modes = { .others = VEC_EMPTY };
	char *words = xstrdup(list), *rest = NULL;

	if (mode < 0)
		rc = err_set(err, NULL, 0, 0, "'%s' is not a mode", usual);
	else
		modes.usual = (enum mode)mode;
	for (char *word = strtok_r(words, ", ", &rest); word && rc == 0;
	     word = strtok_r(NULL, ", ", &rest))
		rc = take_one(&modes, word, err);
	free(words);
	if (rc < 0)
		modes_fini(&modes);
	else
		*ret_modes = modes;
	return rc;
}

int
modes_read_movers(struct modes *modes, const char *list, struct err *err)
{
	char *words = xstrdup(list), *rest = NULL;
	int rc = 0;

	for (char *word = strtok_r(words, ", ", &rest); word && rc == 0;
	     word = strtok_r(NULL, ", ", &rest)) {
		if (!words_is_name(word, MODES_MAX_NAME))
			rc = err_set(err, NULL, 0, 0,
				     "'%s' is not a valid name of a partition", word);
		else if (modes->movers.n >= MODES_MAX_PARTITIONS)
			rc = err_set(err, NULL, 0, 0, "more than %d partitions",
				     MODES_MAX_PARTITIONS);
		else
			vec_push(&modes->movers, xstrdup(word));
	}
	free(words);
	return rc;
}

void
modes_fini(struct modes *modes)
{
	for (size_t i = 0; i < modes->others.n; i++)
		free(modes->others.items[i].partition);
	vec_free(&modes->others);
	for (size_t i = 0; i < modes->movers.n; i++)
		free(modes->movers.items[i]);
	vec_free(&modes->movers);
}

bool
modes_may_move(const struct modes *modes, const char *partition)
{
	if (modes_now(modes, partition) != MODE_ENFORCE)
		return false;
	for (size_t i = 0; i < modes->movers.n; i++)
		if (strcmp(modes->movers.items[i], partition) == 0)
			return true;
	return false;
}

enum mode
modes_set_for(const struct modes *modes, const char *partition)
{
	for (size_t i = 0; i < modes->others.n; i++)
		if (strcmp(modes->others.items[i].partition, partition) == 0)
			return modes->others.items[i].mode;
	return modes->usual;
}

enum mode
modes_now(const struct modes *modes, const char *partition)
{
	return modes->is_stopped ? MODE_OBSERVE : modes_set_for(modes, partition);
}

int
modes_change(struct modes *modes, const char *partition, enum mode mode)
{
	if (!partition || !*partition) {
		modes->usual = mode;
		return 0;
	}
	if (!words_is_name(partition, MODES_MAX_NAME))
		return -EINVAL;
	for (size_t i = 0; i < modes->others.n; i++) {
		if (strcmp(modes->others.items[i].partition, partition) != 0)
			continue;
		modes->others.items[i].mode = mode;
		return 0;
	}
	if (modes->others.n >= MODES_MAX_PARTITIONS)
		return -E2BIG;
	vec_push(&modes->others,
		 ((struct mode_of_partition){ xstrdup(partition), mode }));
	return 0;
}

bool
modes_any(const struct modes *modes, enum mode mode)
{
	if (modes->is_stopped)
		return mode == MODE_OBSERVE;
	if (modes->usual == mode)
		return true;
	for (size_t i = 0; i < modes->others.n; i++)
		if (modes->others.items[i].mode == mode)
			return true;
	return false;
}

static bool
has_mode(const struct modes *modes, const char *partition)
{
	for (size_t i = 0; i < modes->others.n; i++)
		if (strcmp(modes->others.items[i].partition, partition) == 0)
			return true;
	return false;
}

/* Returns 1 if the partition is unknown, and names it behind 'n_before' others. */
static size_t
add_if_unknown(const char *name, const char *const *known, size_t n_before,
	       struct strbuf *out)
{
	const char *meant;

	if (words_index(name, known) >= 0)
		return 0;
	meant = err_did_you_mean(name, known);
	strbuf_printf(out, "%s%s", n_before ? ", " : "", name);
	if (meant)
		strbuf_printf(out, " (did you mean '%s'?)", meant);
	return 1;
}

size_t
modes_add_unknown(const struct modes *modes, const struct sched_snapshot *snapshot,
		  struct strbuf *out)
{
	VEC(char *) known = VEC_EMPTY;
	size_t n = 0;

	/* There are few partitions, and nodes repeat them. */
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		char *list = xstrdup(snapshot->nodes[i].partitions), *rest = NULL;

		for (char *word = strtok_r(list, ",", &rest); word;
		     word = strtok_r(NULL, ",", &rest)) {
			size_t k = 0;

			while (k < known.n && strcmp(known.items[k], word) != 0)
				k++;
			if (k == known.n)
				vec_push(&known, xstrdup(word));
		}
		free(list);
	}
	vec_push(&known, NULL);
	for (size_t i = 0; i < modes->others.n; i++)
		n += add_if_unknown(modes->others.items[i].partition,
				    (const char *const *)known.items, n, out);
	for (size_t i = 0; i < modes->movers.n; i++)
		if (!has_mode(modes, modes->movers.items[i]))
			n += add_if_unknown(modes->movers.items[i],
					    (const char *const *)known.items, n, out);
	for (size_t i = 0; i < known.n; i++)
		free(known.items[i]);
	vec_free(&known);
	return n;
}
