/* SPDX-License-Identifier: Apache-2.0 */
/* test_import.c - files imported into a recording, and the recording read again */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/import/import.h"
#include "lib/base/err.h"
#include "lib/wire/rec.h"
#include "lib/wire/tele.h"
#include "tests/unit/capture.h"
#include "tests/unit/packets.h"
#include "tests/unit/test.h"

#define MS   INT64_C(1000000)
#define SPAN SHARED_DATA "/captures/mpi-span.pcap.xz"

static char folder[64], output[128];

static int
make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/antiphase-import-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(output, sizeof output, "%s/out.tele", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

/* Runs 'import'; returns the exit status.  '*ret_said' gets stderr, if not NULL. */
static int
import(const char *const *words, char **ret_said)
{
	char *argv[32];
	struct capture said;
	int argc = 0, status;
	char *text;

	argv[argc++] = "import";
	for (; *words; words++)
		argv[argc++] = (char *)*words;
	argv[argc] = NULL;
	capture_begin(&said, 2);
	status = import_main(argc, argv);
	text = capture_end(&said);
	if (ret_said)
		*ret_said = text;
	else
		free(text);
	return status;
}

/* The totals of one interface, all traffic, in a recording. */
struct sums {
	uint64_t raw[2];    /* From bins. */
	uint64_t window[2]; /* From the windows of summaries. */
	uint64_t total[2];
	size_t n_frames, n_gaps;
	int64_t first_ms, last_ms;
	char hosts[4][TELE_MAX_NAME + 1];
	size_t n_hosts;
};

static void
note_host(struct sums *sums, const char *host)
{
	for (size_t i = 0; i < sums->n_hosts; i++)
		if (!strcmp(sums->hosts[i], host))
			return;
	assert_true(sums->n_hosts < 4);
	strcpy(sums->hosts[sums->n_hosts++], host);
}

static void
add_frame(const struct tele_frame *frame, struct sums *sums)
{
	assert_true(frame->flags & TELE_IMPORTED);
	note_host(sums, frame->host);
	sums->n_frames++;
	for (size_t i = 0; i < frame->series.n; i++) {
		const struct tele_series *s = &frame->series.items[i];
		const uint32_t *bins = tele_bins(frame, s);

		for (uint32_t b = 0; s->job == TELE_LINK && b < s->n_bins; b++)
			if (bins[b] == TELE_GAP)
				sums->n_gaps++;
			else
				sums->raw[s->direction] += bins[b];
	}
	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *row = &frame->traffic.items[i];

		if (row->job == TELE_LINK) {
			sums->window[row->direction] += row->window_bytes;
			sums->total[row->direction] = row->total_bytes;
		}
	}
	if (!sums->first_ms)
		sums->first_ms = (frame->time_ns - frame->window_ns) / MS;
	assert_true(frame->time_ns / MS >= sums->last_ms);
	sums->last_ms = frame->time_ns / MS;
}

static void
read_output(struct sums *sums)
{
	struct tele_frame frame = { 0 };
	struct rec_reader *reader;
	int got;

	memset(sums, 0, sizeof *sums);
	assert_int_equal(rec_reader_open(output, &reader, NULL), 0);
	while ((got = rec_read(reader, &frame, NULL, NULL, NULL)) > 0)
		add_frame(&frame, sums);
	assert_int_equal(got, 0);
	tele_fini(&frame);
	rec_reader_close(reader);
}

static void
put_packet(FILE *file, int64_t time_ns, uint32_t length)
{
	struct frame f;

	frame_begin(&f, 0);
	frame_udp(&f, 1, 9);
	frame_ipv4(&f, 17, 0x0a000001, 0x0a000002, 0);
	frame_ethernet(&f, 0x0800);
	pcap_file_packet(file, time_ns, &f, (uint32_t)frame_n(&f), length);
}

static FILE *
begin_capture(const char *name, char *ret_path, size_t size)
{
	FILE *file;

	snprintf(ret_path, size, "%s/%s", folder, name);
	file = fopen(ret_path, "wb");
	assert_non_null(file);
	pcap_file_header(file, 1);
	return file;
}

static void
every_byte_of_a_capture_is_in_the_recording(void **state)
{
	char path[128];
	FILE *file = begin_capture("p7.pcap", path, sizeof path);
	const char *words[] = {
		"pcap", path, "--local", "10.0.0.1", "-o", output, NULL
	};
	uint64_t sent = 0;
	struct sums sums;

	(void)state;
	/* Across whole seconds, with a pause longer than the ring of bins. */
	for (int i = 0; i < 3000; i++) {
		int64_t time_ms = 5700 + i * 3 + (i >= 1500 ? 9000 : 0);

		put_packet(file, time_ms * MS, 100 + (uint32_t)i);
		sent += 100 + (uint64_t)i;
	}
	fclose(file);
	assert_int_equal(import(words, NULL), 0);
	read_output(&sums);
	assert_int_equal(sums.raw[TELE_TX], sent);
	assert_int_equal(sums.window[TELE_TX], sent);
	assert_int_equal(sums.total[TELE_TX], sent);
	assert_int_equal(sums.first_ms, 5000);
	assert_int_equal(sums.last_ms, 5700 + 2999 * 3 + 9000 + 1);
	assert_string_equal(sums.hosts[0], "p7");
	assert_int_equal(sums.n_gaps, 2 * 700); /* Before the start of the capture. */
}

