/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer numbers are refused. */
#define MAX_NUMBER 64

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = {
	{ "ns", 1 },     { "us", 1e3 },   { "ms", 1e6 }, { "s", 1e9 },
	{ "min", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
};

static const struct unit byte_units[] = {
	{ "B", 1 },        { "kB", 1e3 },     { "MB", 1e6 },
	{ "GB", 1e9 },     { "TB", 1e12 },    { "KiB", 1024 },
	{ "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { NULL, 0 },
};

static const struct unit rate_units[] = {
	{ "b/s", 1 },     { "kb/s", 1e3 },  { "Mb/s", 1e6 }, { "Gb/s", 1e9 },
	{ "Tb/s", 1e12 }, { "bps", 1 },     { "kbps", 1e3 }, { "Mbps", 1e6 },
	{ "Gbps", 1e9 },  { "Tbps", 1e12 }, { NULL, 0 },
};

static const struct unit percent_unit[] = { { "%", 1 }, { NULL, 0 } };
static const struct unit no_unit[] = { { "", 1 }, { NULL, 0 } };

static const char *
skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static const char *
skip_digits(const char *s)
{
	return s + strspn(s, "0123456789");
}

/*
 * Reads "12", "1.5", ".5" or "2e3" and returns the end, or NULL: strtod() also accepts
 * signs, hexadecimal, "inf" and "nan".
 */
static const char *
read_number(const char *text, double *ret_value)
{
	char number[MAX_NUMBER + 1];
	const char *end = skip_digits(text);
	size_t n_digits = (size_t)(end - text);
	size_t length;

	if (*end == '.') {
		const char *fraction = end + 1;

		end = skip_digits(fraction);
		n_digits += (size_t)(end - fraction);
	}
	if (!n_digits)
		return NULL;
	if (*end == 'e' || *end == 'E') {
		const char *exponent = end + 1;

		if (*exponent == '+' || *exponent == '-')
			exponent++;
		if (isdigit((unsigned char)*exponent))
			end = skip_digits(exponent);
	}

	length = (size_t)(end - text);
	if (length > MAX_NUMBER)
		return NULL;
	memcpy(number, text, length);
	number[length] = '\0';
	*ret_value = strtod(number, NULL);
	return end;
}

static int
parse(const char *text, const struct unit *units, double *ret_value)
{
	const char *unit, *end;
	double value;
	size_t length;

	unit = read_number(skip_blanks(text), &value);
	if (!unit)
		return -EINVAL;
	unit = skip_blanks(unit);
	end = unit + strcspn(unit, " \t");
	if (*skip_blanks(end))
		return -EINVAL;

	length = (size_t)(end - unit);
	for (; units->name; units++) {
		if (strlen(units->name) != length || memcmp(units->name, unit, length))
			continue;
		value *= units->factor;
		if (!isfinite(value))
			return -EINVAL;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

int
units_parse_ns(const char *text, int64_t *ret_ns)
{
	double ns;

	if (parse(text, time_units, &ns) < 0 || ns >= 0x1p63)
		return -EINVAL;
	*ret_ns = llround(ns);
	return 0;
}

int
units_parse_bytes(const char *text, double *ret_bytes)
{
	return parse(text, byte_units, ret_bytes);
}

int
units_parse_bps(const char *text, double *ret_bps)
{
	return parse(text, rate_units, ret_bps);
}

int
units_parse_frac(const char *text, double *ret_frac)
{
	double percent;

	if (parse(text, percent_unit, &percent) < 0)
		return parse(text, no_unit, ret_frac);
	*ret_frac = percent / 100; /* 7 * 0.01 would not be 0.07. */
	return 0;
}

int
units_parse_ratio(const char *text, double *ret_ratio)
{
	double over, under = 1;
	const char *end = read_number(text, &over);

	if (end && *end == ':')
		end = read_number(end + 1, &under);
	if (!end || *end || !(under > 0) || !isfinite(over / under))
		return -EINVAL;
	*ret_ratio = over / under;
	return 0;
}
