/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s.h - kube-scheduler's extender over HTTP: POST /k8s/filter and /k8s/prioritize.
 *
 * They change what is remembered of the asking job (extender.h), and kube-scheduler can
 * send no token: so only some users of this host may ask, others get status 403.  An
 * invalid body gets status 400 with the reason; kube-scheduler then goes on without
 * antiphase, as the extender is ignorable.
 */
#ifndef SCHEDULER_DAEMON_K8S_H
#define SCHEDULER_DAEMON_K8S_H

#include "lib/daemon/peer_users.h"

struct extender;
struct http;

struct k8s_server {
	struct extender *extender; /* Borrowed. */
	struct peer_users users;   /* Who may ask. */
};

/* Adds the routes to a server, which borrows 'server' while it serves. */
void k8s_serve(struct http *http, struct k8s_server *server);

#endif
