// SPDX-License-Identifier: Apache-2.0
// live.js - keeps the documents current from antiphase-scheduler: a tick a second with
// the changed links (server-sent events), the rest every few seconds.
import { ask } from "./ask.js";
import { first } from "./first.js";
import { docs, lamp, mode, take } from "./state.js";

const SLOW_MS = 5000;
const STALE_US = 5e6;
const MAX_PAGES = 80; // Of 250 links.
const REST_MS = 200; // The links that are not contended come after the map.

async function fetchInto(path, asked) {
	try {
		take(await ask(path, asked));
	} catch {
		// The lamp tells it; what is known stays.
	}
}

// All links, by name, page by page.
async function fetchLinks() {
	let after = "";
	await fetchInto("/api/v1/links");
	for (let i = 0; i < MAX_PAGES && after !== null; i++)
		try {
			const page = await ask(`/api/v1/links?after=${encodeURIComponent(after)}`);
			take(page);
			after = page.next_after;
		} catch {
			return;
		}
}

// The fabric is taken in again only if it is another one.
let fabricTag = null, fabricAsked = null;
// Takes in the links that came before the fabric: both are drawn at once.
let release = () => {};

function fetchFabric() {
	fabricAsked ??= askFabric().finally(() => { fabricAsked = null; });
	return fabricAsked;
}

async function askFabric() {
	try {
		const reply = await fetch("/api/v1/topology", { cache: "no-cache" });
		const tag = reply.headers.get("ETag");
		if (!reply.ok || (tag && tag === fabricTag)) return;
		take(await reply.json());
		release();
		fabricTag = tag;
	} catch {
		// As above.
	}
}

async function fetchSlow(asked) {
	await fetchInto("/api/v1/health", asked);
	const hasFabric = docs.value.health?.has_fabric;
	if (hasFabric) await fetchFabric();
	const found = [];
	for (const name of ["jobs", "advice", "changes", "config", ...(hasFabric ? ["fragmentation"] : [])])
		await ask(`/api/v1/${name}`).then((doc) => found.push(doc), () => {});
	found.forEach((doc) => take(doc)); // At once: each draws the page anew.
}

function light(heard_ms) {
	const age_us = docs.value.status?.data_age_us;
	const silent_s = Math.round((Date.now() - heard_ms) / 1000);
	if (silent_s > 5)
		lamp.value = { isGood: false, text: `No answer from antiphase-scheduler for ${silent_s} s; the figures are from then.` };
	else if (!docs.value.status) lamp.value = { isGood: false, text: "loading" };
	else if (age_us === null || age_us === undefined)
		lamp.value = { isGood: docs.value.status.hosts.length > 0, text: "no series of traffic yet" };
	else lamp.value = { isGood: age_us < STALE_US, text: `data ${(age_us / 1e6).toFixed(1)} s old` };
}

export function start() {
	let heard = Date.now();
	const { events } = first;

	const hear = (doc) => {
		heard = Date.now();
		take(doc);
		light(heard);
	};
	mode.value = "scheduler";
	events.addEventListener("hello", async (event) => {
		const doc = JSON.parse(event.data);
		release = () => {
			release = () => {};
			hear(doc);
		};
		if (doc.has_fabric && !docs.value.fabric) await fetchFabric();
		release();
		setTimeout(fetchLinks, REST_MS);
	});
	events.addEventListener("tick", (event) => hear(JSON.parse(event.data)));
	const slow = async (asked) => {
		await fetchSlow(asked);
		setTimeout(slow, SLOW_MS);
	};
	slow(first.health);
	setInterval(() => light(heard), 1000);
}
