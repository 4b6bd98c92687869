// The first lines of the page: the recording and its findings.
import type { Summary } from "../api";
import { bytes, count } from "../format";
import { current, experiment, experiments, library, missing, show, summary } from "../state";
import { Findings } from "./Findings";
import { useFindings } from "./recording-findings";

declare const REPORT: boolean; // set by the build: a report has no list of recordings

function Badges({ about }: { about: Summary }) {
    return (
        <>
            {about.live && <span class="badge live">recording</span>}
            {about.times_distorted && (
                <span class="badge" title="Recorded with --prove, which slows everything: times are not those of a plain run.">
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

const nameOf = ({ model, name }: Summary) => (model ? `${model.name}${model.quantization ? ` ${model.quantization}` : ""}` : name);

export function Header({ onHelp }: { onHelp(): void }) {
    const about = experiment.value?.error || missing.value !== null ? null : summary.value;
    const findings = useFindings(about);
    const isOne = experiments.value.length < 2;
    return (
        <header class="page-header" id="sentence">
            <div class="title">
                <Logo />
                <h1>{about ? nameOf(about) : missing.value === null ? (experiment.value?.name ?? "ggscope") : "ggscope"}</h1>
                {about && <Badges about={about} />}
                <p class="prompt" title={about?.prompt ?? ""} aria-hidden="true">
                    {about?.prompt && `“${about.prompt}”`}
                </p>
            {!isOne && !REPORT && (
                <button type="button" onClick={() => (library.value = true)} title="The list of all recordings">
                    All <span class="wide-only">recordings</span>
                </button>
            )}
            {!isOne && (
                <select aria-label="Experiment" value={current.value} onChange={(event) => show(Number(event.currentTarget.value))}>
                    {experiments.value.map((one) => (
                        <option value={one.index}>{one.name}</option>
                    ))}
                </select>
            )}
            <button type="button" onClick={onHelp} title="Keys and colours (?)" aria-label="Help">
                ?
            </button>
            </div>
            <Findings findings={findings} />
        </header>
    );
}
