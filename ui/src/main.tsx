import { render } from "preact";
import type { Experiment } from "./api";
import { ask } from "./ask";
import { watchTheme } from "./colours";
import { listenForKeys } from "./keys";
import { Shell } from "./shell/Shell";
import { experiments, mirrorInAddress } from "./state";
import Compare from "./views/compare";
import Graph from "./views/graph";
import Log from "./views/log";
import Memory from "./views/memory";
import Statistics from "./views/statistics";
import Timeline from "./views/timeline";
import "./app.css";

const components = { memory: Memory, timeline: Timeline, graph: Graph, log: Log, statistics: Statistics, compare: Compare };

async function start(): Promise<void> {
    watchTheme();
    listenForKeys();
    experiments.value = await ask<Experiment[]>("/api/experiments");
    mirrorInAddress();
    render(<Shell components={components} />, document.getElementById("app")!);
}

void start();
