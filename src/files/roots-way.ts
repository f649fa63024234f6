import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { quoteForShell } from '../shell.ts'
import { ROOT } from '../system-account.ts'
import { refused } from './refusal.ts'

const LINKS_MAX = 40

/** Where a path leads. */
export interface Way {
  /** Without links. */
  readonly end: string
  /** Whether nobody but root can change where it leads. */
  readonly isRoots: boolean
}

/**
 * Follows a path of root's to a folder of root's.
 *
 * @throws {FolderRefusedError} for a link of another account, which could lead root to any folder.
 */
export function followWay(path: string): Way {
  const names = namesOf(path)
  let end = resolve('/')
  let isRoots = isSafe(lstatSync(end))
  for (let links = 0; ; ) {
    const name = names.shift()
    if (name === undefined) return { end, isRoots }
    const next = join(end, name)
    const found = lstatSync(next)
    if (!found.isSymbolicLink()) {
      end = next
      // The last one is the folder itself.
      if (names.length > 0) isRoots &&= isSafe(found)
      continue
    }
    if (found.uid !== ROOT) throw refusedLink(next, found)
    links += 1
    if (links > LINKS_MAX)
      throw refused(path, 'there are too many links on the way to it', found, 'name another')
    const target = resolve(end, readlinkSync(next))
    names.unshift(...namesOf(target))
    end = resolve('/')
  }
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '')
}

/** Whether no other account can exchange a folder of root's in this one. */
function isSafe({ uid, mode }: Stats): boolean {
  const isSticky = (mode & 0o1000) !== 0
  return uid === ROOT && (isSticky || (mode & 0o002) === 0)
}

function refusedLink(link: string, found: Stats) {
  const remedy = `name the folder itself, or run: chown -h root ${quoteForShell(link)}`
  return refused(link, 'it is a link of another account, and leads to a folder of root', found, remedy)
}
