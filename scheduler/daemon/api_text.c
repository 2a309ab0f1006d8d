/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/telemetry.h"

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
api_status(const struct api *api)
{
	struct status status = telemetry_status(api->opts.telemetry);

	status.max_hosts = API_MAX_HOSTS;
	return status;
}
