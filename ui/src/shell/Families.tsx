// The legend of op colours, limited to the ops that are shown.
import { families, opFamily } from "../colours";

export function Families({ of }: { of?: Iterable<string> }) {
    const used = of && new Set([...of].map(opFamily));
    return (
        <>
            {families
                .filter((family) => !used || used.has(family))
                .map((family) => (
                    <span>
                        <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
                        {family.name}
                    </span>
                ))}
        </>
    );
}
