import { element } from './element.ts'

/** How long to wait for the next key. */
const TYPING_MS = 150
/** The API's bound. */
const CHARACTERS_MAX = 255

/** Searches as one types. */
export class SearchBox {
  readonly input = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search name, hostname, username, labels',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    maxlength: CHARACTERS_MAX,
    'aria-label': 'Search',
    title: 'Search (/)',
  })
  readonly dom = element('div', { class: 'search', role: 'search' }, this.input)
  readonly #search: (q: string, isTyping: boolean) => void
  #timer = 0
  /** What was searched for last; a box that differs is being typed in. */
  #searched = ''

  /** @param search Called with what to look for, and whether it is one more key of the same search. */
  constructor(search: (q: string, isTyping: boolean) => void) {
    this.#search = search
    this.input.addEventListener('input', () => {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => {
        // Not if another view is shown meanwhile.
        if (this.dom.isConnected) this.#send()
      }, TYPING_MS)
    })
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#send()
    })
  }

  /** Takes over what the address says, unless somebody is typing. */
  update(q: string): void {
    const isTyping = this.input.value !== this.#searched && document.activeElement === this.input
    this.#searched = q
    if (!isTyping) this.input.value = q
  }

  #send() {
    clearTimeout(this.#timer)
    const q = this.input.value
    if (q === this.#searched) return
    const isTyping = this.#searched !== '' && q !== ''
    this.#searched = q
    this.#search(q, isTyping)
  }
}
