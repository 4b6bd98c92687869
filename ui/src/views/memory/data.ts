// Requests the data of the memory bars and the memory view, and makes tracks of it.
import { useMemo } from "preact/hooks";
import type { Buffers, Heat, ModelMap } from "../../api";
import { type Columns, useAsk } from "../../ask";
import { played } from "../../shell/playback";
import { asText, here, kept, selection, chosenOpsBut } from "../../state";
import { type Disk, diskOf, type Layer, layers, type Live, liveOf, paintDisk, type Painted, paintLive, type Side, sides } from "./model";

export interface Memory {
    map: ModelMap | null;
    heat: Heat | null;
    disk: Disk | null;
    live: Live | null;
    diskPaint: Painted | null;
    livePaint: Painted | null;
    progress: number | null;
    problem: string | null;
}

// When the selected tokens ran; null: the whole run.
export function spanOf(tokens: [number, number] | null, steps: Columns | null): [number, number] | null {
    if (!tokens || !steps) return null;
    const [first, last, begin, end] = [steps.column("first_token"), steps.column("last_token"), steps.column("begin_ns"), steps.column("end_ns")];
    let span: [number, number] | null = null;
    for (let i = 0; i < steps.rows; i++) {
        if (last[i]! < tokens[0] || first[i]! > tokens[1]) continue;
        const [a, b] = [begin[i]! + steps.base_ns, end[i]! + steps.base_ns];
        span = span ? [Math.min(span[0], a), Math.max(span[1], b)] : [a, b];
    }
    return span;
}

export const stepsPath = () => here("tokens", { bins: 1000 });

// The layer of the memory view, and where copied weights count.
export const shownLayer = kept<Layer>("layer-shown", "addressed", asText(layers));
export const shownSide = kept<Side>("weights", "lie", asText(sides));

export function useMemory(layer: Layer): Memory {
    const map = useAsk<ModelMap>(here("map"));
    const heat = useAsk<Heat>(here("heat", chosenOpsBut("tensor", "region", "buffer")), { keep: true });
    const whole = useAsk<Heat>(here("heat"), { keep: true });
    const buffers = useAsk<Buffers>(here("buffers"));
    const steps = useAsk<Columns>(stepsPath());
    const { tokens } = selection.value;
    const side = shownSide.value;
    const disk = useMemo(() => (map.data ? diskOf(map.data) : null), [map.data]);
    const span = spanOf(tokens, steps.data);
    const live = useMemo(() => (buffers.data ? liveOf(buffers.data, span) : null), [buffers.data, span?.[0], span?.[1]]);
    const fits = (one: Heat | null) => (one && map.data && one.tensors.reads.length === map.data.tensors.name.length ? one : null);
    const [matching, all] = [fits(heat.data), fits(whole.data)];
    // Playback of ops shows touches up to the current op.
    const until = played.value;
    const shown = until ? "order" : layer;
    const diskPaint = useMemo(
        () => (disk && map.data ? paintDisk(disk, map.data, matching, { layer: shown, side, whole: all, until }) : null),
        [disk, matching, all, shown, side, until?.run, until?.node],
    );
    const livePaint = useMemo(
        () => (live && buffers.data ? paintLive(live, buffers.data, heat.data, { side, whole: all, map: map.data }) : null),
        [live, heat.data, all, side, map.data],
    );
    return {
        map: map.data,
        heat: matching,
        disk,
        live,
        diskPaint,
        livePaint,
        progress: heat.progress,
        problem: (map.error ?? heat.error ?? buffers.error)?.message ?? null,
    };
}

// Bytes of the model that the engine copied at load, and all of its tensors' bytes.
export function copiedOf({ tensors }: ModelMap): { copied: number; bytes: number } {
    let [copied, bytes] = [0, 0];
    tensors.kind.forEach((kind, i) => {
        if (kind !== "tensor") return;
        bytes += tensors.bytes[i]!;
        if (tensors.copied[i]) copied += tensors.bytes[i]!;
    });
    return { copied, bytes };
}
