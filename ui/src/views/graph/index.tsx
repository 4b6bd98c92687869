export default function Graph() {
    return <p class="quiet">The graph view.</p>;
}
