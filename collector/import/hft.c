/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/hft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strtab.h"

#define MS          INT64_C(1000000)
#define MAX_SECONDS INT64_C(4000000000)
#define SPAN_NS     (500 * MS)
#define MAX_OCTETS  INT64_C(9007199254740991) /* 2^53 - 1: what numbers of JSON hold. */

void
hft_fini(struct hft *hft)
{
	vec_free(&hft->ports);
	vec_free(&hft->samples);
}

/*
 * Repairs the manual's example, which lacks the comma after "hostname": "leaf01": if a
 * key follows, a blank before it becomes a comma.
 */
static void
mend_comma(char *text)
{
	char *at = strstr(text, "\"hostname\""), *end;

	if (!at)
		return;
	at += strlen("\"hostname\"");
	at += strspn(at, " \t\r\n");
	if (*at != ':')
		return;
	at++;
	at += strspn(at, " \t\r\n");
	if (*at != '"')
		return;
	at++;
	at += strcspn(at, "\"\\");
	if (*at != '"')
		return;
	end = at + 1 + strspn(at + 1, " \t\r\n");
	if (*end == '"' && end > at + 1)
		at[1] = ',';
}

/* ---- Samples --------------------------------------------------------------------- */

static int
get_count(const struct json_doc *doc, const struct json *object, const char *key,
	  bool *ret_has, uint64_t *ret_value, struct err *err)
{
	int64_t value = -1;
	int error = json_opt_int(doc, object, key, 0, MAX_OCTETS, &value, err);

	*ret_has = error == 0 && value >= 0;
	*ret_value = *ret_has ? (uint64_t)value : 0;
	return error;
}

static int
parse_ports(const struct json_doc *doc, const struct json *data, int64_t time_ns,
	    struct strtab *names, struct hft *hft, struct err *err)
{
	for (const struct json *p = json_first(data); p; p = json_next(p)) {
		struct hft_sample sample = { .time_ns = time_ns };
		const char *name = json_key(p);

		if (json_as_object(doc, p, err) < 0)
			return -EINVAL;
		if (!name || !name[0] || strlen(name) > TELE_MAX_NAME)
			return json_fail(doc, p, err,
					 "a port's name is to have 1 to %d characters",
					 TELE_MAX_NAME);
		if (get_count(doc, p, "if_out_octets", &sample.has_out,
			      &sample.out_bytes, err) < 0 ||
		    get_count(doc, p, "if_in_octets", &sample.has_in, &sample.in_bytes,
			      err) < 0)
			return -EINVAL;
		sample.port = strtab_intern(names, name);
		if (sample.port >= TELE_MAX_INTERFACES)
			return json_fail(doc, p, err, "more than %d ports",
					 TELE_MAX_INTERFACES);
		if (sample.port == hft->ports.n) {
			struct hft_port port;

			snprintf(port.name, sizeof port.name, "%s", name);
			vec_push(&hft->ports, port);
		}
		if (sample.has_out || sample.has_in)
			vec_push(&hft->samples, sample);
	}
	return 0;
}

static int
parse_sample(const struct json_doc *doc, const struct json *value, struct strtab *names,
	     struct hft *hft, struct err *err)
{
	const struct json *metadata, *data;
	int64_t sec, nsec;

	if (json_as_object(doc, value, err) < 0)
		return -EINVAL;
	metadata = json_find(value, "metadata");
	data = json_find(value, "port_data");
	if (!metadata || !data)
		return json_fail(doc, value, err,
				 "a sample needs 'metadata' and 'port_data'");
	if (json_as_object(doc, metadata, err) < 0 ||
	    json_as_object(doc, data, err) < 0 ||
	    json_get_int(doc, metadata, "sec", 0, MAX_SECONDS, &sec, err) < 0 ||
	    json_get_int(doc, metadata, "nsec", 0, 999999999, &nsec, err) < 0)
		return -EINVAL;
	return parse_ports(doc, data, sec * INT64_C(1000000000) + nsec, names, hft,
			   err);
}

static bool
is_sample_key(const char *key)
{
	return key && key[0] && strspn(key, "0123456789") == strlen(key);
}

static int
parse_all(const struct json_doc *doc, struct strtab *names, struct hft *hft,
	  struct err *err)
{
	const struct json *root = json_root(doc);
	const char *host = "";

	if (json_as_object(doc, root, err) < 0 ||
	    json_opt_str(doc, root, "hostname", &host, err) < 0)
		return -EINVAL;
	snprintf(hft->host, sizeof hft->host, "%s", host);
	for (const struct json *v = json_first(root); v; v = json_next(v))
		if (is_sample_key(json_key(v)) &&
		    parse_sample(doc, v, names, hft, err) < 0)
			return -EINVAL;
	if (hft->samples.n == 0)
		return json_fail(
			doc, root, err,
			"no samples: expected high-frequency telemetry such as "
			"{ \"hostname\": \"leaf01\", \"0\": { \"metadata\": ..., "
			"\"port_data\": ... } }");
	return 0;
}

/* ---- What the counts count ------------------------------------------------------- */

