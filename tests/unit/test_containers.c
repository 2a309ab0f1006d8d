/* SPDX-License-Identifier: Apache-2.0 */
/* test_containers.c - allocation, strings and arrays */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "tests/unit/capture.h"
#include "tests/unit/test.h"

static void
copies_are_terminated_and_their_own(void **state)
{
	const uint32_t numbers[] = { 1, 2, 3 };
	uint32_t *copy = xmemdup(numbers, 3, sizeof *numbers);
	char *zeroes = xcalloc(10, 3), *text = xstrndup("abcdef", 3);
	char *formatted = xasprintf("%s-%d", text, 7);

	(void)state;
	assert_memory_equal(copy, numbers, sizeof numbers);
	assert_null(xmemdup(numbers, 0, sizeof *numbers));
	for (int i = 0; i < 30; i++)
		assert_int_equal(zeroes[i], 0);
	assert_string_equal(text, "abc");
	assert_string_equal(formatted, "abc-7");
	free(copy);
	free(zeroes);
	free(text);
	free(formatted);
}

/* Runs 'function', which must not return, in a child; returns its output. */
static char *
last_words(void (*function)(void))
{
	struct capture capture;
	int status = 0;
	pid_t child;
	char *text;

	capture_begin(&capture, STDERR_FILENO);
	child = fork();
	if (!child) {
		signal(SIGABRT, SIG_DFL);
		function();
		_exit(0);
	}
	waitpid(child, &status, 0);
	text = capture_end(&capture);
	assert_int_not_equal(status, 0);
	return text;
}

static void
ask_for_too_much(void)
{
	xreallocarray(NULL, SIZE_MAX / 2, 4);
}

static void
find_a_bug(void)
{
	int n = 3;

	BUG_ON(n == 2);
	BUG("n is %d", n);
}

static void
too_large_a_product_aborts_instead_of_wrapping_round(void **state)
{
	char *text = last_words(ask_for_too_much);

	(void)state;
	/* The address sanitizer has its own message. */
	assert_true(strstr(text, "antiphase: out of memory") ||
		    strstr(text, "reallocarray-overflow"));
	free(text);
}

static void
bugs_say_where_they_were_noticed(void **state)
{
	char *text = last_words(find_a_bug);

	(void)state;
	assert_non_null(strstr(text, "bug at tests/unit/test_containers.c:"));
	assert_non_null(strstr(text, "n is 3"));
	free(text);
}

static void
a_string_is_terminated_at_every_moment(void **state)
{
	struct strbuf sb = STRBUF_EMPTY;
	char *stolen;

	(void)state;
	assert_string_equal(sb.text, "");
	strbuf_clear(&sb);
	strbuf_puts(&sb, "ab");
	strbuf_putc(&sb, 'c');
	strbuf_add(&sb, "d\0e", 3);
	assert_int_equal(sb.length, 6);
	assert_memory_equal(sb.text, "abcd\0e", 7);
	strbuf_clear(&sb);
	assert_string_equal(sb.text, "");
	strbuf_printf(&sb, "%d %s", 12, "x");
	stolen = strbuf_steal(&sb);
	assert_string_equal(stolen, "12 x");
	assert_string_equal(sb.text, "");
	free(stolen);

	stolen = strbuf_steal(&sb); /* An empty string, to be freed. */
	assert_string_equal(stolen, "");
	free(stolen);
	strbuf_free(&sb);
	strbuf_free(&sb);
}

static void
random_additions_agree_with_a_plain_array(void **state)
{
	static char want[200000];
	struct strbuf sb = STRBUF_EMPTY;
	size_t length = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 15);
	for (int i = 0; i < 3000; i++) {
		char piece[64];
		size_t n = rng_below(&rng, 60);

		memset(piece, 'a' + i % 26, sizeof piece);
		piece[n] = '\0';
		switch (rng_below(&rng, 3)) {
		case 0:
			strbuf_puts(&sb, piece);
			break;
		case 1:
			strbuf_printf(&sb, "%s", piece);
			break;
		default:
			for (int j = 0; piece[j]; j++)
				strbuf_putc(&sb, piece[j]);
		}
		strcpy(want + length, piece);
		length += strlen(piece);
		assert_int_equal(sb.length, length);
		assert_true(sb.length < sb.capacity);
	}
	assert_string_equal(sb.text, want);
	strbuf_free(&sb);
}

static void
an_array_keeps_what_is_pushed(void **state)
{
	VEC(uint32_t) v = VEC_EMPTY;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		vec_push(&v, i * 3);
		assert_true(v.n == i + 1 && v.n <= v.capacity);
	}
	for (uint32_t i = 0; i < v.n; i++)
		assert_int_equal(v.items[i], i * 3);
	vec_reserve(&v, 1000000);
	assert_true(v.capacity >= 1100000);
	assert_int_equal(v.items[99999], 299997);
	vec_free(&v);
	assert_true(!v.items && !v.n && !v.capacity);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_terminated_and_their_own),
		cmocka_unit_test(too_large_a_product_aborts_instead_of_wrapping_round),
		cmocka_unit_test(bugs_say_where_they_were_noticed),
		cmocka_unit_test(a_string_is_terminated_at_every_moment),
		cmocka_unit_test(random_additions_agree_with_a_plain_array),
		cmocka_unit_test(an_array_keeps_what_is_pushed),
	};

	return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
