import { type Child, element } from './element.ts'
import { mark } from './mark.ts'

/** A title and its value. */
export interface Fact {
  readonly title: string
  /** What the value says; another text is another value. */
  readonly text: string
  /** Makes what shows the value. */
  show(): readonly Child[]
}

interface Row extends Pick<Fact, 'title' | 'text'> {
  readonly dom: HTMLElement
}

/** Lines of a title and a value each. A line that stays keeps its place and its focus. */
export class FactList {
  readonly dom = element('dl', { class: 'lines' })
  #rows: readonly Row[] = []

  /** @param isMarked Whether values that differ are marked for a moment. */
  update(facts: readonly Fact[], isMarked: boolean): void {
    const before = this.#rows
    this.#rows = facts.map(({ title, text, show }) => {
      const known = before.find((row) => row.title === title)
      if (known?.text === text) return known
      const value = element('dd', {}, ...show())
      const dom = known?.dom ?? element('div')
      dom.replaceChildren(element('dt', {}, title), value)
      if (isMarked) mark(dom, 'changed')
      return { title, text, dom }
    })
    const isMoved = this.#rows.some(({ dom }, place) => dom !== before[place]?.dom)
    if (isMoved || this.#rows.length !== before.length)
      this.dom.replaceChildren(...this.#rows.map(({ dom }) => dom))
  }
}
