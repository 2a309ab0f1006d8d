// SPDX-License-Identifier: Apache-2.0
// player.jsx - the bar that plays a recording or a simulation and seeks in it.
import * as f from "../format.js";
import { at_us, isPlaying, seek, span, speed, stepBy, toggle } from "../player.js";

export function Player() {
	const { begin_us, end_us, isSim, speeds } = span.value;
	const said = isSim ? `${f.ms(at_us.value)} of ${f.ms(end_us)}` : `${f.clock(at_us.value - begin_us)} of ${f.clock(end_us - begin_us)}, ${f.time(at_us.value)}`;
	return (
		<section class="player" aria-label="Player">
			<button type="button" class="play" aria-pressed={isPlaying.value} onClick={toggle}>{isPlaying.value ? "Pause" : "Play"}</button>
			<button type="button" aria-label="A step back" onClick={() => stepBy(-1)}>−</button>
			<button type="button" aria-label="A step on" onClick={() => stepBy(1)}>+</button>
			<label>Speed{" "}
				<select value={speed.value} onChange={(e) => { speed.value = Number(e.currentTarget.value); }}>
					{speeds.map((factor) => <option value={factor}>{factor}x</option>)}
				</select>
			</label>
			<input type="range" aria-label="Time" min="0" max={end_us - begin_us} step="1" value={at_us.value - begin_us} aria-valuetext={said}
				onInput={(e) => seek(begin_us + Number(e.currentTarget.value))} />
			<output>{said}</output>
		</section>
	);
}

// Handles the player's keys; returns whether 'key' is one.
export function playerKey(key) {
	if (!span.value) return false;
	if (key === " ") toggle();
	else if (key === ",") stepBy(-1);
	else if (key === ".") stepBy(1);
	else return false;
	return true;
}
