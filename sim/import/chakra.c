/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/chakra.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "sim/import/op_table.h"

#define MAX_RANK_DIGITS 5
#define NS_PER_US       1000

/* ---- The wire format of Protocol Buffers ----------------------------------------- */

enum wire {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct span {
	const uint8_t *at, *end;
};

struct field {
	uint32_t number;
	enum wire wire;
	uint64_t value;    /* Of a number. */
	struct span bytes; /* Of WIRE_BYTES. */
};

static bool
read_varint(struct span *in, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool
read_fixed(struct span *in, unsigned n, uint64_t *ret_value)
{
	uint64_t value = 0;

	if ((size_t)(in->end - in->at) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)*in->at++ << (8 * i);
	*ret_value = value;
	return true;
}

/* Takes the next field.  False: the message is damaged. */
static bool
read_field(struct span *in, struct field *ret_field)
{
	struct field field = { 0 };
	uint64_t key, length;

	if (!read_varint(in, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
		return false;
	field.number = (uint32_t)(key >> 3);
	field.wire = (enum wire)(key & 7);
	switch (field.wire) {
	case WIRE_VARINT:
		if (!read_varint(in, &field.value))
			return false;
		break;
	case WIRE_FIXED64:
		if (!read_fixed(in, 8, &field.value))
			return false;
		break;
	case WIRE_FIXED32:
		if (!read_fixed(in, 4, &field.value))
			return false;
		break;
	case WIRE_BYTES:
		if (!read_varint(in, &length) || length > (uint64_t)(in->end - in->at))
			return false;
		field.bytes = (struct span){ in->at, in->at + length };
		in->at += length;
		break;
	default:
		return false;
	}
	*ret_field = field;
	return true;
}

/* ---- Nodes ----------------------------------------------------------------------- */

enum node_type {
	NODE_INVALID,
	NODE_METADATA,
	NODE_MEM_LOAD,
	NODE_MEM_STORE,
	NODE_COMP,
	NODE_SEND,
	NODE_RECV,
	NODE_COLL,
	N_NODE_TYPES,
};

/* By CollectiveCommType; NONE with a name: one that the simulator does not have. */
static const struct {
	const char *name;
	enum collective_op op;
} comm_types[] = {
	{ "ALL_REDUCE", COLLECTIVE_ALLREDUCE },
	{ "REDUCE", COLLECTIVE_OP_NONE },
	{ "ALL_GATHER", COLLECTIVE_ALLGATHER },
	{ "GATHER", COLLECTIVE_OP_NONE },
	{ "SCATTER", COLLECTIVE_OP_NONE },
	{ "BROADCAST", COLLECTIVE_BROADCAST },
	{ "ALL_TO_ALL", COLLECTIVE_ALLTOALL },
	{ "REDUCE_SCATTER", COLLECTIVE_REDUCESCATTER },
	{ "REDUCE_SCATTER_BLOCK", COLLECTIVE_REDUCESCATTER },
	{ "BARRIER", COLLECTIVE_OP_NONE },
};

#define COMM_BARRIER 9

/* Attributes with a number. */
enum attribute {
	ATTR_TYPE,
	ATTR_SIZE,
	ATTR_SRC,
	ATTR_DST,
	ATTR_TAG,
	ATTR_GROUP,
	N_ATTRIBUTES,
};

static const char *const attribute_names[N_ATTRIBUTES + 1] = {
	"comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "comm_group", NULL
};

struct node {
	struct op op;
	uint64_t type, us;
	uint64_t values[N_ATTRIBUTES];
	bool has[N_ATTRIBUTES];
	bool has_part_of_dims; /* An 'involved_dim' that leaves some out. */
	char group[OP_MAX_NAME + 1];
	VEC(uint64_t) needs;
};

static void
take_text(struct span bytes, char text[OP_MAX_NAME + 1])
{
	size_t n = 0;

	for (; bytes.at < bytes.end && n < OP_MAX_NAME; bytes.at++)
		text[n++] =
			(char)(*bytes.at < ' ' || *bytes.at >= 0x7f ? '_' : *bytes.at);
	text[n] = '\0';
}

/* A repeated number, packed or not. */
static bool
take_needs(const struct field *field, struct node *node)
{
	struct span in = field->bytes;
	uint64_t id;

	if (field->wire == WIRE_VARINT) {
		vec_push(&node->needs, field->value);
		return true;
	}
	if (field->wire != WIRE_BYTES)
		return false;
	while (in.at < in.end) {
		if (!read_varint(&in, &id))
			return false;
		vec_push(&node->needs, id);
	}
	return true;
}

/* A list of booleans with a false. */
static bool
leaves_out(struct span list)
{
	struct field field;

	while (list.at < list.end && read_field(&list, &field)) {
		if (field.wire == WIRE_VARINT && !field.value)
			return true;
		if (field.wire == WIRE_BYTES && field.bytes.at < field.bytes.end &&
		    memchr(field.bytes.at, 0,
			   (size_t)(field.bytes.end - field.bytes.at)))
			return true;
	}
	return false;
}

static bool
take_attribute(struct span in, struct node *node)
{
	char name[OP_MAX_NAME + 1] = "", text[OP_MAX_NAME + 1] = "";
	struct field field, value = { 0 };
	int which;

	while (in.at < in.end) {
		if (!read_field(&in, &field))
			return false;
		if (field.number == 1 && field.wire == WIRE_BYTES)
			take_text(field.bytes, name);
		else if (field.number > 2)
			value = field;
	}
	if (value.wire == WIRE_BYTES && value.bytes.at)
		take_text(value.bytes, text);
	which = words_index(name, attribute_names);
	if (!strcmp(name, "pg_name"))
		memcpy(node->group, text, sizeof text);
	else if (!strcmp(name, "involved_dim"))
		node->has_part_of_dims = value.wire == WIRE_BYTES && value.bytes.at &&
					 leaves_out(value.bytes);
	if (which < 0 || !value.number || value.wire == WIRE_BYTES)
		return true;
	/* sint32 and sint64 are zigzag; a negative number is out of every range. */
	if (value.number == 15 || value.number == 17)
		value.value = value.value & 1 ? UINT64_MAX : value.value >> 1;
	node->values[which] = value.value;
	node->has[which] = true;
	return true;
}

static bool
take_node_field(const struct field *field, struct node *node, char name[])
{
	if (field->number == 2 && field->wire == WIRE_BYTES)
		take_text(field->bytes, name);
	else if (field->number == 4 || field->number == 5)
		return take_needs(field, node);
	else if (field->number == 10)
		return field->wire == WIRE_BYTES && take_attribute(field->bytes, node);
	else if (field->wire != WIRE_VARINT)
		return true;
	else if (field->number == 1)
		node->op.id = field->value;
	else if (field->number == 3)
		node->type = field->value;
	else if (field->number == 7)
		node->us = field->value;
	return true;
}

static int
finish_collective(struct op_table *table, struct node *node, struct err *err)
{
	struct op *op = &node->op;
	uint64_t type = node->values[ATTR_TYPE];
	const size_t n_types = sizeof comm_types / sizeof *comm_types;

	/* proto3 omits no member of a oneof, but other writers do omit zeros. */
	if (type >= n_types)
		return op_table_fail(table, op, err,
				     "comm_type is %llu, expected 0 to %zu",
				     (unsigned long long)type, n_types - 1);
	op->kind = OP_COLLECTIVE;
	op->collective = comm_types[type].op;
	op->is_part = op->collective == COLLECTIVE_ALLGATHER;
	if (op->collective == COLLECTIVE_OP_NONE && type != COMM_BARRIER)
		return op_table_fail(
			table, op, err,
			"the simulator has no %s; expected ALL_REDUCE, "
			"REDUCE_SCATTER, ALL_GATHER, BROADCAST, ALL_TO_ALL "
			"or BARRIER",
			comm_types[type].name);
	if (!node->has[ATTR_SIZE] && type != COMM_BARRIER)
		return op_table_fail(table, op, err,
				     "expected the attribute comm_size, a number");
	if (node->has_part_of_dims)
		return op_table_fail(
			table, op, err,
			"its ranks depend on dimensions (involved_dim), which only the "
			"fabric of another simulator has; expected a group (pg_name)");
	if (node->has[ATTR_GROUP] && !node->group[0])
		snprintf(node->group, sizeof node->group, "%llu",
			 (unsigned long long)node->values[ATTR_GROUP]);
	if (node->group[0])
		op->group = strtab_intern(table->groups, node->group);
	return 0;
}

static int
finish_pair(struct op_table *table, struct node *node, bool sends, struct err *err)
{
	enum attribute which = sends ? ATTR_DST : ATTR_SRC;
	struct op *op = &node->op;

	op->kind = sends ? OP_SEND : OP_RECV;
	if (!node->has[which] || node->values[which] >= OP_MAX_RANKS)
		return op_table_fail(table, op, err,
				     "expected the attribute %s, a rank below %d",
				     attribute_names[which], OP_MAX_RANKS);
	if (!node->has[ATTR_SIZE])
		return op_table_fail(table, op, err,
				     "expected the attribute comm_size, a number");
	op->peer = (uint32_t)node->values[which];
	op->tag = (uint32_t)node->values[ATTR_TAG];
	return 0;
}

/* Makes the operation of a node. */
static int
finish_node(struct op_table *table, struct node *node, struct err *err)
{
	struct op *op = &node->op;
	bool counts = node->type >= NODE_MEM_LOAD && node->type <= NODE_COMP;
	int r = 0;

	if (node->us > OP_MAX_DURATION / NS_PER_US)
		return op_table_fail(table, op, err,
				     "expected a duration of at most an hour");
	op->bytes = (double)node->values[ATTR_SIZE];
	op->ns = counts ? (int64_t)node->us * NS_PER_US : 0;
	if (node->type >= N_NODE_TYPES)
		r = op_table_fail(table, op, err, "type is %llu, expected 0 to %d",
				  (unsigned long long)node->type, N_NODE_TYPES - 1);
	else if (node->type == NODE_COLL)
		r = finish_collective(table, node, err);
	else if (node->type == NODE_SEND || node->type == NODE_RECV)
		r = finish_pair(table, node, node->type == NODE_SEND, err);
	else
		op->bytes = 0;
	if (r == 0)
		r = op_table_add(table, op, node->needs.items, node->needs.n, err);
	return r;
}

static int
read_node(const char *file, uint32_t rank, size_t number, struct span in,
	  struct op_table *table, struct err *err)
{
	struct node node = { 0 };
	char name[OP_MAX_NAME + 1] = "";
	struct field field;
	bool is_whole = true;
	int r;

	node.op.rank = rank;
	node.op.group = STRTAB_NONE;
	while (in.at < in.end && is_whole)
		is_whole =
			read_field(&in, &field) && take_node_field(&field, &node, name);
	node.op.file = strtab_intern(table->files, file);
	node.op.name = strtab_intern(table->names, name);
	r = is_whole ? finish_node(table, &node, err)
		     : err_set(err, file, 0, 0,
			       "message %zu is damaged: expected a node of a Chakra "
			       "execution trace",
			       number);
	vec_free(&node.needs);
	return r;
}

/* ---- Files ----------------------------------------------------------------------- */

int
chakra_rank_of(const char *path, uint32_t *ret_rank, struct err *err)
{
	const char *name = strrchr(path, '/'), *end = NULL, *s;
	size_t n = 0;

	for (s = name ? name + 1 : path; (s = strstr(s, ".et")); s++)
		if (!s[3] || s[3] == '.')
			end = s;
	for (s = end; s && s > path && s[-1] >= '0' && s[-1] <= '9'; s--)
		n++;
	if (!n || n > MAX_RANK_DIGITS || s == path || s[-1] != '.')
		return err_set(err, path, 0, 0,
			       "expected a file of one rank, NAME.RANK.et");
	*ret_rank = (uint32_t)strtoul(s, NULL, 10);
	return 0;
}

int
chakra_read(const char *file, uint32_t rank, const void *bytes, size_t size,
	    struct op_table *table, struct err *err)
{
	struct span in = { bytes, (const uint8_t *)bytes + size };
	size_t n = 0;

	while (in.at < in.end) {
		size_t place = size - (size_t)(in.end - in.at);
		struct span message;
		uint64_t length;
		int r;

		n++;
		if (!read_varint(&in, &length) || length > (uint64_t)(in.end - in.at))
			return err_set(err, file, 0, 0,
				       "message %zu, at byte %zu, is cut off; expected "
				       "a whole Chakra execution trace",
				       n, place);
		if (length > CHAKRA_MAX_MESSAGE)
			return err_set(err, file, 0, 0,
				       "message %zu, at byte %zu, has %llu bytes; "
				       "expected at most %u",
				       n, place, (unsigned long long)length,
				       CHAKRA_MAX_MESSAGE);
		message = (struct span){ in.at, in.at + length };
		in.at += length;
		/* The first one is metadata. */
		r = n == 1 ? 0 : read_node(file, rank, n, message, table, err);
		if (r < 0)
			return r;
	}
	if (n < 2)
		return err_set(err, file, 0, 0,
			       "no nodes; expected a Chakra execution trace of a rank");
	return 0;
}
