/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params.h - values of a mechanism's parameters: the default, else the scheduler's,
 * else the user's.
 */
#ifndef POLICIES_PARAMS_H
#define POLICIES_PARAMS_H

#include "policies/mechanism.h"

struct err;

/* Whether the mechanism has the parameter of "NAME=VALUE". */
bool params_have(const struct pol_module *module, const char *set);

/*
 * Returns values in the order of the module's parameters; the caller frees them.
 * 'instead': the scheduler's values, ended by an entry without a name, or NULL. Names
 * that the module does not have are ignored.  Returns 0, or -EINVAL with 'err' filled:
 * no number, out of range, or inconsistent values; then nothing is returned.
 */
int params_find(const struct pol_module *module, const struct pol_param *instead,
		const char *const *sets, size_t n_sets, double **ret_values,
		struct err *err);

#endif
