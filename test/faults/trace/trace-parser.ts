/** An argument of a system call, or a part of one, as `strace -y -xx` writes it. */
export type Argument =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** What the descriptor referred to when the call began: a path or `socket:[number]`; `AT_FDCWD` is none. */
  | { readonly kind: 'descriptor'; readonly number: number | undefined; readonly path: string }
  | { readonly kind: 'list'; readonly items: readonly Argument[] }
  | { readonly kind: 'structure'; readonly members: ReadonlyMap<string, Argument> }
  /** Anything else: a number, `NULL`, flags joined by `|`. */
  | { readonly kind: 'word'; readonly text: string }

export interface Call {
  readonly thread: number
  readonly name: string
  readonly args: readonly Argument[]
  /** The return value; -1 if it failed, undefined if it is not in the trace. */
  readonly result: number | undefined
}

/**
 * A moment of a trace. The effect of a call may happen as soon as it has begun, and has certainly happened only when
 * it has ended.
 */
export interface TraceEvent {
  readonly moment: 'begun' | 'ended'
  readonly call: Call
}

/** The text is not output of `strace -f -y -xx`, or it lacks something without which the rest is ambiguous. */
export class TraceError extends Error {}

/**
 * Reads what `strace -f -y -xx -o FILE` has written.
 *
 * strace holds a thread at the start and at the end of each call until it has logged it. So the order of the events
 * is the order in which things could happen, across all threads.
 *
 * @throws {TraceError} also if `-s` was too small and a string was cut.
 */
export function parseTrace(text: string): TraceEvent[] {
  const events: TraceEvent[] = []
  /** By thread: the position of its unfinished call's first event, and that call's text so far. */
  const unfinished = new Map<number, { readonly position: number; readonly start: string }>()
  const end = (position: number, thread: number, callText: string) => {
    const call = parseCall(thread, callText, true)
    events[position] = { moment: 'begun', call }
    events.push({ moment: 'ended', call })
  }

  for (const line of text.split('\n')) {
    const found = /^(\d+) +(.*)$/s.exec(line)
    if (found === null) {
      if (line !== '') throw new TraceError(`Cannot read "${excerpt(line)}": it names no thread`)
      continue
    }
    const thread = Number(found[1])
    const rest = found[2] ?? ''
    if (rest.startsWith('+++') || rest.startsWith('---')) continue

    const resumed = /^<\.\.\. \w+ resumed>/.exec(rest)?.[0]
    const begun = unfinished.get(thread)
    if (resumed !== undefined) {
      if (begun === undefined) throw new TraceError(`Cannot read "${excerpt(rest)}": no such call was begun`)
      unfinished.delete(thread)
      end(begun.position, thread, begun.start + rest.slice(resumed.length))
      continue
    }
    if (begun !== undefined) throw new TraceError(`Thread ${thread} made a call within another`)
    if (!rest.endsWith(UNFINISHED)) {
      end(events.length, thread, rest)
      continue
    }
    const start = rest.slice(0, -UNFINISHED.length)
    unfinished.set(thread, { position: events.length, start })
    // Stays if the call never ends.
    events.push({ moment: 'begun', call: parseCall(thread, start, false) })
  }
  return events
}

const UNFINISHED = ' <unfinished ...>'

function parseCall(thread: number, text: string, isEnded: boolean): Call {
  const reader = new Reader(text)
  const name = reader.take(/\w+/y)
  reader.take(/\(/y)
  if (!isEnded) return { thread, name, args: reader.sequence(/$/y), result: undefined }
  const args = reader.sequence(/ *\)/y)
  const result = reader
    .take(/ += (?:-?\d+|0x[0-9a-f]+|\?)/y)
    .trim()
    .slice('= '.length)
  return { thread, name, args, result: result === '?' ? undefined : Number(result) }
}

class Reader {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  find(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const found = pattern.exec(this.#text)?.[0]
    this.#position += found?.length ?? 0
    return found
  }

  take(pattern: RegExp): string {
    const found = this.find(pattern)
    if (found !== undefined) return found
    const where = excerpt(this.#text.slice(this.#position))
    throw new TraceError(`Cannot read "${excerpt(this.#text)}" from "${where}" on`)
  }

  /** Arguments between commas; an unfinished call may end with a comma. */
  sequence(end: RegExp): Argument[] {
    const items: Argument[] = []
    while (this.find(end) === undefined) {
      if (items.length > 0) this.take(/, */y)
      if (items.length > 0 && this.find(end) !== undefined) break
      items.push(this.#argument())
    }
    return items
  }

  #argument(): Argument {
    if (this.find(/"/y) !== undefined) return { kind: 'bytes', bytes: this.#bytes(/"/y) }
    if (this.find(/\[/y) !== undefined) return { kind: 'list', items: this.sequence(/\]/y) }
    if (this.find(/\{/y) !== undefined) return { kind: 'structure', members: this.#members() }
    const text = this.take(/(?:[^,()[\]{}<"]|<<|\((?:[^()]*)\))+/y)
    if (this.find(/</y) === undefined) return { kind: 'word', text: text.trim() }
    const path = this.#bytes(/>(?:\(deleted\))?/y).toString()
    return { kind: 'descriptor', number: /^\d+$/.test(text) ? Number(text) : undefined, path }
  }

  #members(): Map<string, Argument> {
    const members = new Map<string, Argument>()
    while (this.find(/\}/y) === undefined) {
      if (members.size > 0) this.take(/, */y)
      const name = this.take(/\w+=/y).slice(0, -1)
      members.set(name, this.#argument())
    }
    return members
  }

  #bytes(end: RegExp): Buffer {
    const escaped = this.#escaped()
    this.take(end)
    if (this.find(/\.\.\./y) !== undefined)
      throw new TraceError('A string was cut; record it with a larger -s')
    return Buffer.from(escaped.replaceAll('\\x', ''), 'hex')
  }

  /** Without a regular expression, which would overflow the stack on the megabytes of a snapshot. */
  #escaped(): string {
    const start = this.#position
    while (this.#text.startsWith('\\x', this.#position)) this.#position += '\\x00'.length
    return this.#text.slice(start, this.#position)
  }
}

function excerpt(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
