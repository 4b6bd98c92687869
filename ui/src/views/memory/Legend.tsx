// What the colours of the memory view mean, and its switches.
import { bytes, count, share } from "../../format";
import { Term, Terms } from "../../shell/Terms";
import { ofBytes } from "../../shell/recording-findings";
import { HeatScale } from "../../shell/HeatScale";
import { selection } from "../../state";
import { copiedOf, type Memory, shownLayer, shownSide } from "./data";
import { pinColour } from "./around";
import type { Layer, Side } from "./model";
import type { Pins } from "./pins";

const names: { layer: Layer; name: string; explanation: string }[] = [
    { layer: "addressed", name: "addressed by ops", explanation: "operands of the ops of the selected tokens" },
    { layer: "order", name: "order", explanation: "when ops of the selected tokens touched the bytes last" },
    { layer: "pages", name: "pages really touched", explanation: "the pages that the processor touched (--prove)" },
    { layer: "faults", name: "faulted", explanation: "where page faults happened" },
];

export function Legend(properties: {
    data: Memory;
    layer: Layer;
    pins: Pins | null;
    isDistorted: boolean;
    trueScale: boolean;
    onScale(): void;
    zoom: number;
    onFit(): void;
    isFull: boolean;
    onFull(): void;
}) {
    const { data, layer } = properties;
    const copies = data.map && copiedOf(data.map);
    const has = { addressed: true, order: true, pages: Boolean(data.heat?.pages), faults: Boolean(data.heat?.faults) };
    return (
        <>
            <div class="legend">
                <b>
                    {data.heat ? `${ofBytes(data.heat.model.bytes_touched, data.heat.model.bytes)} touched` : "counting…"}
                    {selection.value.tokens ? " by the selected tokens" : ""}
                </b>
                {names
                    .filter((one) => has[one.layer])
                    .map((one) => (
                        <label title={one.explanation}>
                            <input type="radio" name="layer" checked={layer === one.layer} onChange={() => (shownLayer.value = one.layer)} /> {one.name}
                        </label>
                    ))}
                {data.diskPaint && (
                    <span>
                        DISK {data.diskPaint.least}
                        <HeatScale />
                        {data.diskPaint.most} <span class="quiet">
                            &nbsp;
                            <Terms text={data.diskPaint.meaning} />
                        </span>
                    </span>
                )}
                {data.livePaint && (
                    <span>
                        BUFFER {data.livePaint.least}
                        <HeatScale />
                        {data.livePaint.most}
                    </span>
                )}
                <span>
                    <i class="swatch pattern-hatch" /> untouched
                </span>
                {properties.pins && (
                    <span>
                        <i class="swatch" style={{ "--swatch": pinColour }} /> kept with {bytes(properties.pins.memory)} ({count(properties.pins.parts.size)} parts)
                    </span>
                )}
                {copies && copies.copied > 0 && (
                    <>
                        <span>
                            <i class="swatch copied" /> <Term word="copied at load" />: {share(copies.copied, copies.bytes)} of the weights
                        </span>
                        <label title="Ops read the copies: these count in their buffer, or in the file that they were copied from">
                            show copied weights{" "}
                            <select value={shownSide.value} onChange={(event) => (shownSide.value = event.currentTarget.value as Side)}>
                                <option value="lie">where the bytes lie</option>
                                <option value="from">where they came from</option>
                            </select>
                        </label>
                    </>
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
