/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/wire/crc32c.h"
#include "lib/wire/pack.h"
#include "lib/wire/tele_layout.h"
#include "tests/unit/tele_fixture.h"

/* Rewrites length and checksum after the bytes were changed. */
static void
seal(uint8_t *bytes, size_t n)
{
	uint32_t crc;

	pack_u32_at(bytes + TELE_AT_LENGTH, (uint32_t)n);
	crc = crc32c(0, bytes, TELE_AT_CRC);
	crc = crc32c(crc, bytes + TELE_HEADER_BYTES, n - TELE_HEADER_BYTES);
	pack_u32_at(bytes + TELE_AT_CRC, crc);
}

/* The frame of docs/wire-format.md. */
static void
worked_example(struct tele_frame *frame)
{
	static const uint32_t bins[] = { 0, 0, 0, 0, 0, TELE_GAP, 66, 125000 };
	uint32_t eth0, job;

	tele_clear(frame);
	frame->kind = TELE_RAW;
	frame->flags = TELE_SIMULATED;
	tele_set_name(frame->host, "n1");
	for (uint8_t i = 0; i < 16; i++)
		frame->boot_id[i] = i;
	frame->start_id = 0x1122334455667788;
	frame->sequence = 7;
	frame->time_ns = 5000000000;
	frame->window_ns = 1000000000;
	frame->wall_offset_ns = 1763650000000000000;
	frame->clock_error_ns = -1;
	eth0 = tele_add_interface(frame, "eth0");
	frame->interfaces.items[eth0].capacity_bps = 100e9;
	job = tele_add_job(frame, "4711");
	tele_add_series(frame, eth0, job, TELE_TX, TELE_WIRE, 4000, bins, 8);
}

static void
checksum_is_that_of_the_rfc(void **state)
{
	uint8_t bytes[32] = { 0 };
	struct rng rng;

	(void)state;
	/* RFC 3720, appendix B.4, and the check value of the CRC catalogs. */
	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
	assert_int_equal(crc32c(0, (const uint8_t *)"123456789", 9), 0xe3069283);
	rng_init(&rng, 1);
	for (size_t n = 0; n < sizeof bytes; n++) {
		uint32_t begun = crc32c(0, bytes, n / 2);

		assert_int_equal(crc32c(0, bytes, n), crc32c_portable(0, bytes, n));
		assert_int_equal(crc32c(begun, bytes + n / 2, n - n / 2),
				 crc32c(0, bytes, n));
		bytes[n] = (uint8_t)rng_next(&rng);
	}
}

static void
any_frame_comes_back_as_it_was(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 }, again = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 42);
	for (unsigned i = 0; i < 2000; i++) {
		struct err err = { 0 };

		random_frame(&rng, &frame);
		bytes.n = again.n = 0;
		tele_encode(&frame, &bytes);
		assert_int_equal(tele_frame_bytes(bytes.bytes), bytes.n);
		assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, &err), 0);
		assert_same_frame(&frame, &back);
		tele_encode(&back, &again);
		assert_int_equal(bytes.n, again.n);
		assert_memory_equal(bytes.bytes, again.bytes, bytes.n);
	}
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
	tele_buffer_fini(&again);
}

static void
encoding_appends(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };
	size_t first;

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	first = bytes.n;
	frame.sequence++;
	tele_encode(&frame, &bytes);
	assert_int_equal(tele_decode(bytes.bytes, first, &back, NULL), 0);
	assert_true(back.sequence == 7);
	assert_int_equal(tele_decode(bytes.bytes + first, bytes.n - first, &back, NULL),
			 0);
	assert_true(back.sequence == 8);
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

