/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_ends.c - sender and receiver of a flow agree on its wire port */
#include "lib/base/rng.h"
#include "tests/unit/port_world.h"

static unsigned
wire_port(struct world *world, size_t flow)
{
	return ntohs(world_wire(world, &world->flows[flow]).source_port);
}

static void
the_receiver_is_first(void **state)
{
	struct world world;
	struct port_message message;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	assert_int_equal(world.n_messages, 1);
	message = world_take(&world, 0);
	assert_int_equal(message.verb, PORT_PREPARE);
	assert_int_equal(wire_port(&world, 0), 41000);
	world_deliver(&world, &message);
	assert_int_equal(world.in.n, 1);
	assert_int_equal(wire_port(&world, 0), 41000);
	message = world_take(&world, 0);
	assert_int_equal(message.verb, PORT_READY);
	world_deliver(&world, &message);
	assert_int_equal(wire_port(&world, 0), 61001);
	assert_int_equal(port_sender_wire_port(world.sender, &world.flows[0]),
			 htons(61001));
	world_deliver_all(&world);
	world_fini(&world);
}

static void
the_old_port_is_kept_for_a_while(void **state)
{
	struct world world;
	struct port_flow wire;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	world_deliver_all(&world);
	wire = world_wire(&world, &world.flows[0]);
	world.now_ns += WORLD_SECOND;
	assert_int_equal(world_order(&world, 0, 61002), 0);
	world_deliver_all(&world);
	assert_int_equal(wire_port(&world, 0), 61002);
	world.now_ns += PORT_RECEIVER_KEEP_NS - 1;
	port_receiver_tick(world.receiver, world.now_ns);
	assert_int_equal(world_arrives_as(&world, &wire), htons(41000));
	world.now_ns++;
	port_receiver_tick(world.receiver, world.now_ns);
	assert_int_equal(world_arrives_as(&world, &wire), htons(61001));
	assert_int_equal(world.in.n, 1);
	/* Back to its own port: the sender first. */
	assert_int_equal(world_order(&world, 0, 41000), 0);
	assert_int_equal(wire_port(&world, 0), 41000);
	assert_int_equal(world.in.n, 1);
	world_deliver_all(&world);
	assert_int_equal(world.out.n, 0);
	world.now_ns += PORT_RECEIVER_KEEP_NS;
	port_receiver_tick(world.receiver, world.now_ns);
	assert_int_equal(world.in.n, 0);
	world_fini(&world);
}

static void
orders_that_cannot_be_are_refused(void **state)
{
	struct port_sender_stats stats;
	struct port_flow odd;
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 60999), -ERANGE);
	assert_int_equal(world_order(&world, 0, 61005), -ERANGE);
	assert_int_equal(world_order(&world, 0, 0), -ERANGE);
	assert_int_equal(port_sender_order(world.sender, world.now_ns, "8",
					   &world.flows[0], htons(61001)),
			 -ENOENT);
	assert_int_equal(port_sender_order(world.sender, world.now_ns, "",
					   &world.flows[0], htons(61001)),
			 -ENOENT);
	odd = world.flows[0];
	odd.source_port = htons(61003);
	assert_int_equal(
		port_sender_order(world.sender, world.now_ns, "7", &odd, htons(61001)),
		-ERANGE);
	world.used_port = htons(61001);
	assert_int_equal(world_order(&world, 0, 61001), -EADDRINUSE);
	world.used_port = 0;
	assert_int_equal(world_order(&world, 0, 61001), 0);
	/* Flow 2 has the same destination, flow 1 another. */
	assert_int_equal(world_order(&world, 2, 61001), -EADDRINUSE);
	assert_int_equal(world_order(&world, 1, 61001), 0);
	world_deliver_all(&world);
	assert_int_equal(wire_port(&world, 1), 61001);
	assert_int_equal(world_order(&world, 2, 61001), -EADDRINUSE);
	/* What the receiver still keeps for another flow. */
	assert_int_equal(world_order(&world, 0, 61002), 0);
	world_deliver_all(&world);
	assert_int_equal(world_order(&world, 2, 61001), 0);
	world_deliver_all(&world);
	assert_int_equal(wire_port(&world, 2), 41002);
	port_sender_stats(world.sender, &stats);
	assert_int_equal(stats.n_refused, 1);
	assert_int_equal(stats.n_flows, 2);
	assert_int_equal(stats.n_translated, 2);
	world_fini(&world);
}

