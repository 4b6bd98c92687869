// The experts of one layer by how often they were chosen, the most used first.
import { useRef } from "preact/hooks";
import { count, share } from "../../format";
import { Saves } from "../../shell/Saves";
import { select, selection, tokensParameter } from "../../state";

const listed = 64;

export function UseBars({ layer, counts }: { layer: number; counts: readonly number[] }) {
    const box = useRef<HTMLDivElement>(null);
    const file = `experts-by-use-${layer}`;
    const all = counts.reduce((sum, one) => sum + one, 0);
    const sorted = counts.map((times, expert) => ({ times, expert })).sort((a, b) => b.times - a.times || a.expert - b.expert);
    const most = Math.max(1, sorted[0]?.times ?? 1);
    const never = sorted.filter((one) => one.times === 0).length;
    const take = (expert: number) => select({ layer, expert: selection.value.expert === expert ? null : expert, tensor: null, op: null });
    return (
        <section class="use-bars" aria-label={`Experts of layer ${layer} by use`} data-picture={file}>
            <div class="picture-head">
                <h3>By use</h3>
                <Saves
                    title="Experts by use"
                    file={file}
                    root={() => box.current}
                    figure={() => ({ kind: "experts", layer, tokens: tokensParameter() })}
                    command="ggscope experts --json"
                    computed={`How often the router of layer ${layer} chose each expert, over all tokens of the selected steps.`}
                    csv={() => ({ columns: ["layer", "expert", "times"], rows: sorted.map((one) => [layer, one.expert, one.times]) })}
                />
            </div>
            <div ref={box}>
                <p class="quiet use-head">
                    <span>expert</span>
                    <span>times</span>
                </p>
                <ol>
                    {sorted
                        .filter((one) => one.times > 0)
                        .slice(0, listed)
                        .map(({ times, expert }) => (
                            <li>
                                <button type="button" aria-pressed={selection.value.expert === expert} onClick={() => take(expert)} title={`expert ${expert}: chosen ${count(times)} times, ${share(times, all)} of all choices`}>
                                    <span class="use-name">{expert}</span>
                                    <span class="use-bar">
                                        <i style={{ width: `${(times / most) * 100}%` }} />
                                    </span>
                                    <span class="use-times">{count(times)}</span>
                                </button>
                            </li>
                        ))}
                </ol>
                {sorted.length - never > listed && <p class="quiet">and {count(sorted.length - never - listed)} more</p>}
                {never > 0 && <p class="quiet">{count(never)} never chosen</p>}
            </div>
        </section>
    );
}
