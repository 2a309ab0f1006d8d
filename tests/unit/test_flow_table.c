/* SPDX-License-Identifier: Apache-2.0 */
/* test_flow_table.c - reports of TCP flows: their JSON, and what the scheduler keeps */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "lib/wire/port_text.h"
#include "scheduler/daemon/flow_table.h"
#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)

#define ROW                                                             \
	"{\"job\":\"7\",\"source\":\"10.0.0.1:41000\",\"destination\":" \
	"\"10.0.1.1:5001\",\"port\":61007,\"bytes\":123456789}"
#define GOOD "{\"schema\":\"antiphase.flows/1\",\"host\":\"n1\",\"flows\":[" ROW "]}"

static int
take(struct flow_table *table, int64_t now_ns, const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	return flow_table_take(table, now_ns, text, strlen(text), err);
}

static void
write_row(void *ctx, const char *host, const struct flow_row *row)
{
	char text[PORT_TEXT_FLOW_BYTES];

	strbuf_printf(ctx, "%s %s %s %u %llu\n", host, row->job,
		      port_text_flow(&row->flow, text), ntohs(row->port),
		      (unsigned long long)row->bytes);
}

static void
check(const struct flow_table *table, const char *expected)
{
	struct strbuf text = STRBUF_EMPTY;

	flow_table_each(table, write_row, &text);
	assert_string_equal(text.text, expected);
	strbuf_free(&text);
}

static void
a_report_replaces_the_one_before(void **state)
{
	static const char none[] =
		"{\"schema\":\"antiphase.flows/1\",\"host\":\"n1\",\"flows\":[]}";
	static const char other[] =
		"{\"schema\":\"antiphase.flows/1\",\"host\":\"n0\",\"flows\":[" ROW
		"," ROW "]}";
	struct flow_table *table = flow_table_new();
	struct err err;

	(void)state;
	assert_int_equal(take(table, 0, GOOD, &err), 0);
	check(table, "n1 7 10.0.0.1:41000 > 10.0.1.1:5001 61007 123456789\n");
	assert_int_equal(take(table, SECOND, other, &err), 0);
	assert_int_equal(flow_table_n(table), 3);
	assert_int_equal(take(table, 2 * SECOND, none, &err), 0);
	check(table, "n0 7 10.0.0.1:41000 > 10.0.1.1:5001 61007 123456789\n"
		     "n0 7 10.0.0.1:41000 > 10.0.1.1:5001 61007 123456789\n");
	flow_table_tick(table, SECOND + FLOW_TABLE_KEEP_NS - 1);
	assert_int_equal(flow_table_n(table), 2);
	flow_table_tick(table, SECOND + FLOW_TABLE_KEEP_NS);
	check(table, "");
	flow_table_free(table);
}

/* Replaces the first 'from' by 'to' in a good report. */
static void
check_refused(struct flow_table *table, const char *from, const char *to)
{
	const char *at = strstr(GOOD, from);
	char text[512];
	struct err err;

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, to,
		 at + strlen(from));
	assert_int_equal(take(table, 0, text, &err), -EINVAL);
	assert_true(*err.text);
}

static void
other_texts_are_refused(void **state)
{
	struct flow_table *table = flow_table_new();

	(void)state;
	check_refused(table, "flows/1", "flows/2");
	check_refused(table, "\"n1\"", "\"\"");
	check_refused(table, "\"n1\"", "1");
	check_refused(table, "\"7\"", "\"\"");
	check_refused(table, "41000", "0");
	check_refused(table, "10.0.0.1:", "10.0.0.1.");
	check_refused(table, "61007", "65536");
	check_refused(table, "123456789", "-1");
	check_refused(table, "\"bytes\":123456789", "\"more\":1");
	check_refused(table, "[", "");
	check_refused(table, ROW, "7");
	assert_int_equal(flow_table_n(table), 0);
	flow_table_free(table);
}

/* A report of a host with one flow from this address. */
static void
take_of(struct flow_table *table, int64_t now_ns, const char *host, const char *address,
	bool has_ports)
{
	struct flow_rows rows = { .range = { has_ports ? 61000 : 0, 61007 } };
	struct flow_row row = { .job = "7", .port = htons(41000), .bytes = 1 };
	char end[64], *text;

	strcpy(rows.host, host);
	snprintf(end, sizeof end, "%s:41000", address);
	assert_int_equal(port_text_end(end, row.flow.source, &row.flow.source_port), 0);
	assert_int_equal(port_text_end("10.0.9.9:1", row.flow.destination,
				       &row.flow.destination_port),
			 0);
	vec_push(&rows.rows, row);
	text = flow_text_write(&rows);
	assert_int_equal(flow_table_take(table, now_ns, text, strlen(text), NULL), 0);
	free(text);
	flow_rows_fini(&rows);
}

