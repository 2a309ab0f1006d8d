/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/op_csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "sim/import/op_table.h"
#include "sim/trace/columns.h"
#include "sim/trace/lines.h"

enum field {
	FIELD_RANK,
	FIELD_ID,
	FIELD_OP,
	N_REQUIRED,
	FIELD_NAME = N_REQUIRED,
	FIELD_BYTES,
	FIELD_DURATION,
	FIELD_NEEDS,
	FIELD_GROUP,
	FIELD_PEER,
	FIELD_TAG,
	N_FIELDS,
};

static const char *const field_names[N_FIELDS + 1] = {
	"rank",  "id",    "op",   "name", "bytes", "duration_us",
	"needs", "group", "peer", "tag",  NULL,
};

/* Collectives follow these. */
enum {
	OP_WORD_COMPUTE,
	OP_WORD_BARRIER,
	OP_WORD_RECV,
	N_OP_WORDS
};

static const char *const op_words[] = {
	"compute",   "barrier",   "recv",     "allreduce", "reducescatter",
	"allgather", "broadcast", "alltoall", "send",      NULL,
};

struct reader {
	const char *path;
	unsigned line;
	struct op_table *table;
	struct err *err;
	int column[N_FIELDS]; /* Of each field; -1: none. */
	char *fields[COLUMNS_MAX];
	int n;
	VEC(uint64_t) needs;
};

/* The text of a field, "" if the row has none. */
static const char *
text_of(const struct reader *r, enum field field)
{
	int column = r->column[field];

	return column >= 0 && column < r->n ? r->fields[column] : "";
}

static int
bad_field(const struct reader *r, enum field field, const char *want)
{
	return err_set(r->err, r->path, r->line, 0, "%s is '%s', expected %s",
		       field_names[field], text_of(r, field), want);
}

/* A whole number up to 'max'; "" is 0 if the field is optional. */
static int
read_number(const struct reader *r, enum field field, uint64_t max, uint64_t *ret)
{
	const char *text = text_of(r, field);
	char *end;

	*ret = 0;
	if (!*text && field >= N_REQUIRED)
		return 0;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *ret > max)
		return err_set(r->err, r->path, r->line, 0,
			       "%s is '%s', expected a whole number from 0 to %llu",
			       field_names[field], text, (unsigned long long)max);
	return 0;
}

/* A number from 0 to 'max'; "" is 0. */
static int
read_decimal(const struct reader *r, enum field field, double max, const char *want,
	     double *ret)
{
	const char *text = text_of(r, field);
	char *end;

	*ret = 0;
	if (!*text)
		return 0;
	*ret = strtod(text, &end);
	if (end == text || *end || !(*ret >= 0 && *ret <= max))
		return bad_field(r, field, want);
	return 0;
}

static int
read_needs(struct reader *r)
{
	const char *s = text_of(r, FIELD_NEEDS);

	r->needs.n = 0;
	for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
		char *end;
		uint64_t id;

		errno = 0;
		id = strtoull(s, &end, 10);
		if (*s < '0' || *s > '9' || (*end && *end != ' ') || errno)
			return bad_field(r, FIELD_NEEDS,
					 "ids with blanks between them");
		vec_push(&r->needs, id);
		s = end;
	}
	return 0;
}

static int
read_op(struct reader *r, struct op *op)
{
	const char *word = text_of(r, FIELD_OP);
	int which = words_index(word, op_words);

	if (which < 0) {
		err_set(r->err, r->path, r->line, 0,
			"op is '%s', expected compute, barrier, send, recv, allreduce, "
			"reducescatter, allgather, broadcast or alltoall",
			word);
		err_suggest(r->err, word, op_words);
		return -EINVAL;
	}
	if (which == OP_WORD_COMPUTE) {
		op->kind = OP_COMPUTE;
		return 0;
	}
	if (which == OP_WORD_RECV) {
		op->kind = OP_RECV;
	} else if (which != OP_WORD_BARRIER) {
		op->collective = (enum collective_op)(
			words_index(word, collective_op_names) + 1);
		op->kind = op->collective == COLLECTIVE_SEND ? OP_SEND : OP_COLLECTIVE;
	} else {
		op->kind = OP_COLLECTIVE;
	}
	if ((op->kind == OP_SEND || op->kind == OP_RECV) && !*text_of(r, FIELD_PEER))
		return bad_field(r, FIELD_PEER, "the other rank");
	if (which != OP_WORD_BARRIER && !*text_of(r, FIELD_BYTES))
		return bad_field(r, FIELD_BYTES, "the size of the message");
	if (*text_of(r, FIELD_DURATION))
		return bad_field(r, FIELD_DURATION,
				 "nothing: only 'compute' has a duration");
	return 0;
}

