// News from the server: a recording goes on, a directory is gone. One stream per page.
import type { Experiment, Summary } from "../api";
import { ask, AskError, refresh, serverGone } from "../ask";
import { current, experiments, here, summary } from "../state";

declare const REPORT: boolean;

interface News {
    index: number;
    state: string;
    tokens: number;
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
    experiments.value = await ask<Experiment[]>("/api/experiments");
}

export async function loadSummary(): Promise<void> {
    const path = here("summary");
    try {
        const answer = await ask<Summary>(path);
        if (path === here("summary")) summary.value = answer;
    } catch (problem) {
        if (!(problem instanceof AskError) || problem.status === 0) return;
        experiments.value = experiments.value.map((one) => (one.index === current.value ? { ...one, error: problem.message } : one));
    }
}

export function listenForNews(): void {
    if (REPORT) return;
    const stream = new EventSource("/api/events");
    stream.addEventListener("experiment", (event) => {
        const news = JSON.parse((event as MessageEvent<string>).data) as News;
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, state: news.state } : one));
        if (news.index === current.value) refreshSoon();
    });
    stream.addEventListener("gone", (event) => {
        const news = JSON.parse((event as MessageEvent<string>).data) as { index: number; error: string };
        experiments.value = experiments.value.map((one) => (one.index === news.index ? { ...one, error: news.error } : one));
    });
    stream.addEventListener("error", () => {
        serverGone.value = stream.readyState !== EventSource.OPEN;
    });
    stream.addEventListener("open", () => {
        if (serverGone.value) {
            serverGone.value = false;
            refresh();
        }
    });
    setInterval(() => {
        if (serverGone.value) void fetch("/api/experiments").then((answer) => answer.ok && (refresh(), (serverGone.value = false)), () => undefined);
    }, retryPause);
}
