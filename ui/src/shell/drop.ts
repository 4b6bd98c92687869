// A report opens any trace that is dropped on it, in addition to its own.
import { openTrace } from "../data-report";
import { experiments, show } from "../state";
import { announce } from "./Announce";
import { loadExperiments } from "./live";

declare const REPORT: boolean; // set by build.mjs

async function open(file: File): Promise<void> {
    const sameName = experiments.value.filter((one) => one.name.startsWith(file.name)).length;
    const name = sameName === 0 ? file.name : `${file.name} (${sameName + 1})`;
    const index = await openTrace(name, await file.arrayBuffer());
    await loadExperiments();
    show(index);
    announce(`${name} is shown`);
}

export function listenForDrops(): void {
    if (!REPORT) return;
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
        event.preventDefault();
        const files = [...(event.dataTransfer?.files ?? [])];
        void files.reduce((before, file) => before.then(() => open(file)), Promise.resolve()).catch((problem: unknown) => {
            window.alert(problem instanceof Error ? problem.message : String(problem));
        });
    });
}
