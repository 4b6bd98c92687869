// The tokens as a strip of bars; the height is the duration. A click selects one token, dragging
// several, arrow keys step.
import { useEffect, useState } from "preact/hooks";
import { phases } from "../api";
import { type Columns, useAsk } from "../ask";
import { phaseColour, type Theme } from "../colours";
import { time, tokenText } from "../format";
import { registerKeys } from "../keys";
import { here, select, selection, summary } from "../state";
import { announce } from "./Announce";
import { Saves } from "./Saves";
import { Canvas, canvasFont, textWithin, useWidth } from "./Canvas";
import { pace, playing, speed, stopPlayback, togglePlayback, opShown } from "./playback";
import { shortStepsWord, stepRange, stepWord, stepsWord } from "../step";

const height = 38;
const textHeight = 13;

export interface Steps {
    rows: number;
    first: ArrayLike<number>;
    last: ArrayLike<number>;
    begin: ArrayLike<number>;
    end: ArrayLike<number>;
    phase: ArrayLike<number>;
    texts: (string | null)[];
    base: number;
}

export function stepsOf(columns: Columns): Steps {
    const column = (name: string) => columns.column(name);
    return {
        rows: columns.rows,
        first: column("first_token"),
        last: column("last_token"),
        begin: column("begin_ns"),
        end: column("end_ns"),
        phase: column("phase"),
        texts: (columns.header["texts"] ?? []) as (string | null)[],
        base: columns.base_ns,
    };
}

export function stepName(steps: Steps, i: number): string {
    if (steps.first[i] !== steps.last[i]) return stepRange([steps.first[i]!, steps.last[i]!]);
    const text = steps.texts[i];
    const phase: string = phases[steps.phase[i]!] ?? "";
    return `${stepWord()} ${steps.first[i]}${{ PROMPT: ", prompt", WARMUP: ", warm-up", MIXED: ", with a prompt" }[phase] ?? ""}${text ? ` “${tokenText(text)}”` : ""}`;
}

// Selects the next or previous token; stops at the ends.
export function stepToken(by: number): void {
    const last = (summary.value?.tokens ?? 0) - 1;
    if (last < 0) return;
    const now = selection.value.tokens;
    const next = now === null ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, (by > 0 ? now[1] : now[0]) + by));
    stopPlayback();
    select({ tokens: [next, next] });
    announce(stepRange([next, next]));
}

function drawStep(context: CanvasRenderingContext2D, steps: Steps, i: number, x: number, width: number, part: number, colours: Theme): void {
    const phase = phases[steps.phase[i]!];
    const room = height - textHeight;
    const bar = Math.max(2, Math.min(1, part) * room);
    context.fillStyle = phaseColour(phase!);
    context.fillRect(x, room - bar, Math.max(1, width - (width > 3 ? 1 : 0)), bar);
    if (part > 1) {
        // A bar that exceeds the scale is cut, with a visible gap.
        context.fillStyle = colours.surface;
        context.fillRect(x, 4, width, 2);
        context.fillRect(x, 8, width, 2);
    }
    if (width < 22) return;
    context.font = canvasFont(11);
    context.textBaseline = "middle";
    context.fillStyle = colours.ink;
    const text = steps.texts[i];
    const label = phase === "PROMPT" ? `prompt ${text ? tokenText(text) : ""}` : text ? tokenText(text) : String(steps.first[i]);
    textWithin(context, label, x + 2, height - textHeight / 2 - 0.5, width - 5);
}

