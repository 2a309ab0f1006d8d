// SPDX-License-Identifier: Apache-2.0
// main.jsx - shows the documents in the page (a report), or else those of the server:
// of 'antiphase web', which has put a block into the page, or of antiphase-scheduler.
import "./first.js"; // Before all else.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { App } from "./app.jsx";
import { start } from "./live.js";
import { historySpan } from "./model/heat.js";
import { played, playedSpan } from "./model/sim_series.js";
import { openPlayer } from "./player.js";
import { dark, docs, follow, lamp, take } from "./state.js";
import { startViewer } from "./viewer.js";
import { time } from "./format.js";

const theme = matchMedia("(prefers-color-scheme: dark)");
dark.value = theme.matches;
theme.addEventListener("change", (event) => {
	dark.value = event.matches;
});
follow();

const inlined = document.getElementById("data"), viewer = document.getElementById("viewer");
if (inlined) {
	try {
		const report = JSON.parse(inlined.textContent);
		report.documents.forEach(take);
		const at_us = report.documents.map((doc) => doc.at_us).find((at) => at > 0);
		lamp.value = { isGood: true, text: at_us ? `report; data of ${time(at_us)}` : "report" };
		const within = historySpan(docs.value.history);
		const simulated = playedSpan(played(docs.value));
		if (within) openPlayer(within.begin_us, within.end_us, Math.max(1e6, within.step_us));
		else if (simulated) openPlayer(simulated.begin_us, simulated.end_us, simulated.step_us, true);
	} catch (error) {
		lamp.value = { isGood: false, text: `this report is damaged: ${error.message}` };
	}
} else if (viewer) startViewer(JSON.parse(viewer.textContent));
else start();

render(<App />, document.getElementById("app"));
