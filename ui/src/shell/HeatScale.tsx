// The legend of the heat scale.
import { heatGradient, theme } from "../colours";

export function HeatScale() {
    theme(); // a dark page has another scale
    return <i class="heat-scale" style={{ background: heatGradient() }} />;
}