static void
what_is_cut_off_is_refused_at_every_length(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	for (size_t n = 0; n < bytes.n; n++) {
		/* Exactly this size, so that the sanitizer sees overruns. */
		uint8_t *part = xmemdup(bytes.bytes, n, 1);
		struct err err = { 0 };

		assert_int_equal(tele_decode(part, n, &back, &err), -EBADMSG);
		assert_true(err.text[0]);
		if (n > TELE_HEADER_BYTES) {
			seal(part, n);
			/* A frame cut at the end of a section is still a frame. */
			if (tele_decode(part, n, &back, &err) == 0)
				assert_int_equal(back.series.n, 0);
		}
		free(part);
	}
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

static void
each_flipped_bit_is_refused(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	for (size_t bit = 0; bit < 8 * bytes.n; bit++) {
		bytes.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL),
				 -EBADMSG);
		assert_int_equal(back.series.n, 0);
		bytes.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL), 0);
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

/* Damage with a correct checksum, from a broken or malicious sender. */
static void
damage_under_a_right_checksum_breaks_no_rule(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 }, again = { 0 };
	struct rng rng;
	unsigned n_accepted = 0;

	(void)state;
	rng_init(&rng, 3);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t *copy;

		if (i % 100 == 0) {
			bytes.n = 0;
			random_frame(&rng, &frame);
			tele_encode(&frame, &bytes);
		}
		copy = xmemdup(bytes.bytes, bytes.n, 1);
		for (uint64_t k = rng_below(&rng, 3); k < 3; k++)
			copy[rng_below(&rng, bytes.n)] = (uint8_t)rng_next(&rng);
		seal(copy, bytes.n);
		/* An accepted frame may be sent on: the encoder checks all rules. */
		if (tele_decode(copy, bytes.n, &back, NULL) == 0) {
			again.n = 0;
			tele_encode(&back, &again);
			n_accepted++;
		}
		free(copy);
	}
	assert_in_range(n_accepted, 1, 19999);
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
	tele_buffer_fini(&again);
}

static void
append_section(struct tele_buffer *bytes, uint8_t type, const char *contents, size_t n)
{
	bytes->bytes = xreallocarray(bytes->bytes, bytes->n + 5 + n, 1);
	bytes->capacity = bytes->n + 5 + n;
	bytes->bytes[bytes->n] = type;
	pack_u32_at(bytes->bytes + bytes->n + 1, (uint32_t)n);
	memcpy(bytes->bytes + bytes->n + 5, contents, n);
	bytes->n += 5 + n;
	seal(bytes->bytes, bytes->n);
}

static void
a_section_that_is_not_known_is_skipped(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	append_section(&bytes, 77, "later", 5);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL), 0);
	assert_same_frame(&frame, &back);
	/* Duplicate sections and wrong order are damage. */
	append_section(&bytes, 77, "later", 5);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL), -EBADMSG);
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

static void
a_later_minor_version_may_lengthen_a_section(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };
	uint8_t *at;

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	/* Appends a byte to the last section, the series. */
	append_section(&bytes, 77, "", 0);
	bytes.n -= 4;
	at = bytes.bytes + bytes.n - 1;
	while (memcmp(at, (uint8_t[]){ TELE_SECTION_SERIES }, 1) != 0 ||
	       unpack_u32_at(at + 1) + 5 != (size_t)(bytes.bytes + bytes.n - 1 - at))
		at--;
	pack_u32_at(at + 1, unpack_u32_at(at + 1) + 1);
	seal(bytes.bytes, bytes.n);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL), -EBADMSG);
	bytes.bytes[TELE_AT_MINOR]++;
	seal(bytes.bytes, bytes.n);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, NULL), 0);
	assert_same_frame(&frame, &back);
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

