/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - digests of 64 bits (FNV-1a, then rng_mix()).
 *
 * Of a million cells, two have the same digest by chance once in 37 million sweeps.
 * The command in each result file is compared, too.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "sim/sweep/grid.h"

/* A word that may name a file or a folder. */
struct input {
	bool exists;
	uint64_t digest;
};

/* Cache: all cells of a row name the same files. */
struct inputs {
	struct strtab *paths;
	VEC(struct input) items; /* [number in 'paths']. */
};

static uint64_t
mix(uint64_t digest, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++)
		digest = (digest ^ b[i]) * UINT64_C(1099511628211);
	return digest;
}

/* Includes the NUL, so that "ab" "c" differs from "a" "bc". */
static uint64_t
mix_text(uint64_t digest, const char *text)
{
	return mix(digest, text, strlen(text) + 1);
}

static int
mix_file(const char *path, uint64_t *digest, struct err *err)
{
	char bytes[65536];
	FILE *in = fopen(path, "re");
	size_t n;
	int r = 0;

	if (!in)
		return err_set_errno(err, path, errno, "cannot read");
	while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
		*digest = mix(*digest, bytes, n);
	if (ferror(in))
		r = err_set_errno(err, path, EIO, "cannot read");
	fclose(in);
	return r;
}

static int
is_not_hidden(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

static int
compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Mixes in a folder's files by name, without subfolders, which no command reads. */
static int
mix_folder(const char *path, uint64_t *digest, struct err *err)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_not_hidden, compare_names), r = 0;

	if (n < 0)
		return err_set_errno(err, path, errno, "cannot read");
	for (int i = 0; i < n; i++) {
		char *name = xasprintf("%s/%s", path, entries[i]->d_name);
		struct stat st;

		if (r == 0 && stat(name, &st) == 0 && S_ISREG(st.st_mode)) {
			*digest = mix_text(*digest, entries[i]->d_name);
			r = mix_file(name, digest, err);
		}
		free(name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int
read_input(const char *path, struct input *ret_input, struct err *err)
{
	struct stat st;

	*ret_input = (struct input){ .digest = UINT64_C(14695981039346656037) };
	if (stat(path, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	ret_input->exists = true;
	return S_ISREG(st.st_mode) ? mix_file(path, &ret_input->digest, err)
				   : mix_folder(path, &ret_input->digest, err);
}

static int
find_input(struct inputs *inputs, const char *path, struct input *ret_input,
	   struct err *err)
{
	uint32_t number = strtab_intern(inputs->paths, path);
	int r;

	if (number == inputs->items.n) {
		r = read_input(path, ret_input, err);
		if (r < 0)
			return r;
		vec_push(&inputs->items, *ret_input);
	}
	*ret_input = inputs->items.items[number];
	return 0;
}

/* Mixes in the bytes of the file, or of the files of the folder, that 'word' names. */
static int
mix_input(const struct sweep *sweep, struct inputs *inputs, const char *word,
	  bool is_required, uint64_t *digest, struct err *err)
{
	const char *value = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
	/* The FILE of --set=fabric.file=FILE. */
	const char *last =
		value && !strncmp(word, "--set=", 6) ? strchr(value + 1, '=') : NULL;
	const char *name = last ? last + 1 : value ? value + 1 : word;
	/* A member of an archive: FILE:MEMBER. */
	const char *colon = strrchr(name, ':');
	size_t lengths[] = { strlen(name), colon ? (size_t)(colon - name) : 0 };
	struct input input = { 0 };

	for (size_t i = 0; i < 2 && !input.exists && lengths[i]; i++) {
		char *path = xasprintf("%s%.*s", *name == '/' ? "" : sweep->dir,
				       (int)lengths[i], name);
		int r = find_input(inputs, path, &input, err);

		free(path);
		if (r < 0)
			return r;
	}
	if (input.exists)
		*digest = mix(*digest, &input.digest, sizeof input.digest);
	else if (is_required)
		return err_set(err, sweep->file, 0, 0,
			       "there is no file or folder '%s'", word);
	return 0;
}

static int
digest_cell(const struct sweep *sweep, size_t cell, const char *version,
	    struct inputs *inputs, uint64_t *ret_digest, struct err *err)
{
	uint64_t digest = mix_text(UINT64_C(14695981039346656037), version);
	struct sweep_words words;
	int r = 0;

	sweep_command(sweep, cell, &words);
	for (size_t i = 0; i < words.n && r == 0; i++) {
		digest = mix_text(digest, words.items[i]);
		if (i > 0)
			r = mix_input(sweep, inputs, words.items[i], false, &digest,
				      err);
	}
	for (size_t i = 0; i < sweep->inputs.n && r == 0; i++)
		r = mix_input(sweep, inputs, sweep->inputs.items[i], true, &digest,
			      err);
	sweep_words_fini(&words);
	*ret_digest = rng_mix(digest);
	return r;
}

uint64_t *
sweep_digests(const struct sweep *sweep, const char *version, struct err *err)
{
	uint64_t *digests = xcalloc(sweep->n_cells, sizeof *digests);
	struct inputs inputs = { .paths = strtab_new() };
	int r = 0;

	for (size_t i = 0; i < sweep->n_cells && r == 0; i++)
		r = digest_cell(sweep, i, version, &inputs, &digests[i], err);
	strtab_free(inputs.paths);
	vec_free(&inputs.items);
	if (r < 0) {
		free(digests);
		return NULL;
	}
	return digests;
}
