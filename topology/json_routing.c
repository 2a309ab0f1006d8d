/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/json_routing.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/words.h"
#include "topology/routing.h"

static int
read_dims(const struct json_doc *doc, const struct json *value,
	  struct topo_routing *routing, struct err *err)
{
	const struct json *dims = NULL;
	size_t n = 0;

	if (json_get_array(doc, value, "dims", &dims, &n, err) < 0)
		return -EINVAL;
	if (n < 1 || n > TOPO_MAX_DIMS)
		return json_fail(doc, dims, err,
				 "'dims' has %zu sizes, expected 1 to %d", n,
				 TOPO_MAX_DIMS);
	for (const struct json *one = json_first(dims); one; one = json_next(one)) {
		double size = json_number(one);

		if (!(size >= 1 && size <= TOPO_MAX_NODES) || size != floor(size))
			return json_fail(
				doc, one, err,
				"a size in 'dims' is no whole number from 1 to "
				"%d",
				TOPO_MAX_NODES);
		routing->dims[routing->n_dims++] = (uint32_t)size;
	}
	return 0;
}

int
topo_json_routing_read(const struct json_doc *doc, const struct json *value,
		       uint32_t n_switches, uint32_t n_upper,
		       struct topo_routing *ret_routing, struct err *err)
{
	static const char *const keys[] = { "method", "dims", "groups", "valiant",
					    NULL };
	struct topo_routing routing = { .dims = { 1, 1, 1 } };
	struct err why = { 0 };
	int64_t n_groups = 0;
	const char *word;
	int method;

	if (json_as_object(doc, value, err) < 0 ||
	    json_check_keys(doc, value, keys, err) < 0 ||
	    json_get_str(doc, value, "method", &word, err) < 0)
		return -EINVAL;
	method = words_index(word, topo_method_names);
	if (method < 0) {
		json_fail(doc, json_find(value, "method"), err,
			  "'method' is '%s', expected up-down, torus or dragonfly",
			  word);
		if (err)
			err_suggest(err, word, topo_method_names);
		return -EINVAL;
	}
	routing.method = (enum topo_method)method;
	if (routing.method != TOPO_TORUS && json_find(value, "dims"))
		return json_fail(doc, json_find(value, "dims"), err,
				 "'dims' belongs to the method torus");
	if (routing.method == TOPO_TORUS && read_dims(doc, value, &routing, err) < 0)
		return -EINVAL;
	if (routing.method != TOPO_DRAGONFLY &&
	    (json_find(value, "groups") || json_find(value, "valiant")))
		return json_fail(
			doc, value, err,
			"'groups' and 'valiant' belong to the method dragonfly");
	if (routing.method == TOPO_DRAGONFLY &&
	    (json_get_int(doc, value, "groups", 2, TOPO_MAX_NODES, &n_groups, err) <
		     0 ||
	     json_opt_bool(doc, value, "valiant", &routing.is_valiant, err) < 0))
		return -EINVAL;
	routing.n_groups = (uint32_t)n_groups;
	if (topo_routing_check(&routing, n_switches, n_upper, &why) < 0)
		return json_fail(doc, value, err, "%s", why.text);
	*ret_routing = routing;
	return 0;
}

void
topo_json_routing_write(const struct topo_routing *routing, struct jsonw *w)
{
	if (routing->method == TOPO_UP_DOWN)
		return;
	jsonw_flat_object(w, "routing");
	jsonw_str(w, "method", topo_method_names[routing->method]);
	if (routing->method == TOPO_TORUS) {
		jsonw_flat_array(w, "dims");
		for (uint32_t i = 0; i < routing->n_dims; i++)
			jsonw_int(w, NULL, routing->dims[i]);
		jsonw_end(w);
	} else {
		jsonw_int(w, "groups", routing->n_groups);
		jsonw_bool(w, "valiant", routing->is_valiant);
	}
	jsonw_end(w);
}
