// A link from two compared recordings to the values of their ops.
import { batch } from "@preact/signals";
import { experiments, show, summary, view } from "../../state";
import { against } from "./state";

export function ValuesLink({ a, b }: { a: number; b: number }) {
    if (!summary.value?.has.values) return null;
    const go = () =>
        batch(() => {
            show(b);
            against.value = experiments.value[a]!.experiment_id;
            view.value = "values";
        });
    return (
        <button type="button" class="link" onClick={go}>
            Do both compute the same values?
        </button>
    );
}