export function Scrubber() {
    const [box, width] = useWidth();
    const answer = useAsk<Columns>(here("tokens", { bins: 1000 }), { keep: true });
    const [hover, setHover] = useState<number | null>(null);
    const [from, setFrom] = useState<number | null>(null);
    const steps = answer.data ? stepsOf(answer.data) : null;
    const chosen = selection.value.tokens;

    useEffect(
        () =>
            registerKeys("*", {
                ArrowLeft: () => stepToken(-1),
                ArrowRight: () => stepToken(1),
                Space: togglePlayback,
                "Shift+Space": () => {
                    pace.value = pace.value === "ops" ? "tokens" : "ops";
                    announce(`plays ${pace.value}`);
                },
            }),
        [],
    );

    const at = (event: PointerEvent) => {
        const frame = (event.currentTarget as HTMLElement).getBoundingClientRect();
        return steps ? Math.max(0, Math.min(steps.rows - 1, Math.floor(((event.clientX - frame.left) / frame.width) * steps.rows))) : 0;
    };
    const selectSteps = (a: number, b: number) => {
        if (!steps || steps.rows === 0) return;
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        select({ tokens: [steps.first[low]!, steps.last[high]!] });
    };
    const draw = (context: CanvasRenderingContext2D, w: number, _h: number, colours: Theme) => {
        if (!steps || steps.rows === 0) return;
        const lengths = Array.from({ length: steps.rows }, (_, i) => (steps.end[i]! - steps.begin[i]!) / (steps.last[i]! - steps.first[i]! + 1));
        // The prompt takes far longer than a token. The scale fits the tokens, and the prompt's bar
        // is cut.
        const usual = lengths.filter((_, i) => phases[steps.phase[i]!] === "GENERATE");
        const most = Math.max(1, ...(usual.length ? usual : lengths));
        // Marks the token that the timeline and the terminal call slowest, also if one bar holds
        // several tokens.
        const token = usual.length > 1 ? (summary.value?.slowest_token?.token ?? -1) : -1;
        const slowest = token < 0 ? -1 : Array.from({ length: steps.rows }, (_, i) => i).findIndex((i) => steps.first[i]! <= token && token <= steps.last[i]!);
        const each = w / steps.rows;
        let slowestAt = -1;
        for (let i = 0; i < steps.rows; i++) {
            const isChosen = chosen !== null && steps.last[i]! >= chosen[0] && steps.first[i]! <= chosen[1];
            const x = Math.round(i * each);
            const wide = Math.round((i + 1) * each) - x;
            if (isChosen) {
                context.fillStyle = colours.chosen;
                context.fillRect(x, 0, wide, height);
            }
            context.globalAlpha = chosen && !isChosen ? 0.45 : 1;
            drawStep(context, steps, i, x, wide, lengths[i]! / most, colours);
            context.globalAlpha = 1;
            if (hover === i) {
                context.strokeStyle = colours.accent;
                context.strokeRect(x + 0.5, 0.5, Math.max(1, wide - 1), height - 1);
            }
            if (i === slowest) slowestAt = x + wide / 2;
        }
        if (slowestAt >= 0) drawSlowest(context, slowestAt, w, colours);
        context.fillStyle = colours.line;
        context.fillRect(0, height - textHeight, w, 1);
    };

    const name = hover !== null && steps && hover < steps.rows ? `${stepName(steps, hover)}, ${time(steps.end[hover]! - steps.begin[hover]!)}` : null;
    const shown = chosen ? stepRange(chosen) : `all ${stepsWord()}`;
    const title = stepsWord().replace(/^./, (letter) => letter.toUpperCase());
    return (
        <section class="scrubber painted" aria-label={title} data-picture="tokens">
            <div class="side">
                <button type="button" class="play" aria-label={playing.value ? "Pause" : "Play"} title={playing.value ? "Pause (Space)" : "Play (Space)"} onClick={togglePlayback}>
                    <svg viewBox="0 0 14 14" aria-hidden="true">
                        <path d={playing.value ? "M2 1h4v12H2zM8 1h4v12H8z" : "M3 1l10 6-10 6z"} />
                    </svg>
                </button>
                <select
                    aria-label="What playback steps through"
                    value={`${pace.value} ${speed.value}`}
                    onChange={(event) => {
                        const [what, fast] = event.currentTarget.value.split(" ");
                        pace.value = what as "tokens" | "ops";
                        speed.value = Number(fast);
                    }}
                >
                    <option value="tokens 1">{shortStepsWord()}</option>
                    <option value="tokens 4">{shortStepsWord()} ×4</option>
                    <option value="ops 1">ops</option>
                    <option value="ops 8">ops ×8</option>
                </select>
                <Saves
                    title={title}
                    file="tokens"
                    figure={() => ({ kind: "tokens" })}
                    root={() => box.current}
                    command="ggscope stats --by token --json"
                    computed={`One bar for each ${stepWord()}: its time from the begin of its first graph run to the end of its last. If they are many, neighbours share a bar.`}
                    csv={() => ({
                        columns: ["first_token", "last_token", "phase", "begin_ns", "end_ns", "text"],
                        rows: Array.from({ length: steps?.rows ?? 0 }, (_, i) => [steps!.first[i]!, steps!.last[i]!, phases[steps!.phase[i]!] ?? "", steps!.begin[i]!, steps!.end[i]!, steps!.texts[i] ?? null]),
                    })}
                />
            </div>
            <div class="picture" ref={box} title={name ?? ""}>
                <Canvas
                    width={width}
                    height={height}
                    label={title}
                    draw={draw}
                    role="slider"
                    aria-valuemin={0}
                    aria-valuemax={Math.max(0, (summary.value?.tokens ?? 1) - 1)}
                    aria-valuenow={chosen?.[0] ?? 0}
                    aria-valuetext={shown}
                    onPointerMove={(event) => {
                        const i = at(event);
                        setHover(i);
                        if (from !== null) selectSteps(from, i);
                    }}
                    onPointerLeave={() => setHover(null)}
                    onPointerDown={(event) => {
                        if (event.button !== 0) return;
                        event.currentTarget.setPointerCapture(event.pointerId);
                        stopPlayback();
                        const i = at(event);
                        setFrom(i);
                        selectSteps(i, i);
                    }}
                    onPointerUp={() => setFrom(null)}
                />
                {opShown.value && <p class="playing mono">{opShown.value}</p>}
            </div>
        </section>
    );
}

function drawSlowest(context: CanvasRenderingContext2D, x: number, width: number, colours: Theme): void {
    context.font = canvasFont(10, 600);
    context.fillStyle = colours.warn;
    context.textBaseline = "top";
    const label = "slowest";
    const wide = context.measureText(label).width;
    // The arrow is above the bar, the label beside it if there is room.
    const left = x + 8 + wide <= width ? x + 7 : x - 7 - wide;
    context.fillStyle = colours.surface;
    context.globalAlpha = 0.85;
    context.fillRect(left - 1, 0, wide + 2, 11);
    context.globalAlpha = 1;
    context.fillStyle = colours.warn;
    context.fillText(label, left, 0);
    context.beginPath();
    context.moveTo(x, 8);
    context.lineTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.fill();
}
