import type { Address } from './address.ts'
import type { App } from './app.ts'
import { element } from './element.ts'
import { shown } from './shown-text.ts'

/** The filters of a list, each with a link that takes it away. */
export class ListFilters {
  readonly dom = element('ul', { class: 'filters', 'aria-label': 'Filters' })
  readonly #app: App

  constructor(app: App) {
    this.#app = app
  }

  update({ filters }: Address): void {
    this.dom.hidden = filters.length === 0
    this.dom.replaceChildren(
      ...filters.map(([name, value], place) => {
        const others = filters.filter((_, other) => other !== place)
        const link = this.#app.linkTo({ filters: others, page: 0 })
        return element(
          'li',
          {},
          `${name}: `,
          shown(value),
          element('a', { href: link, 'aria-label': `Remove the filter ${name}: ${value}` }, '×'),
        )
      }),
    )
  }
}
