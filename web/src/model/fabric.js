// SPDX-License-Identifier: Apache-2.0
// fabric.js - the fabric as a graph, from antiphase.topology/1, and its groups: the
// rack of a host is its leaf; a pod is what stays connected without the top tier.

// The node of an end of a cable, "leaf0:p2".
function nodeOf(end) {
	const i = end.lastIndexOf(":");
	return i < 0 ? end : end.slice(0, i);
}

export function makeFabric(topology) {
	const nodes = new Map();
	for (const s of topology.switches) nodes.set(s.name, { name: s.name, tier: s.tier, ports: [] });
	for (const h of topology.hosts) nodes.set(h.name, { name: h.name, tier: 0, ports: [] });
	const cables = [];
	for (const c of topology.cables) {
		const a = nodeOf(c.a), b = nodeOf(c.b), from = nodes.get(a), to = nodes.get(b);
		if (!from || !to) continue;
		const links = [{ name: `${c.a}>${c.b}`, from: a, to: b, gbps: c.gbps }];
		if (!c.one_way) links.push({ name: `${c.b}>${c.a}`, from: b, to: a, gbps: c.back_gbps ?? c.gbps });
		cables.push({ a, b, gbps: c.gbps, links });
		from.ports.push(b);
		to.ports.push(a);
	}
	const fabric = { name: topology.name || "", nodes, cables,
		tiers: Math.max(0, ...[...nodes.values()].map((n) => n.tier)) };
	setRacks(fabric);
	setPods(fabric);
	return fabric;
}

// A host's rack is the first leaf that it is connected to; a leaf is its own rack.
function setRacks(fabric) {
	for (const node of fabric.nodes.values()) {
		if (node.tier === 1) node.rack = node.name;
		if (node.tier === 0)
			node.rack = node.ports.find((n) => fabric.nodes.get(n).tier === 1) ?? null;
	}
}

// Numbers the parts that remain without the switches of the top tier.  One part, or one
// per leaf, is no level of detail: then there are no pods.
function setPods(fabric) {
	fabric.pods = 0;
	if (fabric.tiers < 3) return;
	const seen = new Set(), pods = [];
	for (const start of fabric.nodes.values()) {
		if (seen.has(start.name) || start.tier === fabric.tiers || start.tier === 0) continue;
		const part = [], stack = [start.name];
		seen.add(start.name);
		while (stack.length) {
			const node = fabric.nodes.get(stack.pop());
			part.push(node);
			for (const next of node.ports)
				if (!seen.has(next) && fabric.nodes.get(next).tier < fabric.tiers) {
					seen.add(next);
					stack.push(next);
				}
		}
		pods.push(part);
	}
	const leaves = [...fabric.nodes.values()].filter((n) => n.tier === 1).length;
	fabric.pods = pods.length > 1 && pods.length < leaves ? pods.length : 0;
	if (fabric.pods)
		pods.forEach((part, i) => {
			for (const node of part) node.pod = `pod ${i}`;
		});
}
