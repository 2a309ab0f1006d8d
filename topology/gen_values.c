/* SPDX-License-Identifier: Apache-2.0 */
/* gen_values.c - the values of the generators' options, from their texts. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "topology/gen.h"
#include "topology/gen_priv.h"
#include "topology/gen_table.h"
#include "topology/routing.h"

static int
refuse(const struct gen_option *option, const char *text, const char *expected,
       struct err *err)
{
	return err_set(err, NULL, 0, 0, "--%s is '%s', expected %s", option->name, text,
		       expected);
}

/* A whole number from 1 to TOPO_MAX_NODES at '*text', which then is behind it. */
static int
read_count(const char **text, uint32_t *ret_count)
{
	char *end;
	unsigned long count;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	count = strtoul(*text, &end, 10);
	if (errno || count < 1 || count > TOPO_MAX_NODES)
		return -EINVAL;
	*text = end;
	*ret_count = (uint32_t)count;
	return 0;
}

static int
read_ratio(const char *text, double *ret_ratio)
{
	double ratio;

	if (units_parse_ratio(text, &ratio) < 0 || !(ratio > 0))
		return -EINVAL;
	*ret_ratio = ratio;
	return 0;
}

static int
read_gbps(const char *text, double *ret_bps)
{
	if (strchr(text, ':') || read_ratio(text, ret_bps) < 0)
		return -EINVAL;
	*ret_bps *= 1e9;
	return 0;
}

/* One speed of several: "6x100", or "100" for one part. */
static int
read_counted_gbps(const char *text, uint32_t *ret_n, double *ret_bps)
{
	*ret_n = 1;
	if (strchr(text, 'x') && (read_count(&text, ret_n) < 0 || *text++ != 'x'))
		return -EINVAL;
	return read_gbps(text, ret_bps);
}

static int
read_speeds(const char *text, struct gen_speeds *speeds)
{
	struct words words;
	int r = 0;

	if (read_gbps(text, &speeds->items[0].bps) == 0) {
		speeds->n = 1;
		return 0;
	}
	words_split(&words, text, ",");
	if (words.items.n < 1 || words.items.n > GEN_MAX_SPEEDS)
		r = -EINVAL;
	for (size_t i = 0; r == 0 && i < words.items.n; i++)
		r = read_counted_gbps(words.items.items[i], &speeds->items[i].n_parts,
				      &speeds->items[i].bps);
	speeds->n = (uint32_t)words.items.n;
	words_fini(&words);
	return r;
}

/* Number of the word in the option's words, or -EINVAL. */
static int
read_word(const struct gen_option *option, const char *word, struct err *err)
{
	int index = words_index(word, option->words);
	struct strbuf known = STRBUF_EMPTY;

	if (index >= 0)
		return index;
	for (size_t i = 0; option->words[i]; i++)
		strbuf_printf(&known, "%s%s",
			      i == 0                 ? ""
			      : option->words[i + 1] ? ", "
						     : " or ",
			      option->words[i]);
	refuse(option, word, known.text, err);
	if (err)
		err_suggest(err, word, option->words);
	strbuf_free(&known);
	return -EINVAL;
}

static int
read_balance(const struct gen_option *option, const char *text,
	     struct gen_balance *balance, struct err *err)
{
	struct words words;
	int r = 0;

	words_split(&words, text, ",");
	if (words.items.n < 1 || words.items.n > GEN_MAX_TIERS)
		r = refuse(option, text, "1 to 3 words, one a tier of switches", err);
	for (size_t i = 0; r >= 0 && i < words.items.n; i++) {
		r = read_word(option, words.items.items[i], err);
		if (r >= 0)
			balance->tiers[i] = (enum topo_balance)r;
	}
	balance->n_tiers = (uint32_t)words.items.n;
	words_fini(&words);
	return r < 0 ? r : 0;
}

static int
read_dims(const char *text, uint32_t *dims)
{
	struct topo_routing torus;

	if (topo_torus_parse(text, &torus) < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < torus.n_dims; i++)
		dims[i] = torus.dims[i];
	return 0;
}

int
gen_read_value(const struct gen_option *option, const char *text, void *member,
	       struct err *err)
{
	const char *rest = text, *expected = NULL;
	int r = -EINVAL;

	switch (option->type) {
	case GEN_COUNT:
		expected = "a whole number from 1 to 1000000";
		r = read_count(&rest, member);
		r = r == 0 && *rest ? -EINVAL : r;
		break;
	case GEN_GBPS:
		expected = "a number of Gb/s above 0";
		r = read_gbps(text, member);
		break;
	case GEN_SPEEDS:
		expected = "a number of Gb/s above 0, or up to 16 with counts such as "
			   "6x100,2x400";
		r = read_speeds(text, member);
		break;
	case GEN_RATIO:
		expected = "a number above 0, or two such as 2:1";
		r = read_ratio(text, member);
		break;
	case GEN_DIMS:
		expected = "1 to 3 sizes such as 8x8x4";
		r = read_dims(text, member);
		break;
	case GEN_WORD:
		r = read_word(option, text, err);
		if (r < 0)
			return r;
		*(uint32_t *)member = (uint32_t)r;
		return 0;
	case GEN_BALANCE:
		return read_balance(option, text, member, err);
	}
	return r < 0 ? refuse(option, text, expected, err) : 0;
}
