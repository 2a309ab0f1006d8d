/* SPDX-License-Identifier: Apache-2.0 */
/* Execution traces as scenarios: reading, matching of ranks, reduction, writing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/workload_ini.h"
#include "sim/import/chakra.h"
#include "sim/import/op_csv.h"
#include "sim/import/op_scenario.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

static const struct op_scenario_options options = { .job = "j", .slots = 1 };

/* ---- Helpers --------------------------------------------------------------------- */

/* The segments and groups of a table's job: the text after "nodes = N". */
static int
convert(struct op_table *table, char *ret, size_t size, struct err *err)
{
	struct op_graph graph = { 0 };
	struct strbuf text = STRBUF_EMPTY;
	int r = op_table_finish(table, err);

	if (r == 0)
		r = op_graph_make(table, &graph, err);
	if (r == 0)
		r = op_scenario_write(table, &graph, &options, &text, err);
	if (r == 0) {
		const struct scenario_io io = { 0 };
		struct scenario *scenario;
		const char *nodes = strstr(text.text, "nodes = ");

		assert_int_equal(scenario_parse("x", text.text, text.length, &io,
						&scenario, err),
				 0);
		scenario_free(scenario);
		assert_non_null(nodes);
		snprintf(ret, size, "%s", strchr(nodes, '\n') + 1);
	}
	strbuf_free(&text);
	op_graph_fini(&graph);
	op_table_fini(table);
	return r;
}

static int
convert_csv(const char *csv, char *ret, size_t size, struct err *err)
{
	static struct memory_file file;
	struct op_table table;
	int r;

	op_table_init(&table);
	r = op_csv_read(memory_file_set(&file, csv, strlen(csv)), &table, err);
	if (r == 0)
		return convert(&table, ret, size, err);
	op_table_fini(&table);
	return r;
}

