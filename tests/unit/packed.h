/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - bytes compressed by libarchive, for the tests of decompression */
#ifndef TESTS_UNIT_PACKED_H
#define TESTS_UNIT_PACKED_H

#include <archive.h>
#include <archive_entry.h>

#include "tests/unit/test.h"

/* Packs 'plain' 'n_times' with filter ARCHIVE_FILTER_...; returns the packed size. */
static inline size_t
packed_bytes(int filter, int n_times, const char *plain, size_t n_plain, char *bytes,
	     size_t capacity)
{
	struct archive *out = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t n = 0;

	for (int i = 0; i < n_times; i++)
		assert_int_equal(archive_write_add_filter(out, filter), ARCHIVE_OK);
	archive_write_set_format_raw(out);
	archive_write_set_bytes_in_last_block(out, 1);
	assert_int_equal(archive_write_open_memory(out, bytes, capacity, &n),
			 ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_write_header(out, entry);
	assert_int_equal(archive_write_data(out, plain, n_plain), n_plain);
	archive_entry_free(entry);
	archive_write_free(out);
	return n;
}

#endif
