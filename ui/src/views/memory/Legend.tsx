// What the colours of the memory view mean, and its switches.
import { ofBytes } from "../../shell/Header";
import { selection } from "../../state";
import type { Memory } from "./data";
import type { Layer } from "./model";

const layers: { layer: Layer; name: string; explanation: string }[] = [
    { layer: "addressed", name: "addressed by ops", explanation: "the bytes that the ops of the selected tokens read by their operands" },
    { layer: "pages", name: "pages really touched", explanation: "the pages that the processor really touched, by page truth" },
    { layer: "faults", name: "faulted", explanation: "where page faults happened" },
];

export function Legend(properties: {
    data: Memory;
    layer: Layer;
    onLayer(layer: Layer): void;
    isDistorted: boolean;
    trueScale: boolean;
    onScale(): void;
    zoom: number;
    onFit(): void;
    isFull: boolean;
    onFull(): void;
}) {
    const { data, layer } = properties;
    const has = { addressed: true, pages: Boolean(data.heat?.pages), faults: Boolean(data.heat?.faults) };
    return (
        <>
            <div class="legend">
                <b>
                    {data.heat ? `${ofBytes(data.heat.model.bytes_touched, data.heat.model.bytes)} touched` : "counting…"}
                    {selection.value.tokens ? " by the selected tokens" : ""}
                </b>
                {layers
                    .filter((one) => has[one.layer] || one.layer === "addressed")
                    .map((one) => (
                        <label title={one.explanation}>
                            <input type="radio" name="layer" checked={layer === one.layer} onChange={() => properties.onLayer(one.layer)} /> {one.name}
                        </label>
                    ))}
                {data.diskPaint && (
                    <span>
                        DISK {data.diskPaint.least}
                        <i class="heat-scale" />
                        {data.diskPaint.most} <span class="unseen">{data.diskPaint.meaning}</span>
                    </span>
                )}
                {data.livePaint && (
                    <span>
                        BUFFER {data.livePaint.least}
                        <i class="heat-scale" />
                        {data.livePaint.most}
                    </span>
                )}
                <span>
                    <i class="swatch pattern-hatch" /> untouched
                </span>
                {data.disk?.entries.some((entry) => entry.copied) && (
                    <span>
                        <i class="swatch copied" /> copied at load
                    </span>
                )}
            </div>
            {properties.isDistorted && <span class="badge">not to scale</span>}
            <button type="button" aria-pressed={properties.trueScale} onClick={properties.onScale} title="L">
                True scale
            </button>
            {properties.zoom > 1.001 && (
                <button type="button" onClick={properties.onFit} title="0">
                    Fit ({properties.zoom < 9.95 ? properties.zoom.toFixed(1) : Math.round(properties.zoom)}×)
                </button>
            )}
            <button type="button" aria-pressed={properties.isFull} onClick={properties.onFull} title="Enter">
                Full screen
            </button>
        </>
    );
}
