import { element } from './element.ts'
import { encodingOf, guessFormat, HEAD_BYTES, type ImportFormat, whyNoText } from './import-format.ts'
import { shown } from './shown-text.ts'

/** What is to be imported. */
export interface Source {
  readonly file: Blob
  readonly format: ImportFormat
  /** The beginning of its first line, but for one that only says what separates columns. */
  readonly header: string
  /** Why it cannot be imported at all. */
  readonly refused: string | undefined
}

/** A file that is chosen or dropped, or text that is pasted: the last of them counts. */
export class ImportSource {
  readonly dom: HTMLElement
  readonly #taken: (source: Source | undefined, isWhole: boolean) => void
  readonly #chosen = element('p', { class: 'chosen' })
  readonly #text = element('textarea', {
    id: 'import-text',
    rows: 4,
    spellcheck: 'false',
    autocapitalize: 'none',
    placeholder: 'name,hostname,port,username',
    input: () => void this.#takeText(),
  })
  readonly #input = element('input', { id: 'import-file', type: 'file', change: () => this.#takeFiles() })
  #turn = 0

  /** @param taken Called with what is there now; `isWhole` if it is a file, and not text that is being typed. */
  constructor(taken: (source: Source | undefined, isWhole: boolean) => void) {
    this.#taken = taken
    this.dom = element(
      'div',
      { class: 'source' },
      element(
        'div',
        { class: 'drop' },
        element('label', { for: 'import-file' }, 'Drop a file anywhere on this page, or choose one'),
        this.#input,
        this.#chosen,
      ),
      element('div', {}, element('label', { for: 'import-text' }, 'Or paste text'), this.#text),
    )
  }

  /** Takes over a dropped file. */
  takeFile(file: File, others: number): void {
    this.#text.value = ''
    const size = file.size < 1024 ? `${file.size} bytes` : `${(file.size / 1024).toFixed(1)} KiB`
    const rest = others > 0 ? `; the other ${others} were left: drop one file after another` : ''
    this.#chosen.replaceChildren(shown(file.name), `, ${size}${rest}`)
    void this.#take(file, file.name, true)
  }

  #takeFiles() {
    const file = this.#input.files?.[0]
    if (file !== undefined) this.takeFile(file, 0)
    // The same file can be chosen again after a change.
    this.#input.value = ''
  }

  #takeText() {
    this.#chosen.replaceChildren()
    const { value } = this.#text
    return this.#take(value.trim() === '' ? undefined : new Blob([value]), '', false)
  }

  async #take(file: Blob | undefined, name: string, isWhole: boolean): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    if (file === undefined) return this.#taken(undefined, isWhole)
    // A file may be large: only its beginning is looked at.
    const bytes = await file
      .slice(0, HEAD_BYTES)
      .arrayBuffer()
      .catch(() => new ArrayBuffer(0))
    if (turn !== this.#turn) return
    const head = new Uint8Array(bytes)
    const text = new TextDecoder(encodingOf(head)).decode(head)
    const header = text.split(/[\r\n]+/).find((line) => !/^("?sep=.*)?$/i.test(line)) ?? ''
    this.#taken({ file, format: guessFormat(name, text), header, refused: whyNoText(head) }, isWhole)
  }
}
