// Words that newcomers do not know: a dotted underline, and one sentence where one points or goes with the keyboard.
import type { ComponentChildren } from "preact";

export const glossary: Record<string, string> = {
    "op run": "One op on one thread: an op that two threads compute has two op runs.",
    "graph run": "One call that computes a graph of ops: mostly one per token, more if a batch is cut into parts or spread over devices.",
    addressed: "Named by ops as their operands, whether the bytes were in memory or had to come from the disk.",
    "fused with": "Computed in one go with this op, whose time is that of all of them.",
    uneven: "Threads waited because another thread had more to do.",
    "copied at load": "The engine keeps a copy of these weights in memory of its own, in another order or on a device; ops read the copy, not the file.",
    holes: "Cells between those in use that no sequence has: attention goes over them all the same.",
    cells: "Places of the KV cache, one for the keys and values of each token.",
    "stalled by page faults": "A thread stood still because a page that it touched was not mapped: it had to be read from the disk, or only to be found in memory.",
    "mapped files": "Model files that are part of the program's memory: reading them is reading memory, and the kernel brings what is missing.",
    "self time": "Time in ops, summed over threads, without waits for other threads.",
};

const known = new RegExp(`\\b(${Object.keys(glossary).sort((a, b) => b.length - a.length).join("|")})(s?)\\b`, "g");

export function Term({ word, children }: { word: string; children?: ComponentChildren }) {
    return (
        <abbr class="term" title={glossary[word]} tabIndex={0}>
            {children ?? word}
        </abbr>
    );
}

// A text with its first mention of each such word explained.
export function Terms({ text }: { text: string }) {
    const parts: ComponentChildren[] = [];
    const seen = new Set<string>();
    let at = 0;
    for (const match of text.matchAll(known)) {
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
