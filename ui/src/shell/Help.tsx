// The overlay that ? opens.
import { TitledDialog } from "./Dialog";
import { Families } from "./Families";

const keys: [string, string][] = [
    ["1 to 9", "memory, timeline, graph, log, statistics, compare, storage, experts, values"],
    ["← →", "token before, token after"],
    ["Space", "play, pause (Shift: tokens or ops)"],
    ["Enter", "memory, full screen"],
    ["/ or Ctrl+K", "search everything"],
    ["Esc", "deselect"],
    ["Ctrl+Z", "undo a selection or a zoom (Shift: redo)"],
    ["I", "details"],
    ["W S", "zoom in, out"],
    ["A D", "pan"],
    ["F", "focus what is selected"],
    ["0", "fit everything"],
    ["M", "mark the time; two marks measure"],
    ["L", "memory to true scale"],
    [", .", "op before, op after"],
    ["[ ]", "producer, consumer"],
    ["← → ↑ ↓", "in a focused picture: from tensor to tensor, from op to op"],
    ["Ctrl+wheel", "zoom at the pointer"],
    ["drag", "select"],
    ["Shift+drag", "pan"],
];

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
    return (
        <TitledDialog title="What you see, and the keys" isOpen={isOpen} close={onClose}>
            <p>
                One selection (tokens, layer, tensor, op, region) drives all views and is in the address. <b>Share</b> gives others a link, a report or a figure. <code>ggscope help WORD</code> prints what a word means.
            </p>
            <h3>Keys</h3>
            <dl class="keys">
                {keys.map(([key, what]) => (
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
                <Families />
                <span>
                    <i class="swatch pattern-hatch" />
                    waiting, or never touched
                </span>
            </div>
        </TitledDialog>
    );
}
