/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_watch.h - infers the paths of running jobs' flows, where switches report counters
 *
 * Flows are those of traffic_map.h: a ring over the hosts of a job. A flow's own series
 * is the job's traffic out of the interface where the flow starts; counters are the
 * totals that switches report for links between switches (TELE_LINK).
 * scheduler/core/paths/path_inference.h decides, at two scales:
 *
 *	100 ms   the last 30 s that the live state has; for counters as fine as that
 *	1 s      up to PATH_WATCH_SECONDS, which are kept here; for counters that are
 *	         read once a second (sFlow, most switch telemetry)
 *
 * A path is known if one of the scales has an answer and the other one has none or the
 * same. All series are raw ones: a host that only sends summaries has no known flows.
 *
 * Memory: 24 kB a job and interface of a host with raw frames, a fifth of what the live
 * state takes for it, and about 1 kB a link between switches. During an inference, 50 kB a
 * flow more. With more than PATH_WATCH_MAX_FLOWS flows, or a fabric of more than
 * PATH_WATCH_MAX_LINKS links, nothing is inferred. Pure.
 */
#ifndef SCHEDULER_LIVE_PATH_WATCH_H
#define SCHEDULER_LIVE_PATH_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct flow_paths;
struct live;
struct path_watch;
struct routes;
struct topo;

#define PATH_WATCH_SECONDS   300
#define PATH_WATCH_MAX_FLOWS 2048
#define PATH_WATCH_MAX_LINKS 8192

/* Everything is borrowed; while it exists, do not call live_forget(). */
struct path_watch *path_watch_new(const struct live *live, const struct topo *topo,
				  struct routes *routes);
void path_watch_free(struct path_watch *watch); /* Accepts NULL. */

/*
 * Takes the whole seconds that are complete. Call it about once a second of the frames'
 * time: after LIVE_DEFAULT_KEEP_MS without a call, time is missing. O(series) a second.
 */
void path_watch_follow(struct path_watch *watch);

/*
 * Infers the paths of all flows as of now. The table is borrowed until the next call. It
 * is empty if no switch reports, or a tier does not hash.
 */
const struct flow_paths *path_watch_infer(struct path_watch *watch);

#endif
