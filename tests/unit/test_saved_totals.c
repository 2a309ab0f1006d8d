/* SPDX-License-Identifier: Apache-2.0 */
/* test_saved_totals.c - totals across any end of the process */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/series/saved_totals.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

static const uint8_t boot[16] = { 1, 2, 3 }, other_boot[16] = { 9 };
static char file[64];

static struct saved_totals *
opened(const uint8_t *id)
{
	struct saved_totals *totals = NULL;
	struct err err = { 0 };

	assert_int_equal(saved_totals_open(file, id, &totals, &err), 0);
	return totals;
}

static struct saved_totals_row
row(const char *interface, const char *job, uint64_t bytes)
{
	struct saved_totals_row r = { .owner = *job ? SAVED_TOTALS_JOB
						    : SAVED_TOTALS_LINK,
				      .direction = TELE_RX,
				      .bytes = bytes,
				      .packets = bytes / 1000,
				      .ce = 3,
				      .retransmits = 4 };

	snprintf(r.interface, sizeof r.interface, "%s", interface);
	snprintf(r.job, sizeof r.job, "%s", job);
	return r;
}

static void
write_two(struct saved_totals *totals, uint64_t bytes)
{
	struct saved_totals_row link = row("eth0", "", bytes),
				job = row("eth0", "4711", 7);

	saved_totals_begin(totals);
	assert_int_equal(saved_totals_add(totals, &link), 0);
	assert_int_equal(saved_totals_add(totals, &job), 0);
	saved_totals_commit(totals);
}

static void
finds_two(uint64_t bytes)
{
	struct saved_totals *totals = opened(boot);
	struct saved_totals_row link = row("eth0", "", bytes),
				job = row("eth0", "4711", 7);
	const struct saved_totals_row *found;
	size_t n;

	found = saved_totals_found(totals, &n);
	assert_int_equal(n, 2);
	assert_memory_equal(&found[0], &link, sizeof link);
	assert_memory_equal(&found[1], &job, sizeof job);
	assert_null(saved_totals_complaint(totals));
	saved_totals_close(totals);
}

static void
finds_none(const uint8_t *id, const char *complaint)
{
	struct saved_totals *totals = opened(id);
	size_t n = 99;

	saved_totals_found(totals, &n);
	assert_int_equal(n, 0);
	if (!complaint)
		assert_null(saved_totals_complaint(totals));
	else
		assert_non_null(strstr(saved_totals_complaint(totals), complaint));
	saved_totals_close(totals);
}

static void
what_was_committed_is_found_again(void **state)
{
	struct saved_totals *totals;

	(void)state;
	unlink(file);
	finds_none(boot, NULL);
	for (uint64_t i = 1; i < 5; i++) {
		totals = opened(boot);
		write_two(totals, 1000 * i);
		write_two(totals, 1000 * i + 1);
		saved_totals_close(totals);
		finds_two(1000 * i + 1);
	}
	saved_totals_close(NULL);
}

static void
another_boot_starts_anew(void **state)
{
	struct saved_totals *totals;

	(void)state;
	unlink(file);
	totals = opened(boot);
	write_two(totals, 5);
	saved_totals_close(totals);
	finds_none(other_boot, "earlier boot");
	/* The file now belongs to the other boot. */
	finds_none(boot, "earlier boot");
	finds_none(boot, NULL);
}

static void
a_writer_that_is_killed_leaves_a_whole_table(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		struct saved_totals *totals;
		const struct saved_totals_row *found;
		int pipes[2];
		pid_t child;
		size_t n;
		char one;

		unlink(file);
		assert_int_equal(pipe(pipes), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			totals = opened(boot);
			close(pipes[0]);
			for (uint64_t turn = 1;; turn++) {
				saved_totals_begin(totals);
				for (uint64_t k = 0; k < 500; k++) {
					struct saved_totals_row r =
						row("eth0", "j", turn);

					saved_totals_add(totals, &r);
				}
				saved_totals_commit(totals);
				if (turn == 1 && write(pipes[1], "", 1) != 1)
					_exit(1);
			}
		}
		close(pipes[1]);
		assert_int_equal(read(pipes[0], &one, 1), 1);
		close(pipes[0]);
		usleep(1000 + 1700 * i);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		totals = opened(boot);
		found = saved_totals_found(totals, &n);
		assert_int_equal(n, 500);
		for (size_t k = 1; k < n; k++)
			assert_int_equal(found[k].bytes, found[0].bytes);
		saved_totals_close(totals);
	}
}

