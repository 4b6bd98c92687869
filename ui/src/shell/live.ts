// News from the server: a recording goes on, a directory is gone. One stream per page.
import { signal } from "@preact/signals";
import type { Experiment, Summary } from "../api";
import { ask, askJob, AskError, refresh, server } from "../ask";
import { current, experiments, here, summary } from "../state";

declare const REPORT: boolean;

interface News {
    index: number;
    state: string;
    tokens: number;
}

// Grows with every change of any experiment, at most once a second: for the list of them.
export const listNews = signal(0);
let listLater = 0;

function tellList(): void {
    if (listLater) return;
    listLater = window.setTimeout(() => {
        listLater = 0;
        listNews.value++;
    }, 300);
}

const retryPause = 2000;

// A recording tells about itself many times a second; answers are asked for again at most once in this time.
const refreshPause = 1000;
let last = 0;
let later = 0;

function refreshSoon(): void {
    clearTimeout(later);
    const wait = Math.max(0, last + refreshPause - performance.now());
    later = window.setTimeout(() => {
        last = performance.now();
        refresh();
        void loadExperiments();
    }, wait);
}

export async function loadExperiments(): Promise<void> {
    experiments.value = await askJob<Experiment[]>("/api/experiments"); // never from what is kept
}

let asked = 0; // an answer that was overtaken by a later question does not count

export async function loadSummary(): Promise<void> {
    const mine = ++asked;
    try {
        const answer = await ask<Summary>(here("summary"));
        if (mine === asked) summary.value = answer;
    } catch (problem) {
        if (mine !== asked || !(problem instanceof AskError) || problem.status === 0) return;
        experiments.value = experiments.value.map((one) => (one.index === current.value ? { ...one, error: problem.message } : one));
    }
}

type Message = { kind: "experiment" | "gone"; data: string } | { kind: "lost" | "open" };

function hear(message: Message): void {
    if (message.kind === "experiment" || message.kind === "gone") tellList();
    if (message.kind === "experiment") {
        const news = JSON.parse(message.data) as News;
        if (!experiments.value.some((one) => one.index === news.index)) void loadExperiments(); // a new one below a folder
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, state: news.state } : one));
        if (news.index === current.value) refreshSoon();
    } else if (message.kind === "gone") {
        const news = JSON.parse(message.data) as { index: number; error: string };
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, error: news.error } : one));
    } else if (message.kind === "lost") {
        loadExperiments().catch(() => undefined); // tells a server that is gone from one that refuses
    } else if (server.value !== "answers") {
        server.value = "answers";
        refresh();
    }
}

function openStream(tell: (message: Message) => void): void {
    const stream = new EventSource("./api/events");
    for (const kind of ["experiment", "gone"] as const) stream.addEventListener(kind, (event) => tell({ kind, data: (event as MessageEvent<string>).data }));
    stream.addEventListener("open", () => tell({ kind: "open" }));
    stream.addEventListener("error", () => {
        tell({ kind: "lost" });
        // A browser does not try again by itself where the answer was an error page.
        if (stream.readyState === EventSource.CLOSED) setTimeout(() => openStream(tell), retryPause);
    });
}

// A server that was started again has another address. Who opens it tells the tabs that it refuses, which go on there.
function followAddress(): void {
    const channel = new BroadcastChannel("ggscope-address");
    channel.addEventListener("message", (event) => {
        if (server.value === "refuses" && event.data !== location.pathname) location.replace(`${event.data as string}${location.hash}`);
    });
    channel.postMessage(location.pathname);
}

// Browsers allow six connections to a server, and a stream keeps one for good. So one tab listens and tells the others; when it closes, the
// lock passes on. Where there are no locks (not a secure origin), each tab has its own stream.
export function listenForNews(): void {
    if (REPORT) return;
    if (window.BroadcastChannel) followAddress();
    if (!navigator.locks || !window.BroadcastChannel) openStream(hear);
    else {
        const name = `ggscope-news ${location.pathname}`; // a link to one experiment hears of no other
        const channel = new BroadcastChannel(name);
        channel.addEventListener("message", (event) => hear(event.data as Message));
        const tell = (message: Message) => {
            hear(message);
            channel.postMessage(message);
        };
        void navigator.locks.request(name, () => {
            openStream(tell);
            return new Promise(() => undefined); // kept until the page closes
        });
    }
    setInterval(() => {
        if (server.value !== "answers") void loadExperiments().then(refresh, () => undefined);
    }, retryPause);
}
