/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s.h - kube-scheduler's extender over HTTP: POST /k8s/filter and /k8s/prioritize.
 *
 * Both are reads and need no token: they change only what is remembered of the asking
 * job (extender.h). An invalid body gets status 400 with the reason; kube-scheduler
 * then goes on without antiphase, as the extender is ignorable.
 */
#ifndef SCHEDULER_DAEMON_K8S_H
#define SCHEDULER_DAEMON_K8S_H

struct extender;
struct http;

/* Adds the routes to a server, which borrows the extender while it serves. */
void k8s_serve(struct http *http, struct extender *extender);

#endif
