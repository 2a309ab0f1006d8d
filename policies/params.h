/*
 * params.h - what mechanisms' parameters are: their defaults, what a scheduler has instead,
 * and what the user says.
 */
#ifndef POLICIES_PARAMS_H
#define POLICIES_PARAMS_H

#include "policies/mechanism.h"

struct err;

/* Whether it has the parameter of "NAME=VALUE". */
bool params_have(const struct pol_module *module, const char *set);

/*
 * Values in the order of the module's parameters, to be freed by the caller.  'instead':
 * ends with one without a name, or NULL.  Names that it does not have are not for it.  0,
 * or -EINVAL with 'err' filled: no number, out of its range, or values that contradict one
 * another; then nothing is returned.
 */
int params_find(const struct pol_module *module, const struct pol_param *instead,
		const char *const *sets, size_t n_sets, double **ret_values,
		struct err *err);

#endif
