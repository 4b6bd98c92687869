// Messages for missing or incomplete data.
import { refresh, server } from "../ask";
import { plural } from "../format";
import { experiments, missing, show, summary } from "../state";

export function NothingRecorded() {
    return (
        <main class="centre">
            <h1>Nothing is recorded yet</h1>
            <p>Record an inference, then show it:</p>
            <pre>
                {"ggscope run -m model.gguf -p \"Hello\" -n 16 -o experiments/first\n"}
                {"ggscope serve experiments/first"}
            </pre>
            <p class="quiet">
                Any other program that uses ggml is recorded with <code>ggscope record -o DIR -- PROGRAM ARGS...</code>.
            </p>
        </main>
    );
}

export function EmptyRecording() {
    return (
        <main class="centre">
            <h1>This recording holds no ops</h1>
            <p>The program computed no ggml graph while it was recorded. This says what can be recorded here, and how to fix the rest:</p>
            <pre>ggscope doctor</pre>
        </main>
    );
}

export function Refused({ sentence }: { sentence: string }) {
    return (
        <main class="centre">
            <h1>This experiment is not shown</h1>
            <p>{sentence}</p>
            <p class="quiet">
                Graph, trace, buffers and model map of one page always come from one run. <code>ggscope check DIR</code> says more.
            </p>
        </main>
    );
}

// A link to something that this page does not have. Nothing else is shown instead.
export function Unknown() {
    return (
        <main class="centre">
            <h1>This experiment is not here</h1>
            <p role="alert">
                The address asks for experiment <code>{missing.value}</code>, which this page does not show. It has:
            </p>
            <ul>
                {experiments.value.map((one) => (
                    <li>
                        <button type="button" class="link" onClick={() => show(one.index)}>
                            Show {one.name}
                        </button>
                    </li>
                ))}
            </ul>
        </main>
    );
}

export function Notices() {
    const about = summary.value;
    return (
        <>
            {server.value !== "answers" && (
                <div class="notice" role="alert">
                    <span>
                        {server.value === "gone"
                            ? "The server does not answer. What you see stays; the page asks again by itself."
                            : "The server was started again and does not know this page. What you see stays; for more, open the address that it printed."}
                    </span>
                    <button type="button" onClick={refresh}>
                        Try now
                    </button>
                </div>
            )}
            {about?.warning && (
                <div class="notice" role="status">
                    <span>{about.warning}</span>
                </div>
            )}
            {about && about.interrupted_runs > 0 && !about.live && !about.warning && (
                <div class="notice" role="status">
                    <span>The engine was cut off: {plural(about.interrupted_runs, "graph run")} did not end. Everything before is here.</span>
                </div>
            )}
            {about && about.runs_of_first_thread > 0 && (
                <div class="notice" role="status">
                    <span>Only the first thread was seen: this engine's functions are not found. An op lasts from the end of the one before it; waits are not seen.</span>
                </div>
            )}
            {about && about.runs_without_waits > about.runs_of_first_thread && (
                <div class="notice" role="status">
                    <span>Waits were not seen: this engine's barrier is inside its compute loop. Times of ops are right; ends on threads other than the first are bounds.</span>
                </div>
            )}
        </>
    );
}