static const char *
host_of(const struct flow_table *table, const char *address)
{
	char end[64];
	uint8_t bytes[16];
	uint16_t port;

	snprintf(end, sizeof end, "%s:1", address);
	assert_int_equal(port_text_end(end, bytes, &port), 0);
	return flow_table_host_of(table, bytes);
}

static void
hosts_are_found_by_name_and_address(void **state)
{
	struct flow_table *table = flow_table_new();
	const struct flow_rows *rows;
	struct port_range range;
	uint8_t address[16];
	uint16_t port;

	(void)state;
	assert_null(flow_table_next(table, ""));
	assert_null(host_of(table, "10.0.0.2"));
	take_of(table, 0, "n2", "10.0.0.2", true);
	take_of(table, 0, "n1", "10.0.0.1", false);
	take_of(table, SECOND, "n3", "10.0.0.3", true);
	rows = flow_table_next(table, "");
	assert_string_equal(rows->host, "n1");
	rows = flow_table_next(table, rows->host);
	assert_string_equal(rows->host, "n2");
	assert_string_equal(flow_table_next(table, "n2x")->host, "n3");
	assert_null(flow_table_next(table, "n3"));
	assert_string_equal(host_of(table, "10.0.0.3"), "n3");
	take_of(table, SECOND, "n1", "10.0.0.3", false);
	assert_string_equal(host_of(table, "10.0.0.3"), "n1");
	assert_null(host_of(table, "10.0.0.1"));
	take_of(table, 2 * SECOND, "n3", "10.0.0.4", true);
	take_of(table, 2 * SECOND, "n1", "10.0.0.3", false);
	assert_string_equal(host_of(table, "10.0.0.3"), "n1");
	assert_string_equal(host_of(table, "10.0.0.4"), "n3");
	assert_int_equal(port_text_end("10.0.0.4:1", address, &port), 0);
	assert_true(flow_table_range(table, address, &range));
	assert_int_equal(range.first, 61000);
	assert_int_equal(range.last, 61007);
	assert_int_equal(port_text_end("10.0.0.3:1", address, &port), 0);
	assert_false(flow_table_range(table, address, &range));
	/* Silent hosts are forgotten with their addresses. */
	flow_table_tick(table, FLOW_TABLE_KEEP_NS);
	assert_null(host_of(table, "10.0.0.2"));
	assert_false(flow_table_has_host(table, "n2"));
	assert_true(flow_table_has_host(table, "n3"));
	flow_table_free(table);
}

static void
a_report_names_the_ports_of_its_host(void **state)
{
	static const char moved[] =
		"{\"schema\":\"antiphase.flows/1\",\"host\":\"n2\",\"range\":"
		"\"62000-62999\",\"flows\":[" ROW "]}";
	static const char bad[] = "{\"schema\":\"antiphase.flows/1\",\"host\":\"n2\","
				  "\"range\":\"62000-61000\",\"flows\":[]}";
	struct flow_table *table = flow_table_new();
	struct flow_rows rows = { .host = "" };
	struct port_range range = { 1, 2 };
	struct port_flow flow;
	struct err err;
	char *text;

	(void)state;
	assert_int_equal(
		port_text_end("10.0.0.1:41000", flow.source, &flow.source_port), 0);
	assert_false(flow_table_range(table, flow.source, &range));
	/* Without a range. */
	assert_int_equal(take(table, 0, GOOD, &err), 0);
	assert_false(flow_table_range(table, flow.source, &range));
	assert_int_equal(range.first, 1);
	assert_int_equal(take(table, 0, moved, &err), 0);
	assert_true(flow_table_range(table, flow.source, &range));
	assert_int_equal(range.first, 62000);
	assert_int_equal(range.last, 62999);
	assert_int_equal(take(table, 0, bad, &err), -EINVAL);
	assert_true(*err.text);
	/* The address is at another host now. */
	assert_int_equal(take(table, SECOND, GOOD, &err), 0);
	assert_false(flow_table_range(table, flow.source, &range));
	flow_table_tick(table, FLOW_TABLE_KEEP_NS);
	assert_false(flow_table_range(table, flow.source, &range));
	assert_int_equal(take(table, FLOW_TABLE_KEEP_NS, moved, &err), 0);
	assert_true(flow_table_range(table, flow.source, &range));
	flow_table_free(table);
	assert_int_equal(flow_text_parse(moved, sizeof moved - 1, &rows, NULL), 0);
	text = flow_text_write(&rows);
	assert_non_null(strstr(text, "\"62000-62999\""));
	free(text);
	flow_rows_fini(&rows);
}

