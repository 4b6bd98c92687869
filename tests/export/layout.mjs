// Readers of the tensor-tracing layout, by the rules that its own scripts follow.

// ---- graphs ----

// The scripts read files without Graphviz, line by line. A line that begins with a quoted id is a
// node if a bracket follows, an edge if an arrow and a second id follow. The attribute `label` must
// come before any closing bracket, and a quote ends it.
//
// A node's label has fields between bars. Three: name and type in parentheses, number and sizes in
// brackets, op behind a port. Two: port, name and type; the word CONST, number and sizes: a leaf.
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
    const known = new Set(nodes.map((n) => n.id)); // edges of unknown nodes are ignored
    return { nodes, edges: edges.filter((e) => known.has(e.source) && known.has(e.target)) };
}

// ---- the memory map ----

// The scripts need these columns of a table of tensors by name, with as many sizes as dimensions; a
// layer of -1 is none, and a name that ends in a number in brackets is an expert's. The word for a
// component is the first of these that its title contains. (Their own tables have the title Output
// Projection for outputs of attention; ours is Attention Output.)
const words = { "attention q": "query", "attention k": "key", "attention v": "value", "output projection": "output", "attention output": "output", "ffn gate": "gate", "ffn up": "up", "ffn down": "down", norm: "norm" };
export const layoutComponent = (title) => words[Object.keys(words).find((word) => title.toLowerCase().includes(word))] ?? "other";

export function readMap(csv) {
    const [names, ...rows] = csv.trimEnd().split("\n").map((line) => line.split(","));
    return rows.map((cells) => {
        const row = Object.fromEntries(names.map((name, i) => [name, cells[i]])), expert = /\[(\d+)\]$/.exec(row.tensor_name);
        const offset = Number(row.file_offset), size = Number(row.size_bytes);
        return {
            name: row.tensor_name, offset_start: offset, offset_end: offset + size, size_bytes: size,
            shape: Array.from({ length: Number(row.n_dims) }, (_, i) => Number(row[`dim${i}`])).filter((n) => n > 0),
            layer_id: row.layer_id === "-1" ? null : Number(row.layer_id), component: layoutComponent(row.component_type), component_type: row.component_type,
            ...(expert === null ? {} : { expert_id: Number(expert[1]) }),
        };
    });
}
