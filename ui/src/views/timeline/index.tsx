export default function Timeline() {
    return <p class="quiet">The timeline view.</p>;
}