static int
by_time(const void *a, const void *b)
{
	const struct hft_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* True if no port's octets ever decrease. */
static bool
never_falls(const struct hft *hft)
{
	struct hft_sample *last = xcalloc(hft->ports.n, sizeof *last);
	bool falls = false;

	for (size_t i = 0; i < hft->samples.n && !falls; i++) {
		const struct hft_sample *s = &hft->samples.items[i];

		falls = s->out_bytes < last[s->port].out_bytes ||
			s->in_bytes < last[s->port].in_bytes;
		last[s->port] = *s;
	}
	free(last);
	return !falls;
}

/* Sums octets counted since the previous sample. */
static void
count_up(struct hft *hft)
{
	struct hft_sample *sum = xcalloc(hft->ports.n, sizeof *sum);

	for (size_t i = 0; i < hft->samples.n; i++) {
		struct hft_sample *s = &hft->samples.items[i];

		sum[s->port].out_bytes += s->out_bytes;
		sum[s->port].in_bytes += s->in_bytes;
		s->out_bytes = sum[s->port].out_bytes;
		s->in_bytes = sum[s->port].in_bytes;
	}
	free(sum);
}

int
hft_parse(const char *file, char *text, size_t length, enum hft_counts counts,
	  struct hft *ret_hft, struct err *err)
{
	struct hft hft = { 0 };
	struct strtab *names;
	struct json_doc *doc;
	int error;

	mend_comma(text);
	error = json_parse(file, text, length, &doc, err);
	if (error < 0)
		return error;
	names = strtab_new();
	error = parse_all(doc, names, &hft, err);
	strtab_free(names);
	json_doc_free(doc);
	if (error < 0) {
		hft_fini(&hft);
		return error;
	}
	qsort(hft.samples.items, hft.samples.n, sizeof *hft.samples.items, by_time);
	if (counts == HFT_AUTO)
		counts = never_falls(&hft) ? HFT_CUMULATIVE : HFT_INTERVAL;
	if (counts == HFT_INTERVAL)
		count_up(&hft);
	hft.counts = counts;
	*ret_hft = hft;
	return 0;
}

int
hft_read(const char *file, enum hft_counts counts, struct hft *ret_hft, struct err *err)
{
	size_t length;
	char *text;
	int error = file_read(file, HFT_MAX_BYTES, &text, &length, err);

	if (error < 0)
		return error;
	error = hft_parse(file, text, length, counts, ret_hft, err);
	free(text);
	return error;
}

/* ---- As a source ----------------------------------------------------------------- */

struct hft_source {
	struct source source;
	struct hft hft;
	double capacity_bps;
	uint32_t *numbers; /* Owned.  Number of each port, once known. */
	bool is_known;
	size_t next;
};

static struct hft_source *
from_source(const struct source *source)
{
	return (struct hft_source *)source;
}

static void
name_ports(struct hft_source *s, const struct source_sink *sink)
{
	if (s->is_known)
		return;
	for (size_t i = 0; i < s->hft.ports.n; i++) {
		struct tele_interface interface = { .capacity_bps = s->capacity_bps,
						    .is_up = true };

		memcpy(interface.name, s->hft.ports.items[i].name,
		       sizeof interface.name);
		s->numbers[i] = sink->interface(sink->ctx, &interface);
		sink->complete(sink->ctx, s->numbers[i],
			       s->hft.samples.items[0].time_ns / MS);
	}
	s->is_known = true;
}

static int
hft_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	 struct err *err)
{
	struct hft_source *s = from_source(source);
	int64_t end_ns, last_ns = 0;

	(void)now_ns;
	(void)err;
	if (s->next == s->hft.samples.n)
		return -ENODATA;
	name_ports(s, sink);
	end_ns = s->hft.samples.items[s->next].time_ns + SPAN_NS;
	for (; s->next < s->hft.samples.n; s->next++) {
		const struct hft_sample *sample = &s->hft.samples.items[s->next];
		struct source_key key = { s->numbers[sample->port], TELE_LINK, TELE_TX,
					  TELE_WIRE };

		if (sample->time_ns >= end_ns)
			break;
		last_ns = sample->time_ns;
		if (sample->has_out)
			sink->counter(sink->ctx, &key, last_ns, sample->out_bytes, 64,
				      NULL);
		key.direction = TELE_RX;
		if (sample->has_in)
			sink->counter(sink->ctx, &key, last_ns, sample->in_bytes, 64,
				      NULL);
	}
	for (size_t i = 0; i < s->hft.ports.n; i++)
		sink->complete(sink->ctx, s->numbers[i], last_ns / MS);
	return s->next == s->hft.samples.n ? -ENODATA : 0;
}

static int64_t
hft_interval_ns(const struct source *source)
{
	(void)source;
	return 0;
}

static void
hft_close(struct source *source)
{
	struct hft_source *s = from_source(source);

	if (!s)
		return;
	hft_fini(&s->hft);
	free(s->numbers);
	free(s);
}

static const struct source_class hft_class = {
	.name = "hft",
	.summary = "a switch's high-frequency telemetry",
	.poll = hft_poll,
	.interval_ns = hft_interval_ns,
	.close = hft_close,
};

void
src_hft_open(struct hft *hft, double capacity_bps, struct source **ret_source)
{
	struct hft_source *s = xcalloc(1, sizeof *s);

	s->source.class = &hft_class;
	s->hft = *hft;
	*hft = (struct hft){ 0 };
	s->capacity_bps = capacity_bps;
	s->numbers = xcalloc(s->hft.ports.n, sizeof *s->numbers);
	*ret_source = &s->source;
}