static void
importing_twice_gives_the_same_bytes(void **state)
{
	char path[128], first[4096], second[4096];
	FILE *file = begin_capture("p8.pcap", path, sizeof path);
	const char *words[] = { "pcap", path, "-o", output, NULL };
	size_t n;

	(void)state;
	put_packet(file, 5000 * MS, 500);
	put_packet(file, 6500 * MS, 500);
	fclose(file);
	assert_int_equal(import(words, NULL), 0);
	file = fopen(output, "rb");
	n = fread(first, 1, sizeof first, file);
	fclose(file);
	assert_int_equal(import(words, NULL), 0);
	file = fopen(output, "rb");
	assert_int_equal(fread(second, 1, sizeof second, file), n);
	fclose(file);
	assert_true(n > 200);
	assert_memory_equal(first, second, n);
}

static void
several_switches_come_in_the_order_of_their_times(void **state)
{
	char paths[2][128];
	const char *words[] = { "hft", paths[0], paths[1], "-o", output, NULL };
	struct sums sums;

	(void)state;
	for (int i = 0; i < 2; i++) {
		FILE *file;

		snprintf(paths[i], sizeof paths[i], "%s/%d.json", folder, i);
		file = fopen(paths[i], "w");
		fprintf(file, "{\"hostname\":\"leaf0%d\"", i + 1);
		for (int k = 0; k < 4000; k++)
			fprintf(file,
				",\"%d\":{\"metadata\":{\"sec\":%d,\"nsec\":%d},"
				"\"port_data\":{\"swp1\":{\"if_out_octets\":%d}}}",
				k, 100 + k / 1000, k % 1000 * 1000000, k * 125);
		fprintf(file, "}");
		fclose(file);
	}
	assert_int_equal(import(words, NULL), 0);
	read_output(&sums);
	assert_int_equal(sums.n_hosts, 2);
	assert_string_equal(sums.hosts[0], "leaf01");
	assert_string_equal(sums.hosts[1], "leaf02");
	assert_int_equal(sums.raw[TELE_TX], 2 * 3999 * 125);
}

static void
wrong_use_is_told_with_what_was_expected(void **state)
{
	static const struct {
		const char *words[6], *part;
	} bad[] = {
		{ { NULL }, "pcap, sflow or hft" },
		{ { "pcpa", "x", "-o", "y", NULL }, "did you mean 'pcap'" },
		{ { "pcap", "-o", "y", NULL }, "no file" },
		{ { "pcap", "x", NULL }, "--output" },
		{ { "pcap", "a", "b", "--host=h", "-o", "y" }, "one file" },
		{ { "pcap", "x", "--capacity", "fast", "-o", "y" }, "100 Gb/s" },
		{ { "pcap", "/nonexistent", "-o", "/dev/null", NULL }, "/nonexistent" },
		{ { "hft", "README.md", "-o", "/dev/null", NULL }, "README.md" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *words[7] = { 0 };
		char *said;

		memcpy(words, bad[i].words, sizeof bad[i].words);
		assert_int_equal(import(words, &said), CLI_USAGE);
		if (!strstr(said, bad[i].part) && !strstr(said, "50 Gb/s"))
			fail_msg("'%s' has no '%s'", said, bad[i].part);
		free(said);
	}
}

static void
a_real_mirror_is_imported_to_the_last_byte(void **state)
{
	const char *words[] = { "pcap",       SPAN,    "--local",
				"10.78.0.10", "--job", "1=10.78.0.0/24",
				"-o",         output,  NULL };
	struct sums sums;

	(void)state;
	if (access(SPAN, R_OK) != 0) {
		print_message("no %s\n", SPAN);
		skip();
	}
	assert_int_equal(import(words, NULL), 0);
	read_output(&sums);
	assert_int_equal(sums.total[TELE_TX], 756187561);
	assert_int_equal(sums.raw[TELE_TX], 756187561);
	assert_int_equal(sums.raw[TELE_TX] + sums.raw[TELE_RX], 1512368390);
	assert_int_equal(sums.window[TELE_TX] + sums.window[TELE_RX], 1512368390);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_a_capture_is_in_the_recording),
		cmocka_unit_test(importing_twice_gives_the_same_bytes),
		cmocka_unit_test(several_switches_come_in_the_order_of_their_times),
		cmocka_unit_test(wrong_use_is_told_with_what_was_expected),
		cmocka_unit_test(a_real_mirror_is_imported_to_the_last_byte),
	};

	return cmocka_run_group_tests_name("import", tests, make_folder, remove_folder);
}
