export default function Compare() {
    return <p class="quiet">The compare view.</p>;
}
