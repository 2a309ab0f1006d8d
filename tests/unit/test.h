/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - cmocka with the headers it needs, and additional asserts */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* clang-format off: cmocka needs these before itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

/* Two doubles are within 'tol' of each other; fails if either is NaN. */
#define assert_near(a, b, tol)                                                   \
	do {                                                                     \
		double a__ = (a), b__ = (b);                                     \
		if (!(fabs(a__ - b__) <= (tol)))                                 \
			fail_msg("%s: %.17g is not within %g of %.17g", #a, a__, \
				 (double)(tol), b__);                            \
	} while (0)

/* Optional data beside the project: without it a test is skipped by name. */
#define SHARED_DATA "../shared/data"

#endif
