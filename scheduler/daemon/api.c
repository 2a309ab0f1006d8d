#include "scheduler/daemon/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/rng.h"
#include "lib/base/strtab.h"
#include "lib/daemon/metrics.h"
#include "scheduler/k8s/extender.h"
#include "scheduler/live/live.h"

#define EVENTS          "/api/v1/events"
#define MAX_TOKEN_BYTES 4096
#define LEAST_TOKEN     16

#define MAX_ADVICE_BYTES (1u << 20)
/* Of an event; what a listener has not read is HTTP_MAX_WAITING at most. */
#define MAX_EVENT_LINKS 64
/* Links that are looked at for an event between two looks at the clock. */
#define LINKS_A_STEP    1024
#define MAX_SMALL_BYTES 4096

void
api_begin(struct api_text *text, const char *schema)
{
	*text = (struct api_text){ .text = NULL };
	text->out = open_memstream(&text->text, &text->length);
	BUG_ON(!text->out);
	jsonw_init(&text->w, text->out);
	jsonw_object(&text->w, NULL);
	jsonw_str(&text->w, "schema", schema);
}

static void
finish(struct api_text *text, struct strbuf *out)
{
	jsonw_end(&text->w);
	jsonw_finish(&text->w);
	BUG_ON(fclose(text->out) != 0);
	strbuf_free(out);
	*out = (struct strbuf){ text->text, text->length, text->length + 1 };
}

void
api_end(struct api_text *text, struct http_reply *reply)
{
	finish(text, &reply->body);
}

bool
api_number(const struct http_request *request, const char *name, int64_t fallback,
	   int64_t *ret_value)
{
	const char *text = http_query(request, name);
	char *end;
	long long value;

	*ret_value = fallback;
	if (!text || !*text)
		return true;
	errno = 0;
	value = strtoll(text, &end, 10);
	*ret_value = value;
	return !errno && !*end && value >= 0;
}

bool
api_page_read(const struct http_request *request, struct http_reply *reply,
	      struct api_page *ret_page)
{
	int64_t limit;

	if (!api_number(request, "limit", API_MAX_PAGE, &limit) || limit < 1 ||
	    limit > API_MAX_PAGE) {
		http_reply_error(reply, 400, "bad_query", "?limit=N&after=NAME",
				 "limit is a whole number from 1 to %d", API_MAX_PAGE);
		return false;
	}
	*ret_page = (struct api_page){ (size_t)limit, http_query(request, "after") };
	return true;
}

void
api_page_end(size_t n, size_t n_told, const char *last, struct jsonw *w)
{
	jsonw_int(w, "left_out", (int64_t)(n - n_told));
	jsonw_str(w, "next_after", n > n_told ? last : NULL);
}

struct status
api_picture(const struct daemon *d)
{
	struct status picture = telemetry_status(d);

	picture.max_hosts = API_MAX_HOSTS;
	return picture;
}

/* clang-format off */
static const struct http_route routes[] = {
	{ "GET", "/api/v1/health", false, 0, api_health },
	{ "GET", "/api/v1/topology", false, 0, api_topology },
	{ "GET", "/api/v1/links", false, 0, api_links },
	{ "GET", "/api/v1/links/*", false, 0, api_link },
	{ "GET", "/api/v1/jobs", false, 0, api_jobs },
	{ "GET", "/api/v1/jobs/*", false, 0, api_job },
	{ "GET", "/api/v1/series", false, 0, api_series },
	{ "GET", "/api/v1/advice", false, 0, api_advices },
	{ "GET", "/api/v1/advice/*", false, 0, api_advice },
	{ "GET", "/api/v1/changes", false, 0, api_changes },
	{ "GET", "/api/v1/config", false, 0, api_config },
	{ "POST", "/api/v1/advice", true, MAX_ADVICE_BYTES, api_ask_advice },
	{ "POST", "/api/v1/modes", true, MAX_SMALL_BYTES, api_modes },
	{ "POST", "/api/v1/jobs/*", true, MAX_SMALL_BYTES, api_job_deed },
	{ "POST", "/api/v1/poke", true, MAX_SMALL_BYTES, api_poke },
};

/* clang-format on */

/* ---- Events --------------------------------------------------------------------------- */

static uint64_t
mix(uint64_t mark, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return rng_mix(mark ^ bits);
}

/* What is told of a link, as one number, so that it need not be kept. */
static uint64_t
mark_of(const struct contention_link *link)
{
	const double told[] = { link->now_bps,
				link->peak_bps,
				link->mean_bps,
				link->other_bps,
				link->capacity_bps,
				link->is_up,
				(double)link->known_ms,
				(double)link->over_ms,
				(double)link->since_ms,
				(double)link->total_ce,
				(double)link->total_retransmits,
				(double)link->queue_bytes,
				(double)link->n_jobs };
	uint64_t mark = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		mark = mix(mark, told[i]);
	for (size_t i = 0; i < link->n_jobs; i++) {
		mark = mix(mark, link->jobs[i].job);
		mark = mix(mark, link->jobs[i].now_bps);
		mark = mix(mark, link->jobs[i].active_ms);
	}
	return mark;
}

/* Whether it is another than at the last tick, which this notes. */
static bool
has_changed(struct daemon *d, const struct contention_link *link)
{
	struct api_told *told = &d->told;
	uint32_t id = strtab_intern(told->names, link->name);
	uint64_t mark = mark_of(link);
	struct api_mark *at;
	bool is_other;

	if (id == told->marks.n)
		vec_push(&told->marks, ((struct api_mark){ .mark = 0 }));
	at = &told->marks.items[id];
	is_other = at->mark != mark;
	*at = (struct api_mark){ mark, true, true };
	return is_other;
}

