import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Commit } from '../../.build/commit.mjs'
import { makeDeb } from '../../.build/deb.mjs'
import { executable } from '../support/executable.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

/** Debian's name of this machine. */
export const ownArch = process.arch === 'arm64' ? 'arm64' : 'amd64'

/**
 * Makes a package as `npm run build -- --deb` does, and returns its path.
 *
 * @param program What is packed as connbook.
 */
export async function pack(
  t: Lifetime,
  program: string,
  version: string,
  { arch = ownArch, commit }: { arch?: 'amd64' | 'arm64'; commit?: Commit } = {},
): Promise<string> {
  const workshop = await temporaryFolder(t)
  const notices = await readFile(`${executable}.licenses.txt`, 'utf8')
  return makeDeb({ executable: program, license: 'UNLICENSED', notices, version, commit, arch, workshop })
}

/** A small program in the place of the executable, which takes long to pack. */
export async function smallProgram(t: Lifetime): Promise<string> {
  const path = join(await temporaryFolder(t), 'connbook')
  await writeFile(path, '#!/bin/sh\n', { mode: 0o755 })
  return path
}
