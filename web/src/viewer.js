// SPDX-License-Identifier: Apache-2.0
// viewer.js - keeps the documents current from 'antiphase web': the state of a bus once
// a second, or that of a recording at the player's time.  One request at a time.
import { effect } from "@preact/signals";
import { ask, askOneByOne } from "./ask.js";
import { time } from "./format.js";
import { at_us, openPlayer } from "./player.js";
import { docs, lamp, mode, source, take } from "./state.js";

const EVERY_MS = 1000;
const STALE_US = 5e6;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const isTime = (us) => Number.isSafeInteger(us) && us >= 0;

// Answers are asked for again until they come.
async function insist(path) {
	for (;; await wait(EVERY_MS))
		try {
			take(await ask(path));
			return;
		} catch (error) {
			lamp.value = { isGood: false, text: `antiphase web: ${error.message}` };
		}
}

function noAnswer(error) {
	const shown = docs.value.status;
	lamp.value = { isGood: false, text: `antiphase web does not answer: ${error.message}${shown ? `; the figures are of ${time(shown.at_us)}` : ""}.` };
}

// ---- A bus ---------------------------------------------------------------------------

function light({ data_age_us, hosts }) {
	if (!hosts.length) lamp.value = { isGood: false, text: "no host has sent telemetry yet" };
	else if (data_age_us === null) lamp.value = { isGood: true, text: "no series of traffic yet" };
	else lamp.value = { isGood: data_age_us < STALE_US, text: `data ${(data_age_us / 1e6).toFixed(1)} s old` };
}

async function followBus() {
	for (;; await wait(EVERY_MS))
		try {
			const doc = await ask("/api/v1/top");
			take(doc, true);
			light(doc);
		} catch (error) {
			noAnswer(error);
		}
}

// ---- A recording ---------------------------------------------------------------------

let isBusy = false, shown_us = null;

async function followTime() {
	if (isBusy) return;
	isBusy = true;
	while (shown_us !== at_us.value) {
		const wanted_us = at_us.value;
		try {
			take(await ask(`/api/v1/top?at_us=${wanted_us}`), true);
			shown_us = wanted_us;
			lamp.value = { isGood: true, text: `recording ${source.value}` };
		} catch (error) {
			noAnswer(error);
			await wait(EVERY_MS);
		}
	}
	isBusy = false;
}

// 'block' is antiphase.viewer/1.
export async function startViewer(block) {
	const isRecording = block.is_recording === true && isTime(block.begin_us) && isTime(block.end_us) && block.begin_us <= block.end_us;
	askOneByOne();
	mode.value = isRecording ? "recording" : "bus";
	source.value = String(block.source ?? "");
	if (block.is_recording && !isRecording) {
		lamp.value = { isGood: false, text: "this recording has no time" };
		return;
	}
	if (isRecording) openPlayer(block.begin_us, block.end_us);
	if (block.has_fabric !== false) await insist("/api/v1/topology");
	if (!isRecording) return followBus();
	effect(() => {
		if (at_us.value !== null) followTime();
	});
	await insist("/api/v1/history");
}