void
api_forget(struct daemon *d)
{
	struct api_told *told = &d->told;

	for (uint32_t i = 0; i < told->marks.n; i++) {
		struct api_mark *at = &told->marks.items[i];

		if (at->is_known && !at->is_used) {
			*at = (struct api_mark){ .mark = 0 };
			strtab_remove(told->names, i);
		}
		at->is_used = false;
	}
}

/* On one line: so many links, not more than a listener can be told at once. */
static void
write_event(struct daemon *d, const struct contention_link *const *links, size_t n,
	    size_t n_left_out, struct strbuf *data)
{
	const struct status picture = api_picture(d);
	const struct contention *found = &d->now.found;
	struct api_text text = { .text = NULL };

	text.out = open_memstream(&text.text, &text.length);
	BUG_ON(!text.out);
	jsonw_line(&text.w, text.out, "antiphase.links/1");
	status_json_footer(&picture, found->from_ms, found->to_ms, &text.w);
	status_json_links(&picture, links, n, &text.w);
	api_page_end(n_left_out, 0, NULL, &text.w);
	finish(&text, data);
	data->text[strcspn(data->text, "\n")] = '\0';
	data->length = strlen(data->text);
}

/* The links that carry anything, the contended ones first. */
static void
write_hello(void *ctx, struct strbuf *data)
{
	struct daemon *d = ctx;
	const struct contention *found = &d->now.found;
	const struct contention_link *links[MAX_EVENT_LINKS];
	size_t n = 0, n_left_out = 0;

	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];

		if (link->now_bps <= 0 && !link->n_jobs)
			continue;
		if (n < MAX_EVENT_LINKS)
			links[n++] = link;
		else
			n_left_out++;
	}
	write_event(d, links, n, n_left_out, data);
}

/* The links that have changed, likewise. */
static void
tell(struct daemon *d)
{
	struct api_told *told = &d->told;
	const struct contention_link *links[MAX_EVENT_LINKS];
	struct strbuf data = STRBUF_EMPTY;

	for (size_t i = 0; i < told->changed.n; i++)
		links[i] = &d->now.found.links[told->changed.items[i]];
	write_event(d, links, told->changed.n, told->n_left_out, &data);
	http_stream_send(d->http, EVENTS, "tick", data.text);
	strbuf_free(&data);
}

void
api_tick(struct daemon *d)
{
	if (!d->http || !http_stream_listeners(d->http, EVENTS) ||
	    d->now.told_ns == d->now.looked_ns)
		return;
	d->now.told_ns = d->now.looked_ns;
	d->told.is_telling = true;
	d->told.next = d->told.changed.n = d->told.n_left_out = 0;
}

/* No other look is shown in between (rounds.c), unless the fabric becomes another one. */
bool
api_go_on(struct daemon *d)
{
	struct api_told *told = &d->told;
	const struct contention *found = &d->now.found;

	told->is_telling &= d->now.told_ns == d->now.looked_ns;
	if (!told->is_telling)
		return false;
	for (int i = 0; i < LINKS_A_STEP && told->next < found->n_links; i++) {
		size_t link = told->next++;

		if (!has_changed(d, &found->links[link]))
			continue;
		if (told->changed.n < MAX_EVENT_LINKS)
			vec_push(&told->changed, link);
		else
			told->n_left_out++;
	}
	if (told->next < found->n_links)
		return true;
	told->is_telling = false;
	tell(d);
	return true;
}

/* ---- Opening -------------------------------------------------------------------------- */

/* Who may read the token may change modes. */
static void
check_token_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && (status.st_mode & S_IRWXO))
		log_warn("http",
			 "%s: everybody on this host may read or write the token "
			 "(mode %03o); chmod o-rwx, and make a new one",
			 path, (unsigned)status.st_mode & 0777);
}

static int
take_token(struct daemon *d, struct err *err)
{
	const char *path = d->config.token_file;
	char *text;
	size_t n;
	int r;

	if (!path)
		return 0;
	r = file_read(path, MAX_TOKEN_BYTES, &text, &n, err);
	if (r < 0)
		return r;
	check_token_file(path);
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) < LEAST_TOKEN)
		r = err_set(err, path, 0, 0,
			    "the token has %zu characters, expected at least %d on "
			    "the first line (openssl rand -hex 32 makes one)",
			    strlen(text), LEAST_TOKEN);
	else
		http_set_token(d->http, text);
	explicit_bzero(text, n);
	free(text);
	return r;
}

int
api_open(struct daemon *d, struct err *err)
{
	const struct http_page pages[] = {
		{ .path = "/metrics",
		  .content_type = METRICS_OPEN_TYPE,
		  .write_piece = figures_write_open,
		  .ctx = d,
		  .accepted = METRICS_OPEN_NAME },
		{ .path = "/metrics",
		  .content_type = METRICS_TEXT_TYPE,
		  .write_piece = figures_write_piece,
		  .ctx = d },
	};
	const char *address = d->config.http;
	int r;

	if (!address)
		return 0;
	r = http_open(d->loop, address, pages, sizeof pages / sizeof *pages, &d->http,
		      err);
	if (r < 0)
		return r;
	http_add_routes(d->http, routes, sizeof routes / sizeof *routes, d);
	api_k8s_open(d);
	http_add_stream(d->http, EVENTS, write_hello, d);
	d->told.names = strtab_new();
	return take_token(d, err);
}

void
api_close(struct daemon *d)
{
	http_close(d->http);
	strtab_free(d->told.names);
	vec_free(&d->told.marks);
	vec_free(&d->told.changed);
	extender_free(d->extender);
	d->http = NULL;
}
