/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/job_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/packets/packet.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/tele.h"

struct rule {
	char job[TELE_MAX_NAME + 1];
	unsigned n_ends; /* Addresses given: 0 to 2. */

	struct end {
		struct packet_address address;
		unsigned bits;
	} ends[2];

	bool has_ports;
	uint16_t first_port, last_port;
};

struct job_rules {
	size_t n;
	struct rule rules[]; /* Owned; allocated with the struct. */
};

/* Parses an address, bracketed or not, at '*text', and moves '*text' past it. */
static int
parse_end(const char **text, struct end *ret)
{
	bool is_bracketed = **text == '[';
	const char *begin = *text + is_bracketed;
	size_t length = strcspn(begin, is_bracketed ? "]" : ",:");
	char name[64];

	if (length >= sizeof name || (is_bracketed && begin[length] != ']'))
		return -EINVAL;
	memcpy(name, begin, length);
	name[length] = '\0';
	*text = begin + length + is_bracketed;
	return packet_parse_address(name, &ret->address, &ret->bits);
}

static int
parse_port(const char **text, uint16_t *ret_port)
{
	char *end;
	unsigned long port = strtoul(*text, &end, 10);

	if (**text < '0' || **text > '9' || port > UINT16_MAX)
		return -EINVAL;
	*text = end;
	*ret_port = (uint16_t)port;
	return 0;
}

static int
parse_rule(const char *text, struct rule *ret)
{
	size_t length = strcspn(text, "=");

	if (text[length] != '=' || length == 0 || length > TELE_MAX_NAME)
		return -EINVAL;
	memcpy(ret->job, text, length);
	text += length + 1;
	while (*text && *text != ':') {
		if (ret->n_ends == 2 || parse_end(&text, &ret->ends[ret->n_ends]) < 0)
			return -EINVAL;
		ret->n_ends++;
		if (*text == ',' && text[1] && text[1] != ':')
			text++;
		else if (*text && *text != ':')
			return -EINVAL;
	}
	if (*text == ':') {
		text++;
		ret->has_ports = true;
		if (parse_port(&text, &ret->first_port) < 0)
			return -EINVAL;
		ret->last_port = ret->first_port;
		if (*text == '-') {
			text++;
			if (parse_port(&text, &ret->last_port) < 0)
				return -EINVAL;
		}
	}
	return *text || ret->last_port < ret->first_port ||
			       (!ret->n_ends && !ret->has_ports)
		       ? -EINVAL
		       : 0;
}

int
job_rules_new(const char *const *rules, size_t n, struct job_rules **ret_rules,
	      struct err *err)
{
	struct job_rules *r;

	if (n > JOB_RULES_MAX)
		return err_set(err, NULL, 0, 0, "more than %d rules for jobs",
			       JOB_RULES_MAX);
	r = xcalloc(1, sizeof *r + n * sizeof *r->rules);
	r->n = n;
	for (size_t i = 0; i < n; i++) {
		if (parse_rule(rules[i], &r->rules[i]) == 0)
			continue;
		free(r);
		return err_set(err, NULL, 0, 0,
			       "'%s' names no job: expected "
			       "JOB=ADDRESS[,ADDRESS][:PORT[-PORT]], such as "
			       "'41=10.0.0.1,10.0.0.2' or '42=10.0.0.0/24:5000-5999'",
			       rules[i]);
	}
	*ret_rules = r;
	return 0;
}

void
job_rules_free(struct job_rules *rules)
{
	free(rules);
}

static bool
is_in(const struct packet_address *address, const struct end *end)
{
	return packet_address_in(address, &end->address, end->bits);
}

static bool
is_between(const struct rule *rule, const struct packet_address *a,
	   const struct packet_address *b)
{
	if (rule->n_ends == 0)
		return true;
	if (rule->n_ends == 1)
		return is_in(a, &rule->ends[0]) || is_in(b, &rule->ends[0]);
	return (is_in(a, &rule->ends[0]) && is_in(b, &rule->ends[1])) ||
	       (is_in(a, &rule->ends[1]) && is_in(b, &rule->ends[0]));
}

static bool
has_port(const struct rule *rule, uint16_t port)
{
	return port >= rule->first_port && port <= rule->last_port;
}

const char *
job_rules_match(const struct job_rules *rules, const struct packet *packet)
{
	if (!packet->is_ip)
		return NULL;
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->rules[i];

		if (rule->has_ports &&
		    !(packet->has_ports && (has_port(rule, packet->source_port) ||
					    has_port(rule, packet->destination_port))))
			continue;
		if (is_between(rule, &packet->source, &packet->destination))
			return rule->job;
	}
	return NULL;
}
