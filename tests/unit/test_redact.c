/* SPDX-License-Identifier: Apache-2.0 */
/* test_redact.c - secrets do not get through; ordinary lines do. */
#include <string.h>

#include "cli/redact.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

static void
assert_redacted(const char *text, const char *wanted)
{
	struct strbuf out = STRBUF_EMPTY;

	redact(text, strlen(text), &out);
	assert_string_equal(out.text ? out.text : "", wanted);
	strbuf_free(&out);
}

static void
secrets_are_removed(void **state)
{
	(void)state;
	assert_redacted("http_token = hunter2 # x\nlog = info\n",
			"http_token = " REDACTED "\nlog = info\n");
	assert_redacted("{\"password\":\"pa ss\",\"a\":1}",
			"{\"password\":\"" REDACTED);
	assert_redacted("Authorization: Bearer abc", "Authorization: " REDACTED);
	assert_redacted("got 'Bearer abc'", "got 'Bearer " REDACTED);
	assert_redacted("get https://me:pw@host/x?token=abc ok",
			"get https://" REDACTED "@host/x?token=" REDACTED);
	assert_redacted("see https://me@host:1/x", "see https://" REDACTED "@host:1/x");
	/* A key of the bus, in Z85, and one of digits. */
	assert_redacted("public JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6 of h0",
			"public " REDACTED " of h0");
	assert_redacted("id=0123456789abcdef0123456789abcdef.", REDACTED);
	assert_redacted(
		"a\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n-----END EC PRIVATE "
		"KEY-----\nb\n",
		"a\n" REDACTED "\nb\n");
	assert_redacted("-----BEGIN PRIVATE KEY-----\nMHcCAQ\n", REDACTED "\n");
}

static void
the_rest_is_kept(void **state)
{
	static const char *const kept[] = {
		"",
		"\n",
		"leaf1:p3>spine0:p1 is over its capacity by 12.5 %\n\n  next",
		"scheduler.kubernetes_token_file  /var/run/x/token  default\n",
		"cannot open /etc/antiphase/token: No such file or directory",
		"keys = /etc/antiphase/keys\n",
		"/usr/lib/x86_64-linux-gnu/antiphase/Slurm25/spank_antiphase.so",
		"tcp://127.0.0.1:7461 https://example.org/a@b",
		"antiphase_scheduler_frames_refused_total{reason=\"host\"} 17",
	};

	(void)state;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		assert_redacted(kept[i], kept[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_removed),
		cmocka_unit_test(the_rest_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
