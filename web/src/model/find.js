// SPDX-License-Identifier: Apache-2.0
// find.js - links, jobs and hosts by a part of their name.
const MAX_FOUND = 12;

export function find(text, docs) {
	const word = text.toLowerCase(), found = [];
	const add = (kind, name, to) => {
		const at = name.toLowerCase().indexOf(word);
		if (at >= 0) found.push({ kind, name, to, at });
	};
	for (const job of docs.jobs?.jobs ?? []) add("job", job.job, ["job", { job: job.job }]);
	for (const name of docs.links.keys()) add("link", name, ["link", { link: name }]);
	for (const node of docs.fabric?.nodes.values() ?? [])
		add(node.tier ? "switch" : "host", node.name, ["fabric", { open: node.rack ?? null }]);
	return found.sort((a, b) => a.at - b.at || a.name.length - b.name.length).slice(0, MAX_FOUND);
}
