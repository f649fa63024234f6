import { systemCode } from '../errors.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'

/** Whether a character fits; undefined stands for `*`. */
type PatternPart = ((character: string) => boolean) | undefined

const MAGIC = /[*?[]/

/**
 * The paths that a pattern of glob(3) names, in the order of their bytes: `*`, `?`, `[…]`, and `\` before any of them.
 *
 * Without such characters it is the path itself, whether or not there is a file. Names with a leading dot need one in the pattern.
 *
 * @param look Gets the number of names in each folder that was read; may throw.
 * @throws A system error, such as EIO; as in glob(3), a folder that does not exist or may not be read has no files.
 */
export async function globPaths(
  pattern: string,
  look: (names: number) => void,
  files: FileSystem = realFileSystem,
): Promise<string[]> {
  let paths = ['']
  let isFound = false
  for (const [i, segment] of pattern.split('/').entries()) {
    const isMagic = MAGIC.test(segment)
    const next: string[] = []
    for (const path of paths) {
      const start = i === 0 ? '' : `${path}/`
      const names = isMagic ? await matching(start, segment, look, files) : [unescaped(segment)]
      for (const name of names)
        if (isMagic || !isFound || (await isThere(start + name, files))) next.push(start + name)
    }
    isFound ||= isMagic
    paths = next
  }
  return paths
}

async function isThere(path: string, files: FileSystem): Promise<boolean> {
  return (await files.lstat(path).catch(absentOrThrow)) !== undefined
}

/** As in glob(3), what may not be looked at is not there. */
function absentOrThrow(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) throw error
}

async function matching(
  folder: string,
  segment: string,
  look: (names: number) => void,
  files: FileSystem,
): Promise<string[]> {
  const names = (await files.readdir(folder === '' ? '.' : folder).catch(absentOrThrow)) ?? []
  look(names.length)
  const parts = partsOf(segment)
  const hasDot = /^\\?\./.test(segment)
  return names
    .filter((name) => name.startsWith('.') === hasDot && fits([...name], parts))
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

function unescaped(segment: string): string {
  return segment.replace(/\\(.)/gu, '$1')
}

function partsOf(segment: string): PatternPart[] {
  const parts: PatternPart[] = []
  const characters = [...segment]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    const next = characters[at + 1]
    const end = character === '[' ? endOfSet(characters, at) : -1
    if (character === '*') parts.push(undefined)
    else if (character === '?') parts.push(() => true)
    else if (end !== -1) {
      parts.push(setOf(characters.slice(at + 1, end)))
      at = end
    } else if (character === '\\' && next !== undefined) {
      parts.push((found) => found === next)
      at += 1
    } else parts.push((found) => found === character)
  }
  return parts
}

/** Position of the `]`, or -1: then the `[` stands for itself. A `]` in the first place is a member. */
function endOfSet(characters: readonly string[], start: number): number {
  const isNegated = ['!', '^'].includes(characters[start + 1] ?? '')
  return characters.indexOf(']', start + (isNegated ? 3 : 2))
}

function setOf(inside: readonly string[]): PatternPart {
  const isNegated = inside[0] === '!' || inside[0] === '^'
  const members = isNegated ? inside.slice(1) : inside
  const ranges: [from: string, to: string][] = []
  for (let at = 0; at < members.length; at++) {
    const from = members[at] ?? ''
    const to = members[at + 1] === '-' ? members[at + 2] : undefined
    ranges.push([from, to ?? from])
    if (to !== undefined) at += 2
  }
  return (found) => ranges.some(([from, to]) => from <= found && found <= to) !== isNegated
}

/** Takes steps of at most the product of both lengths. */
function fits(characters: readonly string[], parts: readonly PatternPart[]): boolean {
  let at = 0
  let next = 0
  let star = -1
  let starEnd = 0
  while (at < characters.length) {
    const part = parts[next]
    if (next < parts.length && part === undefined) {
      star = next
      starEnd = at
      next += 1
    } else if (part?.(characters[at] ?? '') === true) {
      next += 1
      at += 1
    } else if (star === -1) return false
    else {
      starEnd += 1
      at = starEnd
      next = star + 1
    }
  }
  return parts.slice(next).every((part) => part === undefined)
}
