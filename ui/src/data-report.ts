// The data of a report: its embedded trace, and a worker with the module that answers like the
// server (engine.ts). Both are text in the page, because a page opened from a file cannot load
// anything.
//
//     <script type="text/plain" id="ggscope-engine">      engine-worker.ts, built
//     <script type="text/plain" id="ggscope-module">      the module: gzip, base64
//     <script type="application/json" class="ggscope-experiment"> and
//     <script type="text/plain" class="ggscope-trace">      a pair for each experiment
import type { Reply } from "./engine";
import type { Opening, Question, WorkerMessage } from "./engine-worker";

type WithoutNumber<T> = T extends unknown ? Omit<T, "number"> : never;

let worker: Worker | null = null;
let asked = 0;
const waiting = new Map<number, { done(reply: Reply | number): void; failed(problem: Error): void; progress?: ((share: number) => void) | undefined }>();

// One question at a time. A question that nobody waits for when its turn comes is dropped.
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

function hear({ data: message }: MessageEvent<WorkerMessage>): void {
    const who = waiting.get(message.number);
    if ("progress" in message) return who?.progress?.(message.progress);
    waiting.delete(message.number);
    if ("problem" in message) who?.failed(new Error(message.problem));
    else who?.done(message.reply);
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
        traces[i]?.remove(); // the engine has a copy
    }
}

let started: Promise<void> | null = null;

export async function reportAnswer(path: string, progress?: (share: number) => void, abort?: AbortSignal): Promise<Reply> {
    await (started ??= start());
    return (await send({ ask: path }, progress, abort)) as Reply;
}

// Opens another trace and returns its number.
export async function openTrace(name: string, trace: ArrayBuffer): Promise<number> {
    await (started ??= start());
    return (await send({ open: { path: name, directory: name, name, state: "complete", files: [], trace } })) as number;
}
