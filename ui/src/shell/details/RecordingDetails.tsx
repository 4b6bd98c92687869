// The recording itself, while nothing else is selected: what matters in it, how it was made, and on what.
import { bytes, plural } from "../../format";
import { experiment, summary } from "../../state";
import { Findings } from "../Findings";
import { useFindings } from "../recording-findings";
import { Explained } from "./Explained";
import { Row } from "./Row";

export function RecordingDetails() {
    const about = summary.value;
    const findings = useFindings(about);
    if (!about) return null;
    const { host, engine } = about;
    const machine = [host.cpu, host.cores && plural(host.cores, "core"), host.memory_bytes && bytes(host.memory_bytes), host.kernel && `Linux ${host.kernel}`];
    const programs = [engine.llama_version && `llama.cpp ${engine.llama_version}`, engine.ggml_version && `ggml ${engine.ggml_version}`, plural(about.threads, "thread")];
    const conditions = [about.memory_limit !== null && `in ${bytes(about.memory_limit)} of memory`, about.cold && "cold start", about.times_distorted && "times distorted by page truth"];
    const line = (parts: readonly unknown[]) => parts.filter(Boolean).join(", ");
    return (
        <article class="card" aria-label="Recording">
            <Explained />
            <section>
                <h2>What matters here</h2>
                <Findings findings={findings} />
            </section>
            <section>
                <h2>How it was recorded</h2>
                <dl>
                    <Row name="command">
                        <code>{about.command.join(" ")}</code>
                    </Row>
                    {about.prompt && <Row name="prompt">“{about.prompt}”</Row>}
                    {line(conditions) && <Row name="conditions">{line(conditions)}</Row>}
                    <Row name="engine">{line(programs)}</Row>
                    <Row name="machine">{line(machine)}</Row>
                    <Row name="folder">
                        <code>{experiment.value?.directory}</code>
                    </Row>
                </dl>
            </section>
            <section>
                <h2>Where to begin</h2>
                <p class="quiet">
                    Press an op, a tensor or a token for its details here. Drag over time or bytes for what happened in them. <kbd>?</kbd> lists the keys, <kbd>/</kbd> searches, <kbd>Ctrl</kbd>+<kbd>Z</kbd> takes a selection or a zoom back.
                </p>
            </section>
        </article>
    );
}
