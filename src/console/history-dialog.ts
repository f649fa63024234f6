import { explain } from './api.ts'
import type { App } from './app.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { changesBetween, type HistoryEntry } from './history-entry.ts'
import { changeList, ENTRIES_MAX, formatTime, readHistory, reasonOf, sentenceOf } from './history-text.ts'
import { isCovered } from './put-back.ts'
import { putBack } from './put-back-dialog.ts'
import { shown } from './shown-text.ts'

/**
 * Shows who did what to a record, newest first, and offers to put it back.
 *
 * @param changed Called when it was put back, with the name that it has then, or had last.
 */
export function openHistory(app: App, name: string, changed: (name: string) => void): void {
  const body = element(
    'div',
    { class: 'body', 'aria-live': 'polite' },
    element('p', {}, 'Reading the history…'),
  )
  let shownName = name
  openDialog('History', [body], { className: 'history' })
  void read()

  async function read() {
    try {
      const known = await readHistory(app, shownName)
      const { history, since } = known
      body.replaceChildren(
        element('p', {}, 'Record: ', element('b', {}, shown(shownName))),
        element('ol', {}, ...history.map((entry, place) => entryOf(entry, place, isCovered(entry, known)))),
        element('p', { class: 'faint' }, rangeOf(history.length, since)),
      )
    } catch (error) {
      body.replaceChildren(
        element('p', { class: 'fault', role: 'alert' }, explain(error)),
        element(
          'p',
          {},
          button('Try again', () => void read()),
        ),
      )
    }
  }

  function entryOf(entry: HistoryEntry, place: number, canBePutBack: boolean): HTMLElement {
    const id = `entry-${place}`
    const sentence = element('span', { id }, ...sentenceOf(entry))
    const back = button('Put back', () => void putEntryBack(entry), {
      class: 'quiet',
      title: 'Put the record back to what it was before this change',
      'aria-describedby': id,
    })
    const isShown = canBePutBack && app.session.mayWrite
    return element(
      'li',
      {},
      sentence,
      isShown && ' ',
      isShown && back,
      reasonOf(entry),
      changeList(changesBetween(entry)),
    )
  }

  async function putEntryBack(entry: HistoryEntry) {
    const now = await putBack(app, entry)
    if (now === undefined) return
    shownName = now
    changed(now)
    await read()
  }
}

function rangeOf(entries: number, since: string | undefined): string {
  if (entries === ENTRIES_MAX) return `The ${ENTRIES_MAX} newest changes are shown.`
  return since === undefined ? '' : `History goes back to ${formatTime(since)}.`
}
