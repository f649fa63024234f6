/** How long it shows that something has changed. */
const MARKED_MS = 4_000

/** Shows for a moment what has happened to a part of the page. */
export function mark(dom: HTMLElement, how: 'changed' | 'added' | 'gone'): void {
  dom.dataset.mark = how
  setTimeout(() => delete dom.dataset.mark, MARKED_MS)
}
