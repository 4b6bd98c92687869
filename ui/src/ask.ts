// Requests data: ask(path) answers a path such as "/api/x/0/summary" with JSON or with Columns. A
// report has no server; its engine answers the same paths with the same bytes (data-report.ts).
//
// Slow answers are jobs: the server replies 202 with the progress until the result is ready. The
// functions here repeat the request. A few dozen answers are cached and shared: two views with the
// same question cause one request.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type Columns, parse } from "./columns";
import { reportAnswer } from "./data-report";
import type { Reply as EngineReply } from "./engine";
import { beginWork } from "./under-way";

declare const REPORT: boolean; // set by build.mjs

export class AskError extends Error {
    constructor(
        readonly status: number, // 0: the server could not be reached
        message: string,
    ) {
        super(message);
    }
}

// The result of the last request: the server answers, cannot be reached, or does not know this page
// because it was restarted. The page keeps its contents and tries again.
export const server = signal<"answers" | "gone" | "refuses">("answers");
// Increases when cached answers may be out of date: a live recording continued, or the server came
// back.
export const revision = signal(0);

// Drops cached answers and pending requests. A caller that waits still gets its answer; later ones
// ask again.
export function refresh(): void {
    kept.clear();
    flights.clear();
    revision.value++;
}

const jobPause = 250;
const busyTries = 40;
const keptAnswers = 64;

interface Progress {
    progress: number;
}
type Reply = { done: true; answer: unknown } | { done: false; progress: number };

// The page's address ends with a slash after the part that grants access. All paths are relative to
// it.
async function fromServer(path: string, abort?: AbortSignal): Promise<EngineReply> {
    try {
        const response = await fetch(`.${path}`, { signal: abort ?? null, headers: { Accept: "application/json, application/octet-stream" } });
        const json = (response.headers.get("Content-Type") ?? "").startsWith("application/json");
        const reply = { status: response.status, json, body: await response.arrayBuffer() };
        server.value = response.status === 403 ? "refuses" : "answers";
        return reply;
    } catch (cause) {
        if (abort?.aborted) throw cause;
        server.value = "gone";
        throw new AskError(0, "The server does not answer.");
    }
}

// A busy server (503) is asked again while `patience` is above 0.
async function request(path: string, patience: number, onProgress?: (progress: number) => void, abort?: AbortSignal, whole = false): Promise<Reply> {
    const { status, json, body } = await (REPORT ? reportAnswer(path, onProgress, abort) : fromServer(path, abort));
    const parsed = () => JSON.parse(new TextDecoder().decode(body)) as unknown;
    if (status === 503 && patience > 0 && !REPORT) return { done: false, progress: 0 };
    if (status < 200 || status > 299) {
        const reason = json ? (parsed() as { error?: string }).error : undefined;
        throw new AskError(status, reason ?? `The server refused ${path} with status ${status}.`);
    }
    if (status === 202) return { done: false, progress: (parsed() as Progress).progress };
    return { done: true, answer: whole ? body : json ? parsed() : parse(body) };
}

function pause(milliseconds: number, abort?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, milliseconds);
        abort?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(abort.reason as Error);
        });
    });
}

// Resolves with the result, however long the job takes. Calls `onProgress` with numbers from 0 to
// 1.
export async function askJob<T>(path: string, onProgress?: (progress: number) => void, abort?: AbortSignal, whole = false): Promise<T> {
    const asked = revision.peek();
    const over = beginWork();
    try {
        for (let patience = busyTries; ; patience--) {
            const reply = await request(path, patience, onProgress, abort, whole);
            if (reply.done) {
                if (asked === revision.peek() && !whole) keep(path, reply.answer);
                return reply.answer as T;
            }
            onProgress?.(reply.progress);
            await pause(jobPause, abort);
        }
    } finally {
        over();
    }
}

// Requests a file as bytes. It is not cached.
export const askFile = (path: string): Promise<ArrayBuffer> => askJob<ArrayBuffer>(path, undefined, undefined, true);

export async function ask<T>(path: string, abort?: AbortSignal): Promise<T> {
    return kept.has(path) ? (kept.get(path) as T) : askJob<T>(path, undefined, abort);
}

// ---- cached answers; the least recently used is evicted first

const kept = new Map<string, unknown>();

function keep(path: string, answer: unknown): void {
    kept.delete(path);
    kept.set(path, answer);
    if (kept.size > keptAnswers) kept.delete(kept.keys().next().value!);
}

// ---- pending requests, shared by all callers of a path

interface Flight {
    waiting: Set<Waiting>;
    abort: AbortController;
}
interface Waiting {
    progress(value: number): void;
    done(answer: unknown): void;
    failed(error: AskError): void;
}
const flights = new Map<string, Flight>();

function join(path: string, who: Waiting): () => void {
    let flight = flights.get(path);
    if (!flight) {
        flight = { waiting: new Set(), abort: new AbortController() };
        flights.set(path, flight);
        void fly(path, flight);
    }
    const joined = flight;
    joined.waiting.add(who);
    return () => {
        joined.waiting.delete(who);
        if (joined.waiting.size > 0) return;
        if (flights.get(path) === joined) flights.delete(path);
        joined.abort.abort();
    };
}

async function fly(path: string, flight: Flight): Promise<void> {
    try {
        const answer = await askJob(path, (value) => flight.waiting.forEach((who) => who.progress(value)), flight.abort.signal);
        if (flights.get(path) === flight) flights.delete(path);
        flight.waiting.forEach((who) => who.done(answer));
    } catch (cause) {
        if (flights.get(path) === flight) flights.delete(path);
        if (flight.abort.signal.aborted) return;
        const error = cause instanceof AskError ? cause : new AskError(-1, cause instanceof Error ? cause.message : String(cause));
        flight.waiting.forEach((who) => who.failed(error));
    }
}

export interface Answer<T> {
    data: T | null;
    progress: number | null; // of a pending job
    error: AskError | null;
}

interface Held extends Answer<unknown> {
    path: string | null;
}

// The answer to `path`; null asks nothing. It asks again while a job runs and after refresh(), and
// aborts the request when the path changes. With `keep`, the data of the previous path stays until
// the new data arrives, so that canvases do not flicker.
export function useAsk<T>(path: string | null, options: { keep?: boolean } = {}): Answer<T> {
    const [held, hold] = useState<Held>({ path: null, data: null, progress: null, error: null });
    const now = revision.value;
    useEffect(() => {
        if (path === null) return;
        if (kept.has(path)) {
            const answer = kept.get(path);
            keep(path, answer);
            hold({ path, data: answer, progress: null, error: null });
            return;
        }
        return join(path, {
            progress: (progress) => hold((old) => ({ ...old, progress })),
            done: (data) => hold({ path, data, progress: null, error: null }),
            failed: (error) => hold((old) => ({ path: old.data === null ? path : old.path, data: old.data, progress: null, error })),
        });
    }, [path, now]);

    if (path === null) return { data: null, progress: null, error: null };
    if (held.path === path) return held as Answer<T>;
    if (kept.has(path)) return { data: kept.get(path) as T, progress: null, error: null };
    return { data: options.keep ? (held.data as T | null) : null, progress: held.progress, error: held.error };
}

export type { Columns };
