import { render } from "preact";
import { watchTheme } from "./colours";
import { listenForKeys } from "./keys";
import { listenForDrops } from "./shell/drop";
import { listenForScrolls } from "./shell/scrolls";
import { listenForNews, loadExperiments } from "./shell/live";
import { Shell } from "./shell/Shell";
import { mirrorInAddress } from "./state";
import { rememberSteps } from "./undo";
import Compare from "./views/compare";
import Experts from "./views/experts";
import Graph from "./views/graph";
import Log from "./views/log";
import Memory from "./views/memory";
import Statistics from "./views/statistics";
import Storage from "./views/storage";
import Timeline from "./views/timeline";
import Values from "./views/values";
import "./app.css";

const components = { memory: Memory, timeline: Timeline, graph: Graph, log: Log, statistics: Statistics, compare: Compare, storage: Storage, experts: Experts, values: Values };

async function start(): Promise<void> {
    const place = document.getElementById("app")!;
    watchTheme();
    try {
        await loadExperiments();
    } catch (problem) {
        place.textContent = problem instanceof Error ? problem.message : String(problem);
        return;
    }
    mirrorInAddress();
    rememberSteps();
    listenForKeys();
    listenForScrolls();
    listenForNews();
    listenForDrops();
    render(<Shell components={components} />, place);
}

void start();
