/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_inputs.h"

#include <errno.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_speakers.h"

/* ---- Opening --------------------------------------------------------------------- */

/* The socket for the key of that name, which is opened if there is none yet. */
static int
input_of(struct bus_inputs *inputs, const struct bus_inputs_opts *opts,
	 const char *server, struct bus_input **ret_input, struct err *err)
{
	int64_t max_bytes = (int64_t)opts->max_bytes;
	struct bus_input *input;
	int error;

	for (size_t i = 0; i < inputs->sockets.n; i++) {
		*ret_input = inputs->sockets.items[i];
		if (strcmp((*ret_input)->server, server) == 0)
			return 0;
	}
	input = xcalloc(1, sizeof *input);
	error = bus_socket_init(&input->socket, inputs->context, opts->type, opts->room,
				err);
	if (error < 0) {
		free(input);
		return error;
	}
	if (max_bytes)
		zmq_setsockopt(input->socket.zmq, ZMQ_MAXMSGSIZE, &max_bytes,
			       sizeof max_bytes);
	strcpy(input->server, server);
	input->is_bound = opts->is_bound;
	vec_push(&inputs->sockets, input);
	*ret_input = input;
	return 0;
}

/* The owner of server.pub may be any host, so its hosts have to be named. */
static int
check_hosts(const struct bus_keys *keys, const char *server, struct err *err)
{
	const struct bus_known *known = bus_keys_server_key(keys, server, 0);

	if (*server || !known || known->hosts)
		return 0;
	return err_set(
		err, keys->directory, 0, 0,
		"server.hosts is missing: the hosts that the owner of server.pub "
		"speaks for, one a line ('*': all); or let each host have its own "
		"key, servers/HOST.pub");
}

static int
attach(struct bus_inputs *inputs, const struct bus_inputs_opts *opts,
       const char *endpoint, struct err *err)
{
	const struct bus_keys *keys = inputs->context->keys;
	char server[BUS_KEY_NAME + 1] = "";
	struct bus_input *input;
	int error = 0;

	if (keys && !opts->is_bound) {
		bus_keys_server_name(keys, endpoint, server);
		if (opts->has_frames)
			error = check_hosts(keys, server, err);
	}
	if (!error)
		error = input_of(inputs, opts, server, &input, err);
	if (!error)
		error = bus_socket_attach(&input->socket, endpoint, opts->is_bound,
					  err);
	return error;
}

int
bus_inputs_open(struct bus_inputs *inputs, struct bus_context *context,
		const struct bus_inputs_opts *opts, const char *const *endpoints,
		size_t n, struct err *err)
{
	int error = 0;

	*inputs = (struct bus_inputs){ .context = context };
	if (context->keys && opts->has_frames)
		inputs->speakers = bus_speakers_new(context);
	for (size_t i = 0; i < n && !error; i++)
		error = attach(inputs, opts, endpoints[i], err);
	return error;
}

void
bus_inputs_close(struct bus_inputs *inputs)
{
	bus_speakers_free(inputs->speakers);
	for (size_t i = 0; i < inputs->sockets.n; i++) {
		bus_socket_fini(&inputs->sockets.items[i]->socket);
		free(inputs->sockets.items[i]);
	}
	vec_free(&inputs->sockets);
	*inputs = (struct bus_inputs){ .context = NULL };
}

/* ---- Messages -------------------------------------------------------------------- */

int
bus_inputs_take(struct bus_inputs *inputs, struct bus_part *part, bool *ret_has_more)
{
	int error = -EAGAIN;

	for (size_t i = 0; i < inputs->sockets.n && error == -EAGAIN; i++) {
		if (!inputs->is_amid)
			inputs->at = (inputs->at + 1) % inputs->sockets.n;
		error = bus_part_take(&inputs->sockets.items[inputs->at]->socket, part,
				      ret_has_more);
		if (inputs->is_amid)
			break;
	}
	inputs->is_amid = error == 0 && *ret_has_more;
	return error;
}

const char *
bus_inputs_server(const struct bus_inputs *inputs)
{
	const struct bus_input *input = inputs->sockets.items[inputs->at];

	return input->is_bound ? NULL : input->server;
}

int
bus_inputs_want(struct bus_inputs *inputs, const char *prefix, bool is_wanted)
{
	int option = is_wanted ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE;

	for (size_t i = 0; i < inputs->sockets.n; i++)
		if (zmq_setsockopt(inputs->sockets.items[i]->socket.zmq, option, prefix,
				   strlen(prefix)) < 0)
			return -zmq_errno();
	return 0;
}

void
bus_inputs_pass(struct bus_inputs *inputs, struct bus_part *part)
{
	for (size_t i = 0; i < inputs->sockets.n; i++) {
		struct bus_part copy;

		bus_part_init(&copy);
		bus_part_copy(&copy, part);
		bus_part_pass(&inputs->sockets.items[i]->socket, &copy, false);
		bus_part_fini(&copy);
	}
}

/* ---- Waiting --------------------------------------------------------------------- */

void
bus_inputs_serve(struct bus_inputs *inputs)
{
	for (size_t i = 0; i < inputs->sockets.n; i++)
		bus_socket_serve(&inputs->sockets.items[i]->socket);
	if (inputs->speakers)
		bus_speakers_serve(inputs->speakers);
}

int
bus_inputs_wait(struct bus_inputs *inputs, int64_t timeout_ns)
{
	VEC(struct bus_socket *) all = VEC_EMPTY;
	int r;

	for (size_t i = 0; i < inputs->sockets.n; i++)
		vec_push(&all, &inputs->sockets.items[i]->socket);
	r = bus_sockets_wait(all.items, all.n, timeout_ns);
	vec_free(&all);
	if (inputs->speakers)
		bus_speakers_serve(inputs->speakers);
	return r;
}

void
bus_inputs_watch(struct bus_inputs *inputs, struct bus_watch *watch,
		 void (*ready)(void *ctx), void *ctx)
{
	for (size_t i = 0; i < inputs->sockets.n; i++)
		bus_watch_socket(watch, &inputs->sockets.items[i]->socket, ready, ctx);
}

/* ---- Questions ------------------------------------------------------------------- */

const char *
bus_inputs_endpoint(const struct bus_inputs *inputs)
{
	return inputs->sockets.items[0]->socket.endpoint;
}

struct bus_inputs_counts
bus_inputs_counts(const struct bus_inputs *inputs)
{
	struct bus_inputs_counts counts = { 0 };

	for (size_t i = 0; i < inputs->sockets.n; i++) {
		const struct bus_socket *s = &inputs->sockets.items[i]->socket;

		counts.reconnects += s->reconnects;
		counts.refused += s->refused;
		counts.crowded += s->crowded;
		counts.connections += s->n_up;
	}
	if (inputs->speakers) {
		const struct bus_speakers_counts *speakers =
			bus_speakers_counts(inputs->speakers);

		counts.misnamed = speakers->misnamed;
		counts.duplicates = speakers->duplicates;
	}
	return counts;
}