static void
assert_converts(const char *csv, const char *expect)
{
	char text[4096] = "";
	struct err err = { 0 };

	if (convert_csv(csv, text, sizeof text, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(text, expect);
}

static void
assert_refused(const char *csv, unsigned line, const char *expect)
{
	char text[4096];
	struct err err = { .text = "accepted" };

	assert_true(convert_csv(csv, text, sizeof text, &err) < 0);
	assert_string_equal(err.text, expect);
	assert_int_equal(err.line, line);
}

#define HEAD "rank,id,op,name,bytes,duration_us,needs,group\n"

/* ---- Reduction ------------------------------------------------------------------- */

static void
ranks_that_do_the_same_are_one_segment(void **state)
{
	(void)state;
	assert_converts(HEAD "0,1,compute,fwd,,1000,,\n"
			     "0,2,compute,bwd,,2000,1,\n"
			     "0,3,allreduce,grads,4e6,,2,\n"
			     "1,1,compute,fwd,,1050,,\n"
			     "1,2,compute,bwd,,2000,1,\n"
			     "1,3,allreduce,grads,4e6,,2,\n",
			"dp = 2\nsegment = compute 3.05 ms\n"
			"segment = allreduce 4 MB over dp\n");
}

static void
computing_that_differs_is_a_segment_each(void **state)
{
	(void)state;
	assert_converts(HEAD "0,1,compute,a,,1000,,\n"
			     "0,2,barrier,b,,,1,\n"
			     "0,3,compute,c,,500,2,\n"
			     "1,1,compute,d,,2000,,\n"
			     "1,2,barrier,b,,,1,\n"
			     "1,3,compute,c,,500,2,\n",
			"segment = a: compute 1 ms\n"
			"segment = d: compute 2 ms needs start\n"
			"segment = compute 500 us needs a, d\n");
}

static void
implied_dependencies_are_dropped(void **state)
{
	(void)state;
	assert_converts(HEAD "0,1,compute,a,,1000,,\n"
			     "0,2,allreduce,r,1e6,,1,\n"
			     "0,3,compute,c,,1000,1 2,\n"
			     "0,4,compute,d,,1000,3 1 2,\n"
			     "1,1,compute,a,,1000,,\n"
			     "1,2,allreduce,r,1e6,,1,\n"
			     "1,3,compute,c,,1000,1 2,\n"
			     "1,4,compute,d,,1000,3 1 2,\n",
			"dp = 2\nsegment = compute 1 ms\n"
			"segment = allreduce 1 MB over dp\n"
			"segment = compute 2 ms\n");
}

static void
groups_become_tensor_and_data_parallel_ones(void **state)
{
	struct strbuf csv = STRBUF_EMPTY;

	(void)state;
	strbuf_puts(&csv, HEAD);
	for (unsigned r = 0; r < 8; r++)
		strbuf_printf(&csv,
			      "%u,1,allreduce,t,1e6,,,t%u\n"
			      "%u,2,allreduce,d,2e6,,1,d%u\n"
			      "%u,3,alltoall,e,3e6,,2,e%u\n"
			      "%u,4,allreduce,all,4e6,,3,\n",
			      r, r / 2, r, r % 2, r, r / 4 * 2 + r % 2, r);
	assert_converts(csv.text, "tp = 2\ndp = 4\nep = 2\n"
				  "segment = allreduce 1 MB over tp\n"
				  "segment = allreduce 2 MB over dp\n"
				  "segment = alltoall 3 MB over ep\n"
				  "segment = allreduce 4 MB over 0-7\n");
	strbuf_free(&csv);
}

static void
messages_wait_for_their_sender_only(void **state)
{
	(void)state;
	assert_converts("rank,id,op,name,bytes,duration_us,needs,group,peer,tag\n"
			"0,1,compute,f0,,1000,,,,\n"
			"0,2,send,act,5e6,,1,,1,7\n"
			"1,1,recv,act,5e6,,,,0,7\n"
			"1,2,compute,f1,,3000,1,,,\n",
			"segment = compute 1 ms\n"
			"segment = send 5 MB 0->1\n"
			"segment = compute 3 ms\n");
	/* A ring: each rank sends before it waits for its receive. */
	assert_converts("rank,id,op,bytes,peer,needs\n"
			"0,1,send,1000,1,\n0,2,recv,1000,1,1\n"
			"1,1,send,1000,0,\n1,2,recv,1000,0,1\n",
			"segment = send 1000 B 0->1\n"
			"segment = send 1000 B 1->0 needs start\n");
}

/* ---- Faults ---------------------------------------------------------------------- */

static void
faults_name_their_node(void **state)
{
	(void)state;
	assert_refused(HEAD "0,1,compute,a,,1000,2,\n0,2,compute,b,,1000,1,\n", 2,
		       "node 1 'a' of rank 0: it waits for itself: its dependencies, "
		       "with those of collectives and messages on other ranks, are a "
		       "cycle");
	assert_refused(HEAD "0,1,compute,a,,1000,9,\n", 2,
		       "node 1 'a' of rank 0: it depends on node 9, which this rank "
		       "does not have");
	assert_refused(HEAD "0,1,compute,a,,1000,,\n0,1,compute,b,,1000,,\n", 3,
		       "node 1 'b' of rank 0: there is a node with this id already, "
		       "'a'");
	assert_refused(HEAD "1,1,compute,a,,1000,,\n", 2,
		       "node 1 'a' of rank 1: rank 0 has no operations; expected all "
		       "ranks from 0 on");
	assert_refused(HEAD "0,1,compute,a,,0,,\n", 0,
		       "no operation takes time or sends bytes; expected durations of "
		       "computing or sizes of messages");
}

static void
ranks_that_disagree_are_refused(void **state)
{
	(void)state;
	assert_refused(
		HEAD "0,1,allreduce,a,100,,,g\n1,5,allgather,b,100,,,g\n", 3,
		"node 5 'b' of rank 1: it is the collective number 1 of group "
		"'g' here: allgather of 100 bytes; that of rank 0 is node 1 'a': "
		"allreduce of 100 bytes");
	assert_refused(
		HEAD "0,1,allreduce,a,100,,,g\n0,2,allreduce,b,100,,,g\n"
		     "1,5,allreduce,a,100,,,g\n",
		3,
		"node 2 'b' of rank 0: rank 1 has only 1 of the 2 collectives of "
		"group 'g', and lacks this one");
	assert_refused(HEAD "0,1,allreduce,a,100,,,\n1,1,compute,b,,1,,\n", 2,
		       "node 1 'a' of rank 0: it names no group, so it is one of all 2 "
		       "ranks, but only 1 have it");
	assert_refused(
		HEAD "0,1,allreduce,a,100,,,g\n1,1,allreduce,a,100,,,g\n"
		     "2,1,compute,b,,1,,\n3,1,allreduce,a,100,,,g\n",
		2,
		"node 1 'a' of rank 0: the ranks of group 'g' are at no fixed "
		"distance (3 ranks from 0 to 3); expected a group such as 0-3, or 0-12/4: each fourth rank");
	assert_refused(
		"rank,id,op,bytes,peer\n0,1,send,100,1\n1,1,barrier,,\n"
		"0,2,barrier,,\n",
		2,
		"node 1 'send' of rank 0: rank 1 has no receive from rank 0 with "
		"tag 0 for it");
	assert_refused(
		"rank,id,op,bytes,peer\n0,1,send,100,1\n1,1,recv,90,0\n", 3,
		"node 1 'recv' of rank 1: expected 100 bytes, as rank 0 sends by "
		"node 1, not 90");
}

static void
bad_rows_are_refused(void **state)
{
	(void)state;
	assert_refused("rank,id\n0,1\n", 1, "expected a column 'op'");
	assert_refused("rank,id,op,nam\n", 1,
		       "unknown column 'nam'; expected rank, id, op, name, bytes, "
		       "duration_us, needs, group, peer or tag (did you mean 'name'?)");
	assert_refused(
		HEAD "0,1,alreduce,a,1,,,\n", 2,
		"op is 'alreduce', expected compute, barrier, send, recv, "
		"allreduce, reducescatter, allgather, broadcast or alltoall (did "
		"you mean 'allreduce'?)");
	assert_refused(HEAD "-1,1,compute,a,,1,,\n", 2,
		       "rank is '-1', expected a whole number from 0 to 65535");
	assert_refused(HEAD "0,1,compute,a,,1,2;3,\n", 2,
		       "needs is '2;3', expected ids with blanks between them");
	assert_refused(HEAD "0,1,allreduce,a,nan,,,\n", 2,
		       "bytes is 'nan', expected a number of bytes from 0 to 1e15");
	assert_refused(HEAD "0,1,allreduce,a,,,,\n", 2,
		       "bytes is '', expected the size of the message");
}

/* ---- Chakra ---------------------------------------------------------------------- */

static void
put_varint(struct strbuf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		strbuf_putc(out, (char)((value & 0x7f) | 0x80));
	strbuf_putc(out, (char)value);
}

static void
put_number(struct strbuf *out, unsigned field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void
put_text(struct strbuf *out, unsigned field, const char *text, size_t n)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, n);
	strbuf_add(out, text, n);
}

static void
put_attribute(struct strbuf *node, const char *name, unsigned field, uint64_t value)
{
	struct strbuf attribute = STRBUF_EMPTY;

	put_text(&attribute, 1, name, strlen(name));
	put_number(&attribute, field, value);
	put_text(node, 10, attribute.text, attribute.length);
	strbuf_free(&attribute);
}

/* A file of one rank: computing, then a collective. */
static void
put_file(struct strbuf *file, unsigned comm_type, uint64_t bytes)
{
	struct strbuf node = STRBUF_EMPTY;

	put_varint(file, 3); /* Metadata. */
	strbuf_add(file, "\x0a\x01v", 3);
	put_number(&node, 1, 1);
	put_text(&node, 2, "work", 4);
	put_number(&node, 3, 4);
	put_number(&node, 7, 1500);
	put_varint(file, node.length);
	strbuf_add(file, node.text, node.length);
	strbuf_clear(&node);
	put_number(&node, 1, 2);
	put_text(&node, 2, "gather", 6);
	put_number(&node, 3, 7);
	put_text(&node, 5, "\x01", 1); /* Packed. */
	put_attribute(&node, "comm_type", 9, comm_type);
	put_attribute(&node, "comm_size", 17, 2 * bytes); /* sint64: zigzag. */
	put_varint(file, node.length);
	strbuf_add(file, node.text, node.length);
	strbuf_free(&node);
}

static void
chakra_nodes_become_segments(void **state)
{
	struct strbuf file = STRBUF_EMPTY;
	struct op_table table;
	struct err err = { 0 };
	char text[4096];

	(void)state;
	put_file(&file, 2, 1000000);
	op_table_init(&table);
	for (uint32_t rank = 0; rank < 4; rank++)
		assert_int_equal(chakra_read("x.0.et", rank, file.text, file.length,
					     &table, &err),
				 0);
	assert_int_equal(convert(&table, text, sizeof text, &err), 0);
	/* The message of an all-gather is what each rank has at the end. */
	assert_string_equal(text, "dp = 4\nsegment = compute 1.5 ms\n"
				  "segment = allgather 4 MB over dp\n");
	strbuf_free(&file);
}

static void
chakra_faults_are_refused(void **state)
{
	struct strbuf file = STRBUF_EMPTY;
	struct op_table table;
	struct err err = { 0 };
	uint32_t rank;

	(void)state;
	put_file(&file, 3, 10);
	op_table_init(&table);
	assert_int_equal(chakra_read("x", 0, file.text, file.length, &table, &err),
			 -EINVAL);
	assert_string_equal(
		err.text, "node 2 'gather' of rank 0: the simulator has no GATHER; "
			  "expected ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, "
			  "ALL_TO_ALL or BARRIER");
	/* Each part of a file that ends within a message is cut off. */
	for (size_t n = 0; n < file.length; n++)
		if (chakra_read("x", 0, file.text, n, &table, &err) == 0)
			assert_true(n == 4 + 1 + (size_t)file.text[4]);
	strbuf_free(&file);
	op_table_fini(&table);
	assert_int_equal(chakra_rank_of("dir.7.et/all.12.et.xz", &rank, &err), 0);
	assert_int_equal(rank, 12);
	assert_int_equal(chakra_rank_of("all.et", &rank, &err), -EINVAL);
	assert_int_equal(chakra_rank_of("dir/all.x1.et", &rank, &err), -EINVAL);
	assert_int_equal(chakra_rank_of("12.et", &rank, &err), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_do_the_same_are_one_segment),
		cmocka_unit_test(computing_that_differs_is_a_segment_each),
		cmocka_unit_test(implied_dependencies_are_dropped),
		cmocka_unit_test(groups_become_tensor_and_data_parallel_ones),
		cmocka_unit_test(messages_wait_for_their_sender_only),
		cmocka_unit_test(faults_name_their_node),
		cmocka_unit_test(ranks_that_disagree_are_refused),
		cmocka_unit_test(bad_rows_are_refused),
		cmocka_unit_test(chakra_nodes_become_segments),
		cmocka_unit_test(chakra_faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
