/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s.h - kube-scheduler's extender over HTTP: POST /k8s/filter and /k8s/prioritize.
 *
 * Reads, without a token: they change nothing but what is remembered of the asking job
 * (extender.h).  A body that is none is answered by 400 and says why; kube-scheduler goes
 * on without us then, as the extender is ignorable.
 */
#ifndef SCHEDULER_DAEMON_K8S_H
#define SCHEDULER_DAEMON_K8S_H

struct extender;
struct http;

/* Adds the routes to a server.  Borrows the extender, for as long as it serves. */
void k8s_serve(struct http *http, struct extender *extender);

#endif