static void
only_one_may_have_it(void **state)
{
	struct saved_totals *totals, *second;
	struct err err = { 0 };

	(void)state;
	unlink(file);
	totals = opened(boot);
	assert_int_equal(saved_totals_open(file, boot, &second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another collector"));
	saved_totals_close(totals);
	totals = opened(boot);
	saved_totals_close(totals);
}

/* With any byte changed, the result is one of the two tables or nothing. */
static void
damage_is_never_taken_for_totals(void **state)
{
	struct rng rng;
	struct saved_totals *totals;
	size_t found_n = 0, lost_n = 0;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < 300; i++) {
		const struct saved_totals_row *found;
		/* In the header and the rows of the first half. */
		off_t at = (off_t)rng_below(&rng, 500);
		unsigned char byte;
		int fd;
		size_t n;

		unlink(file);
		totals = opened(boot);
		write_two(totals, 1111);
		write_two(totals, 2222);
		saved_totals_close(totals);
		fd = open(file, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= (unsigned char)(1 + rng_below(&rng, 255));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		totals = opened(boot);
		found = saved_totals_found(totals, &n);
		assert_true(n == 0 || n == 2);
		if (n)
			assert_true(found[0].bytes == 1111 || found[0].bytes == 2222);
		found_n += n != 0;
		lost_n += n == 0;
		saved_totals_close(totals);
	}
	assert_true(found_n > 0 && lost_n > 0);
}

static void
a_right_checksum_of_nonsense_is_not_believed(void **state)
{
	struct saved_totals *totals;
	struct saved_totals_row bad = row("eth0", "4711", 1);
	size_t n;

	(void)state;
	for (int i = 0; i < 3; i++) {
		unlink(file);
		totals = opened(boot);
		bad = row("eth0", "4711", 1);
		if (i == 0)
			memset(bad.interface, 'x', sizeof bad.interface);
		else if (i == 1)
			bad.direction = 2;
		else
			bad.owner = SAVED_TOTALS_LINK; /* With a job's name. */
		saved_totals_begin(totals);
		saved_totals_add(totals, &bad);
		saved_totals_commit(totals);
		saved_totals_close(totals);
		totals = opened(boot);
		saved_totals_found(totals, &n);
		assert_int_equal(n, 0);
		assert_non_null(strstr(saved_totals_complaint(totals), "damaged"));
		saved_totals_close(totals);
	}
}

static void
no_such_file_is_made_of_it_and_a_short_one_does(void **state)
{
	struct saved_totals *totals;
	struct err err = { 0 };
	int fd;

	(void)state;
	unlink(file);
	fd = open(file, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "hello, world", 12), 12);
	close(fd);
	finds_none(boot, "no such file");
	assert_int_equal(truncate(file, 3), 0);
	finds_none(boot, "no such file");
	unlink(file);
	assert_int_equal(symlink("/tmp/ap-elsewhere", file), 0);
	assert_int_equal(saved_totals_open(file, boot, &totals, &err), -ELOOP);
	assert_int_equal(saved_totals_open("/no/such/dir/t", boot, &totals, &err),
			 -ENOENT);
	unlink(file);
}

static void
the_row_too_many_is_refused(void **state)
{
	struct saved_totals *totals;
	struct saved_totals_row r = row("eth0", "j", 1);
	size_t n;

	(void)state;
	unlink(file);
	totals = opened(boot);
	saved_totals_begin(totals);
	for (int i = 0; i < SAVED_TOTALS_MAX; i++)
		assert_int_equal(saved_totals_add(totals, &r), 0);
	assert_int_equal(saved_totals_add(totals, &r), -ENOSPC);
	saved_totals_commit(totals);
	saved_totals_close(totals);
	totals = opened(boot);
	saved_totals_found(totals, &n);
	assert_int_equal(n, SAVED_TOTALS_MAX);
	saved_totals_close(totals);
	unlink(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_committed_is_found_again),
		cmocka_unit_test(another_boot_starts_anew),
		cmocka_unit_test(a_writer_that_is_killed_leaves_a_whole_table),
		cmocka_unit_test(only_one_may_have_it),
		cmocka_unit_test(damage_is_never_taken_for_totals),
		cmocka_unit_test(a_right_checksum_of_nonsense_is_not_believed),
		cmocka_unit_test(no_such_file_is_made_of_it_and_a_short_one_does),
		cmocka_unit_test(the_row_too_many_is_refused),
	};

	snprintf(file, sizeof file, "/tmp/ap-totals-%d", (int)getpid());
	return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
