/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - CSV files with their provenance. */
#include "sim/report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"

static void
put_provenance(const struct provenance *provenance, FILE *out)
{
	fprintf(out, "# %s\n", provenance->version);
	fprintf(out, "# command: %s\n", provenance->command);
	fprintf(out, "# scenario: %s\n", provenance->scenario);
	fprintf(out, "# seed: %s\n", provenance->seeds);
}

static int
write_file(const char *path, const struct provenance *provenance,
	   const struct csv_file *file, const void *ctx, struct err *err)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out;
	int error;

	out = open_memstream(&text, &length);
	if (!out)
		return err_set_errno(err, path, errno, "cannot buffer");
	put_provenance(provenance, out);
	file->put(ctx, out);
	if (fclose(out) != 0)
		error = err_set_errno(err, path, errno, "cannot buffer");
	else
		error = file_write(path, text, length, err);
	free(text);
	return error;
}

int
report_csv(const char *path, const struct provenance *provenance,
	   const struct csv_file *files, size_t n, const void *ctx, struct err *err)
{
	size_t length = strlen(path);
	bool ends_with_slash = length && path[length - 1] == '/';
	struct stat st;
	int error = 0;

	if (!strcmp(path, "-")) {
		put_provenance(provenance, stdout);
		files[0].put(ctx, stdout);
		return 0;
	}
	if (!ends_with_slash && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		return write_file(path, provenance, &files[0], ctx, err);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set_errno(err, path, errno, "cannot make the folder");
	for (size_t i = 0; i < n && error == 0; i++) {
		char *name = xasprintf("%s%s%s", path, ends_with_slash ? "" : "/",
				       files[i].name);

		error = write_file(name, provenance, &files[i], ctx, err);
		free(name);
	}
	return error;
}

/* True if a shell takes 'word' as one word, unchanged. */
static bool
is_plain(const char *word)
{
	return *word &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_=+,./:@%^") == strlen(word);
}

char *
report_command(int argc, char **argv)
{
	struct strbuf command = STRBUF_EMPTY;

	strbuf_puts(&command, "antiphase-sim");
	for (int i = 0; i < argc; i++) {
		strbuf_putc(&command, ' ');
		if (is_plain(argv[i])) {
			strbuf_puts(&command, argv[i]);
			continue;
		}
		strbuf_putc(&command, '\'');
		for (const char *s = argv[i]; *s; s++)
			if (*s == '\'')
				strbuf_puts(&command, "'\\''");
			else
				strbuf_putc(&command,
					    *s == '\n' || *s == '\r' ? ' ' : *s);
		strbuf_putc(&command, '\'');
	}
	return strbuf_steal(&command);
}
