// SPDX-License-Identifier: Apache-2.0
// state.js - what the page knows (documents by schema) and what it shows (the URL's
// hash, so that a view can be pasted into a ticket).
import { signal } from "@preact/signals";
import { makeFabric } from "./model/fabric.js";
import { compareNames } from "./format.js";

// Documents, the last of each kind; replaced, never changed.  'links' is by name.
export const docs = signal({ links: new Map(), fabric: null });
// {text, isGood}: whether the figures are current.
export const lamp = signal({ text: "loading", isGood: false });
export const dark = signal(false);
// {heat: [{at_us, use: Map}]}: utilization at past ticks, oldest first.
export const past = signal([]);
export const isLive = signal(false);
const MAX_PAST = 300;

const KEYS = {
	"antiphase.health/1": "health",
	"antiphase.jobs/1": "jobs",
	"antiphase.job_advices/1": "advice",
	"antiphase.changes/1": "changes",
	"antiphase.fragmentation/1": "fragmentation",
	"antiphase.scheduler_config/1": "config",
	"antiphase.advice/1": "plan",
	"antiphase.link_history/1": "history",
	"antiphase.sim-run/1": "run",
	"antiphase.sim-compare/1": "compare",
};

// Takes in a document of any kind that the page can show; returns whether it can.
export function take(doc) {
	const schema = doc && typeof doc === "object" ? doc.schema : null;
	const next = { ...docs.value };
	if (schema === "antiphase.topology/1") {
		next.topology = doc;
		next.fabric = makeFabric(doc);
	} else if (schema === "antiphase.links/1" || schema === "antiphase.top/1") {
		next.status = doc;
		next.links = new Map(next.links);
		for (const link of doc.links) next.links.set(link.link, link);
		if (schema === "antiphase.top/1") next.jobs = doc;
		remember(doc);
	} else if (KEYS[schema]) next[KEYS[schema]] = doc;
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

// The names of jobs in order; a job's color is that of its place.
export function jobNames() {
	const names = new Set((docs.value.jobs?.jobs ?? []).map((job) => job.job));
	for (const link of docs.value.links.values()) for (const job of link.jobs) names.add(job.job);
	for (const advice of docs.value.advice?.advice ?? []) names.add(advice.job);
	return [...names].sort(compareNames);
}

// ---- The hash ---------------------------------------------------------------------

function read() {
	return Object.fromEntries(new URLSearchParams(globalThis.location?.hash.slice(1) ?? ""));
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
