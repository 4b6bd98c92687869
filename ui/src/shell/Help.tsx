// The overlay that ? opens.
import { useEffect, useRef } from "preact/hooks";
import { families } from "../colours";
import { plural } from "../format";
import { summary } from "../state";

const keys: [string, string][][] = [
    [
        ["1 to 9", "memory, timeline, graph, log, statistics, compare, storage, experts, values"],
        ["← →", "token before, token after"],
        ["Space", "play, pause (Shift: tokens or ops)"],
        ["Enter", "memory, full screen"],
        ["/ or Ctrl+K", "search everything"],
        ["Esc", "deselect"],
    ],
    [
        ["W S", "zoom in, out"],
        ["A D", "pan"],
        ["F", "focus what is selected"],
        ["0", "fit everything"],
        ["M", "mark the time; two marks measure"],
        ["L", "memory to true scale"],
    ],
    [
        [", .", "op before, op after"],
        ["[ ]", "producer, consumer"],
        ["← → ↑ ↓", "in a focused picture: from tensor to tensor, from op to op"],
        ["Ctrl+wheel", "zoom at the pointer"],
        ["drag", "select"],
        ["Shift+drag", "pan"],
    ],
];

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        if (isOpen && !dialog.current!.open) dialog.current!.showModal();
        if (!isOpen && dialog.current!.open) dialog.current!.close();
    }, [isOpen]);
    const about = summary.value;
    return (
        <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
            <h2 id="help-title">What you see, and the keys</h2>
            <p>
                Every tensor operation of the recorded run, and every byte it touched. One selection (tokens, layer, tensor, op, region) drives all views
                and is in the address; <b>Share</b> gives a link, a report or a figure of the place to others.
            </p>
            <h3>Keys</h3>
            <dl class="keys">
                {keys.flat().map(([key, what]) => (
                    <div>
                        <dt>
                            <kbd>{key}</kbd>
                        </dt>
                        <dd>{what}</dd>
                    </div>
                ))}
            </dl>
            <h3>Colours of ops</h3>
            <div class="legend">
                {families.map((family) => (
                    <span>
                        <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
                        {family.name}
                    </span>
                ))}
                <span>
                    <i class="swatch pattern-hatch" />
                    waiting, or never touched
                </span>
            </div>
            {about && (
                <>
                    <h3>This recording</h3>
                    <p class="mono">{about.command.join(" ")}</p>
                    <p class="quiet">
                        {[about.host.cpu, about.host.cores && `${about.host.cores} cores`, plural(about.threads, "thread"), about.engine.llama_version && `llama.cpp ${about.engine.llama_version}`, about.engine.ggml_version && `ggml ${about.engine.ggml_version}`, about.experiment_id]
                            .filter(Boolean)
                            .join(" · ")}
                    </p>
                </>
            )}
            <form method="dialog">
                <p class="buttons">
                    <button>Close</button>
                </p>
            </form>
        </dialog>
    );
}
