/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hostlist.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"

struct names {
	VEC(char *) list;
};

static int
keep(void *ctx, const char *name)
{
	struct names *names = ctx;

	vec_push(&names->list, xstrdup(name));
	return 0;
}

static void
free_names(struct names *names)
{
	for (size_t i = 0; i < names->list.n; i++)
		free(names->list.items[i]);
	vec_free(&names->list);
}

/* 'want' has the names, separated by blanks. */
static void
assert_expands(const char *text, const char *want)
{
	struct names names = { .list = VEC_EMPTY };
	struct strbuf got = STRBUF_EMPTY;
	const char *why = NULL;

	if (hostlist_expand(text, 1000, keep, &names, &why) < 0)
		fail_msg("'%s' was refused: %s", text, why);
	for (size_t i = 0; i < names.list.n; i++)
		strbuf_printf(&got, "%s%s", i ? " " : "", names.list.items[i]);
	assert_string_equal(got.text, want);
	strbuf_free(&got);
	free_names(&names);
}

static void
assert_refused(const char *text, int want, const char *part)
{
	struct names names = { .list = VEC_EMPTY };
	const char *why = "";
	int result = hostlist_expand(text, 100, keep, &names, &why);

	if (result != want || !strstr(why, part))
		fail_msg("'%s' gave %d, '%s'", text, result, why);
	free_names(&names);
}

static void
ranges_expand_as_slurm_writes_them(void **state)
{
	(void)state;
	assert_expands("n1", "n1");
	assert_expands("n[01-03,20],gpu7", "n01 n02 n03 n20 gpu7");
	assert_expands("n[8-11]", "n8 n9 n10 n11");
	assert_expands("n[08-11]", "n08 n09 n10 n11");
	assert_expands("n[098-101]", "n098 n099 n100 n101");
	assert_expands("n[99-101]", "n99 n100 n101");
	assert_expands("n[5]-ib0", "n5-ib0");
	assert_expands("[1-3]", "1 2 3");
	assert_expands("r[0-1]n[1-2,5]", "r0n1 r0n2 r0n5 r1n1 r1n2 r1n5");
	assert_expands(" a , b\t,c ", "a b c");
	assert_expands("a,a", "a a");
	assert_expands("n[5-5,07-07]", "n5 n07");
}

static void
what_is_no_host_list_is_refused_with_a_reason(void **state)
{
	(void)state;
	assert_refused("", -EINVAL, "a name is missing");
	assert_refused("a,,b", -EINVAL, "a name is missing");
	assert_refused("a,", -EINVAL, "a name is missing");
	assert_refused("a b", -EINVAL, "expected ','");
	assert_refused("n[1-3", -EINVAL, "not closed");
	assert_refused("n1-3]", -EINVAL, "']' without '['");
	assert_refused("n[]", -EINVAL, "expected a number");
	assert_refused("n[1,]", -EINVAL, "expected a number");
	assert_refused("n[a-b]", -EINVAL, "expected a number");
	assert_refused("n[-3]", -EINVAL, "expected a number");
	assert_refused("n[1-]", -EINVAL, "after '-'");
	assert_refused("n[1-2-3]", -EINVAL, "expected ',' or ']'");
	assert_refused("n[1[2]]", -EINVAL, "expected ',' or ']'");
	assert_refused("n[5-3]", -EINVAL, "backwards");
	assert_refused("n[1-010]", -EINVAL, "padded to different lengths");
	assert_refused("a[1]b[1]c[1]", -EINVAL, "more than two");
	assert_refused("n[1234567890123456789]", -EINVAL, "18 digits");
	assert_refused("a\nb", -EINVAL, "control character");
}

static void
names_are_limited_in_number_and_length(void **state)
{
	struct names names = { .list = VEC_EMPTY };
	char text[300];
	const char *why;

	(void)state;
	assert_refused("n[1-101]", -E2BIG, "too many");
	assert_refused("n[0-999999999999999999]", -E2BIG, "too many");
	assert_refused("n[0-99999]m[0-99999]", -E2BIG, "too many");
	assert_int_equal(hostlist_expand("n[1-100]", 100, keep, &names, &why), 0);
	assert_int_equal(names.list.n, 100);
	free_names(&names);

	memset(text, 'x', sizeof text);
	text[HOSTLIST_MAX_NAME] = '\0';
	assert_expands(text, text);
	text[HOSTLIST_MAX_NAME] = 'x';
	text[HOSTLIST_MAX_NAME + 1] = '\0';
	assert_refused(text, -EINVAL, "longer than 255");
	strcpy(text + HOSTLIST_MAX_NAME - 1, "[9-10]");
	assert_refused(text, -EINVAL, "longer than 255");
}

