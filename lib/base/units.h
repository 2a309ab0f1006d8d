/*
 * units.h - quantities as people write them: "35 ms", "125MB", "50 Gb/s", "2 %".
 *
 * A number, optional blanks, and a unit that must be given.  Bytes and bits
 * use powers of 1000 (kB, MB, GB; kb/s, Mb/s, Gb/s, also Gbps) and bytes
 * powers of 1024 with an i (KiB, MiB, GiB).  Values must be finite and not negative.
 */
#ifndef LIB_BASE_UNITS_H
#define LIB_BASE_UNITS_H

#include <stdint.h>

/* Return 0 or -EINVAL; the output is then left alone. */
int units_parse_ns(const char *text, int64_t *ret_ns); /* ns us ms s min h */
int units_parse_bytes(const char *text,
		      double *ret_bytes);               /* B kB MB GB TB KiB MiB GiB */
int units_parse_bps(const char *text, double *ret_bps); /* b/s kb/s Mb/s Gb/s Tb/s */
/* A ratio as on paper, "2:1" or "3:2", or as a number, "1.5"; the first over the second. */
int units_parse_ratio(const char *text, double *ret_ratio);
int units_parse_frac(const char *text, double *ret_frac); /* "2 %" or "0.02" */

/* What those expect, for messages: "a time such as '35 ms'". */
#define UNITS_WANT_TIME  "a time such as '35 ms' (ns, us, ms, s, min, h)"
#define UNITS_WANT_BYTES "a size such as '125 MB' (B, kB, MB, GB, TB, KiB, MiB, GiB)"
#define UNITS_WANT_RATE  "a rate such as '50 Gb/s' (b/s, kb/s, Mb/s, Gb/s, Tb/s)"
#define UNITS_WANT_FRAC  "a share such as '2 %' or '0.02'"

#endif