static int
read_row(struct reader *r)
{
	struct op op = { .line = r->line, .group = STRTAB_NONE };
	const char *name = text_of(r, FIELD_NAME);
	uint64_t rank, peer, tag;
	double us;
	char text[OP_MAX_NAME + 1];

	if (read_number(r, FIELD_RANK, OP_MAX_RANKS - 1, &rank) < 0 ||
	    read_number(r, FIELD_ID, UINT64_MAX, &op.id) < 0 || read_op(r, &op) < 0 ||
	    read_number(r, FIELD_PEER, OP_MAX_RANKS - 1, &peer) < 0 ||
	    read_number(r, FIELD_TAG, UINT32_MAX, &tag) < 0 ||
	    read_decimal(r, FIELD_BYTES, 1e15, "a number of bytes from 0 to 1e15",
			 &op.bytes) < 0 ||
	    read_decimal(r, FIELD_DURATION, (double)OP_MAX_DURATION / 1e3,
			 "0 to 3.6e9 us, an hour", &us) < 0 ||
	    read_needs(r) < 0)
		return -EINVAL;
	op.rank = (uint32_t)rank;
	op.peer = (uint32_t)peer;
	op.tag = (uint32_t)tag;
	op.ns = (int64_t)llround(us * 1e3);
	if (op.kind == OP_COMPUTE)
		op.bytes = 0;
	snprintf(text, sizeof text, "%s", *name ? name : text_of(r, FIELD_OP));
	op.name = strtab_intern(r->table->names, text);
	if (*text_of(r, FIELD_GROUP))
		op.group = strtab_intern(r->table->groups, text_of(r, FIELD_GROUP));
	op.file = strtab_intern(r->table->files, r->path);
	return op_table_add(r->table, &op, r->needs.items, r->needs.n, r->err);
}

static int
read_header(struct reader *r)
{
	for (int i = 0; i < N_FIELDS; i++)
		r->column[i] = -1;
	for (int i = 0; i < r->n; i++) {
		int field = words_index(r->fields[i], field_names);

		if (field < 0) {
			err_set(r->err, r->path, r->line, 0,
				"unknown column '%s'; expected rank, id, op, name, "
				"bytes, duration_us, needs, group, peer or tag",
				r->fields[i]);
			err_suggest(r->err, r->fields[i], field_names);
			return -EINVAL;
		}
		if (r->column[field] >= 0)
			return err_set(r->err, r->path, r->line, 0,
				       "column '%s' is here twice", r->fields[i]);
		r->column[field] = i;
	}
	for (int i = 0; i < N_REQUIRED; i++)
		if (r->column[i] < 0)
			return err_set(r->err, r->path, r->line, 0,
				       "expected a column '%s'", field_names[i]);
	return 0;
}

static int
read_lines(struct reader *r, struct lines *lines)
{
	bool has_header = false;
	char *line;
	size_t length;
	int more;

	while ((more = lines_next(lines, &line, &length, r->err)) > 0) {
		int error;

		r->line = (unsigned)lines_number(lines);
		if (!*line || *line == '#')
			continue;
		r->n = columns_split(line, ',', r->fields);
		if (r->n < 0)
			return err_set(r->err, r->path, r->line, 0,
				       "expected at most %d fields, with closed quotes",
				       COLUMNS_MAX);
		error = has_header ? read_row(r) : read_header(r);
		if (error < 0)
			return error;
		has_header = true;
	}
	if (more == 0 && !has_header)
		return err_set(r->err, r->path, 0, 0,
			       "is empty; expected a first line such as "
			       "rank,id,op,name,bytes,duration_us,needs,group");
	return more;
}

int
op_csv_read(const char *path, struct op_table *table, struct err *err)
{
	struct reader r = { .path = path, .table = table, .err = err };
	struct lines *lines;
	int error = lines_open(path, &lines, err);

	if (error < 0)
		return error;
	error = read_lines(&r, lines);
	lines_close(lines);
	vec_free(&r.needs);
	return error;
}
