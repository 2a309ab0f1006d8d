/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_service.h - verbs that ask antiphase-topology.
 */
#ifndef CLI_TOPOLOGY_SERVICE_H
#define CLI_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct strbuf;
struct topo;

#define TOPOLOGY_SERVICE "http://127.0.0.1:7462"
#define TOPOLOGY_CHANGES "tcp://127.0.0.1:7463"

/* True if a FILE operand is the address of a service instead: http://, https://, unix:/PATH. */
bool topology_is_service(const char *path);

/*
 * GETs /api/v1/'op', or POSTs 'body' if that is not NULL.  Returns 0 with a reply that
 * is no error; or -ECONNREFUSED if nothing answers (exit 3), -EACCES for an address
 * beyond this host or a socket that we may not use (5), -EINVAL for an error reply,
 * with 'err' filled.
 */
int topology_ask(const char *service, const char *op, const char *body,
		 struct strbuf *reply, struct err *err);

/* The service's plan.  Returns 0 and a new reference, or as topology_ask(). */
int topology_ask_plan(const char *service, struct topo **ret_topo, struct err *err);

/* Prints 'err' and returns the exit status for an error of these functions. */
int topology_fail(int error, const struct err *err);

#endif
