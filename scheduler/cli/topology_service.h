/*
 * topology_service.h - verbs that ask antiphase-topology.
 */
#ifndef SCHEDULER_CLI_TOPOLOGY_SERVICE_H
#define SCHEDULER_CLI_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct topo;

#define TOPOLOGY_SERVICE "tcp://127.0.0.1:7462"
#define TOPOLOGY_CHANGES "tcp://127.0.0.1:7463"

/* True if a FILE operand is the address of a service instead. */
bool topology_is_endpoint(const char *path);

/*
 * Sends a request.  Returns 0 and a new reply that is no error; or -ECONNREFUSED if
 * nobody answers (exit 3), -EINVAL for an error reply, with 'err' filled.
 */
int topology_ask(const char *endpoint, const char *request, char **ret_reply,
		 size_t *ret_n, struct err *err);

/* The service's plan.  Returns 0 and a new reference, or as topology_ask(). */
int topology_ask_plan(const char *endpoint, struct topo **ret_topo, struct err *err);

/* Prints 'err' and returns the exit status for what these functions returned. */
int topology_fail(int error, const struct err *err);

#endif
