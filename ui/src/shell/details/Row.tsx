// A row in a list of details: a name and a value. Also an op with the colour of its family.
import type { ComponentChildren } from "preact";
import { opFamily } from "../../colours";
import { Terms } from "../Terms";

export function Row({ name, children }: { name: string; children: ComponentChildren }) {
    return (
        <div class="row">
            <dt>
                <Terms text={name} />
            </dt>
            <dd>{children}</dd>
        </div>
    );
}

export function OpName({ op }: { op: string }) {
    const family = opFamily(op);
    return (
        <span class="op-name" title={family.name}>
            <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
            {op}
        </span>
    );
}
