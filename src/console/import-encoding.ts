import type { Fault } from '../errors.ts'
import { button, element } from './element.ts'
import { shown } from './shown-text.ts'

const WORD = /[^\s,;|"]*[\u0080-\uffff][^\s,;|"]*/

/** Whether a file was refused because its bytes are not UTF-8. */
export function isOtherEncoding(faults: readonly Fault[]): boolean {
  return faults.some(({ field, detail }) => field === 'document' && detail.startsWith('is not valid UTF-8'))
}

/**
 * Offers to read a file as Windows-1252, with the first word that shows whether that is right.
 *
 * @param take Called with the file in UTF-8, if the person wants that.
 */
export async function offerWindows1252(file: Blob, take: (file: Blob) => void): Promise<HTMLElement> {
  const text = new TextDecoder('windows-1252').decode(await file.arrayBuffer())
  const [word] = WORD.exec(text) ?? []
  const words =
    word === undefined ? [] : [' The first word with such a character would be ', shown(word), '.']
  const read = button('Read as Windows-1252', () => take(new Blob([text], { type: file.type })))
  return element('p', {}, read, ...words)
}
