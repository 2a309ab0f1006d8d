/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_batches.c - jobs whose batch size changes: durations and reports */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/replay/replay_batches.h"
#include "tests/unit/test.h"

/* Of the language model, which has 5968, 2984, 1492, 746 steps per epoch of 10 to 80. */
static const char text[] =
	"{\"v100\": {\"('LM (batch size 10)', 1)\": {\"null\": 59.68},\n"
	" \"('LM (batch size 20)', 1)\": {\"null\": 59.68},\n"
	" \"('LM (batch size 40)', 1)\": {\"null\": 59.68},\n"
	" \"('LM (batch size 80)', 1)\": {\"null\": 37.3}}}\n";

static struct throughputs *
load(void)
{
	char path[] = "/tmp/antiphase-speeds-XXXXXX";
	int fd = mkstemp(path);
	struct throughputs *speeds;
	struct err err = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
	close(fd);
	assert_int_equal(throughputs_load(path, &speeds, &err), 0);
	unlink(path);
	return speeds;
}

static struct cluster_job
job_of(enum batch_mode mode, uint32_t batch, double n_steps)
{
	return (struct cluster_job){ .n_gpus = 1,
				     .batch = batch,
				     .batch_mode = mode,
				     .iterations = n_steps,
				     .duration_s = 12345 };
}

/* Gradient noise doubles a batch of 10 in the epochs 11, 21 and 41. */
static void
batches_grow_with_the_noise(void **state)
{
	const struct batch_model *lm = batch_model_find("LM");

	(void)state;
	assert_int_equal(batch_steps(lm, 10), 5968);
	assert_int_equal(batch_of_epoch(lm, BATCH_GNS, 10, 1, 10, 50), 10);
	assert_int_equal(batch_of_epoch(lm, BATCH_GNS, 10, 1, 11, 50), 20);
	assert_int_equal(batch_of_epoch(lm, BATCH_GNS, 10, 1, 40, 50), 40);
	assert_int_equal(batch_of_epoch(lm, BATCH_GNS, 10, 1, 41, 50), 80);
	assert_int_equal(batch_of_epoch(lm, BATCH_STATIC, 10, 1, 41, 50), 10);
	/* Not before the tenth epoch, nor in the first three tenths. */
	assert_int_equal(batch_of_epoch(lm, BATCH_ACCORDION, 10, 1, 9, 20), 10);
	assert_int_equal(batch_of_epoch(lm, BATCH_ACCORDION, 10, 1, 10, 20), 80);
	assert_int_equal(batch_of_epoch(lm, BATCH_ACCORDION, 10, 1, 15, 50), 10);
	assert_int_equal(batch_of_epoch(lm, BATCH_ACCORDION, 10, 1, 16, 50), 80);
	assert_null(batch_model_find("VGG"));
	assert_int_equal(batch_mode_of(""), BATCH_STATIC);
	assert_int_equal(batch_mode_of("gns"), BATCH_GNS);
}

/* Epochs of 100 s, 50 s, 25 s, 20 s: 11, 10, 20, and 9 and a half of them. */
static void
epochs_add_up_to_the_duration(void **state)
{
	struct throughputs *table = load();
	struct replay_batches batches = { 0 };
	struct cluster_job job = job_of(BATCH_GNS, 10, 50.5 * 5968);
	struct pol_job seen = { .id = 0 };
	struct regimes r;

	(void)state;
	replay_batches_add(&batches, table, 0, "LM", &job);
	assert_near(job.duration_s, 1100 + 500 + 500 + 190, 1e-6);
	seen.duration_s = seen.remaining_s = job.duration_s;
	assert_true(replay_batches_report(&batches, &seen, &r));
	assert_int_equal(r.n, 4);
	assert_int_equal(r.now, 0);
	assert_near(r.n_epochs, 50.5, 1e-9);
	assert_near(r.epoch_s[3], 20, 1e-9);
	/* In the third epoch of the second phase. */
	seen.remaining_s = seen.duration_s - 1100 - 125;
	assert_true(replay_batches_report(&batches, &seen, &r));
	assert_int_equal(r.now, 1);
	assert_near(r.n_done[0], 11, 1e-9);
	assert_near(r.n_done[1], 2.5, 1e-9);
	assert_near(regimes_done_s(&r), 1225, 1e-6);
	seen.remaining_s = 0;
	assert_true(replay_batches_report(&batches, &seen, &r));
	assert_near(regimes_done(&r), 1, 1e-9);
	assert_near(regimes_left_s(&r), 0, 0);
	replay_batches_fini(&batches);
	throughputs_free(table);
}

/* Static; of an unknown model; without steps; with a batch size that was not measured. */
static void
other_jobs_keep_their_duration(void **state)
{
	struct throughputs *table = load();
	struct replay_batches batches = { 0 };
	struct cluster_job jobs[] = {
		job_of(BATCH_STATIC, 10, 1e5),   job_of(BATCH_GNS, 10, 1e5),
		job_of(BATCH_GNS, 10, NAN),      job_of(BATCH_GNS, 10, 1e30),
		job_of(BATCH_ACCORDION, 5, 1e6), job_of(BATCH_ACCORDION, 10, 100 * 5968)
	};
	uint32_t n = sizeof jobs / sizeof *jobs;
	struct regimes r;

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		replay_batches_add(&batches, table, 0, i == 1 ? "VGG" : "LM", &jobs[i]);
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job seen = { .id = i, .duration_s = 1 };
		bool changes = i == n - 1;

		assert_int_equal(replay_batches_report(&batches, &seen, &r), changes);
		assert_int_equal(jobs[i].duration_s == 12345, !changes);
	}
	/* 31 epochs of 100 s, 69 of 20 s. */
	assert_near(jobs[n - 1].duration_s, 3100 + 1380, 1e-6);
	replay_batches_fini(&batches);
	throughputs_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_grow_with_the_noise),
		cmocka_unit_test(epochs_add_up_to_the_duration),
		cmocka_unit_test(other_jobs_keep_their_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
