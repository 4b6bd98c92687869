// Events from the server: a recording continues, a directory is gone. One stream per browser.
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

// Increases when an experiment changes, at most once a second. For the list of experiments.
export const listNews = signal(0);
let listLater = 0;

function scheduleListUpdate(): void {
    if (listLater) return;
    listLater = window.setTimeout(() => {
        listLater = 0;
        listNews.value++;
    }, 300);
}

const retryPause = 2000;

// A recording sends events many times a second; answers are refreshed at most once in this time.
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
    experiments.value = await askJob<Experiment[]>("/api/experiments"); // not from the cache
}

let asked = 0; // an answer to an older question is ignored

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
    if (message.kind === "experiment" || message.kind === "gone") scheduleListUpdate();
    if (message.kind === "experiment") {
        const news = JSON.parse(message.data) as News;
        if (!experiments.value.some((one) => one.index === news.index)) void loadExperiments(); // a new one in a served folder
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, state: news.state } : one));
        if (news.index === current.value) refreshSoon();
    } else if (message.kind === "gone") {
        const news = JSON.parse(message.data) as { index: number; error: string };
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, error: news.error } : one));
    } else if (message.kind === "lost") {
        loadExperiments().catch(() => undefined); // distinguishes a server that is gone from one that refuses
    } else if (server.value !== "answers") {
        server.value = "answers";
        refresh();
    }
}

function openStream(broadcast: (message: Message) => void): void {
    const stream = new EventSource("./api/events");
    for (const kind of ["experiment", "gone"] as const) stream.addEventListener(kind, (event) => broadcast({ kind, data: (event as MessageEvent<string>).data }));
    stream.addEventListener("open", () => broadcast({ kind: "open" }));
    stream.addEventListener("error", () => {
        broadcast({ kind: "lost" });
        // A browser does not reconnect after an error page.
        if (stream.readyState === EventSource.CLOSED) setTimeout(() => openStream(broadcast), retryPause);
    });
}

// A restarted server has another address. A tab that opens it tells the tabs that it refuses, which
// then go there.
function followAddress(): void {
    const channel = new BroadcastChannel("ggscope-address");
    channel.addEventListener("message", (event) => {
        if (server.value === "refuses" && event.data !== location.pathname) location.replace(`${event.data as string}${location.hash}`);
    });
    channel.postMessage(location.pathname);
}

// Browsers allow six connections to a server, and a stream holds one. So one tab listens and
// informs the others; when it closes, the lock passes on. Without locks (on an insecure origin)
// each tab has its own stream.
export function listenForNews(): void {
    if (REPORT) return;
    if (window.BroadcastChannel) followAddress();
    if (!navigator.locks || !window.BroadcastChannel) openStream(hear);
    else {
        const name = `ggscope-news ${location.pathname}`; // a link to one experiment gets events of that one only
        const channel = new BroadcastChannel(name);
        channel.addEventListener("message", (event) => hear(event.data as Message));
        const broadcast = (message: Message) => {
            hear(message);
            channel.postMessage(message);
        };
        void navigator.locks.request(name, () => {
            openStream(broadcast);
            return new Promise(() => undefined); // held until the page closes
        });
    }
    setInterval(() => {
        if (server.value !== "answers") void loadExperiments().then(refresh, () => undefined);
    }, retryPause);
}
