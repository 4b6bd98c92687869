// Technical terms: a dotted underline, and a definition on hover or focus.
import type { ComponentChildren } from "preact";
import { meaningOfAddressed, meaningOfGraphRun, meaningOfOpRun } from "../api";

// Words of the glossary, and labels of the page.
const meanings: Record<string, string> = {
    "op run": meaningOfOpRun,
    "graph run": meaningOfGraphRun,
    addressed: meaningOfAddressed,
    "fused with": "Computed in one go with this op, whose time is that of all of them.",
    uneven: "Threads waited because another thread had more to do.",
    "copied at load": "The engine keeps a copy of these weights, in another order or on a device; ops read the copy, not the file.",
    holes: "Cells between those in use that no sequence has: attention goes over them all the same.",
    cells: "Places of the KV cache, one for the keys and values of each token.",
    "stalled by page faults": "A thread stood still until a page that it touched was mapped: read from the disk, or found in memory.",
    "mapped files": "Model files in the program's memory; the kernel reads what is missing.",
    "self time": "Time in ops, summed over threads, without waits for other threads.",
};

const termPattern = new RegExp(`\\b(${Object.keys(meanings).sort((a, b) => b.length - a.length).join("|")})(s?)\\b`, "g");

export function Term({ word, children }: { word: string; children?: ComponentChildren }) {
    return (
        <abbr class="term" title={meanings[word]} tabIndex={0}>
            {children ?? word}
        </abbr>
    );
}

// A text in which the first occurrence of each term is explained.
export function Terms({ text }: { text: string }) {
    const parts: ComponentChildren[] = [];
    const seen = new Set<string>();
    let at = 0;
    for (const match of text.matchAll(termPattern)) {
        const word = match[1]!;
        if (seen.has(word)) continue;
        seen.add(word);
        parts.push(text.slice(at, match.index), <Term word={word}>{match[0]}</Term>);
        at = match.index + match[0].length;
    }
    return (
        <>
            {parts}
            {text.slice(at)}
        </>
    );
}
