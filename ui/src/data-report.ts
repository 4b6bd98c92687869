// The data of a report: answers that `ggscope report` embedded in the page, by request path. What was not embedded is worked out from the
// whole where that is there (report-cut.ts), else refused with a sentence.
//
//     <script type="application/json" id="ggscope-answers">{"/api/x/0/summary": {"json": ...}, "/api/x/0/tokens?bins=1000": {"columns": "BASE64"},
//         "/api/x/0/log?all": {"gzip": "BASE64 of gzipped JSON or columns"}}</script>
import type { Heat, LogAnswer, ModelMap } from "./api";
import { type Columns, parse } from "./columns";
import { cardFromLog, cutLog, cutTimeline, cutTokens, sumHeat } from "./report-cut";

interface Embedded {
    json?: unknown;
    columns?: string;
    gzip?: string;
}

const served = "Open the experiment itself with ggscope serve to see it.";

let answers: Record<string, Embedded> | null = null;
const decoded = new Map<string, Promise<unknown>>();

function embedded(): Record<string, Embedded> {
    answers ??= JSON.parse(document.getElementById("ggscope-answers")?.textContent ?? "{}") as Record<string, Embedded>;
    return answers;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

async function unpack(base64: string): Promise<ArrayBuffer> {
    const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

function isColumns(bytes: ArrayBuffer): boolean {
    return bytes.byteLength >= 4 && new DataView(bytes).getUint32(0, false) === 0x47475343;
}

async function decode(entry: Embedded): Promise<unknown> {
    if (entry.columns !== undefined) return parse(bytesOf(entry.columns).buffer);
    if (entry.gzip === undefined) return entry.json;
    const bytes = await unpack(entry.gzip);
    return isColumns(bytes) ? parse(bytes) : (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
}

// The answer under exactly this key; undefined where there is none.
function exact<T>(key: string): Promise<T> | undefined {
    const entry = embedded()[key];
    if (entry === undefined) return undefined;
    if (!decoded.has(key)) decoded.set(key, decode(entry));
    return decoded.get(key) as Promise<T>;
}

async function need<T>(key: string, sentence: string): Promise<T> {
    const answer = exact<T>(key);
    if (!answer) throw new Error(`${sentence} ${served}`);
    return answer;
}

// Of the embedded answers to a route with begin and end, the one with the finest bins among those that cover the window, else the widest.
function covering(prefix: string, begin: number, end: number): string | null {
    const found = Object.keys(embedded())
        .filter((key) => key.startsWith(`${prefix}?begin=`))
        .map((key) => ({ key, query: new URLSearchParams(key.slice(key.indexOf("?") + 1)) }))
        .map(({ key, query }) => ({ key, begin: Number(query.get("begin")), end: Number(query.get("end")), pixels: Number(query.get("pixels")) }))
        .sort((a, b) => (a.end - a.begin) / a.pixels - (b.end - b.begin) / b.pixels);
    return (found.find((one) => one.begin <= begin && one.end >= end) ?? found[found.length - 1])?.key ?? null;
}

type Route = (root: string, query: URLSearchParams) => Promise<unknown>;

const map = (root: string) => need<ModelMap>(`${root}/map`, "This report holds no model map.");
const log = (root: string) => need<LogAnswer>(`${root}/log?all`, "This report holds no log: the recording is too long for one page.");

const filtered = { key: "", answer: null as LogAnswer | null }; // the last filter of the log, for its next pages

const routes: Record<string, Route> = {
    async timeline(root, query) {
        const [begin, end, pixels] = [Number(query.get("begin")), Number(query.get("end")), Number(query.get("pixels") ?? 1024)];
        const all = exact<Columns>(`${root}/timeline?all`);
        if (all) return cutTimeline(await all, begin, end, pixels);
        const key = covering(`${root}/timeline`, begin, end);
        return key ? exact(key) : need(`${root}/timeline?all`, "This report holds no timeline.");
    },
    async curves(root, query) {
        const key = covering(`${root}/curves`, Number(query.get("begin")), Number(query.get("end")));
        return exact(`${root}/curves?all`) ?? (key ? exact(key) : need(`${root}/curves?all`, "This report holds no curves."));
    },
    async log(root, query) {
        const [from, size] = [Number(query.get("from") ?? 0), Number(query.get("count") ?? 500)];
        query.delete("from");
        query.delete("count");
        const key = `${root} ${query.toString()}`;
        if (filtered.key !== key || !filtered.answer) {
            query.set("count", "Infinity");
            filtered.answer = cutLog(await log(root), query, await map(root));
            filtered.key = key;
        }
        const { total, of, ops } = filtered.answer;
        return { total, of, from, ops: ops.slice(from, from + size) };
    },
    async op(root, query) {
        const [run, node] = [Number(query.get("run")), Number(query.get("node"))];
        const card = cardFromLog(await log(root), await map(root), run, node);
        if (!card) throw new Error(`This report holds no op ${node} of graph run ${run}.`);
        return card;
    },
    async heat(root, query) {
        const [first, last] = (query.get("tokens") ?? "0..0").split("..").map(Number) as [number, number];
        const parts: Heat[] = [];
        for (let token = first; token <= last; token++)
            parts.push(await need<Heat>(`${root}/heat?tokens=${token}..${token}`, `This report does not hold what token ${token} touched by itself.`));
        return sumHeat(parts, await map(root));
    },
    async tokens(root, query) {
        const all = await need<Columns>(`${root}/tokens?bins=1000`, "This report holds no tokens.");
        return query.has("from") ? cutTokens(all, Number(query.get("from")), Number(query.get("to") ?? Infinity)) : all;
    },
    occupancy: (root) => need(`${root}/occupancy?bins=1000`, "This report holds no buffer occupancy."),
    stats: (root, query) => need(`${root}/stats${query.has("tokens") ? "?" : ""}`, "This report holds the statistics of all tokens together, not of a part."),
    experts: (root) => need(`${root}/experts?`, "This report holds the experts of all tokens together, not of a part."),
    graph: (root) => need(`${root}/graph?`, "This report holds the graphs of tokens 0 and 1 only."),
};

export async function reportAnswer(path: string): Promise<unknown> {
    const known = exact(path);
    if (known) return known;
    const match = /^(\/api\/x\/\d+)\/(\w+)\??(.*)$/.exec(path);
    const route = match && routes[match[2]!];
    if (!match || !route) throw new Error(`This report holds no answer to ${path}. ${served}`);
    return route(match[1]!, new URLSearchParams(match[3]));
}