static void
a_later_major_version_or_kind_is_told_from_damage(void **state)
{
	struct tele_frame frame = { 0 }, back = { 0 };
	struct tele_buffer bytes = { 0 };
	struct err err = { 0 };

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	bytes.bytes[TELE_AT_MAJOR]++;
	seal(bytes.bytes, bytes.n);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, &err),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "version 2.1"));
	/* Its length is known nevertheless. */
	assert_int_equal(tele_frame_bytes(bytes.bytes), bytes.n);
	bytes.bytes[TELE_AT_MAJOR]--;
	bytes.bytes[TELE_AT_KIND] = TELE_LAST_KIND + 1;
	seal(bytes.bytes, bytes.n);
	assert_int_equal(tele_decode(bytes.bytes, bytes.n, &back, &err),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "kind 5"));
	tele_fini(&frame);
	tele_fini(&back);
	tele_buffer_fini(&bytes);
}

/* Decodes a frame with a sender section and a series section of these contents. */
static int
decode_series(const uint8_t *contents, size_t n, struct tele_frame *back)
{
	struct tele_frame frame = { 0 };
	struct tele_buffer bytes = { 0 };
	int result;

	frame.kind = TELE_RAW;
	tele_set_name(frame.host, "n1");
	tele_add_interface(&frame, "eth0");
	tele_encode(&frame, &bytes);
	append_section(&bytes, TELE_SECTION_SERIES, (const char *)contents, n);
	result = tele_decode(bytes.bytes, bytes.n, back, NULL);
	tele_fini(&frame);
	tele_buffer_fini(&bytes);
	return result;
}

static void
runs_cannot_make_a_frame_larger_than_the_limit(void **state)
{
	uint8_t contents[16 * 80], *at = contents;
	struct tele_frame back = { 0 };
	/* Series of a minute each: 69 are within the limit, 70 exceed it. */
	const size_t n_most = TELE_MAX_FRAME_BINS / TELE_MAX_BINS;

	(void)state;
	for (size_t n = n_most; n <= n_most + 1; n++) {
		at = pack_varint_at(contents, n);
		for (size_t i = 0; i < n; i++) {
			memcpy(at, "\0\0\0\0", 4);
			at = pack_varint_at(at + 4, TELE_MAX_BINS);
			at = pack_varint_at(at, (TELE_MAX_BINS - 1) << 2 | 1);
		}
		assert_int_equal(
			decode_series(contents, (size_t)(at - contents), &back),
			n == n_most ? 0 : -EBADMSG);
		assert_int_equal(back.bins.n, n == n_most ? n * TELE_MAX_BINS : 0);
	}
	assert_in_range(back.bins.capacity, 1, 2 * TELE_MAX_FRAME_BINS);
	tele_fini(&back);
}

static void
runs_end_where_their_series_does(void **state)
{
	/* One series, interface 0, all jobs, TX, bin 0, of 3 bins. */
	static const uint8_t whole[] = { 1, 0, 0, 0, 0, 3, 2 << 2 | 1 };
	static const uint8_t longer[] = { 1, 0, 0, 0, 0, 3, 3 << 2 | 1 };
	static const uint8_t shorter[] = { 1, 0, 0, 0, 0, 3, 1 << 2 | 1 };
	struct tele_frame back = { 0 };

	(void)state;
	assert_int_equal(decode_series(whole, sizeof whole, &back), 0);
	assert_int_equal(back.bins.n, 3);
	assert_int_equal(decode_series(longer, sizeof longer, &back), -EBADMSG);
	assert_int_equal(decode_series(shorter, sizeof shorter, &back), -EBADMSG);
	tele_fini(&back);
}

static void
a_count_beyond_the_bytes_that_are_left_allocates_nothing(void **state)
{
	uint8_t contents[16], *end = pack_varint_at(contents, TELE_MAX_SERIES);
	struct tele_frame back = { 0 };

	(void)state;
	assert_int_equal(decode_series(contents, (size_t)(end - contents), &back),
			 -EBADMSG);
	assert_int_equal(back.series.capacity, 0);
	tele_fini(&back);
}

