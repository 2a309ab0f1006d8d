// SPDX-License-Identifier: Apache-2.0
// state.js - what the page knows (documents by schema) and what it shows (the URL's
// hash, so that a view can be pasted into a ticket).
import { computed, signal } from "@preact/signals";
import { flowsByLink } from "./model/collisions.js";
import { makeFabric } from "./model/fabric.js";
import { present } from "./model/former.js";
import { sharesAt } from "./model/heat.js";
import { sortedNames } from "./model/names.js";
import { at_us, span } from "./player.js";

// Documents, the last of each kind; replaced, never changed.  'links' is by name.
export const docs = signal({ links: new Map(), fabric: null });
// {text, isGood}: whether the figures are current.
export const lamp = signal({ text: "loading", isGood: false });
export const dark = signal(false);
// {heat: [{at_us, use: Map}]}: utilization at past ticks, oldest first.
export const past = signal([]);
// Where the documents come from: "scheduler", "bus", "recording" (the two are of
// 'antiphase web'), or "report".
export const mode = signal("report");
export const isViewer = () => mode.value === "bus" || mode.value === "recording";
export const source = signal(""); // Of a bus or a recording.
const MAX_PAST = 300;
const MAX_LISTED = 16;

// In a report, the shares of the capacity at the player's time, by link; null: what is
// shown is the end of the recording.
export const shares = computed(() => (mode.value === "report" && docs.value.history && span.value && at_us.value < span.value.end_us
	? sharesAt(docs.value.history, at_us.value) : null));

const KEYS = {
	"antiphase.health/1": "health",
	"antiphase.jobs/1": "jobs",
	"antiphase.job_advices/1": "advice",
	"antiphase.changes/1": "changes",
	"antiphase.fragmentation/1": "fragmentation",
	"antiphase.scheduler_config/1": "config",
	"antiphase.advice/2": "plan",
	"antiphase.link_history/2": "history",
	"antiphase.topology_path/2": "path",
	"antiphase.sim_compare/2": "compare",
};

// Of these, several are shown.
const LISTS = { "antiphase.sim_run/2": "runs", "antiphase.path_probe/1": "probes", "antiphase.path_inference/2": "inferences" };

// Takes in a document of any kind that the page can show; returns whether it can.
// 'isWhole': links that it does not have are gone.
export function take(given, isWhole = false) {
	const doc = present(given);
	const schema = doc && typeof doc === "object" ? doc.schema : null;
	const next = { ...docs.value };
	if (schema === "antiphase.topology/1") {
		next.topology = doc;
		next.fabric = makeFabric(doc);
	} else if (schema === "antiphase.links/1" || schema === "antiphase.top/1") {
		next.status = doc;
		next.links = new Map(isWhole ? [] : next.links);
		for (const link of doc.links) next.links.set(link.link, link);
		if (schema === "antiphase.top/1") next.jobs = doc;
		if (Array.isArray(doc.collisions)) next.collisions = flowsByLink(doc.collisions);
		if (mode.value !== "recording") remember(doc);
	} else if (LISTS[schema]) next[LISTS[schema]] = [...(next[LISTS[schema]] ?? []), doc].slice(-MAX_LISTED);
	else if (KEYS[schema]) next[KEYS[schema]] = doc;
	else return false;
	docs.value = next;
	return true;
}

function remember(doc) {
	const last = past.value.at(-1);
	if (!doc.links.length || (last && doc.at_us <= last.at_us)) return;
	// A tick has changed links only: the others are as they were.
	const use = new Map(last ? last.use : []);
	for (const link of doc.links)
		if (link.capacity_bps > 0 && link.now_bps !== null) use.set(link.link, link.now_bps / link.capacity_bps);
	past.value = [...past.value.slice(1 - MAX_PAST), { at_us: doc.at_us, use }];
}

// The names of jobs in order, by name: a job's color is that of its place.
export const jobPlaces = computed(() => {
	const names = new Set((docs.value.jobs?.jobs ?? []).map((job) => job.job));
	for (const link of docs.value.links.values()) for (const job of link.jobs) names.add(job.job);
	for (const advice of docs.value.advice?.advice ?? []) names.add(advice.job);
	return new Map(sortedNames([...names]).map((name, i) => [name, i]));
});
export const placeOf = (name) => jobPlaces.value.get(name) ?? -1;

// ---- The hash ---------------------------------------------------------------------

// The time is the player's.
function read() {
	const { at, ...rest } = Object.fromEntries(new URLSearchParams(globalThis.location?.hash.slice(1) ?? ""));
	return rest;
}

export const place = signal(read());

export function follow() {
	addEventListener("hashchange", () => {
		place.value = read();
	});
}

// The address of a view; 'with' replaces keys of the state, null removes one.
export function href(view, values = {}) {
	const params = new URLSearchParams();
	params.set("view", view);
	for (const [key, value] of Object.entries(values))
		if (value !== null && value !== undefined && value !== "") params.set(key, value);
	return `#${params}`;
}

export function go(view, values) {
	location.hash = href(view, values);
}
