export default function Memory() {
    return <p class="quiet">The memory view.</p>;
}
