// The items of the search: everything that can be selected, by name.
import type { GraphAnswer, ModelMap } from "../api";
import { shape, tokenText } from "../format";
import type { Selection } from "../state";
import type { Steps } from "./Scrubber";

export interface Found {
    kind: "token" | "layer" | "op" | "tensor" | "expert" | "lane";
    name: string;
    more: string;
    selects: Partial<Selection>;
}

export interface Sources {
    steps: Steps | null;
    map: ModelMap | null;
    graph: GraphAnswer | null;
    ops: string[];
    layers: number;
    lanes: { lane: number; label: string }[];
}

export function itemsOf({ steps, map, graph, ops, layers, lanes }: Sources): Found[] {
    const items: Found[] = [];
    for (let layer = 0; layer < layers; layer++) items.push({ kind: "layer", name: `layer ${layer}`, more: "", selects: { layer } });
    for (let i = 0; steps && i < steps.rows; i++) {
        const [first, last] = [steps.first[i]!, steps.last[i]!];
        if (first > 0xfffffff0) continue; // warm-up
        items.push({ kind: "token", name: first === last ? `token ${first}` : `tokens ${first} to ${last}`, more: tokenText(steps.texts[i] ?? ""), selects: { tokens: [first, last] } });
    }
    for (const op of ops) items.push({ kind: "op", name: op, more: "all ops of this type", selects: { opType: op, op: null } });
    for (const { lane, label } of lanes) items.push({ kind: "lane", name: label, more: "", selects: { lane } });
    let experts = 0;
    map?.tensors.name.forEach((name, i) => {
        if (name === null) return;
        experts = Math.max(experts, map.tensors.experts[i]!);
        items.push({ kind: "tensor", name, more: `${map.tensors.type[i]} ${shape(map.tensors.shape[i] ?? [])}`, selects: { tensor: name, expert: null, op: null } });
    });
    for (let expert = 0; expert < experts; expert++) items.push({ kind: "expert", name: `expert ${expert}`, more: "of every layer", selects: { expert, tensor: null, op: null } });
    const one = graph?.graphs[0];
    for (const node of one?.nodes ?? []) {
        if (node.state !== "executed" && node.state !== "opaque") continue;
        items.push({ kind: "op", name: node.name, more: `${node.op}, token ${graph!.token ?? "none"}`, selects: { op: { run: one!.run, node: node.node } } });
    }
    return items;
}

// Splits a name into words: "blk.3.ffn_down.weight" has blk, 3, ffn, down and weight.
const wordsOf = (name: string) => name.split(/[^a-z0-9]+|(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])/).filter(Boolean);

// How well a typed word matches a name: as one of its words, as a prefix of one, anywhere, or only
// in the description.
function fitOf(word: string, name: string, parts: readonly string[]): number {
    if (parts.includes(word)) return 0;
    if (parts.some((part) => part.startsWith(word))) return 1;
    return name.includes(word) ? 2 : 4;
}

const kindsInOrder: Found["kind"][] = ["layer", "tensor", "op", "token", "expert", "lane"];

// All words must match, in any order. Order of results: the exact name, names that begin with the
// text, names by quality of the match.
export function find(items: readonly Found[], text: string, most: number): { found: Found[]; total: number } {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return { found: items.slice(0, most), total: items.length };
    const whole = words.join(" ");
    const scored: [number, Found][] = [];
    for (const item of items) {
        const name = item.name.toLowerCase();
        const all = `${item.kind} ${name} ${item.more.toLowerCase()}`;
        if (!words.every((word) => all.includes(word))) continue;
        const parts = wordsOf(name);
        const fit = words.reduce((sum, word) => sum + fitOf(word, name, parts), 0);
        const score = name === whole ? 0 : name.startsWith(whole) ? 1 : 2 + fit;
        scored.push([(score * 10 + kindsInOrder.indexOf(item.kind)) * 1000 + Math.min(999, name.length), item]);
    }
    scored.sort((a, b) => a[0] - b[0]);
    return { found: scored.slice(0, most).map(([, item]) => item), total: scored.length };
}
