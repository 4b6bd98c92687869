// What the colours of heat mean, from the least to the most.
import { heatGradient, theme } from "../colours";

export function HeatScale() {
    theme(); // the scale is another one on a dark page
    return <i class="heat-scale" style={{ background: heatGradient() }} />;
}
