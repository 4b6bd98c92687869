import { render } from "preact";
import { watchTheme } from "./colours";
import { listenForKeys } from "./keys";
import { listenForDrops } from "./shell/drop";
import { listenForScrolls } from "./shell/scrolls";
import { listenForNews, loadExperiments } from "./shell/live";
import { Shell } from "./shell/Shell";
import { mirrorInAddress } from "./state";
import { rememberSteps } from "./undo";
// This order of imports makes the compressed page 1 KB smaller: similar code is adjacent.
import Timeline from "./views/timeline";
import Memory from "./views/memory";
import Log from "./views/log";
import Graph from "./views/graph";
import Experts from "./views/experts";
import Values from "./views/values";
import Storage from "./views/storage";
import Statistics from "./views/statistics";
import Compare from "./views/compare";
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

// Starts in a separate task, after the one that parses the script.
setTimeout(() => void start());
