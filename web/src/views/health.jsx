// SPDX-License-Identifier: Apache-2.0
// health.jsx - whether the figures can be relied on: hosts, frames, clocks, versions.
import * as f from "../format.js";
import { docs, isViewer, lamp, source } from "../state.js";
import { Command, Facts, Panel } from "./parts.jsx";

const facts = (health, lost) => [["Data", lamp.value.text], ["Inputs of advice", health.is_ok ? "all there" : "something is missing"],
	["Hosts", `${health.hosts}, ${health.silent_hosts} silent`], ["Missing frames", f.text(lost)],
	["Hosts with a clock that is off", f.text(health.clock_off_hosts)], ["Fabric", health.fabric_error ?? (health.has_fabric ? "known" : "not known")],
	["Cluster's scheduler", health.host_error ?? health.host ?? "none"], ["Store", health.store_error ?? (health.has_store ? "works" : "none")],
	["Bus", health.bus], ["Version", health.version], ["Started", f.time(health.started_us)]];

export function Health() {
	const { health, status } = docs.value;
	const hosts = status?.hosts ?? [];
	const lost = hosts.reduce((sum, host) => sum + host.missing_frames, 0);
	return (
		<>
			<section class="panel" aria-label="Health">
				<div class="head"><h2>Health</h2></div>
				<Facts rows={health ? facts(health, lost) : [["Data", lamp.value.text], ["Hosts", `${hosts.length}, ${hosts.filter((h) => h.is_silent).length} silent`], ["Missing frames", f.text(lost)],
					...(isViewer() ? [["Source", source.value]] : [])]} />
				<Command text="antiphase doctor" />
			</section>
			<Panel title="Hosts" name="hosts" json={hosts} empty="No host has sent telemetry." rows={hosts.map((host) => ({ key: host.host, ...host }))}
				columns={[{ key: "host", name: "HOST" }, { key: "age_us", name: "AGE", isNumber: true, show: (row) => f.seconds(row.age_us) },
					{ key: "is_silent", name: "STATE", show: (row) => (row.is_silent ? "silent" : "reports") },
					{ key: "missing_frames", name: "MISSING FRAMES", isNumber: true }, { key: "lost_records", name: "LOST RECORDS", isNumber: true },
					{ key: "restarts", name: "RESTARTS", isNumber: true }, { key: "clock_error_us", name: "CLOCK ERROR", isNumber: true, show: (row) => f.ms(row.clock_error_us) }]} />
		</>
	);
}
