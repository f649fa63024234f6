import { join } from 'node:path'
import { homeFolder } from './system-account.ts'

/** Quotes any text as one word of a POSIX shell. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The same, without quotes around what needs none. */
export function wordForShell(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : quoteForShell(text)
}

/**
 * What to write in place of a path that begins with "~", which only a shell replaces: in `--data=~/book` or a file of
 * settings none does.
 *
 * @param before What stands before the path in a value, such as `unix:`.
 * @returns The two things that it can mean; undefined for any other path.
 */
export function adviceForTilde(path: string, before = ''): string | undefined {
  if (!path.startsWith('~')) return undefined
  const isOwn = path === '~' || path.startsWith('~/')
  const home = isOwn
    ? `"${before}${join(homeFolder(), path.slice(1))}" for your home folder`
    : 'the full path for a home folder'
  return `write ${home}, or "${before}./${path}" for that very name`
}