static void
the_receiver_checks_for_itself(void **state)
{
	struct world world;
	struct port_message message = { .verb = PORT_PREPARE, .number = 1, .job = "7" };

	(void)state;
	world_init(&world);
	message.flow = world.flows[0];
	message.port = htons(60000);
	world_deliver(&world, &message);
	message.port = htons(61001);
	strcpy(message.job, "8");
	world_deliver(&world, &message);
	*message.job = '\0';
	world_deliver(&world, &message);
	strcpy(message.job, "7");
	world.is_open[0] = false;
	world_deliver(&world, &message);
	world.is_open[0] = true;
	world.in.is_failing = true;
	world_deliver(&world, &message);
	world.in.is_failing = false;
	assert_int_equal(world.n_messages, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(world.messages[i].verb, PORT_REFUSED);
	assert_int_equal(world.in.n, 0);
	world_deliver(&world, &message);
	assert_int_equal(world.messages[5].verb, PORT_READY);
	world_fini(&world);
}

static void
an_order_again_is_answered_again(void **state)
{
	struct port_sender_stats stats;
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	world_deliver_all(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	assert_int_equal(world.n_messages, 1);
	assert_int_equal(world.messages[0].verb, PORT_USING);
	assert_int_equal(world.messages[0].port, htons(61001));
	world_deliver_all(&world);
	port_sender_stats(world.sender, &stats);
	assert_int_equal(stats.n_moves, 1);
	/* Also for a flow that has no entry. */
	assert_int_equal(world_order(&world, 1, 41001), 0);
	assert_int_equal(world.n_messages, 1);
	assert_int_equal(world.messages[0].verb, PORT_USING);
	assert_int_equal(world.messages[0].port, htons(41001));
	world_deliver_all(&world);
	assert_int_equal(world.out.n, 1);
	assert_int_equal(world.in.n, 1);
	world_fini(&world);
}

static void
silence_ends_an_order_but_no_translation(void **state)
{
	struct port_sender_stats stats;
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	world_deliver_all(&world);
	assert_int_equal(world_order(&world, 0, 61002), 0);
	assert_int_equal(world_order(&world, 1, 61003), 0);
	for (int i = 0; i < 1000; i++) {
		world.now_ns += WORLD_SECOND / 5;
		world.n_messages = 0;
		port_sender_tick(world.sender, world.now_ns);
		port_receiver_tick(world.receiver, world.now_ns);
	}
	port_sender_stats(world.sender, &stats);
	assert_int_equal(stats.n_given_up, 2);
	assert_int_equal(stats.n_flows, 1);
	assert_int_equal(wire_port(&world, 0), 61001);
	assert_int_equal(wire_port(&world, 1), 41001);
	assert_int_equal(world.in.n, 1);
	world_fini(&world);
}

static void
both_ends_forget_a_closed_connection(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	world_deliver_all(&world);
	world.is_open[0] = false;
	/* The sender's collector is dead for long. */
	for (int i = 0; i < 1199; i++) {
		world.now_ns += WORLD_SECOND;
		port_receiver_tick(world.receiver, world.now_ns);
	}
	assert_int_equal(world.in.n, 1);
	world.now_ns += 2 * WORLD_SECOND;
	port_receiver_tick(world.receiver, world.now_ns);
	assert_int_equal(world.in.n, 0);
	/* It is back, and the receiver's is dead now. */
	for (int i = 0; i < 60; i++) {
		world.now_ns += WORLD_SECOND;
		port_sender_tick(world.sender, world.now_ns);
	}
	assert_int_equal(world.out.n, 0);
	world_fini(&world);
}

static void
lost_maps_of_the_receiver_are_healed_or_left(void **state)
{
	struct port_receiver_stats stats;
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_order(&world, 0, 61001), 0);
	assert_int_equal(world_order(&world, 1, 61002), 0);
	world_deliver_all(&world);
	world.in.n = 0;
	world_kill_receiver(&world);
	/* A connection that the receiver does not know must get its own port back. */
	world.is_open[1] = false;
	world.now_ns += PORT_SENDER_REFRESH_NS;
	world.is_open[1] = true;
	port_sender_tick(world.sender, world.now_ns);
	world.is_open[1] = false;
	world_deliver_all(&world);
	assert_int_equal(wire_port(&world, 0), 61001);
	assert_int_equal(world.in.n, 1);
	assert_int_equal(wire_port(&world, 1), 41001);
	port_receiver_stats(world.receiver, &stats);
	assert_int_equal(stats.n_healed, 1);
	world_fini(&world);
}

/* ---- The model: anything may happen between two packets ---------------------------- */

#define N_PACKETS 64
/* Packets arrive within this. */
#define FLIGHT_NS (PORT_RECEIVER_KEEP_NS - 1)

struct flight {
	struct port_flow wire;
	uint16_t true_port;
	int64_t sent_ns;
};

struct model {
	struct world world;
	struct rng rng;
	struct flight packets[N_PACKETS];
	size_t n_packets;
	uint64_t n_translated;
};

/*
 * No packet arrives with a wrong port, now or later; not even one of a connection that
 * has ended a short time ago.
 */
static void
check_model(struct model *model)
{
	struct world *world = &model->world;

	for (size_t i = 0; i < WORLD_FLOWS; i++) {
		struct port_flow wire = world_wire(world, &world->flows[i]);

		assert_int_equal(world_arrives_as(world, &wire),
				 world->flows[i].source_port);
	}
	for (size_t i = 0; i < N_PACKETS; i++) {
		const struct flight *packet = &model->packets[i];

		if (packet->sent_ns && world->now_ns - packet->sent_ns <= FLIGHT_NS)
			assert_int_equal(world_arrives_as(world, &packet->wire),
					 packet->true_port);
	}
}

static void
send_packet(struct model *model)
{
	const struct port_flow *flow =
		&model->world.flows[rng_below(&model->rng, WORLD_FLOWS)];
	struct flight *packet = &model->packets[model->n_packets++ % N_PACKETS];

	packet->wire = world_wire(&model->world, flow);
	packet->true_port = flow->source_port;
	packet->sent_ns = model->world.now_ns;
	model->n_translated += packet->wire.source_port != packet->true_port;
}

/* Loses, repeats or delivers any message. */
static void
move_message(struct model *model)
{
	struct world *world = &model->world;
	struct port_message message;
	size_t at;

	if (!world->n_messages)
		return;
	at = rng_below(&model->rng, world->n_messages);
	/* Often in order, as a good network does. */
	if (rng_below(&model->rng, 2))
		at = 0;
	message =
		rng_below(&model->rng, 4) ? world_take(world, at) : world->messages[at];
	if (rng_below(&model->rng, 6))
		world_deliver(world, &message);
}

static void
step(struct model *model)
{
	struct world *world = &model->world;
	size_t flow = rng_below(&model->rng, WORLD_FLOWS);

	world->in.is_failing = rng_below(&model->rng, 20) == 0;
	world->out.is_failing = rng_below(&model->rng, 20) == 0;
	switch (rng_below(&model->rng, 16)) {
	case 0:
	case 1:
		world_order(world, flow,
			    WORLD_FIRST + (unsigned)rng_below(&model->rng, 5));
		break;
	case 2:
		if (rng_below(&model->rng, 4) == 0)
			world_order(world, flow, ntohs(world->flows[flow].source_port));
		break;
	case 3:
		world->now_ns += (int64_t)rng_below(&model->rng, WORLD_SECOND);
		break;
	case 4:
		port_sender_tick(world->sender, world->now_ns);
		break;
	case 5:
		port_receiver_tick(world->receiver, world->now_ns);
		break;
	case 6:
		if (rng_below(&model->rng, 4) == 0)
			world_kill_sender(world);
		break;
	case 7:
		if (rng_below(&model->rng, 4) == 0)
			world_kill_receiver(world);
		break;
	case 8:
	case 9:
		send_packet(model);
		break;
	case 10:
		/* A connection ends, or one with the same ports begins. */
		world->is_open[flow] = rng_below(&model->rng, 8) > 0;
		break;
	default:
		/* Not slower than messages are sent, or nothing would ever be agreed. */
		for (uint64_t n = 1 + rng_below(&model->rng, 4); n > 0; n--)
			move_message(model);
	}
	world->in.is_failing = world->out.is_failing = false;
}

/* With a good network, nothing is left of connections that have ended. */
static void
come_to_rest(struct model *model)
{
	struct world *world = &model->world;

	memset(world->is_open, 0, sizeof world->is_open);
	for (int i = 0; i < 1300; i++) {
		world->now_ns += WORLD_SECOND;
		port_sender_tick(world->sender, world->now_ns);
		world_deliver_all(world);
		port_receiver_tick(world->receiver, world->now_ns);
		check_model(model);
	}
	assert_int_equal(world->out.n, 0);
	assert_int_equal(world->in.n, 0);
}

static void
no_packet_is_ever_stranded(void **state)
{
	uint64_t n_translated = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct model model = { .n_packets = 0 };

		world_init(&model.world);
		rng_init(&model.rng, seed);
		for (int i = 0; i < 2000; i++) {
			step(&model);
			check_model(&model);
		}
		come_to_rest(&model);
		world_fini(&model.world);
		n_translated += model.n_translated;
	}
	/* The model would be empty if nothing was ever moved. */
	assert_true(n_translated > 8000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_receiver_is_first),
		cmocka_unit_test(the_old_port_is_kept_for_a_while),
		cmocka_unit_test(orders_that_cannot_be_are_refused),
		cmocka_unit_test(the_receiver_checks_for_itself),
		cmocka_unit_test(an_order_again_is_answered_again),
		cmocka_unit_test(silence_ends_an_order_but_no_translation),
		cmocka_unit_test(both_ends_forget_a_closed_connection),
		cmocka_unit_test(lost_maps_of_the_receiver_are_healed_or_left),
		cmocka_unit_test(no_packet_is_ever_stranded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
