export default function Statistics() {
    return <p class="quiet">The statistics view.</p>;
}