static void
random_rows_come_back(void **state)
{
	struct flow_rows rows = { .host = "n7" }, back = { .host = "" };
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < 300; i++) {
		struct flow_row row = { .bytes = rng_next(&rng) >> 11 };

		snprintf(row.job, sizeof row.job, "j%d", i);
		for (size_t k = 0; k < 16; k++) {
			row.flow.source[k] = (uint8_t)rng_next(&rng);
			row.flow.destination[k] = (uint8_t)rng_next(&rng);
		}
		row.flow.source_port = htons((uint16_t)(1 + rng_below(&rng, 65535)));
		row.flow.destination_port =
			htons((uint16_t)(1 + rng_below(&rng, 65535)));
		row.port = htons((uint16_t)(1 + rng_below(&rng, 65535)));
		row.is_opened = rng_below(&rng, 2);
		vec_push(&rows.rows, row);
	}
	for (size_t n = 0; n <= rows.rows.n; n += 100) {
		struct flow_rows some = rows;
		char *text;

		some.rows.n = n;
		text = flow_text_write(&some);
		assert_int_equal(flow_text_parse(text, strlen(text), &back, NULL), 0);
		assert_string_equal(back.host, "n7");
		assert_int_equal(back.rows.n, n);
		for (size_t i = 0; i < n; i++) {
			const struct flow_row *a = &rows.rows.items[i];
			const struct flow_row *b = &back.rows.items[i];

			assert_memory_equal(&a->flow, &b->flow, sizeof a->flow);
			assert_string_equal(a->job, b->job);
			assert_int_equal(a->port, b->port);
			assert_true(a->bytes == b->bytes);
			assert_int_equal(a->is_opened, b->is_opened);
		}
		free(text);
	}
	flow_rows_fini(&rows);
	flow_rows_fini(&back);
}

/* Adds a flow of a job between two hosts, 10.0.0.HOST; each has two addresses. */
static void
add_flow(struct flow_rows *rows, const char *job, unsigned from, unsigned to,
	 uint64_t bytes)
{
	struct flow_row row = { .port = htons(41000), .bytes = bytes };
	char end[64];

	strcpy(row.job, job);
	snprintf(rows->host, sizeof rows->host, "n%u", from % 100);
	snprintf(end, sizeof end, "10.0.0.%u:%zu", from, 41000 + rows->rows.n);
	assert_int_equal(port_text_end(end, row.flow.source, &row.flow.source_port), 0);
	snprintf(end, sizeof end, "10.0.0.%u:5001", to);
	assert_int_equal(
		port_text_end(end, row.flow.destination, &row.flow.destination_port),
		0);
	vec_push(&rows->rows, row);
}

static void
take_rows(struct flow_table *table, struct flow_rows *rows)
{
	char *text = flow_text_write(rows);

	assert_int_equal(flow_table_take(table, 0, text, strlen(text), NULL), 0);
	free(text);
	rows->rows.n = 0;
}

static void
equal_connections_to_a_host_are_counted(void **state)
{
	struct flow_table *table = flow_table_new();
	struct flow_split split = { 0 };
	struct flow_rows rows = { .rows = VEC_EMPTY };

	(void)state;
	/* The other ends report, too; 101 is another address of n1. */
	add_flow(&rows, "7", 1, 3, 100);
	add_flow(&rows, "7", 101, 3, 1);
	take_rows(table, &rows);
	add_flow(&rows, "7", 2, 3, 1);
	take_rows(table, &rows);
	flow_table_add_split(table, "n3", "7", &split);
	assert_true(split.bytes == 0 && split.busiest == 0);
	/* Two to n1, one of them to its other address; one to n2; and little ones. */
	add_flow(&rows, "7", 3, 1, 1000);
	add_flow(&rows, "7", 3, 101, 1000);
	add_flow(&rows, "8", 3, 1, 900);
	add_flow(&rows, "7", 3, 2, 500);
	add_flow(&rows, "7", 3, 1, 3);
	add_flow(&rows, "7", 3, 99, 2);
	take_rows(table, &rows);
	flow_table_add_split(table, "n3", "7", &split);
	assert_true(split.bytes == 2503 && split.busiest == 1500);
	/* Sums of several hosts. */
	flow_table_add_split(table, "n1", "7", &split);
	assert_true(split.bytes == 2604 && split.busiest == 1600);
	flow_table_add_split(table, "n9", "7", &split);
	assert_true(split.bytes == 2604);
	/* No more than the busiest. */
	for (int i = 0; i < FLOW_TABLE_SPLIT + 10; i++)
		add_flow(&rows, "9", 3, 1, 1);
	take_rows(table, &rows);
	split = (struct flow_split){ 0 };
	flow_table_add_split(table, "n3", "9", &split);
	assert_true(split.bytes == FLOW_TABLE_SPLIT && split.busiest == 1);
	vec_free(&rows.rows);
	flow_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_replaces_the_one_before),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(hosts_are_found_by_name_and_address),
		cmocka_unit_test(a_report_names_the_ports_of_its_host),
		cmocka_unit_test(equal_connections_to_a_host_are_counted),
		cmocka_unit_test(random_rows_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
