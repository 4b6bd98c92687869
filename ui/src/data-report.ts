// The data of a report: its trace, embedded in the page, and the module that answers as the server would (engine.ts), in a worker. Both
// stand in the page as text, because a page that was opened from a file may load nothing.
//
//     <script type="text/plain" id="ggscope-engine">      engine-worker.ts, built
//     <script type="text/plain" id="ggscope-module">      the module: gzip, base64
//     <script type="application/json" class="ggscope-experiment"> and <script type="text/plain" class="ggscope-trace">, a pair of each
import type { Reply } from "./engine";
import type { Opening, Question, Told } from "./engine-worker";

type WithoutNumber<T> = T extends unknown ? Omit<T, "number"> : never;

let worker: Worker | null = null;
let asked = 0;
const waiting = new Map<number, { done(reply: Reply | number): void; failed(problem: Error): void; progress?: ((share: number) => void) | undefined }>();

// One question at a time: what nobody waits for any more when its turn comes is not asked.
let before: Promise<unknown> = Promise.resolve();

function send(question: WithoutNumber<Question>, progress?: (share: number) => void, abort?: AbortSignal): Promise<Reply | number> {
    const mine = before.then(() => {
        abort?.throwIfAborted();
        return new Promise<Reply | number>((done, failed) => {
            const number = ++asked;
            waiting.set(number, { done, failed, progress });
            worker!.postMessage({ number, ...question });
        });
    });
    before = mine.catch(() => undefined);
    return mine;
}

function hear({ data: told }: MessageEvent<Told>): void {
    const who = waiting.get(told.number);
    if ("progress" in told) return who?.progress?.(told.progress);
    waiting.delete(told.number);
    if ("problem" in told) who?.failed(new Error(told.problem));
    else who?.done(told.reply);
}

function fail(message: string): void {
    for (const who of waiting.values()) who.failed(new Error(message));
    waiting.clear();
}

const textOf = (element: Element | null) => element?.textContent?.trim() ?? "";

async function start(): Promise<void> {
    const url = URL.createObjectURL(new Blob([textOf(document.getElementById("ggscope-engine"))], { type: "text/javascript" }));
    worker = new Worker(url);
    worker.onmessage = hear;
    worker.onerror = (event) => fail(`The report's engine ended: ${event.message || "it did not start in this browser"}`);
    await send({ start: textOf(document.getElementById("ggscope-module")) });
    URL.revokeObjectURL(url);
    const traces = document.querySelectorAll(".ggscope-trace");
    for (const [i, about] of document.querySelectorAll(".ggscope-experiment").entries()) {
        const opening = { ...(JSON.parse(textOf(about)) as Omit<Opening, "trace">), trace: textOf(traces[i] ?? null) };
        await send({ open: opening });
        traces[i]?.remove(); // the engine has it now
    }
}

let started: Promise<void> | null = null;

export async function reportAnswer(path: string, progress?: (share: number) => void, abort?: AbortSignal): Promise<Reply> {
    await (started ??= start());
    return (await send({ ask: path }, progress, abort)) as Reply;
}

// Opens another trace, and returns its number.
export async function openTrace(name: string, trace: ArrayBuffer): Promise<number> {
    await (started ??= start());
    return (await send({ open: { path: name, directory: name, name, state: "complete", files: [], trace } })) as number;
}
