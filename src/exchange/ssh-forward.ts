import { PORT_MAX } from '../limits.ts'

/** What decides whether ssh takes a forward (`parse_forward` in its readconf.c). */
interface Forward {
  readonly listenHost?: string
  readonly ports: readonly string[]
}

const LOOPBACK = '(?:localhost|127(?:\\.\\d{1,3}){3}|\\[(?:localhost|127(?:\\.\\d{1,3}){3}|::1)\\])'
const NEAR = `(?:${LOOPBACK}:)?(\\d{1,5})`
/** Keywords that may be given several times: forwards from a port of this machine alone. */
const kept: Readonly<Record<string, RegExp>> = {
  localforward: new RegExp(`^${NEAR} (?:\\w[\\w.-]*|\\[[\\w:][\\w.:-]*\\]):(\\d{1,5})$`, 'i'),
  dynamicforward: new RegExp(`^${NEAR}$`, 'i'),
}
const FIELDS_MAX = 4

/** Whether all values of a keyword count, and not only the first. */
export function isForward(lower: string): boolean {
  return Object.hasOwn(kept, lower)
}

/** Whether a record can keep a forward: from a port of this machine alone, to a host and a port. */
export function isKeptForward(lower: string, value: string): boolean {
  const [, ...ports] = kept[lower]?.exec(value) ?? []
  return ports.length > 0 && ports.every((port) => Number(port) >= 1 && Number(port) <= PORT_MAX)
}

/**
 * Why a record cannot keep a forward.
 *
 * @param words What stands behind the keyword.
 * @returns A fault if ssh itself refuses the line; else the reason why it is left out.
 */
export function judgeForward(
  lower: string,
  words: readonly string[],
): { fault: string } | { reason: string } {
  const isDynamic = lower === 'dynamicforward'
  const form = isDynamic ? '[HOST:]PORT' : '[HOST:]PORT HOST:PORT'
  const refused = { fault: `is not ${form}, and ssh then refuses the whole file` }
  const fields = words.length === (isDynamic ? 1 : 2) ? fieldsOf(words.join(':')) : undefined
  if (fields === undefined) return refused
  if (fields.some((field) => field.includes('/')))
    return isDynamic && fields.length > 2 ? refused : { reason: 'it leads from or to a socket' }
  const forward = forwardOf(fields, isDynamic)
  if (forward === undefined) return refused
  const { listenHost, ports } = forward
  if (ports.some((port) => /^\d+$/.test(port) && (Number(port) < 1 || Number(port) > PORT_MAX)))
    return refused
  // ssh looks other words up among the services of the machine.
  const word = ports.find((port) => !/^\d+$/.test(port))
  if (word !== undefined) return /^[a-z]/i.test(word) ? { reason: 'it names a port by its service' } : refused
  return listenHost === undefined || new RegExp(`^${LOOPBACK}$`, 'i').test(`[${listenHost}]`)
    ? { reason: 'its host is no plain name or address' }
    : { reason: 'it listens for other machines, too' }
}

function forwardOf(fields: readonly string[], isDynamic: boolean): Forward | undefined {
  const [first = '', second = '', third = '', fourth = ''] = fields
  switch (fields.length) {
    case 1:
      return isDynamic ? { ports: [first] } : undefined
    case 2:
      return isDynamic ? { listenHost: first, ports: [second] } : undefined
    case 3:
      return isDynamic ? undefined : { ports: [first, third] }
    default:
      return isDynamic ? undefined : { listenHost: first, ports: [second, fourth] }
  }
}

/** Splits at colons, but not within brackets; undefined for what ssh does not take. */
function fieldsOf(text: string): string[] | undefined {
  const fields: string[] = []
  for (let rest = text; rest !== ''; ) {
    const [whole = '', bracketed, plain = ''] =
      /^(?:\[([^\]]*)\](?::|$)|([^:[][^:]*|)(?::|$))/.exec(rest) ?? []
    if (whole === '' || fields.length === FIELDS_MAX) return undefined
    fields.push(bracketed ?? plain)
    rest = rest.slice(whole.length)
  }
  return fields
}
