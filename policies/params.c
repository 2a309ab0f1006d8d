/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - values of parameters. */
#include "policies/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

static size_t
count(const struct pol_param *params)
{
	size_t n = 0;

	while (params && params[n].name)
		n++;
	return n;
}

/* NULL if there is no such parameter. */
static const struct pol_param *
find(const struct pol_module *module, const char *name, size_t n_name)
{
	for (size_t i = 0; i < count(module->params); i++)
		if (strlen(module->params[i].name) == n_name &&
		    memcmp(module->params[i].name, name, n_name) == 0)
			return &module->params[i];
	return NULL;
}

bool
params_have(const struct pol_module *module, const char *set)
{
	return find(module, set, strcspn(set, "="));
}

/* Sets a value from "NAME=VALUE". */
static int
set_one(const struct pol_module *module, const char *set, double *values,
	struct err *err)
{
	const char *equals = strchr(set, '=');
	const struct pol_param *param;
	char *end;
	double value;

	if (!equals)
		return err_set(err, NULL, 0, 0, "'%.60s', expected NAME=VALUE", set);
	value = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !isfinite(value))
		return err_set(err, NULL, 0, 0, "'%.60s' has no number", set);
	param = find(module, set, (size_t)(equals - set));
	if (!param)
		return 0;
	if (!(value >= param->min && value <= param->max))
		return err_set(err, NULL, 0, 0, "%s is %g, expected %g to %g",
			       param->name, value, param->min, param->max);
	if (param->is_whole && value != floor(value))
		return err_set(err, NULL, 0, 0,
			       "%s is %g, expected a whole number from %g to %g",
			       param->name, value, param->min, param->max);
	values[param - module->params] = value;
	return 0;
}

int
params_find(const struct pol_module *module, const struct pol_param *instead,
	    const char *const *sets, size_t n_sets, double **ret_values,
	    struct err *err)
{
	size_t n = count(module->params);
	double *values = xcalloc(n + 1, sizeof *values);
	int r = 0;

	for (size_t i = 0; i < n; i++)
		values[i] = module->params[i].value;
	for (size_t i = 0; i < count(instead); i++) {
		const struct pol_param *param =
			find(module, instead[i].name, strlen(instead[i].name));

		if (param)
			values[param - module->params] = instead[i].value;
	}
	for (size_t i = 0; r == 0 && i < n_sets; i++)
		r = set_one(module, sets[i], values, err);
	if (r == 0 && module->why_not && module->why_not(values))
		r = err_set(err, NULL, 0, 0, "%s", module->why_not(values));
	if (r < 0) {
		free(values);
		return r;
	}
	*ret_values = values;
	return 0;
}
