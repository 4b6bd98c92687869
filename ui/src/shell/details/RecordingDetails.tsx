// Details of the recording, shown while nothing is selected: findings, settings, machine.
import { bytes, plural } from "../../format";
import { experiment, summary } from "../../state";
import { recordedCommand } from "../Computed";
import { Findings } from "../Findings";
import { useFindings } from "../recording-findings";
import { Explained } from "./Explained";
import { Row } from "./Row";

export function RecordingDetails() {
    const about = summary.value;
    const findings = useFindings(about);
    if (!about) return null;
    const { host, engine } = about;
    const limited = host.usable_cores !== null && host.cores !== null && host.usable_cores < host.cores;
    const machine = [host.cpu, host.cores && (limited ? `${host.usable_cores} of ${plural(host.cores, "core")} usable` : plural(host.cores, "core")), host.memory_bytes && bytes(host.memory_bytes), host.kernel && `Linux ${host.kernel}`];
    const programs = [engine.llama_version && `llama.cpp ${engine.llama_version}`, engine.ggml_version && `ggml ${engine.ggml_version}`, engine.cpu_library, plural(about.threads, "thread")];
    const conditions = [about.memory_limit !== null && `in ${bytes(about.memory_limit)} of memory`, about.cold && "cold start", about.read_bytes !== null && `${bytes(about.read_bytes)} read from disk`, about.times_distorted && "times distorted by --prove"];
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
                        <code>{recordedCommand()}</code>
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
                    Press an op, a tensor or a token for its details. Drag over time or bytes for their sums. <kbd>?</kbd> lists the keys, <kbd>/</kbd> searches.
                </p>
            </section>
        </article>
    );
}
