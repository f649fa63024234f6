const CONTROL_CHARACTER = /\p{Cc}/u
/** Needs one look where other texts need three; nearly all are such. */
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/

/** What is wrong with a value that must be a text of 1 to `charactersMax` code points; undefined if nothing is. */
export function checkText(value: unknown, charactersMax: number): string | undefined {
  if (typeof value !== 'string') return `must be a string, not ${kindOf(value)}`
  if (value.length <= charactersMax && PRINTABLE_ASCII.test(value)) return undefined
  if (value === '') return 'must not be empty'
  if (!value.isWellFormed()) return 'must not hold a lone surrogate'
  if (CONTROL_CHARACTER.test(value)) return 'must not hold control characters'
  return isLongerThan(value, charactersMax)
    ? `must not be longer than ${charactersMax} characters`
    : undefined
}

/** A URL, or one without a scheme, without the password in it; for messages. */
export function hidePassword(text: string): string {
  return text.replace(/^((?:[a-z][a-z\d+.-]*:\/\/)?[^:@/]*):(?!\/\/).*@/is, '$1:…@')
}

/** Counts code points. */
export function isLongerThan(text: string, charactersMax: number): boolean {
  return text.length > charactersMax && (text.length > 2 * charactersMax || [...text].length > charactersMax)
}

/** The JSON type of a value, with its article. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Owner and mode of a file, for messages. */
export function describeOwner({ uid, mode }: { readonly uid: number; readonly mode: number }): string {
  return `owner ${uid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`
}

/** "a", "a or b", "a, b or c"; what is not a word has quotation marks. */
export function eitherOf(choices: readonly string[]): string {
  const shown = choices.map((choice) => (/^[\w.-]+$/.test(choice) ? choice : JSON.stringify(choice)))
  return enumerated(shown, 'or')
}

/** "a", "a and b", "a, b and c". */
export function allOf(items: readonly string[]): string {
  return enumerated(items, 'and')
}

/** Names as Markdown shows code: "`a`, `b`". */
export function inCode(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function enumerated(items: readonly string[], word: string): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} ${word} ${last}`
}

/** "1 record", "2 records". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Characters that control a terminal or the direction of text, or that end a line. */
const HIDDEN_CHARACTER = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Shows hidden characters as JSON would escape them: `\u001b`. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN_CHARACTER, escapeUnits)
}

/** The same JSON in ASCII. */
export function escapeNonAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, escapeUnit)
}

function escapeUnits(character: string): string {
  return character.split('').map(escapeUnit).join('')
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const ESCAPE = '\u001b'
/** But for line ends, tabs, and bold, which connbook itself writes on a terminal. */
const TERMINAL_CONTROL = new RegExp(
  `(?!\\r?\\n|\\t|${ESCAPE}\\[(?:1|22)m)${HIDDEN_CHARACTER.source}`,
  HIDDEN_CHARACTER.flags,
)

/** A text as a terminal may get it, whatever a record, an account or a server has put into it. */
export function forTerminal(text: string): string {
  return text.replace(TERMINAL_CONTROL, escapeUnits)
}

/** What a stream is given of a text: a terminal what `forTerminal` makes of it, anything else the text as it is. */
export function writtenTo<Text extends string | Uint8Array>(
  { isTTY }: { readonly isTTY?: boolean },
  text: Text,
): Text | string {
  if (isTTY !== true) return text
  if (typeof text === 'string') return forTerminal(text)
  return arePlain(text) ? text : forTerminal(new TextDecoder().decode(text))
}

/** Whether bytes are lines of printable ASCII, as most are. */
function arePlain(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    if ((byte < 0x20 && byte !== 0x0a) || byte > 0x7e) return false
  }
  return true
}
