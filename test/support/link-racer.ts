import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { asPlainAccount } from './plain-account.ts'
import type { Lifetime } from './temporary-folder.ts'

/** Takes each name away, puts a link in its place, and puts back what was there. */
const PROGRAM = `
const { lstatSync, renameSync, symlinkSync, unlinkSync } = require('node:fs')
const [outside, ...names] = process.argv.slice(1)
const attempt = (step) => { try { step() } catch {} }
const isLink = (path) => { try { return lstatSync(path).isSymbolicLink() } catch { return false } }
console.log('begun')
for (;;) for (const name of names) for (const target of [name, name + '.there']) {
  const path = './' + name
  attempt(() => renameSync(path, path + '.kept'))
  attempt(() => symlinkSync(outside + '/' + target, path))
  if (isLink(path)) attempt(() => unlinkSync(path))
  attempt(() => renameSync(path + '.kept', path))
}
`

/**
 * Another account that puts links in the place of its own files, as fast as it can, until the test ends. They lead to
 * files of the same names, and with `.there` at their end, in another folder.
 *
 * @param folder A folder of the plain account.
 */
export async function raceWithLinks(
  t: Lifetime,
  folder: string,
  outside: string,
  names: readonly string[],
): Promise<void> {
  const [command = process.execPath, ...words] = [...asPlainAccount, process.execPath]
  const racer = spawn(command, [...words, '--eval', PROGRAM, outside, ...names], {
    // It may have no other way there.
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    racer.kill('SIGKILL')
    await once(racer, 'exit')
  })
  await once(racer.stdout, 'data')
}
