import { element } from './element.ts'
import { splitHidden } from './hidden-characters.ts'

/** Text that somebody else chose, isolated from the text around it (UAX 9), with marks for hidden characters. */
export function shown(text: string): HTMLElement {
  const parts = splitHidden(text).map(({ text, mark }) =>
    mark === undefined ? text : element('span', { class: 'mark' }, mark),
  )
  return element('bdi', {}, ...parts)
}
