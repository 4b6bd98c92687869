// The engine of a report in a worker thread, so that the page stays responsive. It receives one
// question at a time and answers with the question's number: any number of { progress }, then {
// reply } or { problem }.
import { Engine, type Reply } from "./engine";

// The head of a file that the server would read.
export interface FileHead {
    path: string;
    bytes: number; // of the whole file
    head: string; // base64
    gzip: boolean;
}
export interface Opening {
    path: string;
    directory: string;
    name: string;
    state: string;
    files: FileHead[];
    trace: string | ArrayBuffer; // base64, or the bytes
}
export type Question = { number: number } & ({ start: string } | { open: Opening } | { ask: string });
export type WorkerMessage = { number: number; progress: number } | { number: number; problem: string } | { number: number; reply: Reply | number };

// TypeScript's DOM types describe windows only.
const scope = self as unknown as {
    onmessage: ((event: { data: Question }) => void) | null;
    postMessage(message: WorkerMessage, transfer?: Transferable[]): void;
};

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

async function unpack(base64: string): Promise<Uint8Array<ArrayBuffer>> {
    const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

let engine: Engine;

// ---- progress, limited to a visible rate

let answering = 0;
let lastReport = 0;

function reportProgress(progress: number): void {
    const now = performance.now();
    if (now - lastReport < 100) return;
    lastReport = now;
    scope.postMessage({ number: answering, progress });
}

async function open({ path, directory, name, state, files, trace }: Opening): Promise<number> {
    for (const file of files) engine.addFile(file.path, file.gzip ? await unpack(file.head) : bytesOf(file.head), file.bytes);
    const bytes = typeof trace === "string" ? bytesOf(trace) : new Uint8Array(trace);
    engine.addFile(path, bytes, bytes.length);
    return engine.addExperiment(path, directory, name, state);
}

async function answer(question: Question): Promise<Reply | number> {
    if ("ask" in question) return engine.ask(question.ask);
    if ("open" in question) return open(question.open);
    engine = await Engine.start(await unpack(question.start), reportProgress);
    return 0;
}

async function hear(question: Question): Promise<void> {
    const { number } = question;
    answering = number;
    lastReport = performance.now();
    try {
        const reply = await answer(question);
        scope.postMessage({ number, reply }, typeof reply === "object" ? [reply.body] : []);
    } catch (problem) {
        scope.postMessage({ number, problem: problem instanceof Error ? problem.message : String(problem) });
    }
}

scope.onmessage = ({ data }) => void hear(data);
