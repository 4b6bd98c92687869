// Reads a graph as the scripts of the tensor-tracing layout do: no Graphviz, one line after the other. A line that begins
// with a quoted id is a node if a bracket follows, an edge if an arrow and a second id come between; the attribute
// `label` must come before any closing bracket, and a quote ends it.
//
// A node's label has fields between bars. Three: name and type in parentheses, number and sizes in brackets, op behind a
// port. Two: port, name and type; the word CONST, number and sizes: a leaf.
const label = String.raw`\[[^\]]*?label\s*=\s*"(?<label>[^"]+)"`, id = (name) => `"(?<${name}>[^"]+)"`;
const node = new RegExp(`^${id("id")}\\s*${label}`), edge = new RegExp(`^${id("source")}\\s*->\\s*${id("target")}\\s*${label}`);
const withoutPort = (text) => text.trim().replace(/^<[^>]+>/, "").trim();

function readLabel(text) {
    const fields = text.split("|"), leaf = fields.length === 2;
    const named = /^(?<name>.+?)\s*\((?<dtype>[^)]+)\)/.exec(withoutPort(fields[0]));
    const sizes = /\[(?<list>[^\]]+)\]/.exec(fields[1] ?? "");
    return {
        label: named?.groups.name ?? text, dtype: named?.groups.dtype ?? "unknown",
        shape: sizes === null ? [] : sizes.groups.list.split(",").map(Number), operation: leaf ? "CONST" : withoutPort(fields[2] ?? "unknown"),
    };
}

export function readDot(text) {
    const nodes = [], edges = [];
    for (const line of text.split("\n").map((l) => l.trim())) {
        const { groups } = edge.exec(line) ?? node.exec(line) ?? {};
        if (groups?.source !== undefined) edges.push({ ...groups });
        else if (groups !== undefined) nodes.push({ id: groups.id, ...readLabel(groups.label) });
    }
    const known = new Set(nodes.map((n) => n.id)); // an edge of an unknown node is left out
    return { nodes, edges: edges.filter((e) => known.has(e.source) && known.has(e.target)) };
}
