// SPDX-License-Identifier: Apache-2.0
// player.js - the time at which a recording is shown: play, pause, speed, seek.  The
// address holds it as at=, apart from the rest of the state, because it changes often.
import { signal } from "@preact/signals";

export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 60];
const SIM_SPEEDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 60];
const TICK_MS = 200;
const NOTE_MS = 1000; // Browsers refuse more changes of the address.

// {begin_us, end_us, step_us, isSim, speeds}; null: there is nothing to play.  The time of
// a simulation begins at 0.
export const span = signal(null);
export const at_us = signal(null);
export const isPlaying = signal(false);
export const speed = signal(1);

export const clamp = (us, { begin_us, end_us }) => Math.round(Math.max(begin_us, Math.min(end_us, us)));

// The time after 'elapsed_ms' of playing.
export const advance = (us, elapsed_ms, factor, within) => clamp(us + 1000 * elapsed_ms * factor, within);

// The time in an address; null: none, or not a time.
export function readAt(hash) {
	const text = new URLSearchParams(hash.replace(/^#/, "")).get("at");
	return text && /^\d{1,16}$/.test(text) ? Number(text) : null;
}

// 'hash' with the time; the end of the recording is the default and is left out.
export function withAt(hash, us, { end_us }) {
	const params = new URLSearchParams(hash.replace(/^#/, ""));
	params.delete("at");
	if (us !== end_us) params.set("at", us);
	return `#${params}`;
}

// ---- In the page ---------------------------------------------------------------------

let noted_ms = 0, noteTimer = null, playTimer = null, last_ms = 0;

function note() {
	clearTimeout(noteTimer);
	const wait = NOTE_MS - (Date.now() - noted_ms);
	if (wait > 0) {
		noteTimer = setTimeout(note, wait);
		return;
	}
	noted_ms = Date.now();
	const hash = withAt(location.hash, at_us.value, span.value);
	if (hash !== location.hash) history.replaceState(null, "", hash);
}

// The fastest speed that shows each step of a simulation.
export const speedOf = (step_us) => SIM_SPEEDS.filter((factor) => 1000 * TICK_MS * factor <= step_us).at(-1) ?? SIM_SPEEDS[0];

// A recording, or a simulation, is there from 'begin_us' to 'end_us'.  A seek by keys
// goes 'step_us' far.
export function openPlayer(begin_us, end_us, step_us = 1e6, isSim = false) {
	if (isSim) speed.value = speedOf(step_us);
	span.value = { begin_us, end_us, step_us, isSim, speeds: isSim ? SIM_SPEEDS : SPEEDS };
	at_us.value = clamp(readAt(location.hash) ?? end_us, span.value);
	addEventListener("hashchange", () => {
		const asked = readAt(location.hash);
		if (asked !== null && asked !== at_us.value) seek(asked);
		else note();
	});
}

export function seek(us) {
	at_us.value = clamp(us, span.value);
	note();
}

export const stepBy = (n) => seek(at_us.value + n * span.value.step_us);

function tick() {
	const now_ms = performance.now();
	seek(advance(at_us.value, now_ms - last_ms, speed.value, span.value));
	last_ms = now_ms;
	if (at_us.value === span.value.end_us) pause();
}

export function play() {
	if (isPlaying.value) return;
	if (at_us.value === span.value.end_us) seek(span.value.begin_us);
	last_ms = performance.now();
	isPlaying.value = true;
	playTimer = setInterval(tick, TICK_MS);
}

export function pause() {
	clearInterval(playTimer);
	isPlaying.value = false;
}

export const toggle = () => (isPlaying.value ? pause() : play());
