/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - quantities with units: "35 ms", "125MB", "50 Gb/s", "2 %".
 *
 * A number, optional blanks, and a required unit.  Prefixes of bytes and bits are
 * powers of 1000 (kB, MB, GB; kb/s, Mb/s, Gb/s, also Gbps), or for bytes of 1024 (KiB,
 * MiB, GiB). Values are finite and not negative.
 */
#ifndef LIB_BASE_UNITS_H
#define LIB_BASE_UNITS_H

#include <stdint.h>

/* Return 0, or -EINVAL with the output unchanged. */
int units_parse_ns(const char *text, int64_t *ret_ns); /* ns us ms s min h */
int units_parse_bytes(const char *text,
		      double *ret_bytes);               /* B kB MB GB TB KiB MiB GiB */
int units_parse_bps(const char *text, double *ret_bps); /* b/s kb/s Mb/s Gb/s Tb/s */
/* "3:2" (the first over the second) or "1.5". */
int units_parse_ratio(const char *text, double *ret_ratio);
int units_parse_frac(const char *text, double *ret_frac); /* "2 %" or "0.02" */

/* For messages, after "expected". */
#define UNITS_WANT_TIME  "a time such as '35 ms' (ns, us, ms, s, min, h)"
#define UNITS_WANT_BYTES "a size such as '125 MB' (B, kB, MB, GB, TB, KiB, MiB, GiB)"
#define UNITS_WANT_RATE  "a rate such as '50 Gb/s' (b/s, kb/s, Mb/s, Gb/s, Tb/s)"
#define UNITS_WANT_FRAC  "a share such as '2 %' or '0.02'"

#endif