static int
stop_at_third(void *ctx, const char *name)
{
	(void)name;
	return ++*(int *)ctx == 3 ? -ECANCELED : 0;
}

static void
the_callers_failure_ends_the_expansion(void **state)
{
	const char *why;
	int n_calls = 0;

	(void)state;
	assert_int_equal(
		hostlist_expand("a[1-9]b[1-9]", 100, stop_at_third, &n_calls, &why),
		-ECANCELED);
	assert_int_equal(n_calls, 3);
}

static void
assert_folds(const char *const *names, size_t n, const char *want)
{
	struct strbuf got = STRBUF_EMPTY;

	hostlist_fold(names, n, &got);
	assert_string_equal(got.text, want);
	strbuf_free(&got);
}

static void
neighbours_fold_into_ranges(void **state)
{
	(void)state;
	assert_folds((const char *const[]){ "n01", "n02", "n03", "n20", "gpu7" }, 5,
		     "n[01-03,20],gpu7");
	assert_folds((const char *const[]){ "n9", "n10", "n11" }, 3, "n[9-11]");
	assert_folds((const char *const[]){ "n09", "n10", "n011" }, 3, "n[09-10,011]");
	assert_folds((const char *const[]){ "n1", "n02" }, 2, "n[1,02]");
	assert_folds((const char *const[]){ "n3", "n2", "n1" }, 3, "n[3,2,1]");
	assert_folds((const char *const[]){ "a", "b", "b1" }, 3, "a,b,b1");
	assert_folds((const char *const[]){ "r1-ib", "r2-ib", "r3" }, 3,
		     "r[1-2]-ib,r3");
	assert_folds(NULL, 0, "");
	/* Only the last 18 digits count. */
	assert_folds((const char *const[]){ "n10000000000000000019",
					    "n10000000000000000020" },
		     2, "n10[000000000000000019-000000000000000020]");
}

/* Names of few parts, so that neighbors are likely. */
static char *
random_name(struct rng *rng, const char *before)
{
	static const char *const prefixes[] = { "n", "n", "gpu", "r1n", "" };
	static const char *const suffixes[] = { "", "", "", "-ib", ".a" };
	unsigned long long number = rng_below(rng, 12);
	size_t last = before ? strcspn(before, "0123456789") : 0;

	/* Half of the names continue from the previous one. */
	if (before && before[last] && rng_below(rng, 2)) {
		const char *end = before + last + strspn(before + last, "0123456789");
		int width = before[last] == '0' ? (int)(end - before - (long)last) : 0;

		return xasprintf("%.*s%0*llu%s", (int)last, before, width,
				 strtoull(before + last, NULL, 10) + 1, end);
	}
	if (rng_below(rng, 10) == 0)
		return xstrdup("login");
	if (rng_below(rng, 10) == 0)
		number = 999999999999999990ull + number;
	return xasprintf("%s%0*llu%s", prefixes[rng_below(rng, 5)],
			 (int)rng_below(rng, 4), number, suffixes[rng_below(rng, 5)]);
}

static void
expanding_a_folded_list_gives_the_list(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	for (int round = 0; round < 2000; round++) {
		struct names want = { .list = VEC_EMPTY }, got = { .list = VEC_EMPTY };
		size_t n = 1 + rng_below(&rng, 40);
		struct strbuf folded = STRBUF_EMPTY;
		const char *why = "";

		for (size_t i = 0; i < n; i++) {
			char *name =
				random_name(&rng, i ? want.list.items[i - 1] : NULL);

			vec_push(&want.list, name);
		}
		hostlist_fold((const char *const *)want.list.items, n, &folded);
		if (hostlist_expand(folded.text, n, keep, &got, &why) < 0)
			fail_msg("'%s' was refused: %s", folded.text, why);
		assert_int_equal(got.list.n, n);
		for (size_t i = 0; i < n; i++)
			assert_string_equal(got.list.items[i], want.list.items[i]);
		strbuf_free(&folded);
		free_names(&want);
		free_names(&got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_expand_as_slurm_writes_them),
		cmocka_unit_test(what_is_no_host_list_is_refused_with_a_reason),
		cmocka_unit_test(names_are_limited_in_number_and_length),
		cmocka_unit_test(the_callers_failure_ends_the_expansion),
		cmocka_unit_test(neighbours_fold_into_ranges),
		cmocka_unit_test(expanding_a_folded_list_gives_the_list),
	};

	return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
