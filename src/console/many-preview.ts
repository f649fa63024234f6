import { compareVersions, isSame, type Patch, patched } from './changes.ts'
import type { Configuration } from './configuration.ts'
import { element } from './element.ts'
import { grouped, recordCount } from './figure-text.ts'
import { changeList } from './history-text.ts'
import { shown } from './shown-text.ts'

const LISTED_MAX = 200
/** So many records are shown without being asked for. */
const OPEN_MAX = 20

/** Names the records that are changed together, with what becomes of them. */
export class ManyPreview {
  readonly dom: HTMLDetailsElement
  readonly #summary = element('summary')
  readonly #list = element('ul', { class: 'names', tabindex: 0, 'aria-label': 'Records' })

  constructor() {
    this.dom = element('details', { hidden: true }, this.#summary, this.#list)
  }

  /**
   * @param records Undefined if they are too many to be read.
   * @param patch Undefined to delete them.
   */
  show(records: readonly Configuration[] = [], patch: Patch | undefined): void {
    if (this.dom.hidden) this.dom.open = records.length <= OPEN_MAX
    this.dom.hidden = records.length === 0
    const changed = patch && records.filter((record) => !isSame(patched(record, patch), record))
    const count = recordCount(records.length)
    this.#summary.textContent =
      changed === undefined || changed.length === 0
        ? count
        : `${count}, of which ${grouped(changed.length)} would change`
    const more = records.length - LISTED_MAX
    this.#list.replaceChildren(
      ...records.slice(0, LISTED_MAX).map((record) => lineOf(record, patch)),
      ...(more > 0 ? [element('li', {}, `and ${grouped(more)} more`)] : []),
    )
  }
}

function lineOf(record: Configuration, patch: Patch | undefined): HTMLElement {
  const pairs = patch === undefined ? [] : compareVersions(record, patched(record, patch))
  const changes = pairs
    .filter(({ mine, theirs }) => mine !== theirs)
    .map(({ field, mine, theirs }) => ({ field, before: mine, after: theirs }))
  return element('li', {}, shown(record.name), changes.length > 0 && changeList(changes))
}