static void
names_are_made_printable(void **state)
{
	char name[TELE_MAX_NAME + 1], text[200];

	(void)state;
	tele_set_name(name, "job\n\x1b[31m \xc3\xa9 \xff\xc2\x9b");
	assert_string_equal(name, "job??[31m \xc3\xa9 \?\?\?");
	assert_true(tele_name_is_valid(name));
	assert_false(tele_name_is_valid("\x7f"));
	assert_false(tele_name_is_valid("\xc2\x9b"));
	assert_false(tele_name_is_valid(""));
	tele_set_name(name, "");
	assert_string_equal(name, "?");
	/* Text is never cut within a character. */
	memset(text, 'a', sizeof text);
	memcpy(text + TELE_MAX_NAME - 1, "\xc3\xa9\0", 3);
	assert_false(tele_name_is_valid(text));
	tele_set_name(name, text);
	assert_int_equal(strlen(name), TELE_MAX_NAME - 1);
	assert_true(tele_name_is_valid(name));
}

static void
an_interface_or_job_is_added_once(void **state)
{
	struct tele_frame frame = { 0 };

	(void)state;
	assert_int_equal(tele_add_interface(&frame, "eth0"), 0);
	assert_int_equal(tele_add_interface(&frame, "eth1"), 1);
	assert_int_equal(tele_add_interface(&frame, "eth0"), 0);
	assert_int_equal(tele_add_job(&frame, "a"), 0);
	assert_int_equal(tele_add_job(&frame, "a"), 0);
	assert_string_equal(tele_job_name(&frame, 0), "a");
	assert_string_equal(tele_job_name(&frame, TELE_LINK), "(all)");
	assert_string_equal(tele_job_name(&frame, TELE_OTHER), "(other)");
	tele_fini(&frame);
}

/* The bytes of the table in the document: lines "0000  a7 41 ...  | what". */
static size_t
documented_bytes(uint8_t *bytes, size_t max)
{
	char *text, *line;
	size_t n = 0, length;
	const char *path = "docs/wire-format.md";

	assert_int_equal(file_read(path, 1 << 20, &text, &length, NULL), 0);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *at = line;
		size_t offset = strtoul(line, &at, 16);

		if (at != line + 4 || strncmp(at, "  ", 2) != 0)
			continue;
		assert_int_equal(offset, n);
		for (at += 2; *at != ' ' && *at != '\0'; at += *at == ' ') {
			assert_true(n < max);
			bytes[n++] = (uint8_t)strtoul(at, &at, 16);
		}
	}
	free(text);
	return n;
}

static void
the_documented_example_is_what_is_sent(void **state)
{
	struct tele_frame frame = { 0 };
	struct tele_buffer bytes = { 0 };
	uint8_t documented[1024];
	size_t n = documented_bytes(documented, sizeof documented);

	(void)state;
	worked_example(&frame);
	tele_encode(&frame, &bytes);
	assert_int_equal(n, bytes.n);
	assert_memory_equal(documented, bytes.bytes, n);
	tele_fini(&frame);
	tele_buffer_fini(&bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum_is_that_of_the_rfc),
		cmocka_unit_test(any_frame_comes_back_as_it_was),
		cmocka_unit_test(encoding_appends),
		cmocka_unit_test(what_is_cut_off_is_refused_at_every_length),
		cmocka_unit_test(each_flipped_bit_is_refused),
		cmocka_unit_test(damage_under_a_right_checksum_breaks_no_rule),
		cmocka_unit_test(a_section_that_is_not_known_is_skipped),
		cmocka_unit_test(a_later_minor_version_may_lengthen_a_section),
		cmocka_unit_test(a_later_major_version_or_kind_is_told_from_damage),
		cmocka_unit_test(runs_cannot_make_a_frame_larger_than_the_limit),
		cmocka_unit_test(runs_end_where_their_series_does),
		cmocka_unit_test(
			a_count_beyond_the_bytes_that_are_left_allocates_nothing),
		cmocka_unit_test(names_are_made_printable),
		cmocka_unit_test(an_interface_or_job_is_added_once),
		cmocka_unit_test(the_documented_example_is_what_is_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
