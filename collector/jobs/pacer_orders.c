/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/pacer_orders.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"

#define MAX_US      (PACE_MAX_ORDER_NS / 1000)
#define MAX_WALL_US (INT64_C(1) << 52)

/* Converts wall clock microseconds to the monotonic clock; 0 before its start. */
static int64_t
to_monotonic(int64_t wall_us, int64_t wall_offset_ns)
{
	int64_t ns = wall_us * 1000 - wall_offset_ns;

	if (ns < 0)
		return 0;
	return ns < TELE_MAX_NS ? ns : TELE_MAX_NS;
}

static int
parse_row(const struct json_doc *doc, const struct json *at, int64_t wall_offset_ns,
	  struct orders_row *ret_row, struct err *err)
{
	int64_t pid, number, delay_us, not_before_us, expires_us, max_us;
	const char *job;

	if (json_as_object(doc, at, err) < 0 ||
	    json_get_str(doc, at, "job", &job, err) < 0 ||
	    json_get_int(doc, at, "pid", 1, UINT32_MAX, &pid, err) < 0 ||
	    json_get_int(doc, at, "number", 1, UINT32_MAX, &number, err) < 0 ||
	    json_get_int(doc, at, "delay_us", 0, MAX_US, &delay_us, err) < 0 ||
	    json_get_int(doc, at, "not_before_us", 0, MAX_WALL_US, &not_before_us,
			 err) < 0 ||
	    json_get_int(doc, at, "expires_us", 0, MAX_WALL_US, &expires_us, err) < 0 ||
	    json_get_int(doc, at, "max_us", 0, MAX_US, &max_us, err) < 0)
		return -EINVAL;
	if (!tele_name_is_valid(job))
		return json_fail(doc, json_find(at, "job"), err,
				 "that is not the name of a job");
	*ret_row = (struct orders_row){
		.pid = (uint32_t)pid,
		.order = {
			.number = (uint32_t)number,
			.delay_ns = delay_us * 1000,
			.expires_ns = to_monotonic(expires_us, wall_offset_ns),
			.max_ns = max_us * 1000,
		},
	};
	if (not_before_us)
		ret_row->order.not_before_ns =
			to_monotonic(not_before_us, wall_offset_ns);
	strcpy(ret_row->job, job);
	return 0;
}

int
orders_parse(struct orders *orders, const char *text, size_t n, int64_t wall_offset_ns,
	     struct err *err)
{
	struct json_doc *doc;
	const struct json *array;
	size_t n_rows = 0;
	int error = json_parse("orders", text, n, &doc, err);

	orders->rows.n = 0;
	if (error < 0)
		return error;
	error = json_check_schema(doc, "antiphase.orders", 1, err);
	if (error == 0)
		error = json_get_array(doc, json_root(doc), "orders", &array, &n_rows,
				       err);
	if (error == 0 && n_rows > ORDERS_MAX)
		error = json_fail(doc, array, err, "more than %d orders", ORDERS_MAX);
	for (const struct json *at = error == 0 ? json_first(array) : NULL;
	     at && error == 0; at = json_next(at)) {
		struct orders_row row;

		error = parse_row(doc, at, wall_offset_ns, &row, err);
		if (error == 0)
			vec_push(&orders->rows, row);
	}
	if (error < 0)
		orders->rows.n = 0;
	json_doc_free(doc);
	return error;
}

void
orders_fini(struct orders *orders)
{
	vec_free(&orders->rows);
}
