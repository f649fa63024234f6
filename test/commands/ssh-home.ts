import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { runCommand } from '../support/command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The home of a user with files in `.ssh`. */
export async function homeWith(t: TestContext, texts: Record<string, string>) {
  const home = await temporaryFolder(t)
  for (const [path, text] of Object.entries(texts)) {
    const file = join(home, '.ssh', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return { home, config: join(home, '.ssh', 'config'), environment: { HOME: home } }
}

/** Tries an import of a configuration, and returns what is said about its faults. */
export async function faultsOf(
  t: TestContext,
  texts: Record<string, string>,
  prepare?: (folder: string) => Promise<void> | void,
) {
  const { home, config, environment } = await homeWith(t, texts)
  await prepare?.(dirname(config))
  const data = join(home, 'data')
  const { code, stderr } = await runCommand(['import', config, '--dry-run', '--data', data], { environment })
  assert.equal(code, 1)
  return stderr.replaceAll(home, '~').trimEnd().split('\n').slice(1)
}
