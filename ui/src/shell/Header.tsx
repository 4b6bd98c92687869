// The first line: what was recorded, in one sentence.
import type { Heat, ModelMap, Summary } from "../api";
import { useAsk } from "../ask";
import { bytes, count, share, time } from "../format";
import { current, experiment, experiments, here, library, missing, show, statsPath, summary } from "../state";
import { stepsWord, stepWord } from "../step";
import { copiedOf } from "../views/memory/data";

interface Stats {
    tokens: number;
    requests: number;
    by_op: { op: string | null; backend: string | null; wall_ns: number; busy_ns: number | null }[];
    streamed?: { run_ns: number; wait_ns: number }; // absent: nothing was streamed
    machine: { faults: { in_ops: { stalled_ns: number } } | null; block_requests: { by_phase: { phase: string; bytes: number }[] } | null };
}

function speedOf(about: Summary): string | null {
    if (about.tokens_per_second === null) return null;
    const rate = about.tokens_per_second;
    return `${rate < 9.95 ? rate.toFixed(1) : count(rate)} tok/s`;
}

// "606 of 670 MiB", the unit said once where both have the same.
export function ofBytes(part: number, whole: number): string {
    const [a, b] = [bytes(part), bytes(whole)];
    const unit = b.split(" ")[1]!;
    return `${a.endsWith(` ${unit}`) ? a.slice(0, -unit.length - 1) : a} of ${b}`;
}

// "1.84 of 1.95 s", likewise.
function ofTime(part: number, whole: number): string {
    const [a, b] = [time(part), time(whole)];
    const unit = ` ${b.split(" ")[1]!}`;
    return `${a.endsWith(unit) ? a.slice(0, -unit.length) : a} of ${b}`;
}

// What takes the time: a disk that is waited for, which comes before all else, or the op that computes longest.
function timeOf(stats: Stats): { disk: string[]; op: string[] } {
    const busy = stats.by_op.reduce((sum, row) => sum + (row.busy_ns ?? 0), 0);
    const wall = stats.by_op.reduce((sum, row) => sum + row.wall_ns, 0);
    const stalled = stats.machine.faults?.in_ops.stalled_ns ?? 0;
    const generated = stats.machine.block_requests?.by_phase.find((row) => row.phase === "generate");
    const steps = stats.tokens - 1;
    const [disk, op]: [string[], string[]] = [[], []];
    if (stats.streamed) disk.push(`${ofTime(stats.streamed.wait_ns, stats.streamed.run_ns)} waiting for the disk`);
    if (busy > 0 && stalled > 0.05 * busy) disk.push(`${ofTime(stalled, busy)} stalled by page faults`);
    if (generated && steps > 0 && generated.bytes > 0) disk.push(`${bytes(generated.bytes / steps)} per token from the disk`);
    const top = stats.by_op.reduce<Stats["by_op"][number] | null>((best, row) => (best && best.wall_ns >= row.wall_ns ? best : row), null);
    if (top && wall > 0 && disk.length < 2) op.push(`${share(top.wall_ns, wall)} of time in ${top.op ?? top.backend}`);
    return { disk, op };
}

// Of a server a step is no token: each has one of several requests, or a piece of a prompt.
function stepsOf(about: Summary, requests: number): string {
    const steps = `${count(about.tokens)} ${requests > 1 ? "steps" : about.tokens === 1 ? stepWord() : stepsWord()}`;
    return requests > 1 ? `${count(requests)} requests in ${steps}` : steps;
}

function Sentence({ about }: { about: Summary }) {
    const heat = useAsk<Heat>(about.model ? here("heat") : null, { keep: true });
    const map = useAsk<ModelMap>(about.model ? here("map") : null, { keep: true });
    const stats = useAsk<Stats>(about.ops > 0 ? statsPath() : null, { keep: true });
    const copies = map.data && copiedOf(map.data);
    const took = stats.data && timeOf(stats.data);
    const parts = [
        about.model ? `${about.model.name}${about.model.quantization ? ` ${about.model.quantization}` : ""}` : about.name,
        ...(took?.disk ?? []),
        stepsOf(about, stats.data?.requests ?? 0),
        speedOf(about),
        ...(took?.op ?? []),
        heat.data ? `${ofBytes(heat.data.model.bytes_touched, heat.data.model.bytes)} touched` : null,
        copies && copies.copied > 0 ? `${share(copies.copied, copies.bytes)} copied at load` : null,
    ].filter((part): part is string => Boolean(part));
    return (
        <h1 id="sentence" title={parts.join(" · ")}>
            {parts.map((part, i) => (
                <>
                    {i > 0 && (
                        <span class="dot" aria-hidden="true">
                            ·
                        </span>
                    )}
                    <span>{part}</span>
                    {i < parts.length - 1 && <span class="unseen">, </span>}
                </>
            ))}
        </h1>
    );
}

function Badges({ about }: { about: Summary }) {
    return (
        <>
            {about.live && <span class="badge live">recording</span>}
            {about.times_distorted && (
                <span class="badge" title="Recorded with page truth: protecting pages made everything slower, so times are not those of a plain run.">
                    times distorted
                </span>
            )}
            {about.memory_limit !== null && <span class="badge">in {bytes(about.memory_limit)} of memory</span>}
            {about.cold && <span class="badge">cold start</span>}
            {about.lost > 0 && <span class="badge">{count(about.lost)} records lost</span>}
            {about.unseen > 0 && <span class="badge">{count(about.unseen)} nodes unseen</span>}
        </>
    );
}

export function Logo() {
    return (
        <svg class="logo" viewBox="0 0 32 32" role="img" aria-label="ggscope">
            <rect width="32" height="32" rx="7" fill="#0b2545" />
            <g fill="#fee838">
                <rect x="5" y="8" width="9" height="4" rx="1" />
                <rect x="16" y="8" width="4" height="4" rx="1" fill="#aea56d" />
                <rect x="22" y="8" width="5" height="4" rx="1" fill="#66697c" />
                <rect x="5" y="14" width="4" height="4" rx="1" fill="#7d7c78" />
                <rect x="11" y="14" width="16" height="4" rx="1" />
                <rect x="5" y="20" width="12" height="4" rx="1" fill="#aea56d" />
                <rect x="19" y="20" width="8" height="4" rx="1" fill="#66697c" />
            </g>
        </svg>
    );
}

export function Header({ onHelp }: { onHelp(): void }) {
    const about = experiment.value?.error || missing.value !== null ? null : summary.value;
    return (
        <header class="page-header">
            <Logo />
            <div class="words">
                {about ? <Sentence about={about} /> : <h1>{missing.value === null ? (experiment.value?.name ?? "ggscope") : "ggscope"}</h1>}
                {about?.prompt && <p class="prompt" title={about.prompt}>“{about.prompt}”</p>}
            </div>
            {about && <Badges about={about} />}
            {experiments.value.length > 1 && (
                <button type="button" onClick={() => (library.value = true)} title="The list of all recordings">
                    All <span class="wide-only">recordings</span>
                </button>
            )}
            {experiments.value.length > 1 && (
                <select aria-label="Experiment" value={current.value} onChange={(event) => show(Number(event.currentTarget.value))}>
                    {experiments.value.map((one) => (
                        <option value={one.index}>{one.name}</option>
                    ))}
                </select>
            )}
            <button type="button" onClick={onHelp} title="Keys and colours (?)" aria-label="Help">
                ?
            </button>
        </header>
    );
}
