/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_profiles_json.c - texts as profile files, written and read again if accepted */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/profile/profile_json.h"
#include "tests/fuzz/fuzz.h"

static void
check_round_trip(const struct profile_list *list)
{
	struct profile_list back;
	size_t length;
	char *text = profile_json_text(list, &length);

	BUG_ON(profile_json_parse("again", text, length, &back, NULL) < 0);
	BUG_ON(back.n != list->n);
	for (size_t i = 0; i < list->n; i++) {
		BUG_ON(back.items[i].n_phases != list->items[i].n_phases);
		BUG_ON(strcmp(back.items[i].job, list->items[i].job) != 0);
	}
	profile_list_fini(&back);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct profile_list list;
	struct err err = { 0 };

	/* The position of an error is searched for, so keep the product small. */
	if (size <= 4096) {
		if (profile_json_parse("fuzz", text, size, &list, &err) < 0) {
			BUG_ON(!err.text[0]);
		} else {
			check_round_trip(&list);
			profile_list_fini(&list);
		}
	}
	free(text);
	return 0;
}
